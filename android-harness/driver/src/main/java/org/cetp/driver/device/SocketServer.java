package org.cetp.driver.device;

import android.net.Credentials;
import android.net.LocalServerSocket;
import android.net.LocalSocket;
import android.util.Log;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import org.cetp.driver.Driver;
import org.cetp.driver.Rpc;

/**
 * Listens on an abstract socket, which adb reaches as {@code localabstract:NAME}, for one session after the other. Every
 * app can connect to an abstract socket, so only the UIDs of adb are let in.
 */
public final class SocketServer implements Closeable {
    public static final String TAG = "CetpDriver";

    /** The name where nothing else is said. */
    public static final String DEFAULT_NAME = "org.cetp.driver";

    private static final int ROOT_UID = 0;
    private static final int SHELL_UID = 2000;

    /** Who answers in a session. */
    public interface Session {
        Rpc.Handler handler();

        /** The connection, before the first request comes. */
        void connected(Rpc host);

        void close();
    }

    /** Makes sessions. */
    public interface Sessions {
        /** @param onShutdown ends the server */
        Session open(Runnable onShutdown) throws IOException;
    }

    /** A session that asks nothing of the host. */
    static Session of(final Driver driver) {
        return new Session() {
            @Override
            public Rpc.Handler handler() {
                return driver;
            }

            @Override
            public void connected(Rpc host) {}

            @Override
            public void close() {
                driver.close();
            }
        };
    }

    private final LocalServerSocket listening;
    private final Sessions sessions;
    private volatile boolean closed;

    public SocketServer(String name, Sessions sessions) throws IOException {
        this.listening = new LocalServerSocket(name);
        this.sessions = sessions;
    }

    /** Returns when a session has asked for the end, or when it was closed. */
    public void run() {
        while (!closed) {
            try (LocalSocket socket = listening.accept()) {
                Credentials peer = socket.getPeerCredentials();
                if (peer.getUid() != ROOT_UID && peer.getUid() != SHELL_UID) {
                    Log.w(TAG, "refused a connection of UID " + peer.getUid());
                    continue;
                }
                serve(socket);
            } catch (IOException ended) {
                if (!closed) {
                    Log.i(TAG, "session: " + ended.getMessage());
                }
            }
        }
    }

    private void serve(final LocalSocket socket) throws IOException {
        Session session =
                sessions.open(
                        new Runnable() {
                            @Override
                            public void run() {
                                close();
                                try {
                                    // The answer is on its way; the session's thread shall see the end.
                                    socket.shutdownInput();
                                } catch (IOException alreadyOver) {
                                    // It has seen it.
                                }
                            }
                        });
        try {
            Rpc rpc = new Rpc(socket.getInputStream(), unflushed(socket.getOutputStream()), session.handler());
            session.connected(rpc);
            rpc.run();
        } finally {
            session.close();
        }
    }

    /**
     * Nothing is held back in the stream of a LocalSocket. Its flush waits until the other side has read everything, in steps
     * of ten milliseconds, which is more than most calls take.
     */
    private static OutputStream unflushed(final OutputStream out) {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                out.write(one);
            }

            @Override
            public void write(byte[] bytes, int from, int length) throws IOException {
                out.write(bytes, from, length);
            }

            @Override
            public void flush() {}

            @Override
            public void close() throws IOException {
                out.close();
            }
        };
    }

    @Override
    public void close() {
        closed = true;
        try {
            listening.close();
        } catch (IOException alreadyClosed) {
            // Nobody can connect any more, which is what was wanted.
        }
    }
}
