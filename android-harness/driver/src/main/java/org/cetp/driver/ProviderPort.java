package org.cetp.driver;

import android.os.Bundle;

/** One {@code ContentProvider.call} from this app. */
public interface ProviderPort {
    /** Whatever the call throws is a fact about it, and is reported as such. */
    Bundle call(String authority, String method, String arg, Bundle extras) throws Exception;
}
