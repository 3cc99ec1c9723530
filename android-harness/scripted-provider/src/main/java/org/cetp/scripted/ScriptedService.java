package org.cetp.scripted;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.os.ParcelFileDescriptor;
import android.util.Log;
import java.io.FileOutputStream;
import java.io.IOException;
import org.cetp.driver.Rpc;
import org.cetp.driver.device.PeerBinder;

/**
 * Hands a link to whoever binds to it; the last one that came plays the provider. Nobody has to be kept away: without a
 * link the provider does nothing, and with one it does to its callers what any other app could.
 */
public class ScriptedService extends Service {
    private static final String TAG = "CetpDriver";

    @Override
    public IBinder onBind(Intent intent) {
        return new PeerBinder() {
            @Override
            protected void enforceCaller(int uid) {}

            @Override
            protected ParcelFileDescriptor open(String argument) throws IOException {
                return link();
            }
        };
    }

    private ParcelFileDescriptor link() throws IOException {
        ParcelFileDescriptor[] pair = ParcelFileDescriptor.createReliableSocketPair();
        Stage stage = Stage.ofProcess();
        stage.enter(this);
        final Rpc rpc =
                new Rpc(
                        new ParcelFileDescriptor.AutoCloseInputStream(pair[0]),
                        new FileOutputStream(pair[0].getFileDescriptor()),
                        stage);
        stage.connect(rpc);
        Thread reader =
                new Thread("scripted-link") {
                    @Override
                    public void run() {
                        try {
                            rpc.run();
                        } catch (IOException ended) {
                            Log.i(TAG, "the link: " + ended.getMessage());
                        }
                    }
                };
        reader.setDaemon(true);
        reader.start();
        return pair[1];
    }
}
