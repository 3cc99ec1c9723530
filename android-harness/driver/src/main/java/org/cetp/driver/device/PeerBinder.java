package org.cetp.driver.device;

import android.os.Binder;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import android.os.RemoteException;
import java.io.IOException;

/** The far end of {@link PeerLink}: what a Service gives to who binds to it. */
public abstract class PeerBinder extends Binder {
    /** Throws a SecurityException for whom a link is not meant. */
    protected abstract void enforceCaller(int uid);

    /** Opens a session over a socket pair; the end for the other side. */
    protected abstract ParcelFileDescriptor open(String argument) throws IOException;

    @Override
    protected final boolean onTransact(int code, Parcel request, Parcel reply, int flags) throws RemoteException {
        if (code != PeerLink.OPEN) {
            return super.onTransact(code, request, reply, flags);
        }
        request.enforceInterface(PeerLink.DESCRIPTOR);
        enforceCaller(Binder.getCallingUid());
        try (ParcelFileDescriptor theirs = open(request.readString())) {
            reply.writeNoException();
            theirs.writeToParcel(reply, 0);
        } catch (IOException failure) {
            reply.setDataPosition(0);
            reply.writeException(new IllegalStateException(failure.getMessage()));
        }
        return true;
    }
}
