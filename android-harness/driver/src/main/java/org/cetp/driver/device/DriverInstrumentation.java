package org.cetp.driver.device;

import android.app.Activity;
import android.app.Instrumentation;
import android.os.Bundle;
import android.util.Log;
import java.io.IOException;
import org.cetp.driver.Driver;
import org.cetp.driver.Rpc;

/**
 * The driver with the powers of an instrumentation: it may open Activities from the background, see into PendingIntents,
 * and install the second package of its UID.
 *
 * <pre>
 * am instrument -w --no-hidden-api-checks -e target PACKAGE [-e second APK] [-e socket NAME]
 *     org.cetp.driver.a/org.cetp.driver.device.DriverInstrumentation
 * </pre>
 *
 * It reports {@code INSTRUMENTATION_STATUS: socket=NAME} when it listens, and ends with the session that asks for it.
 */
public class DriverInstrumentation extends Instrumentation {
    /** Any code of a status; adb shows it beside the values. */
    private static final int LISTENING = 1;

    private Bundle arguments;

    @Override
    public void onCreate(Bundle given) {
        super.onCreate(given);
        arguments = given;
        start(); // calls onStart on a thread of its own
    }

    @Override
    public void onStart() {
        Bundle result = new Bundle();
        try {
            final String target = required("target");
            String socket = arguments.getString("socket", SocketServer.DEFAULT_NAME);
            try (SocketServer server =
                    new SocketServer(
                            socket,
                            new SocketServer.Sessions() {
                                @Override
                                public SocketServer.Session open(Runnable onShutdown) throws IOException {
                                    return SocketServer.of(session(target, onShutdown));
                                }
                            })) {
                Bundle status = new Bundle();
                status.putString("socket", socket);
                sendStatus(LISTENING, status);
                server.run();
            }
            finish(Activity.RESULT_OK, result);
        } catch (IOException | RuntimeException failure) {
            Log.e(SocketServer.TAG, "the driver cannot run", failure);
            result.putString("error", String.valueOf(failure));
            finish(Activity.RESULT_CANCELED, result);
        }
    }

    private String required(String name) {
        String value = arguments.getString(name);
        if (value == null) {
            throw new IllegalArgumentException("-e " + name + " is missing");
        }
        return value;
    }

    private Driver session(String target, Runnable onShutdown) throws IOException {
        Driver.Device device = DeviceParts.of(getTargetContext(), target);
        Shell shell = new Shell(getUiAutomation());
        device.facts = new ShellIntentFacts(shell);
        String second = arguments.getString("second");
        if (second != null) {
            device.identities = new SecondPackage(getTargetContext(), shell, second);
        }
        Rpc toB = PeerLink.connect(getTargetContext(), DeviceParts.packageOf("b"), target);
        if (toB != null) {
            device.others.put("b", toB);
        }
        return new Driver(device, onShutdown);
    }
}
