package org.cetp.driver.device;

import android.app.Service;
import android.content.Intent;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.content.pm.Signature;
import android.os.Build;
import android.os.IBinder;
import android.os.ParcelFileDescriptor;
import android.util.Log;
import java.io.FileOutputStream;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.cetp.driver.Driver;
import org.cetp.driver.LocalIdentities;
import org.cetp.driver.Rpc;

/**
 * The driver without instrumentation, in two parts: bound, it plays its caller for the front driver; started by the shell
 * ({@code am startservice -n PACKAGE/org.cetp.driver.device.DriverService --es target PACKAGE}), it listens like the
 * instrumentation does, but opens no screens and tells no explicitness. From API 26 on that takes {@code cmd deviceidle
 * tempwhitelist -d MILLISECONDS PACKAGE} before it, as the app is in the background.
 */
public class DriverService extends Service {
    /** The manifest's meta-data: SHA-256 of the front driver's certificate in lowercase hex. Nobody else is let in. */
    private static final String FRONT = "org.cetp.driver.front_sha256";

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        final String target = intent == null ? null : intent.getStringExtra("target");
        if (target == null) {
            stopSelf();
            return START_NOT_STICKY;
        }
        Thread server =
                new Thread("driver-server") {
                    @Override
                    public void run() {
                        listen(target);
                        stopSelf();
                    }
                };
        server.start();
        return START_NOT_STICKY;
    }

    private void listen(final String target) {
        SocketServer.Sessions sessions =
                new SocketServer.Sessions() {
                    @Override
                    public SocketServer.Session open(Runnable onShutdown) {
                        Driver.Device device = DeviceParts.of(DriverService.this, target);
                        device.resolutions = null; // nothing comes up from the background
                        return SocketServer.of(new Driver(device, onShutdown));
                    }
                };
        try (SocketServer server = new SocketServer(SocketServer.DEFAULT_NAME, sessions)) {
            server.run();
        } catch (IOException failure) {
            Log.e(SocketServer.TAG, "the driver cannot listen", failure);
        }
    }

    @Override
    public IBinder onBind(Intent intent) {
        return new PeerBinder() {
            @Override
            protected void enforceCaller(int uid) {
                enforceFront(uid);
            }

            @Override
            protected ParcelFileDescriptor open(String target) throws IOException {
                return session(target);
            }
        };
    }

    /** A session over a socket pair; the end for the other side. */
    private ParcelFileDescriptor session(String target) throws IOException {
        ParcelFileDescriptor[] pair = ParcelFileDescriptor.createReliableSocketPair();
        Driver.Device device = DeviceParts.of(this, target);
        LocalIdentities identities = device.identities;
        device.idPrefix = identities.names().get(0) + ".";
        final Driver driver =
                new Driver(
                        device,
                        new Runnable() {
                            @Override
                            public void run() {
                                // The session ends with its stream.
                            }
                        });
        final Rpc rpc =
                new Rpc(
                        new ParcelFileDescriptor.AutoCloseInputStream(pair[0]),
                        new FileOutputStream(pair[0].getFileDescriptor()),
                        driver);
        Thread session =
                new Thread("driver-session") {
                    @Override
                    public void run() {
                        try {
                            rpc.run();
                        } catch (IOException ended) {
                            Log.i(SocketServer.TAG, "session: " + ended.getMessage());
                        } finally {
                            driver.close();
                        }
                    }
                };
        session.setDaemon(true);
        session.start();
        return pair[1];
    }

    /** The front has another key than this app, so it is known by its certificate and not by a signature permission. */
    private void enforceFront(int uid) {
        PackageManager packages = getPackageManager();
        String[] names = packages.getPackagesForUid(uid);
        try {
            ApplicationInfo own = packages.getApplicationInfo(getPackageName(), PackageManager.GET_META_DATA);
            String expected = own.metaData == null ? null : own.metaData.getString(FRONT);
            if (expected != null && names != null && names.length > 0) {
                Signature[] signers = signersOf(packages, names[0]);
                if (signers != null && signers.length == 1 && expected.equals(digest(signers[0]))) {
                    return;
                }
            }
        } catch (PackageManager.NameNotFoundException | NoSuchAlgorithmException cannotTell) {
            Log.w(SocketServer.TAG, "the caller cannot be told: " + cannotTell);
        }
        throw new SecurityException("only the front driver may use this");
    }

    @SuppressWarnings("deprecation")
    private static Signature[] signersOf(PackageManager packages, String name) throws PackageManager.NameNotFoundException {
        if (Build.VERSION.SDK_INT >= 28) {
            android.content.pm.SigningInfo info =
                    packages.getPackageInfo(name, PackageManager.GET_SIGNING_CERTIFICATES).signingInfo;
            return info == null ? null : info.getApkContentsSigners();
        }
        return packages.getPackageInfo(name, PackageManager.GET_SIGNATURES).signatures;
    }

    private static String digest(Signature signer) throws NoSuchAlgorithmException {
        StringBuilder hex = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(signer.toByteArray())) {
            hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return hex.toString();
    }
}
