package org.cetp.shim;

import android.os.Bundle;
import java.io.IOException;
import org.cetp.driver.Rpc;

/** The way to the app of a scripted provider: on a device, {@link DeviceBinding}. */
public interface ScriptedBinding {
    /** Its package, as the vectors name it. */
    String packageName();

    /** A link to its process, which is started where it does not run; null where the app is not there. */
    Rpc connect(Rpc.Handler handler) throws IOException;

    /** A call of its ContentProvider, as a consumer makes it. */
    Bundle call(String authority, String method, Bundle extras) throws Exception;
}
