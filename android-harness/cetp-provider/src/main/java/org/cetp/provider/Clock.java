package org.cetp.provider;

/** Where the provider takes its time from, in milliseconds since 1970. */
public interface Clock {
    long nowMs();

    /** The time of the device. */
    Clock DEVICE =
            new Clock() {
                @Override
                public long nowMs() {
                    return System.currentTimeMillis();
                }
            };
}
