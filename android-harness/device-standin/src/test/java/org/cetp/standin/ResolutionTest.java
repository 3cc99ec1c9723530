package org.cetp.standin;

import static org.junit.Assert.assertTrue;

import android.app.PendingIntent;
import android.content.ActivityNotFoundException;
import android.content.Intent;
import android.content.IntentSender;
import android.os.Bundle;
import org.cetp.driver.device.ResolutionActivity;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;

/** The driver's Activity with PendingIntents that lead nowhere. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
public class ResolutionTest {
    /** Robolectric finds every Activity; a device says of one that is not there what this does. */
    public static class LeadsNowhere extends ResolutionActivity {
        @Override
        public void startIntentSenderForResult(
                IntentSender sender, int request, Intent fillIn, int mask, int values, int extra, Bundle options) {
            throw new ActivityNotFoundException("No Activity found to handle it");
        }
    }

    @Test
    public void whatCannotBeOpenedDoesNotEndTheDriver() {
        PendingIntent pending = PendingIntent.getActivity(
                RuntimeEnvironment.getApplication(), 0, new Intent("nobody.has.this"), PendingIntent.FLAG_IMMUTABLE);
        Intent intent = new Intent().putExtra("pending", pending).putExtra("token", 7L);
        assertTrue(Robolectric.buildActivity(LeadsNowhere.class, intent).create().get().isFinishing());
    }
}
