package org.cetp.driver;

import android.app.PendingIntent;

/** Opens the PendingIntents that a provider hands out (§4.3), as a consumer does. */
public interface Resolutions {
    /** Opens one and returns when it has been handed to the system. */
    Launch launch(PendingIntent pending) throws RpcException;

    /** One that was opened. */
    interface Launch {
        /** Waits for the Activity's result; false if it does not come in time. */
        boolean awaitFinished(long millis) throws InterruptedException, RpcException;
    }
}
