package org.cetp.standin;

import android.os.Looper;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;
import org.robolectric.annotation.LooperMode;
import org.robolectric.shadow.api.Shadow;
import org.robolectric.shadows.ShadowLog;
import org.robolectric.shadows.ShadowPausedLooper;

/**
 * Serves one session over stdin and stdout, as a test that lasts as long as the session: the way into Robolectric that has
 * no private parts. {@link StandinStdio} runs it; it is no test of its own.
 */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE, shadows = ThreadBinder.class)
@LooperMode(LooperMode.Mode.PAUSED)
public class StandinHost {
    @Test
    public void serve() throws Exception {
        ShadowLog.stream = System.err;
        Phone phone = new Phone(RuntimeEnvironment.getApplication());
        Thread session =
                new Thread(
                        () -> {
                            try {
                                phone.serve(
                                        new FileInputStream(FileDescriptor.in),
                                        new FileOutputStream(FileDescriptor.out),
                                        () -> Runtime.getRuntime().halt(0));
                                Runtime.getRuntime().halt(0);
                            } catch (IOException | RuntimeException broken) {
                                System.err.println("session: " + broken);
                                Runtime.getRuntime().halt(1);
                            }
                        },
                        "session");
        session.start();
        // This is the main thread of the device.
        ShadowPausedLooper main = Shadow.extract(Looper.getMainLooper());
        while (true) {
            main.poll(1_000);
            main.idle();
        }
    }
}
