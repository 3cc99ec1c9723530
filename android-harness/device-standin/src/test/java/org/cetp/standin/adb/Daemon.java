package org.cetp.standin.adb;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Listens on a port of the loopback interface for {@code adb connect 127.0.0.1:PORT}. */
public final class Daemon implements Closeable {
    private final ServerSocket listening;
    private final Transport.Services services;

    public Daemon(int port, Transport.Services services) throws IOException {
        this.services = services;
        listening = new ServerSocket();
        listening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    }

    public int port() {
        return listening.getLocalPort();
    }

    /** Serves one adb server after the other, and several at a time, until it is closed. */
    public void run() {
        while (!listening.isClosed()) {
            try {
                Socket socket = listening.accept();
                socket.setTcpNoDelay(true);
                Transport transport = new Transport(socket, services);
                Thread thread =
                        new Thread(
                                () -> {
                                    try {
                                        transport.run();
                                    } catch (IOException gone) {
                                        // An adb server that went away; the next one is welcome.
                                    }
                                },
                                "adb-transport");
                thread.setDaemon(true);
                thread.start();
            } catch (IOException closed) {
                return;
            }
        }
    }

    @Override
    public void close() throws IOException {
        listening.close();
    }
}
