package org.cetp.provider;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

/**
 * The entry by which consumers find the provider (§2.1): an exported service with the action and the meta-data in the
 * manifest. Nobody binds to it.
 */
public class ToolProviderService extends Service {
    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
