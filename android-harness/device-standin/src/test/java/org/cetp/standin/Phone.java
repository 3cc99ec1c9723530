package org.cetp.standin;

import static org.robolectric.Shadows.shadowOf;

import android.content.Context;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import org.cetp.driver.Driver;
import org.cetp.driver.LocalIdentities;
import org.cetp.driver.Rpc;
import org.robolectric.shadows.ShadowContentResolver;
import org.robolectric.shadows.ShadowPackageManager;

/** The stand-in for a device: the fixture's app and the driver apps a and b, installed and ready to talk. */
public final class Phone {
    private static final int FIXTURE_UID = 10_042;
    private static final int A_UID = 10_201;
    private static final int B_UID = 10_202;
    private static final int CONTROL_UID = 10_203;

    private final Context context;
    private final ShadowPackageManager packages;
    private final Manifest manifest;
    private ProviderProcess process;

    public Phone(Context context) throws Exception {
        this.context = context;
        packages = shadowOf(context.getPackageManager());
        // The build puts the digest of the driver's certificate there.
        String driver = Certificates.sha256("driver a");
        try (InputStream xml = Phone.class.getResourceAsStream("fixture-provider/AndroidManifest.xml")) {
            manifest = new Manifest(xml, value -> value.replace("@DRIVER_SHA256@", driver));
        }
        manifest.install(packages, FIXTURE_UID, "fixture");
    }

    /** A session of the front driver over these streams; returns when the other side is gone. */
    public void serve(InputStream in, OutputStream out, Runnable onShutdown) throws IOException {
        Driver.Device b = device(new LocalIdentities.Fixed("b", B_UID), B_UID);
        Identity.install(packages, "org.cetp.driver.b", B_UID, Certificates.signedBy("driver b"));
        packages.setPackagesForUid(B_UID, "org.cetp.driver.b");
        b.idPrefix = "b.";

        Driver.Device a = device(new Identity(packages, A_UID), A_UID);
        // One app plays callers with other certificates here, which the controls would rightly not trust.
        Identity.install(packages, "org.cetp.driver.control", CONTROL_UID, Certificates.signedBy("driver a"));
        packages.setPackagesForUid(CONTROL_UID, "org.cetp.driver.control");
        a.controlPort = new StandinPort(context.getContentResolver(), this, CONTROL_UID);
        Rpc toB = connect(new Driver(b, () -> {}));
        a.others.put("b", toB);
        new Rpc(in, out, new Driver(a, onShutdown)).run();
        toB.close();
    }

    private Driver.Device device(LocalIdentities identities, int uid) {
        Screen screen = new Screen(this);
        Driver.Device device = new Driver.Device();
        device.packages = context.getPackageManager();
        device.port = new StandinPort(context.getContentResolver(), this, uid);
        device.identities = identities;
        device.facts = screen;
        device.resolutions = screen;
        device.target = manifest.packageName();
        return device;
    }

    /** The near end of a connection to another driver, which runs beside this one. */
    private static Rpc connect(Driver far) throws IOException {
        Pipe there = Pipe.open();
        Pipe back = Pipe.open();
        Rpc farEnd = new Rpc(Channels.newInputStream(there.source()), Channels.newOutputStream(back.sink()), far);
        Rpc nearEnd =
                new Rpc(
                        Channels.newInputStream(back.source()),
                        Channels.newOutputStream(there.sink()),
                        request -> {
                            throw new IllegalStateException("a driver asks nothing of the front");
                        });
        reader("driver-b", farEnd);
        reader("link-to-b", nearEnd);
        return nearEnd;
    }

    private static void reader(String name, Rpc end) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                end.run();
                            } catch (IOException broken) {
                                throw new UncheckedIOException(broken);
                            }
                        },
                        name);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * The name under which another app finds the near end of a Binder to that provider; null where there is none. Within
     * its own process a provider is found as itself, and Robolectric has one name space for all.
     */
    String binderName(String authority, int uid) {
        if (!process().has(authority)) {
            return null;
        }
        String name = uid + "@" + authority;
        ShadowContentResolver.registerProviderInternal(name, new BinderEnd(this, authority, uid));
        return name;
    }

    String fixturePackage() {
        return manifest.packageName();
    }

    int fixtureUid() {
        return FIXTURE_UID;
    }

    /** The provider's process, started if the last one has died. */
    synchronized ProviderProcess process() {
        if (process != null && process.isDead()) {
            try {
                process.awaitBurial();
            } catch (InterruptedException stop) {
                throw new IllegalStateException(stop);
            }
            process = null;
        }
        if (process == null) {
            process = new ProviderProcess(context, manifest);
        }
        return process;
    }
}
