package org.cetp.standin;

import android.content.ContentProviderClient;
import android.content.ContentResolver;
import org.cetp.driver.UnstableClientPort;

/** The driver's own port; only where the system would hand out a Binder, the stand-in does. */
final class StandinPort extends UnstableClientPort {
    private final Phone phone;
    private final int uid;

    StandinPort(ContentResolver resolver, Phone phone, int uid) {
        super(resolver);
        this.phone = phone;
        this.uid = uid;
    }

    @Override
    protected ContentProviderClient acquire(String authority) {
        String name = phone.binderName(authority, uid);
        return name == null ? null : super.acquire(name);
    }
}
