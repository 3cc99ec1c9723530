package org.cetp.driver;

import android.content.ContentProviderClient;
import android.content.ContentResolver;
import android.os.Bundle;

/**
 * Calls over an unstable client. {@code ContentResolver.call} would not do: it turns every RemoteException into a null
 * reply, and holds a stable reference, so that the death of the provider would be the driver's own.
 */
public class UnstableClientPort implements ProviderPort {
    private final ContentResolver resolver;

    public UnstableClientPort(ContentResolver resolver) {
        this.resolver = resolver;
    }

    /** Null where there is no such authority, or the package is not visible to this app. */
    protected ContentProviderClient acquire(String authority) {
        return resolver.acquireUnstableContentProviderClient(authority);
    }

    @Override
    public Bundle call(String authority, String method, String arg, Bundle extras) throws Exception {
        ContentProviderClient client = acquire(authority);
        if (client == null) {
            // What ContentResolver.call says of an authority that is not there.
            throw new IllegalArgumentException("Unknown authority " + authority);
        }
        try {
            Bundle reply = client.call(method, arg, extras);
            if (reply != null) {
                // Parcelables of the framework are all that is expected; others are reported by name at most.
                reply.setClassLoader(UnstableClientPort.class.getClassLoader());
            }
            return reply;
        } finally {
            client.close();
        }
    }
}
