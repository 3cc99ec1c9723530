package org.cetp.shim;

import android.content.ComponentName;
import android.content.Context;
import android.os.Bundle;
import java.io.IOException;
import org.cetp.driver.Rpc;
import org.cetp.driver.UnstableClientPort;
import org.cetp.driver.device.PeerLink;

/** A scripted provider that is installed beside the consumer's app. */
final class DeviceBinding implements ScriptedBinding {
    private static final String SERVICE = "org.cetp.scripted.ScriptedService";

    /** How long a process may take to come up; see {@link ScriptedLink}. */
    private static final long PATIENCE_MS = 4_000;

    private final Context context;
    private final String packageName;
    private final UnstableClientPort port;

    DeviceBinding(Context context, String packageName) {
        this.context = context;
        this.packageName = packageName;
        this.port = new UnstableClientPort(context.getContentResolver());
    }

    @Override
    public String packageName() {
        return packageName;
    }

    @Override
    public Rpc connect(Rpc.Handler handler) throws IOException {
        ComponentName service = new ComponentName(packageName, SERVICE);
        return PeerLink.connect(context, service, context.getPackageName(), handler, PATIENCE_MS);
    }

    @Override
    public Bundle call(String authority, String method, Bundle extras) throws Exception {
        return port.call(authority, method, null, extras);
    }
}
