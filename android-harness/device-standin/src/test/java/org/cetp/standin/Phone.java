package org.cetp.standin;

import static org.robolectric.Shadows.shadowOf;

import android.content.Context;
import android.os.Bundle;
import android.util.Log;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.cetp.consumer.ExampleConsumer;
import org.cetp.consumer.ExampleInstrumentation;
import org.cetp.driver.Driver;
import org.cetp.driver.LocalIdentities;
import org.cetp.driver.Rpc;
import org.cetp.fixture.FixtureToolProvider;
import org.cetp.provider.Engine;
import org.cetp.shim.ConsumerDriver;
import org.cetp.shim.ConsumerUnderTest;
import org.robolectric.shadows.ShadowContentResolver;
import org.robolectric.shadows.ShadowPackageManager;

/** The stand-in for a device: the fixture's app and the driver apps a and b, installed and ready to talk. */
public final class Phone {
    public static final String FIXTURE = "org.cetp.fixture";
    public static final String DRIVER_A = "org.cetp.driver.a";
    public static final String DRIVER_A_SECOND = "org.cetp.driver.a.second";
    public static final String DRIVER_B = "org.cetp.driver.b";
    public static final String CONSUMER = "org.cetp.consumer";
    public static final String SCRIPTED = "org.example.p";

    private static final int FIXTURE_UID = 10_042;
    private static final int A_UID = 10_201;
    private static final int B_UID = 10_202;
    private static final int CONTROL_UID = 10_203;
    private static final int CONSUMER_UID = 10_043;
    private static final int SCRIPTED_UID = 10_044;
    private static final int SHELL_UID = 2_000;

    private final Context context;
    private final ShadowPackageManager packages;
    private final Manifest manifest;
    private final Set<String> installed = new HashSet<>();
    private final Screen screen = new Screen(this);
    private final List<Instant> deaths = new ArrayList<>();
    private final ScriptedApp scripted;
    private ProviderProcess process;

    /** A phone on which nothing is installed. */
    public Phone(Context context) throws Exception {
        this.context = context;
        packages = shadowOf(context.getPackageManager());
        // The build puts the digest of the driver's certificate there.
        String driver = Certificates.sha256("driver a");
        try (InputStream xml = Phone.class.getResourceAsStream("fixture-provider/AndroidManifest.xml")) {
            manifest = new Manifest(xml, value -> value.replace("@DRIVER_SHA256@", driver));
        }
        try (InputStream xml = Phone.class.getResourceAsStream("scripted-provider/AndroidManifest.xml")) {
            scripted = new ScriptedApp(context, new Manifest(xml, value -> value));
        }
    }

    /** Installs an app of the harness; false for any other, as there would be no code for it. */
    public synchronized boolean install(String packageName) {
        switch (packageName) {
            case FIXTURE -> manifest.install(packages, FIXTURE_UID, "fixture");
            case DRIVER_A -> Identity.install(packages, DRIVER_A, A_UID, "driver a");
            case DRIVER_A_SECOND -> {} // it is there when driver a installs it
            case CONSUMER -> Identity.install(packages, CONSUMER, CONSUMER_UID, "consumer");
            case SCRIPTED -> scripted.install(packages, SCRIPTED_UID);
            case DRIVER_B -> Identity.install(packages, DRIVER_B, B_UID, "driver b");
            default -> {
                return false;
            }
        }
        installed.add(packageName);
        return true;
    }

    public synchronized boolean uninstall(String packageName) {
        if (packageName.equals(FIXTURE) && process != null) {
            process.end();
            context.deleteDatabase(Engine.databaseName(manifest.provider(FixtureToolProvider.class.getName()).authority));
        }
        if (packageName.equals(SCRIPTED)) {
            scripted.end();
        }
        packages.removePackage(packageName);
        return installed.remove(packageName);
    }

    public synchronized Set<String> installed() {
        return new TreeSet<>(installed);
    }

    /**
     * A session of the front driver over these streams; returns when the other side is gone.
     *
     * @param target the package under test
     * @param identities whom driver a passes for
     */
    public void serve(InputStream in, OutputStream out, String target, List<String> identities, Runnable onShutdown)
            throws IOException {
        Driver.Device a = device(target, new Identity(packages, A_UID, identities), A_UID, DRIVER_A);
        // One app plays callers with other certificates here, which the controls would rightly not trust.
        Identity.install(packages, "org.cetp.driver.control", CONTROL_UID, "driver a");
        a.controlPort = new StandinPort(context.getContentResolver(), this, CONTROL_UID);
        if (installed().contains(DRIVER_B)) {
            Driver.Device b = device(target, new LocalIdentities.Fixed("b", B_UID), B_UID, DRIVER_B);
            b.idPrefix = "b.";
            a.others.put(
                    "b",
                    Link.between(
                            new Driver(b, () -> {}),
                            request -> {
                                throw new IllegalStateException("a driver asks nothing of the front");
                            })[1]);
        }
        Driver driver = new Driver(a, onShutdown);
        try {
            new Rpc(in, out, driver).run();
        } finally {
            driver.close();
        }
    }

    /**
     * A session of the example consumer over these streams; returns when the other side is gone.
     *
     * @param withScripted whether the scripted provider's app is called over the Binder
     */
    public void serveConsumer(InputStream in, OutputStream out, boolean withScripted, Runnable onShutdown)
            throws IOException {
        serveConsumer(ExampleConsumer.FACTORY, in, out, withScripted, onShutdown);
    }

    /** The same with another consumer. */
    void serveConsumer(
            ConsumerUnderTest.Factory factory, InputStream in, OutputStream out, boolean withScripted, Runnable onShutdown)
            throws IOException {
        ConsumerDriver driver =
                new ConsumerDriver(
                        factory,
                        ExampleInstrumentation.NAME,
                        ExampleInstrumentation.VERSION,
                        withScripted ? scripted.binding(installed().contains(SCRIPTED), CONSUMER_UID) : null,
                        onShutdown);
        Rpc rpc = new Rpc(in, out, driver);
        driver.connect(rpc);
        try {
            rpc.run();
        } finally {
            driver.close();
        }
    }

    private Driver.Device device(String target, LocalIdentities identities, int uid, String ownPackage) {
        Driver.Device device = new Driver.Device();
        device.packages = context.getPackageManager();
        device.port = new StandinPort(context.getContentResolver(), this, uid);
        device.identities = identities;
        device.facts = screen;
        device.resolutions = screen;
        device.target = target;
        device.ownPackage = ownPackage;
        device.firstDescribeLimitMs = 60_000; // a busy machine, on which a first database takes its time; no device is waited for
        return device;
    }

    /**
     * The name under which another app finds the near end of a Binder to that provider; null where there is none. Within
     * its own process a provider is found as itself, and Robolectric has one name space for all.
     */
    String binderName(String authority, int uid) {
        if (!installed().contains(FIXTURE) || !process().has(authority)) {
            return null;
        }
        String name = uid + "@" + authority;
        ShadowContentResolver.registerProviderInternal(name, new BinderEnd(this::process, manifest.application(), authority, uid));
        return name;
    }

    ScriptedApp scripted() {
        return scripted;
    }

    public Screen screen() {
        return screen;
    }

    /** When the provider's process died, the last time first. */
    public List<Instant> deaths() {
        synchronized (deaths) {
            List<Instant> lastFirst = new ArrayList<>(deaths);
            Collections.reverse(lastFirst);
            return lastFirst;
        }
    }

    /** Ends the provider's process as the system does; false if there was none. */
    public boolean kill() {
        ProviderProcess running;
        synchronized (this) {
            running = process;
        }
        if (running == null || running.isDead()) {
            return false;
        }
        running.end();
        return true;
    }

    /** One call from the shell, as {@code content call} makes it. */
    public Bundle callFromShell(String authority, String method, String arg, Bundle extras) throws Exception {
        return new StandinPort(context.getContentResolver(), this, SHELL_UID).call(authority, method, arg, extras);
    }

    private void died() {
        Log.i("ActivityManager", "Process " + FIXTURE + " has died");
        screen.drop();
        synchronized (deaths) {
            deaths.add(Instant.now());
        }
    }

    /** The provider's process, started if the last one has died. */
    synchronized ProviderProcess process() {
        process = ProviderProcess.living(process);
        if (process == null) {
            Log.i("ActivityManager", "Start proc " + ProcessHandle.current().pid() + ":" + FIXTURE + "/u0a42");
            process = ProviderProcess.ofFixture(context, manifest);
            process.death().thenRun(this::died);
        }
        return process;
    }
}
