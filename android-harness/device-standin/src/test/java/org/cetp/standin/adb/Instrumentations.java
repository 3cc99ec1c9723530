package org.cetp.standin.adb;

import android.app.Activity;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.cetp.standin.Phone;

/**
 * Stands in for {@code am instrument} and the instrumentations of the harness: it takes the same arguments, listens on the
 * same abstract socket, and serves its sessions one after the other with the same {@link org.cetp.driver.Driver} or {@link
 * org.cetp.shim.ConsumerDriver}.
 */
final class Instrumentations {
    private static final String DRIVER = "org.cetp.driver.a/org.cetp.driver.device.DriverInstrumentation";
    private static final String CONSUMER = "org.cetp.consumer/org.cetp.consumer.ExampleInstrumentation";
    private static final String DEFAULT_SOCKET = "org.cetp.driver";

    private final Phone phone;
    private Run running;

    Instrumentations(Phone phone) {
        this.phone = phone;
    }

    /** One run; a new one takes the place of the last. */
    final class Run {
        private final boolean consumer;
        private final String socket;
        private final String target;
        private final String scripted;
        private final List<String> identities;
        private final CompletableFuture<Integer> end = new CompletableFuture<>();

        private Run(String component, Map<String, String> arguments, Map<String, byte[]> files) {
            consumer = component.equals(CONSUMER);
            socket = arguments.getOrDefault("socket", DEFAULT_SOCKET);
            target = arguments.get("target");
            scripted = arguments.get("scripted");
            String second = arguments.get("second");
            boolean hasSecond = second != null && Phone.DRIVER_A_SECOND.equals(nameOf(files.get(second)));
            identities = hasSecond ? List.of("a", "shared") : List.of("a");
        }

        private static String nameOf(byte[] apk) {
            return apk == null ? null : ApkName.of(apk);
        }

        String socket() {
            return socket;
        }

        /** The code with which the instrumentation ends. */
        int awaitEnd() {
            return end.join();
        }

        private synchronized void serve(InputStream in, OutputStream out) throws IOException {
            Runnable onShutdown =
                    () -> {
                        end.complete(Activity.RESULT_OK);
                        try {
                            in.close();
                        } catch (IOException alreadyClosed) {
                            // Then the session sees its end already.
                        }
                    };
            if (consumer) {
                phone.serveConsumer(in, out, Phone.SCRIPTED.equals(scripted), onShutdown);
            } else {
                phone.serve(in, out, target, identities, onShutdown);
            }
        }
    }

    /** Whether there is such an instrumentation among the packages that are installed. */
    boolean has(String component) {
        return DRIVER.equals(component) && phone.installed().contains(Phone.DRIVER_A)
                || CONSUMER.equals(component) && phone.installed().contains(Phone.CONSUMER);
    }

    synchronized Run start(String component, Map<String, String> arguments, Map<String, byte[]> files) {
        stop();
        running = new Run(component, arguments, files);
        if (running.target == null) {
            running.end.complete(Activity.RESULT_CANCELED);
        }
        return running;
    }

    synchronized void stop() {
        if (running != null) {
            running.end.complete(Activity.RESULT_CANCELED);
            running = null;
        }
    }

    /** Who listens on an abstract socket; null where nobody does. */
    synchronized DeviceServices.SocketOwner listening(String name) {
        Run run = running;
        return run == null || run.end.isDone() || !run.socket.equals(name) ? null : run::serve;
    }
}
