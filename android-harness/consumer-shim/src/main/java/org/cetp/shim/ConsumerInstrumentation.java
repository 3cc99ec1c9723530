package org.cetp.shim;

import org.cetp.driver.Rpc;
import org.cetp.driver.device.SocketInstrumentation;
import org.cetp.driver.device.SocketServer;

/**
 * Makes a target of a consumer app. The app subclasses it, names it as an {@code <instrumentation>} in the manifest of its
 * test build, and the target file names it in turn:
 *
 * <pre>
 * am instrument -w -r -e socket NAME [-e scripted PACKAGE] PACKAGE/CLASS
 * </pre>
 *
 * It says {@code INSTRUMENTATION_STATUS: socket=NAME} when it listens, and ends with the session that asks for it. With
 * {@code scripted} the provider of that package is a real app, and is called over the Binder ({@link ScriptedPlatform}).
 */
public abstract class ConsumerInstrumentation extends SocketInstrumentation {
    /** Makes the app's consumer. */
    protected abstract ConsumerUnderTest.Factory consumers();

    /** Its name and version, for reports. */
    protected abstract String[] nameAndVersion();

    @Override
    protected final String what() {
        return "the consumer";
    }

    @Override
    protected final SocketServer.Sessions sessions() {
        return new SocketServer.Sessions() {
            @Override
            public SocketServer.Session open(Runnable onShutdown) {
                return session(onShutdown);
            }
        };
    }

    private SocketServer.Session session(Runnable onShutdown) {
        String[] named = nameAndVersion();
        String scripted = arguments().getString("scripted");
        ScriptedBinding binding = scripted == null ? null : new DeviceBinding(getTargetContext(), scripted);
        final ConsumerDriver driver = new ConsumerDriver(consumers(), named[0], named[1], binding, onShutdown);
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
