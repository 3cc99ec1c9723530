package org.cetp.driver.device;

import android.app.Activity;
import android.app.ActivityOptions;
import android.app.PendingIntent;
import android.content.Intent;
import android.content.IntentSender;
import android.os.Build;
import android.os.Bundle;
import android.util.Log;

/** Opens one resolution for its result, and is gone when that has come. It shows nothing of its own. */
public class ResolutionActivity extends Activity {
    static final String PENDING = "pending";
    static final String TOKEN = "token";
    private static final int REQUEST = 1;

    @Override
    @SuppressWarnings("deprecation") // the typed getter came with API 33
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        if (state != null) {
            return; // the resolution is open already, the system only made this Activity anew
        }
        PendingIntent pending = getIntent().getParcelableExtra(PENDING);
        try {
            startIntentSenderForResult(pending.getIntentSender(), REQUEST, null, 0, 0, 0, options());
        } catch (IntentSender.SendIntentException cancelled) {
            Log.w(SocketServer.TAG, "the resolution was cancelled by its creator");
            over();
        } catch (RuntimeException refused) {
            // There is no such Activity, or it may not be opened. That is the provider's doing; the driver survives it.
            Log.w(SocketServer.TAG, "the resolution cannot be opened", refused);
            over();
        }
    }

    /** From target 34 on a sender says whether the other Activity may come up with its rights. */
    private static Bundle options() {
        if (Build.VERSION.SDK_INT < 34) {
            return null;
        }
        return ActivityOptions.makeBasic()
                .setPendingIntentBackgroundActivityStartMode(ActivityOptions.MODE_BACKGROUND_ACTIVITY_START_ALLOWED)
                .toBundle();
    }

    @Override
    protected void onActivityResult(int request, int result, Intent data) {
        over();
    }

    private void over() {
        ActivityResolutions.back(getIntent().getLongExtra(TOKEN, 0));
        finish();
    }
}
