package org.cetp.standin.adb;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.Map;
import java.util.function.Function;

/** The services that the stand-in's adbd has. */
public final class DeviceServices implements Transport.Services {
    /** Serves one connection to an abstract socket. */
    public interface SocketOwner {
        void serve(InputStream in, java.io.OutputStream out) throws java.io.IOException;
    }

    private final Shell.Commands commands;
    private final Function<String, SocketOwner> sockets;
    private final Map<String, byte[]> files;

    /** @param sockets finds who listens on an abstract socket; null where nobody does */
    DeviceServices(Shell.Commands commands, Function<String, SocketOwner> sockets, Map<String, byte[]> files) {
        this.commands = commands;
        this.sockets = sockets;
        this.files = files;
    }

    @Override
    public Transport.Service find(String name) {
        int colon = name.indexOf(':');
        String service = colon < 0 ? name : name.substring(0, colon);
        String rest = colon < 0 ? "" : name.substring(colon + 1);
        if (service.equals("localabstract")) {
            SocketOwner owner = sockets.apply(rest);
            return owner == null ? null : stream -> owner.serve(stream.input(), stream.output());
        }
        if (service.equals("sync")) {
            return new SyncService(files);
        }
        if (service.equals("exec") && !rest.isEmpty()) {
            return stream -> new Shell(commands).run(rest, stream.input(), new ShellOutput(stream.output(), false));
        }
        // "shell,v2,TERM=...,raw:COMMAND"; without a command it would be an interactive shell, which is not here.
        if ((service.equals("shell") || service.startsWith("shell,")) && !rest.isEmpty()) {
            boolean v2 = service.startsWith("shell,v2");
            InputStream none = new ByteArrayInputStream(new byte[0]);
            return stream -> new Shell(commands).run(rest, none, new ShellOutput(stream.output(), v2));
        }
        return null;
    }
}
