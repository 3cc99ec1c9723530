package org.cetp.standin;

/**
 * The stand-in as a device of adb: {@code adb connect 127.0.0.1:PORT}. It prints its port and ends with its stdin.
 *
 * <p>One argument: the port, 0 for any.
 */
public final class StandinAdb {
    private StandinAdb() {}

    public static void main(String[] arguments) {
        System.setProperty(StandinHost.ADB_PORT, arguments.length > 0 ? arguments[0] : "0");
        StandinStdio.main(arguments);
    }
}
