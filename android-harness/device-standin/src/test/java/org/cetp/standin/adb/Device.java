package org.cetp.standin.adb;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.cetp.standin.Phone;

/** The stand-in as a device of adb. */
public final class Device {
    private Device() {}

    /** An adbd for this phone; port 0 takes any that is free. */
    public static Daemon of(Phone phone, int port) throws IOException {
        Map<String, byte[]> files = new ConcurrentHashMap<>();
        Instrumentations instrumentations = new Instrumentations(phone);
        DeviceCommands commands = new DeviceCommands(phone, files, instrumentations);
        return new Daemon(port, new DeviceServices(commands, instrumentations::listening, files));
    }
}
