package org.cetp.driver;

import android.app.PendingIntent;
import android.content.Intent;

/** Sees into a PendingIntent, which only the system, and an instrumentation with shell identity, can. */
public interface IntentFacts {
    /** The intent behind it; null where this device does not tell. */
    Intent intentOf(PendingIntent pending);

    IntentFacts NONE =
            new IntentFacts() {
                @Override
                public Intent intentOf(PendingIntent pending) {
                    return null;
                }
            };
}
