package org.cetp.shim;

import android.os.Bundle;
import android.util.Log;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.cetp.codec.BundleCodec;
import org.cetp.codec.WireException;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/** Answers the verbs of the target protocol with a consumer. One session at a time. */
public final class ConsumerDriver implements Rpc.Handler {
    private static final String TAG = "CetpDriver";

    /** What comes from a provider may be nested deeply, and looking at it takes stack. */
    private static final long STACK_BYTES = 64 << 20;

    /** How long what comes after it waits for a cancellation to take effect. */
    private static final long CANCEL_MS = 500;

    private final ConsumerUnderTest.Factory factory;
    private final String name;
    private final String version;
    private final Runnable onShutdown;
    private final ExecutorService threads =
            Executors.newCachedThreadPool(
                    new ThreadFactory() {
                        @Override
                        public Thread newThread(Runnable work) {
                            Thread thread = new Thread(null, work, "consumer", STACK_BYTES);
                            thread.setDaemon(true);
                            return thread;
                        }
                    });
    private Rpc host;
    private final ScriptedLink link;
    private HostPlatform platform;
    /** Between the consumer and the host's platform, where a scripted provider is used; else null. */
    private ScriptedPlatform scripted;
    private ConsumerUnderTest consumer;

    /**
     * @param binding the way to a scripted provider; null where the host plays every provider at the consumer's platform
     * @param onShutdown what {@code target.shutdown} ends
     */
    public ConsumerDriver(
            ConsumerUnderTest.Factory factory, String name, String version, ScriptedBinding binding, Runnable onShutdown) {
        this.factory = factory;
        this.name = name;
        this.version = version;
        this.link = binding == null ? null : new ScriptedLink(binding);
        this.onShutdown = onShutdown;
    }

    /** The connection to the host; before the first request. */
    public synchronized void connect(Rpc connection) {
        host = connection;
        begin();
    }

    private synchronized void begin() {
        platform = new HostPlatform(host);
        if (link == null) {
            consumer = factory.create(platform);
            return;
        }
        if (scripted != null) {
            scripted.close();
        }
        scripted = new ScriptedPlatform(platform, host, link);
        consumer = factory.create(scripted);
    }

    public synchronized void close() {
        threads.shutdownNow();
        if (scripted != null) {
            scripted.close();
            link.close();
        }
    }

    @Override
    public void handle(final Rpc.Request request) {
        // These are quick, and take effect in the order in which they come.
        boolean cancels = request.method.equals("consumer.cancel");
        boolean atOnce =
                !cancels && !request.method.equals("consumer.discover") && !request.method.equals("consumer.execute");
        if (atOnce) {
            answer(request);
            return;
        }
        final CountDownLatch done = new CountDownLatch(1);
        threads.execute(
                new Runnable() {
                    @Override
                    public void run() {
                        try {
                            answer(request);
                        } finally {
                            done.countDown();
                        }
                    }
                });
        if (cancels) {
            // It is to take effect before what the host says next. But the app may call the provider in it, whose answer this
            // thread has to read; then it goes on beside what comes.
            try {
                done.await(CANCEL_MS, TimeUnit.MILLISECONDS);
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void answer(Rpc.Request request) {
        try {
            Object result = act(request.method, request.params);
            String broken = broken();
            if (broken != null) {
                throw RpcException.cannotAct(broken); // an error of the harness, and not what the consumer has done
            }
            request.answer(result);
        } catch (RpcException refusal) {
            request.refuse(refusal);
        } catch (JsonException | WireException wrong) {
            request.refuse(RpcException.invalidParams(request.method + ": " + wrong.getMessage()));
        } catch (RuntimeException | StackOverflowError failure) {
            Log.e(TAG, request.method, failure);
            request.refuse(RpcException.cannotAct(request.method + ": " + failure));
        }
        if (request.method.equals("target.shutdown")) {
            close();
            onShutdown.run();
        }
    }

    private synchronized String broken() {
        return scripted == null ? null : scripted.broken();
    }

    private Object act(String verb, Map<String, Object> params) throws RpcException, JsonException, WireException {
        ConsumerUnderTest asked;
        HostPlatform around;
        synchronized (this) {
            asked = consumer;
            around = platform;
        }
        switch (verb) {
            case "target.describe":
                return describe(params);
            case "target.reset":
                begin();
                return Json.objectOf("now_ms", params.get("now_ms"));
            case "target.shutdown":
                return Json.objectOf();
            case "consumer.discover":
                List<Object> rows = new ArrayList<>();
                for (Row row : asked.discover(apps(Json.list(params.get("packages"), "packages")))) {
                    rows.add(row.toJson());
                }
                return Json.objectOf("providers", rows);
            case "consumer.execute":
                return asked.execute(
                                Json.text(params.get("provider_id"), "provider_id"),
                                Json.text(params.get("tool"), "tool"),
                                Json.text(params.get("args"), "args"),
                                Json.whole(params.get("timeout_ms"), "timeout_ms"))
                        .toJson();
            case "consumer.cancel":
                asked.cancel(Json.text(params.get("provider_id"), "provider_id"), Json.text(params.get("tool"), "tool"));
                return Json.objectOf();
            case "observe.fds":
                return Json.objectOf("open", JsonNumber.of(around.openDescriptors()));
            default:
                throw new RpcException(RpcException.NO_SUCH_VERB, "there is no verb " + verb);
        }
    }

    private Map<String, Object> describe(Map<String, Object> params) throws RpcException, JsonException {
        if (Json.whole(params.get("protocol"), "protocol") != 1) {
            throw RpcException.invalidParams("this target speaks version 1 of the protocol");
        }
        return Json.objectOf(
                "protocol", 1,
                "name", name,
                "version", version,
                "roles", Arrays.<Object>asList("consumer"),
                "versions", Arrays.<Object>asList(1, 2),
                "capabilities", new ArrayList<Object>(factory.capabilities()),
                "controls", Arrays.<Object>asList("fds"),
                "callers", new ArrayList<Object>());
    }

    private static List<InstalledApp> apps(List<Object> packages) throws JsonException, WireException {
        List<InstalledApp> apps = new ArrayList<>();
        for (Object each : packages) {
            Map<String, Object> app = Json.object(each, "a package");
            List<InstalledApp.Service> services = new ArrayList<>();
            for (Object one : Json.list(app.get("services"), "services")) {
                Map<String, Object> service = Json.object(one, "a service");
                List<String> actions = new ArrayList<>();
                for (Object action : Json.list(service.get("actions"), "actions")) {
                    actions.add(Json.text(action, "an action"));
                }
                Object metaData = service.get("meta_data");
                Bundle bundle = new BundleCodec(null).decode(metaData == null ? new HashMap<String, Object>() : metaData);
                services.add(new InstalledApp.Service(Boolean.TRUE.equals(service.get("exported")), actions, bundle));
            }
            List<InstalledApp.Provider> providers = new ArrayList<>();
            for (Object one : Json.list(app.get("providers"), "providers")) {
                Map<String, Object> provider = Json.object(one, "a provider");
                String authority = Json.text(provider.get("authority"), "authority");
                providers.add(new InstalledApp.Provider(authority, Boolean.TRUE.equals(provider.get("exported"))));
            }
            apps.add(new InstalledApp(Json.text(app.get("package"), "package"), services, providers));
        }
        return apps;
    }
}
