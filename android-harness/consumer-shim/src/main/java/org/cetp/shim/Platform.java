package org.cetp.shim;

import android.os.Bundle;

/**
 * What a consumer needs of Android. In the app itself this is an unstable ContentProviderClient with a watchdog around
 * {@code call}, an Activity that launches a PendingIntent for its result, descriptors, and the clock.
 */
public interface Platform {
    /** {@code ContentResolver.call} with a null {@code arg}. */
    Reply call(String authority, String method, Bundle extras) throws CallFailed;

    /** Shows the provider's own screen and waits until it is gone. */
    Launched launch(Resolution resolution);

    long nowMs();

    void sleep(long ms);

    /** What came of launching a resolution. */
    enum Launched {
        /** The Activity ended with a result. */
        OK,
        /** The user left it. */
        CANCELLED,
        /** It could not be shown. */
        FAILED
    }

    /** A call that brought no Bundle at all. */
    final class CallFailed extends Exception {
        private static final long serialVersionUID = 1L;

        /** How it failed. */
        public enum Kind {
            /** The provider's process died in it, or a transaction was too large: both look the same. */
            DIED,
            /** It had not returned in time; the provider may still be at work. */
            TIMED_OUT,
            /** The provider threw something that crossed the Binder. */
            THROWN
        }

        public final Kind kind;

        public CallFailed(Kind kind, String message) {
            super(message);
            this.kind = kind;
        }
    }
}
