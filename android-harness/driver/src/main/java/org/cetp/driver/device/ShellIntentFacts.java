package org.cetp.driver.device;

import android.app.PendingIntent;
import android.content.Intent;
import android.util.Log;
import java.util.concurrent.Callable;
import org.cetp.driver.IntentFacts;

/**
 * Sees into a PendingIntent with a permission of the shell. The method is none of the public API, so the instrumentation
 * has to be started with {@code --no-hidden-api-checks}; where it cannot be called the fact is left out.
 */
final class ShellIntentFacts implements IntentFacts {
    private static final String PERMISSION = "android.permission.GET_INTENT_SENDER_INTENT";

    private final Shell shell;

    ShellIntentFacts(Shell shell) {
        this.shell = shell;
    }

    @Override
    public Intent intentOf(final PendingIntent pending) {
        try {
            return shell.with(
                    PERMISSION,
                    new Callable<Intent>() {
                        @Override
                        public Intent call() throws Exception {
                            return (Intent) PendingIntent.class.getMethod("getIntent").invoke(pending);
                        }
                    });
        } catch (Exception notHere) {
            Log.i(SocketServer.TAG, "explicitness cannot be told: " + notHere);
            return null;
        }
    }
}
