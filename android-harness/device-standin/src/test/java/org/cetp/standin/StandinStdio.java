package org.cetp.standin;

import org.junit.runner.JUnitCore;
import org.junit.runner.Result;

/**
 * The stand-in over stdin and stdout, for a runner that speaks the target protocol:
 * {@code cetp-conformance run --target android-harness/device-standin/target.toml}. With the argument {@code consumer} it is
 * the example consumer; with {@code scripted} that, and a scripted provider's app beside it.
 */
public final class StandinStdio {
    private StandinStdio() {}

    public static void main(String[] arguments) {
        // stdout carries the protocol and nothing else; whoever prints, prints to stderr.
        System.setOut(System.err);
        if (arguments.length > 0 && (arguments[0].equals("consumer") || arguments[0].equals("scripted"))) {
            System.setProperty(StandinHost.CONSUMER, arguments[0]);
        }
        Result result = JUnitCore.runClasses(StandinHost.class);
        result.getFailures().forEach(failure -> System.err.println(failure.getTrace()));
        System.exit(result.wasSuccessful() ? 0 : 1);
    }
}
