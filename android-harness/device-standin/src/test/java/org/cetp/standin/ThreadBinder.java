package org.cetp.standin;

import android.os.Binder;
import org.robolectric.annotation.Implementation;
import org.robolectric.annotation.Implements;
import org.robolectric.shadows.ShadowBinder;

/** The calling UID as a property of the thread, as it is on a device. Robolectric's own is one for all threads. */
@Implements(Binder.class)
public class ThreadBinder extends ShadowBinder {
    private static final ThreadLocal<Integer> CALLING_UID = ThreadLocal.withInitial(android.os.Process::myUid);

    /** This thread carries a call of that UID from now on. */
    static void enter(int uid) {
        CALLING_UID.set(uid);
    }

    static void leave() {
        CALLING_UID.remove();
    }

    @Implementation
    protected static int getCallingUid() {
        return CALLING_UID.get();
    }
}
