package org.cetp.driver.device;

import android.content.ComponentName;
import android.util.Log;
import java.io.IOException;
import org.cetp.driver.Driver;
import org.cetp.driver.Rpc;

/**
 * The driver with the powers of an instrumentation: it may open Activities from the background, see into PendingIntents,
 * and install the second package of its UID.
 *
 * <pre>
 * am instrument -w --no-hidden-api-checks -e target PACKAGE [-e second APK] [-e socket NAME] [-e automation none]
 *     org.cetp.driver.a/org.cetp.driver.device.DriverInstrumentation
 * </pre>
 *
 * With {@code automation none} it leaves UiAutomation, of which a device has one only, to {@code uiautomator}; then
 * explicitness is not told and there is no second package.
 *
 * <p>It reports {@code INSTRUMENTATION_STATUS: socket=NAME} when it listens, and ends with the session that asks for it.
 */
public class DriverInstrumentation extends SocketInstrumentation {
    private static final String NO_AUTOMATION = "none";

    /** How long another driver's app may take to come up. */
    private static final long PATIENCE_MS = 10_000;

    @Override
    protected String what() {
        return "the driver";
    }

    @Override
    protected SocketServer.Sessions sessions() {
        final String target = required("target");
        return new SocketServer.Sessions() {
            @Override
            public SocketServer.Session open(Runnable onShutdown) throws IOException {
                return SocketServer.of(session(target, onShutdown));
            }
        };
    }

    private String required(String name) {
        String value = arguments().getString(name);
        if (value == null) {
            throw new IllegalArgumentException("-e " + name + " is missing");
        }
        return value;
    }

    private Driver session(String target, Runnable onShutdown) throws IOException {
        Driver.Device device = DeviceParts.of(getTargetContext(), target);
        if (!NO_AUTOMATION.equals(arguments().getString("automation"))) {
            Shell shell = new Shell(getUiAutomation());
            device.facts = new ShellIntentFacts(shell);
            String second = arguments().getString("second");
            if (second != null) {
                device.identities = new SecondPackage(getTargetContext(), shell, second);
            }
        }
        final String packageOfB = DeviceParts.packageOf("b");
        Rpc.Handler asksNothing =
                new Rpc.Handler() {
                    @Override
                    public void handle(Rpc.Request request) {
                        Log.w(SocketServer.TAG, packageOfB + " asks for something: " + request.method);
                    }
                };
        ComponentName serviceOfB = new ComponentName(packageOfB, DriverService.class.getName());
        Rpc toB = PeerLink.connect(getTargetContext(), serviceOfB, target, asksNothing, PATIENCE_MS);
        if (toB != null) {
            device.others.put("b", toB);
        }
        return new Driver(device, onShutdown);
    }
}
