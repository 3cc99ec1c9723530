package org.cetp.shim;

import android.app.Activity;
import android.app.Instrumentation;
import android.os.Bundle;
import android.util.Log;
import java.io.IOException;
import org.cetp.driver.Rpc;
import org.cetp.driver.device.SocketServer;

/**
 * Makes a target of a consumer app. The app subclasses it, names it as an {@code <instrumentation>} in the manifest of its
 * test build, and the target file names it in turn:
 *
 * <pre>
 * am instrument -w -r -e socket NAME PACKAGE/CLASS
 * </pre>
 *
 * It says {@code INSTRUMENTATION_STATUS: socket=NAME} when it listens, and ends with the session that asks for it.
 */
public abstract class ConsumerInstrumentation extends Instrumentation {
    /** Any code of a status; adb shows it beside the values. */
    private static final int LISTENING = 1;

    private Bundle arguments;

    /** Makes the app's consumer. */
    protected abstract ConsumerUnderTest.Factory consumers();

    /** Its name and version, for reports. */
    protected abstract String[] nameAndVersion();

    @Override
    public void onCreate(Bundle given) {
        super.onCreate(given);
        arguments = given;
        start(); // calls onStart on a thread of its own
    }

    @Override
    public void onStart() {
        Bundle result = new Bundle();
        String socket = arguments.getString("socket", SocketServer.DEFAULT_NAME);
        try (SocketServer server =
                new SocketServer(
                        socket,
                        new SocketServer.Sessions() {
                            @Override
                            public SocketServer.Session open(Runnable onShutdown) {
                                return session(onShutdown);
                            }
                        })) {
            Bundle status = new Bundle();
            status.putString("socket", socket);
            sendStatus(LISTENING, status);
            server.run();
            finish(Activity.RESULT_OK, result);
        } catch (IOException | RuntimeException failure) {
            Log.e(SocketServer.TAG, "the consumer cannot run", failure);
            result.putString("error", String.valueOf(failure));
            finish(Activity.RESULT_CANCELED, result);
        }
    }

    private SocketServer.Session session(Runnable onShutdown) {
        String[] named = nameAndVersion();
        final ConsumerDriver driver = new ConsumerDriver(consumers(), named[0], named[1], onShutdown);
        return new SocketServer.Session() {
            @Override
            public Rpc.Handler handler() {
                return driver;
            }

            @Override
            public void connected(Rpc host) {
                driver.connect(host);
            }

            @Override
            public void close() {
                driver.close();
            }
        };
    }
}
