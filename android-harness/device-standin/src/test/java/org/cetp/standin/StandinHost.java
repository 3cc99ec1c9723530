package org.cetp.standin;

import android.os.Looper;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.List;
import org.cetp.standin.adb.Daemon;
import org.cetp.standin.adb.Device;
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
 * The stand-in as a program, in the form of a test that lasts as long as it: the way into Robolectric that has no private
 * parts. {@link StandinStdio} and {@link StandinAdb} run it; it is no test of its own.
 */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE, shadows = ThreadBinder.class)
@LooperMode(LooperMode.Mode.PAUSED)
public class StandinHost {
    /** The port of the stand-in's adbd, 0 for any; without it the session is over stdio. */
    static final String ADB_PORT = "standin.adb.port";

    /** Where it is there, the session over stdio is one of the example consumer; as "scripted", with that app beside it. */
    static final String CONSUMER = "standin.consumer";

    @Test
    public void serve() throws Exception {
        ShadowLog.stream = System.err;
        ShadowLog.setTimeSupplier(() -> Long.toString(System.currentTimeMillis()));
        Phone phone = new Phone(RuntimeEnvironment.getApplication());
        Thread session = new Thread(() -> serve(phone), "session");
        session.start();
        // This is the main thread of the device.
        ShadowPausedLooper main = Shadow.extract(Looper.getMainLooper());
        while (true) {
            main.poll(1_000);
            main.idle();
        }
    }

    private static void serve(Phone phone) {
        int code = 0;
        try {
            if (System.getProperty(ADB_PORT) != null) {
                serveAdb(phone, Integer.getInteger(ADB_PORT));
            } else {
                serveStdio(phone);
            }
        } catch (IOException | RuntimeException broken) {
            System.err.println("session: " + broken);
            code = 1;
        }
        Runtime.getRuntime().halt(code);
    }

    /** Everything is installed; one session. */
    private static void serveStdio(Phone phone) throws IOException {
        if (System.getProperty(CONSUMER) != null) {
            phone.install(Phone.SCRIPTED);
            phone.serveConsumer(
                    new FileInputStream(FileDescriptor.in),
                    new FileOutputStream(FileDescriptor.out),
                    System.getProperty(CONSUMER).equals("scripted"),
                    () -> Runtime.getRuntime().halt(0));
            return;
        }
        for (String app : List.of(Phone.FIXTURE, Phone.DRIVER_A, Phone.DRIVER_B)) {
            phone.install(app);
        }
        phone.serve(
                new FileInputStream(FileDescriptor.in),
                new FileOutputStream(FileDescriptor.out),
                Phone.FIXTURE,
                Identity.ALL,
                () -> Runtime.getRuntime().halt(0));
    }

    /** Nothing is installed; it lives until its stdin ends. */
    private static void serveAdb(Phone phone, int port) throws IOException {
        try (Daemon daemon = Device.of(phone, port)) {
            PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
            out.println("listening on 127.0.0.1:" + daemon.port());
            Thread accepting = new Thread(daemon::run, "adbd");
            accepting.setDaemon(true);
            accepting.start();
            new FileInputStream(FileDescriptor.in).transferTo(OutputStream.nullOutputStream());
        }
    }
}
