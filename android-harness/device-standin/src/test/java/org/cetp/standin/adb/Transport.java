package org.cetp.standin.adb;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** One connection of an adb server: it carries many streams, each opened by the server for a service by its name. */
final class Transport implements AutoCloseable {
    private static final int VERSION = 0x01000001;
    private static final int MAX_DATA = 1 << 20;

    /** What the device calls itself. shell_v2 brings exit codes; cmd makes adb stream APKs to the package manager. */
    private static final String BANNER =
            "device::ro.product.name=cetp_standin;ro.product.model=CETP stand-in;ro.product.device=standin;"
                    + "features=shell_v2,cmd";

    /** Serves one stream of a service. */
    interface Service {
        void serve(AdbStream stream) throws IOException;
    }

    /** Finds services by their names. */
    interface Services {
        /** Null refuses the stream, as adbd does with a service that it does not know. */
        Service find(String name);
    }

    private final Socket socket;
    private final OutputStream out;
    private final Services services;
    private final Map<Integer, AdbStream> streams = new ConcurrentHashMap<>();
    private final AtomicInteger ids = new AtomicInteger();
    private int maxData;

    Transport(Socket socket, Services services) throws IOException {
        this.socket = socket;
        this.out = socket.getOutputStream();
        this.services = services;
    }

    /** Serves until the server goes. */
    void run() throws IOException {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        try {
            for (Message message = Message.read(in); message != null; message = Message.read(in)) {
                receive(message);
            }
        } finally {
            close();
        }
    }

    private void receive(Message message) throws IOException {
        AdbStream stream = streams.get(message.arg1());
        if (message.command() == Message.CNXN) {
            // No AUTH: this device trusts whoever reaches its loopback port.
            maxData = Math.min(MAX_DATA, message.arg1());
            send(new Message(Message.CNXN, VERSION, MAX_DATA, BANNER.getBytes(StandardCharsets.UTF_8)));
        } else if (message.command() == Message.OPEN) {
            open(message.arg0(), message.text());
        } else if (stream == null) {
            if (message.command() == Message.WRTE) {
                send(new Message(Message.CLSE, 0, message.arg0()));
            }
        } else if (message.command() == Message.WRTE) {
            stream.arrived(message.payload());
        } else if (message.command() == Message.OKAY) {
            stream.acknowledged();
        } else if (message.command() == Message.CLSE) {
            streams.remove(stream.localId());
            stream.closedByPeer();
        }
    }

    private void open(int remoteId, String name) throws IOException {
        Service service = services.find(name);
        if (service == null) {
            send(new Message(Message.CLSE, 0, remoteId));
            return;
        }
        AdbStream stream = new AdbStream(this, ids.incrementAndGet(), remoteId, maxData);
        streams.put(stream.localId(), stream);
        send(new Message(Message.OKAY, stream.localId(), remoteId));
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                service.serve(stream);
                            } catch (IOException gone) {
                                // The other side closed the stream, which ends the service.
                            } finally {
                                streams.remove(stream.localId());
                                stream.close();
                            }
                        },
                        "adb " + name);
        thread.setDaemon(true);
        thread.start();
    }

    void send(Message message) throws IOException {
        synchronized (out) {
            out.write(message.bytes());
            out.flush();
        }
    }

    @Override
    public void close() throws IOException {
        streams.values().forEach(AdbStream::closedByPeer);
        socket.close();
    }
}
