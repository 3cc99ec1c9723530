package org.cetp.standin;

import static org.robolectric.Shadows.shadowOf;

import android.app.PendingIntent;
import android.content.pm.ApplicationInfo;
import android.os.Bundle;
import android.os.DeadObjectException;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.cetp.provider.CallOnlyProvider;

/**
 * The near end of a Binder to a provider in another process: extras, replies and exceptions go through a Parcel, the
 * calling UID arrives with the call, and a process that dies answers with DeadObjectException.
 */
final class BinderEnd extends CallOnlyProvider {
    private final Supplier<ProviderProcess> processes;
    private final ApplicationInfo creator;
    private final String authority;
    private final int callingUid;

    /**
     * @param processes the provider's process, as it is at a call
     * @param creator the provider's app
     */
    BinderEnd(Supplier<ProviderProcess> processes, ApplicationInfo creator, String authority, int callingUid) {
        this.processes = processes;
        this.creator = creator;
        this.authority = authority;
        this.callingUid = callingUid;
    }

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        ProviderProcess process = processes.get();
        CompletableFuture<Bundle> reply =
                process.call(authority, callingUid, method, arg, throughParcel(extras, false));
        try {
            CompletableFuture.anyOf(reply, process.death()).join();
            // What was ready when the process died does not leave it any more.
            if (process.isDead()) {
                throw BinderEnd.<RuntimeException>sneaky(new DeadObjectException());
            }
            Bundle bundle = reply.join();
            stampCreator(bundle);
            return throughParcel(bundle, true);
        } catch (CompletionException thrown) {
            if (process.isDead()) {
                throw BinderEnd.<RuntimeException>sneaky(new DeadObjectException());
            }
            return exceptionThroughParcel(thrown.getCause());
        }
    }

    /** The system notes who makes a PendingIntent; Robolectric notes the one application that it has. */
    @SuppressWarnings("deprecation")
    private void stampCreator(Bundle reply) {
        if (reply != null) {
            for (String key : reply.keySet()) {
                if (reply.get(key) instanceof PendingIntent pending) {
                    shadowOf(pending).setCreatorPackage(creator.packageName);
                    shadowOf(pending).setCreatorUid(creator.uid);
                }
            }
        }
    }

    /** As a copy. Descriptors of a reply are duplicated on the way; then the process that sent them closes its own. */
    private static Bundle throughParcel(Bundle bundle, boolean closesDescriptors) {
        Parcel parcel = Parcel.obtain();
        try {
            parcel.writeBundle(bundle);
            if (bundle != null && closesDescriptors) {
                closeDescriptors(bundle);
            }
            parcel.setDataPosition(0);
            return parcel.readBundle(BinderEnd.class.getClassLoader());
        } finally {
            parcel.recycle();
        }
    }

    @SuppressWarnings("deprecation")
    private static void closeDescriptors(Bundle bundle) {
        for (String key : bundle.keySet()) {
            Object value = bundle.get(key);
            if (value instanceof Bundle inner) {
                closeDescriptors(inner);
            } else if (value instanceof ParcelFileDescriptor descriptor) {
                try {
                    descriptor.close();
                } catch (IOException alreadyGone) {
                    // It is closed, which is all that is wanted.
                }
            }
        }
    }

    /** The few classes of exceptions that a Parcel knows reach the caller; of any other it sees an empty Bundle. */
    private static Bundle exceptionThroughParcel(Throwable thrown) {
        Parcel parcel = Parcel.obtain();
        try {
            parcel.writeException((Exception) thrown);
        } catch (RuntimeException unknown) {
            parcel.recycle();
            return Bundle.EMPTY;
        }
        parcel.setDataPosition(0);
        parcel.readException();
        throw new IllegalStateException("an exception was written and none was read");
    }

    /** {@code IContentProvider.call} throws RemoteException; a ContentProvider that stands in for it may not say so. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T sneaky(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Override
    public boolean onCreate() {
        return true;
    }
}
