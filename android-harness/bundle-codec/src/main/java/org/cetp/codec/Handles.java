package org.cetp.codec;

import android.app.PendingIntent;
import android.os.ParcelFileDescriptor;
import java.util.Map;

/**
 * What stands for objects that cannot travel as JSON. They stay on this side under an id; the other side sees the id and
 * the facts that this side can tell.
 */
public interface Handles {
    /** Keeps a PendingIntent and describes it as the wire's {@code pending_intent}. */
    Map<String, Object> keep(PendingIntent intent);

    /** Keeps a descriptor and describes it as the wire's {@code fd}. */
    Map<String, Object> keep(ParcelFileDescriptor descriptor);

    /** The PendingIntent that the wire's {@code pending_intent} stands for. */
    PendingIntent pendingIntent(Map<String, Object> wire) throws WireException;

    /** The descriptor that the wire's {@code fd} stands for. */
    ParcelFileDescriptor descriptor(Map<String, Object> wire) throws WireException;
}
