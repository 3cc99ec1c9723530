package org.cetp.driver;

import android.content.pm.PackageManager;
import android.content.pm.ProviderInfo;
import android.os.Bundle;
import android.util.Log;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import org.cetp.codec.BundleCodec;
import org.cetp.codec.WireException;
import org.cetp.codec.WireScalar;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/**
 * Answers the verbs of the target protocol for a provider under test. One session at a time.
 *
 * <p>Calls to the provider have a thread each, under a watchdog: {@code call} has no time limit of its own and cannot be
 * interrupted. Everything else is done in the order in which it comes.
 */
public final class Driver implements Rpc.Handler {
    private static final String TAG = "CetpDriver";
    public static final String NAME = "android-driver";
    public static final String VERSION = "1.0.0";

    /** A verb between drivers: the UID that the other one has on the device. */
    static final String UID = "driver.uid";
    /** A verb between drivers: forget what is held. */
    static final String CLEAR = "driver.clear";
    /** A verb between drivers: open a resolution. */
    static final String LAUNCH = "driver.launch";
    /** A verb between drivers: whether the Activity that was opened has given its result. */
    static final String FINISHED = "driver.finished";

    /** What the driver needs of the device. */
    public static final class Device {
        public PackageManager packages;
        public ProviderPort port;
        /** For the controls; where it is null they go the way of the calls. */
        public ProviderPort controlPort;
        public LocalIdentities identities;
        public IntentFacts facts = IntentFacts.NONE;
        /** Null where nothing can be opened on a screen. */
        public Resolutions resolutions;
        /** The package under test. */
        public String target;
        /** This app's own package. */
        public String ownPackage;
        /** Tells the ids of this driver's objects from those of others; empty for the one that the host talks to. */
        public String idPrefix = "";
        /** Other driver apps, by the caller that each is. */
        public Map<String, Rpc> others = new HashMap<>();
        /** When a call that has not returned is given up. The runner gives up earlier; this only frees the session. */
        public long callLimitMs = 60_000;
        /** How long the fixture may take to say what it is. Below what the runner waits for a driver to say it is there. */
        public long describeLimitMs = 5_000;
        /** The same for the first time, when its process has to start. Below what the runner waits for a session. */
        public long firstDescribeLimitMs = 12_000;
    }

    /** The permission of §7.1, which the driver's manifest asks for. */
    private static final String ACCESS = "com.clawseed.permission.ACCESS_TOOLS";

    /** The optional capabilities that there are (§2.3). */
    private static final String[] CAPABILITIES = {"async_operations", "cancellation", "large_results"};

    /** How long a screen may take to close after the decision. */
    private static final long FINISH_MS = 10_000;

    private final Device device;
    private final HeldObjects held;
    private final BundleCodec codec;
    private final Callers callers;
    private final ManifestReader manifests;
    private final Map<String, Resolutions.Launch> launched = new HashMap<>();
    private Controls controls;
    private Map<String, Object> fixture;
    private List<Object> negotiable = new ArrayList<>();
    private volatile String authority;

    private final ExecutorService inOrder = Executors.newSingleThreadExecutor(new Daemons("driver-verbs"));
    private final ExecutorService calls = Executors.newCachedThreadPool(new Daemons("driver-call"));
    private final ScheduledExecutorService watchdog =
            Executors.newSingleThreadScheduledExecutor(new Daemons("driver-watchdog"));
    private final Runnable onShutdown;

    /** @param onShutdown what {@code target.shutdown} ends */
    public Driver(Device device, Runnable onShutdown) {
        this.device = device;
        this.onShutdown = onShutdown;
        held = new HeldObjects(device.idPrefix, device.facts);
        codec = new BundleCodec(held);
        callers = new Callers(device.identities, device.others);
        manifests = new ManifestReader(device.packages, codec);
    }

    /** Lets go of everything when the session is over. */
    public void close() {
        inOrder.shutdownNow();
        calls.shutdownNow();
        watchdog.shutdownNow();
        held.clear();
        for (Rpc other : callers.others()) {
            other.close();
        }
    }

    // --- requests ---

    @Override
    public void handle(final Rpc.Request request) {
        boolean waits = request.method.equals("provider.call") || request.method.equals("fd.read");
        final AtomicBoolean answered = new AtomicBoolean();
        if (waits) {
            watchdog.schedule(
                    new Runnable() {
                        @Override
                        public void run() {
                            if (answered.compareAndSet(false, true)) {
                                Log.w(TAG, request.method + " has not returned");
                                request.refuse(RpcException.cannotAct("the call has not returned"));
                            }
                        }
                    },
                    device.callLimitMs,
                    TimeUnit.MILLISECONDS);
        }
        (waits ? calls : inOrder)
                .execute(
                        new Runnable() {
                            @Override
                            public void run() {
                                answer(request, answered);
                            }
                        });
    }

    private void answer(Rpc.Request request, AtomicBoolean answered) {
        try {
            Object result = act(request.method, request.params);
            if (answered.compareAndSet(false, true)) {
                say(request, result);
            }
        } catch (RpcException refusal) {
            refuse(request, answered, refusal);
        } catch (JsonException | WireException wrong) {
            refuse(request, answered, RpcException.invalidParams(request.method + ": " + wrong.getMessage()));
        } catch (IOException | RuntimeException | Error failure) {
            Log.e(TAG, request.method, failure);
            refuse(request, answered, RpcException.cannotAct(request.method + ": " + failure));
        }
        if (request.method.equals("target.shutdown")) {
            onShutdown.run();
        }
    }

    /** What has no form on the wire, or no room in this process, is not left unanswered: that would look like a provider that hangs. */
    private static void say(Rpc.Request request, Object result) {
        try {
            request.answer(result);
        } catch (RuntimeException | Error failure) {
            Log.e(TAG, request.method, failure);
            request.refuse(RpcException.cannotAct(request.method + ": the answer cannot be sent: " + failure));
        }
    }

    private static void refuse(Rpc.Request request, AtomicBoolean answered, RpcException refusal) {
        if (answered.compareAndSet(false, true)) {
            request.refuse(refusal);
        }
    }

    private Object act(String verb, Map<String, Object> params)
            throws RpcException, JsonException, WireException, IOException {
        switch (verb) {
            case "target.describe":
                return describe(params);
            case "target.reset":
                return reset(params);
            case "target.shutdown":
                return Json.objectOf();
            case "provider.manifest":
                return manifests.read(device.target);
            case "provider.call":
                return call(params);
            case "fd.read":
                return read(params);
            case "fd.close":
                return close(params);
            case "observe.fds":
                return Json.objectOf("open", JsonNumber.of(openDescriptors()));
            case "control.user":
                return decide(params);
            case "observe.ui":
                return shown(params);
            case "control.restart":
                controls().restart(params);
                launched.clear();
                return Json.objectOf();
            case "control.scopes":
                return scopes(params);
            case "observe.audit":
                return audit();
            case "control.clock":
            case "control.operation":
            case "control.fault":
            case "control.reconfigure":
                return controls().use(verb.substring("control.".length()), params);
            case UID:
                return JsonNumber.of(device.identities.uid());
            case CLEAR:
                held.clear();
                launched.clear();
                return Json.objectOf();
            case LAUNCH:
                return launch(params);
            case FINISHED:
                return finished(params);
            default:
                throw new RpcException(RpcException.NO_SUCH_VERB, "there is no verb " + verb);
        }
    }

    // --- the target ---

    private Map<String, Object> describe(Map<String, Object> params) throws RpcException, JsonException {
        if (Json.whole(params.get("protocol"), "protocol") != 1) {
            throw RpcException.invalidParams("this target speaks version 1 of the protocol");
        }
        find();
        Map<String, Object> described =
                Json.objectOf("protocol", 1, "name", NAME, "version", VERSION, "roles", listOf("provider"));
        described.put("versions", manifests.versionsOf(device.target));
        described.put("capabilities", negotiable);
        List<Object> can = listOf("fds");
        if (callers.names().size() > 1) {
            can.add("caller_identity");
        }
        if (fixture != null) {
            for (Object control : Json.list(fixture.get("controls"), "controls")) {
                boolean needsScreen = control.equals("user_decision") || control.equals("ui");
                if (!needsScreen || device.resolutions != null) {
                    can.add(control);
                }
            }
            for (String fact : new String[] {"versions", "capabilities", "fixture", "resume_ttl_ms", "retention_ms"}) {
                if (fixture.get(fact) != null) {
                    described.put(fact, fixture.get(fact));
                }
            }
        }
        described.put("controls", can);
        described.put("callers", callers.names());
        described.put("package", device.target);
        described.put("authority", authority);
        return described;
    }

    /** Looks for the provider and its fixture; both may have been installed since the last time. */
    private void find() throws RpcException {
        authority = manifests.authorityOf(device.target);
        final Controls found = new Controls(device.controlPort == null ? device.port : device.controlPort, authority);
        boolean first = controls == null;
        long limitMs = first ? device.firstDescribeLimitMs : device.describeLimitMs;
        Future<Map<String, Object>> asked =
                calls.submit(
                        new Callable<Map<String, Object>>() {
                            @Override
                            public Map<String, Object> call() {
                                return found.describe();
                            }
                        });
        try {
            fixture = asked.get(limitMs, TimeUnit.MILLISECONDS);
            controls = found;
            if (first && fixture == null) {
                negotiable = negotiable(limitMs);
            }
        } catch (TimeoutException hangs) {
            if (first) {
                // Without its controls next to nothing would be run, and it would look as if there were none.
                throw RpcException.cannotAct(device.target + " does not say whether it carries the fixture");
            }
            // It may well be the provider that hangs, and whoever asks wants to know whether the driver does.
            Log.w(TAG, "the fixture does not say what it is");
        } catch (InterruptedException | ExecutionException failure) {
            throw RpcException.cannotAct("describe: " + failure);
        }
    }

    /** An app without the fixture says in a negotiation only which capabilities it has. None where it says nothing in time. */
    private List<Object> negotiable(long limitMs) throws InterruptedException {
        final Bundle extras = new Bundle();
        extras.putIntArray("consumer_versions", new int[] {2});
        extras.putString("consumer_capabilities", Json.write(Arrays.<Object>asList((Object[]) CAPABILITIES)));
        Future<Bundle> negotiation =
                calls.submit(
                        new Callable<Bundle>() {
                            @Override
                            public Bundle call() throws Exception {
                                return device.port.call(authority, "negotiate", null, extras);
                            }
                        });
        List<Object> negotiable = new ArrayList<>();
        try {
            Bundle reply = negotiation.get(limitMs, TimeUnit.MILLISECONDS);
            String data = reply == null ? null : reply.getString("data");
            Object told = data == null ? null : Json.parseObject(data, 64).get("capabilities");
            for (String capability : CAPABILITIES) {
                if (told instanceof List && ((List<?>) told).contains(capability)) {
                    negotiable.add(capability);
                }
            }
        } catch (ExecutionException | TimeoutException | JsonException | RuntimeException saysNothing) {
            Log.i(TAG, "no capabilities are known: " + saysNothing);
        }
        return negotiable;
    }

    private Controls controls() throws RpcException {
        if (controls == null) {
            find();
        }
        if (fixture == null) {
            throw RpcException.cannotAct(device.target + " does not carry the fixture, or does not trust this driver");
        }
        return controls;
    }

    /** Without the fixture nothing can be undone; then the time is the device's own. */
    private Map<String, Object> reset(Map<String, Object> params) throws RpcException, IOException {
        if (controls == null) {
            find();
        }
        launched.clear();
        held.clear();
        for (Rpc other : callers.others()) {
            other.request(CLEAR, Json.objectOf());
        }
        callers.reset();
        if (fixture == null) {
            return Json.objectOf("now_ms", JsonNumber.of(System.currentTimeMillis()));
        }
        controls.use("reset", params);
        return Json.objectOf("now_ms", params.get("now_ms"));
    }

    // --- the provider ---

    private Object call(Map<String, Object> params) throws RpcException, JsonException, WireException, IOException {
        String name = callers.nameOf(params.get("caller"));
        Rpc other = callers.other(name);
        if (other != null) {
            return other.request("provider.call", params);
        }
        String to = Json.text(params.get("authority"), "authority");
        String method = WireScalar.toText(params.get("method"));
        String arg = params.get("arg") == null ? null : WireScalar.toText(params.get("arg"));
        Bundle extras = codec.decode(params.get("extras"));
        requireAccess(to);
        Bundle reply;
        Lock identity = callers.as(name);
        try {
            reply = device.port.call(to, method, arg, extras);
            if (reply != null) {
                reply.size(); // reads it: what cannot be read is an exception to every consumer
            }
        } catch (Exception thrown) {
            String message = thrown.getMessage() == null ? "" : thrown.getMessage();
            return Json.objectOf("exception", Json.objectOf("class", thrown.getClass().getName(), "message", message));
        } finally {
            identity.unlock();
        }
        // What fails from here on is the driver's own failure, and no exception of the provider.
        Map<String, Object> answer = new HashMap<>();
        answer.put("bundle", codec.encode(reply));
        return answer;
    }

    /**
     * An app that was installed before the one that declares a permission never gets it, and would be kept out of every
     * call. That is how the device was set up and nothing that the provider does.
     */
    private void requireAccess(String to) throws RpcException {
        ProviderInfo provider = device.packages.resolveContentProvider(to, 0);
        boolean asks = provider != null && ACCESS.equals(provider.readPermission);
        if (asks && device.packages.checkPermission(ACCESS, device.ownPackage) != PackageManager.PERMISSION_GRANTED) {
            throw RpcException.cannotAct(
                    device.ownPackage + " does not hold " + ACCESS + ": install the drivers after the app that declares it");
        }
    }

    private Object read(Map<String, Object> params) throws RpcException, JsonException, IOException {
        String id = Json.text(params.get("fd"), "fd");
        Rpc other = holder(id);
        if (other != null) {
            return other.request("fd.read", params);
        }
        long maxBytes = Json.whole(params.get("max_bytes"), "max_bytes");
        if (maxBytes <= 0) {
            throw RpcException.invalidParams("max_bytes is not positive");
        }
        byte[] bytes = held.read(id, maxBytes);
        return Json.objectOf("base64", WireScalar.ofBytes(bytes), "eof", bytes.length == 0);
    }

    private Object close(Map<String, Object> params) throws RpcException, JsonException, IOException {
        String id = Json.text(params.get("fd"), "fd");
        Rpc other = holder(id);
        if (other != null) {
            return other.request("fd.close", params);
        }
        held.closeDescriptor(id);
        return Json.objectOf();
    }

    private long openDescriptors() throws IOException, RpcException, JsonException {
        long open = held.openDescriptors();
        for (Rpc other : callers.others()) {
            open += Json.whole(Json.object(other.request("observe.fds", Json.objectOf()), "fds").get("open"), "open");
        }
        return open;
    }

    /** The driver that holds an object: another one's id begins with the name of the caller that it is, and a dot. */
    private Rpc holder(String id) {
        int dot = id.indexOf('.');
        return dot < 0 ? null : callers.other(id.substring(0, dot));
    }

    // --- controls that the driver has a part in ---

    /** Opens the resolution as a consumer does, has the user decide on the screen, and waits for the Activity's result. */
    private Object decide(Map<String, Object> params) throws RpcException, JsonException, IOException {
        Map<String, Object> onScreen = Json.objectOf("decision", params.get("decision"), "after", screensOpened());
        launch(params);
        controls().use("press", onScreen);
        return Json.objectOf("activity_finished", finished(params));
    }

    /** What stands on the screen. It stays open: reading is no decision. */
    private Object shown(Map<String, Object> params) throws RpcException, JsonException, IOException {
        Map<String, Object> onScreen = Json.objectOf("after", screensOpened());
        launch(params);
        return controls().use("screen", onScreen);
    }

    /**
     * How many screens were opened before the one that is about to be. It comes up a moment after it was asked for, and one
     * that was only looked at is still there: without this, that one would be taken for it.
     */
    private Object screensOpened() throws RpcException {
        return controls().use("screens", Json.objectOf()).get("opened");
    }

    /** Whoever was given the PendingIntent opens it. */
    private Object launch(Map<String, Object> params) throws RpcException, JsonException, IOException {
        String id = Json.text(params.get("pending_intent"), "pending_intent");
        Rpc other = holder(id);
        if (other != null) {
            return other.request(LAUNCH, params);
        }
        if (device.resolutions == null) {
            throw RpcException.cannotAct("nothing can be opened here");
        }
        launched.put(id, device.resolutions.launch(held.intent(id)));
        return Json.objectOf();
    }

    private Object finished(Map<String, Object> params) throws RpcException, JsonException, IOException {
        String id = Json.text(params.get("pending_intent"), "pending_intent");
        Rpc other = holder(id);
        if (other != null) {
            return other.request(FINISHED, params);
        }
        Resolutions.Launch launch = launched.remove(id);
        try {
            return launch != null && launch.awaitFinished(FINISH_MS);
        } catch (InterruptedException stop) {
            throw RpcException.cannotAct("interrupted");
        }
    }

    private Object scopes(Map<String, Object> params) throws RpcException, JsonException, IOException {
        String name = callers.nameOf(params.get("caller"));
        Map<String, Object> translated = new HashMap<>(params);
        translated.remove("caller");
        translated.put("uid", callers.deviceUid(name));
        if (callers.other(name) != null) {
            return controls().use("scopes", translated);
        }
        // The fixture asks the platform who that UID is, so this app has to be it meanwhile.
        Lock identity = callers.as(name);
        try {
            return controls().use("scopes", translated);
        } finally {
            identity.unlock();
        }
    }

    /** The device's UIDs are the wire's when they reach the host. */
    private Object audit() throws RpcException, JsonException, IOException {
        List<Object> events = new ArrayList<>();
        for (Object each : Json.list(controls().use("audit", Json.objectOf()).get("events"), "events")) {
            Map<String, Object> event = Json.object(each, "an event");
            long uid = Json.whole(event.get("caller_uid"), "caller_uid");
            event.put("caller_uid", callers.wireUid(uid));
            events.add(event);
        }
        return Json.objectOf("events", events);
    }

    private static List<Object> listOf(Object only) {
        List<Object> list = new ArrayList<>();
        list.add(only);
        return list;
    }

    /** Threads that do not keep the process alive. */
    private static final class Daemons implements ThreadFactory {
        private final String name;

        Daemons(String name) {
            this.name = name;
        }

        @Override
        public Thread newThread(Runnable work) {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        }
    }
}
