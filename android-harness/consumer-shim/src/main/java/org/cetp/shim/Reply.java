package org.cetp.shim;

import android.os.Bundle;
import java.util.Map;

/**
 * The Bundle of a reply. PendingIntents and descriptors lie beside it, by their keys; the descriptors are the consumer's
 * from now on, and {@link #close} closes them all, so that no path can forget one (§4.5).
 */
public final class Reply implements AutoCloseable {
    /** Null where the provider returned null. */
    public final Bundle bundle;

    public final Map<String, Resolution> resolutions;
    public final Map<String, ResultFile> files;

    public Reply(Bundle bundle, Map<String, Resolution> resolutions, Map<String, ResultFile> files) {
        this.bundle = bundle;
        this.resolutions = resolutions;
        this.files = files;
    }

    /** What an exception that the Binder cannot carry looks like, too. */
    public boolean isEmpty() {
        return bundle != null && bundle.isEmpty() && resolutions.isEmpty() && files.isEmpty();
    }

    @Override
    public void close() {
        for (ResultFile file : files.values()) {
            file.close();
        }
    }
}
