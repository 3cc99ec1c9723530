package org.cetp.standin;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.robolectric.Shadows.shadowOf;

import android.app.Activity;
import android.app.PendingIntent;
import android.content.Intent;
import android.net.Uri;
import android.os.Bundle;
import android.os.DeadObjectException;
import android.os.Handler;
import android.os.Looper;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.cetp.driver.Driver;
import org.cetp.driver.LocalIdentities;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;
import org.cetp.json.Json;
import org.cetp.json.JsonNumber;
import org.cetp.provider.ConfirmationActivity;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;
import org.robolectric.annotation.LooperMode;

/** The driver with a provider behind it, as a host sees them. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE, shadows = ThreadBinder.class)
@LooperMode(LooperMode.Mode.INSTRUMENTATION_TEST) // the device's main thread is none of the test's
public class DriverTest {
    private static final String AUTHORITY = "org.cetp.fixture.clawseed.tools";
    private static final Map<String, Object> CALLERS = callers();

    private Phone phone;
    private Rpc host;

    private static Map<String, Object> callers() {
        try (var in = Rpc.class.getResourceAsStream("callers.json")) {
            return Json.parseObject(new String(in.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8), 16);
        } catch (Exception broken) {
            throw new IllegalStateException(broken);
        }
    }

    @Before
    public void connect() throws Exception {
        phone = new Phone(RuntimeEnvironment.getApplication());
        for (String app : List.of(Phone.FIXTURE, Phone.DRIVER_A, Phone.DRIVER_B)) {
            assertTrue(phone.install(app));
        }
        Pipe there = Pipe.open();
        Pipe back = Pipe.open();
        Link.daemon(() -> phone.serve(
                Channels.newInputStream(there.source()), Channels.newOutputStream(back.sink()), Phone.FIXTURE, Identity.ALL, () -> {}));
        host = new Rpc(
                Channels.newInputStream(back.source()),
                Channels.newOutputStream(there.sink()),
                request -> {
                    throw new IllegalStateException("a driver of providers asks nothing: " + request.method);
                });
        Link.daemon(host::run);
        ask("target.reset", "nonce", "n", "now_ms", JsonNumber.of(1_780_000_000_000L));
    }

    @After
    public void close() {
        host.close();
    }

    private Map<String, Object> ask(String verb, Object... params) throws Exception {
        return Json.object(host.request(verb, Json.objectOf(params)), verb);
    }

    private Map<String, Object> call(String caller, String method, Map<String, Object> extras) throws Exception {
        Map<String, Object> params =
                Json.objectOf("caller", CALLERS.get(caller), "authority", AUTHORITY, "method", method, "extras", extras);
        params.put("arg", null);
        return Json.object(host.request("provider.call", params), method);
    }

    private static Object extra(String type, Object value) {
        return Json.objectOf(type, value);
    }

    private String negotiate(String caller) throws Exception {
        Map<String, Object> extras = Json.objectOf(
                "consumer_versions", extra("int_array", List.of(JsonNumber.of(2))), "consumer_capabilities", extra("string", "[]"));
        Map<String, Object> data = data(call(caller, "negotiate", extras));
        return Json.text(data.get("session_token"), "session_token");
    }

    private Map<String, Object> execute(String caller, String token, String id, String tool, String args) throws Exception {
        return call(caller, "execute_tool", Json.objectOf(
                "protocol_version", extra("int", JsonNumber.of(2)), "session_token", extra("string", token),
                "request_id", extra("string", id), "deadline_at_ms", extra("long", JsonNumber.of(1_780_000_060_000L)),
                "tool_name", extra("string", tool), "args", extra("string", args)));
    }


    private static String text(Map<String, Object> reply, String key) throws Exception {
        Map<String, Object> value = Json.object(Json.object(reply.get("bundle"), "bundle").get(key), key);
        return Json.text(value.get("string"), key);
    }

    private static Map<String, Object> data(Map<String, Object> reply) throws Exception {
        return Json.parseObject(text(reply, "data"), 64);
    }

    @Test
    public void everyCallerReachesTheProviderAsItself() throws Exception {
        String a = negotiate("a");
        String b = negotiate("b");
        String id = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
        assertEquals("success", text(execute("a", a, id, "fixture_echo", "{\"value\":1}"), "status"));
        assertEquals("success", text(execute("b", b, id, "fixture_echo", "{\"value\":1}"), "status"));
        // §2.2: a token is bound to the UID.
        assertEquals("error", text(execute("b", a, id, "fixture_echo", "{\"value\":1}"), "status"));
        // §7.1: another key is another identity.
        Map<String, Object> other = execute("a_other_key", a, id, "fixture_append", "{\"value\":\"x\"}");
        assertEquals("error", text(other, "status"));
    }

    @Test
    public void objectsOfAnotherDriverAreFoundAgain() throws Exception {
        String b = negotiate("b");
        Map<String, Object> reply =
                execute("b", b, "6f9619ff-8b86-4011-b42d-00c04fc964aa", "fixture_transfer", "{\"to\":\"x\",\"amount\":1}");
        assertEquals("USER_ACTION_REQUIRED", text(reply, "error_code"));
        Map<String, Object> resolution = Json.object(Json.object(reply.get("bundle"), "bundle").get("resolution"), "resolution");
        Map<String, Object> intent = Json.object(resolution.get("pending_intent"), "pending_intent");
        assertTrue(Json.text(intent.get("id"), "id").startsWith("b."));
        assertEquals(Phone.FIXTURE, intent.get("creator_package"));
        assertEquals(Boolean.TRUE, intent.get("immutable"));
        assertEquals(Boolean.TRUE, intent.get("explicit"));
    }

    @Test
    public void aScreenThatWasOnlyLookedAtIsNotTakenForTheNext() throws Exception {
        String a = negotiate("a");
        String first = asked(execute("a", a, "6f9619ff-8b86-4011-b42d-00c04fc964c1", "fixture_transfer", "{\"to\":\"carol\",\"amount\":1}"));
        String second = asked(execute("a", a, "6f9619ff-8b86-4011-b42d-00c04fc964c2", "fixture_transfer", "{\"to\":\"dave\",\"amount\":2}"));
        assertTrue(ask("observe.ui", "pending_intent", first).toString().contains("carol"));
        assertTrue(ask("observe.ui", "pending_intent", second).toString().contains("dave"));
        // Each screen is there still; what is decided on is what was opened for the decision.
        assertEquals(true, ask("control.user", "pending_intent", first, "decision", "deny").get("activity_finished"));
        assertEquals(true, ask("control.user", "pending_intent", second, "decision", "approve").get("activity_finished"));
        Map<String, Object> ended =
                execute("a", a, "6f9619ff-8b86-4011-b42d-00c04fc964c1", "fixture_transfer", "{\"to\":\"carol\",\"amount\":1}");
        assertEquals("USER_CANCELLED", text(ended, "error_code"));
    }

    /** On a slow device it comes up when the vector that asked for it is over. It must not decide on what the next one asks. */
    @Test
    public void aScreenThatIsJustComingUpIsClosedByAReset() throws Exception {
        asked(execute("a", negotiate("a"), "6f9619ff-8b86-4011-b42d-00c04fc964c3", "fixture_transfer", "{\"to\":\"erin\",\"amount\":1}"));
        Intent first = new Intent().setData(Uri.parse("content://" + AUTHORITY + "/confirmations/1"));
        FutureTask<Activity> created =
                new FutureTask<>(() -> Robolectric.buildActivity(ConfirmationActivity.class, first).create().get());
        new Handler(Looper.getMainLooper()).post(created);
        assertFalse(created.get().isFinishing());
        ask("target.reset", "nonce", "n", "now_ms", JsonNumber.of(1_780_000_000_000L));
        assertTrue(created.get().isFinishing());
    }

    private static String asked(Map<String, Object> reply) throws Exception {
        Map<String, Object> resolution = Json.object(Json.object(reply.get("bundle"), "bundle").get("resolution"), "resolution");
        return Json.text(Json.object(resolution.get("pending_intent"), "pending_intent").get("id"), "id");
    }

    @Test
    public void nothingIsGrantedToWhoIsNotSeen() throws Exception {
        ask("control.scopes", "caller", CALLERS.get("b"), "grant", List.of("fixture.secret"));
        phone.uninstall(Phone.DRIVER_B);
        RpcException refused = assertThrows(
                RpcException.class, () -> ask("control.scopes", "caller", CALLERS.get("b"), "grant", List.of("fixture.secret")));
        assertTrue(refused.getMessage(), refused.getMessage().contains("<queries>"));
    }

    /** As where the driver was installed before the app that declares it. */
    @Test
    public void aPermissionThatTheDriverDidNotGetIsNoReplyOfTheProvider() throws Exception {
        // Robolectric grants what is asked for.
        shadowOf(RuntimeEnvironment.getApplication().getPackageManager())
                .getInternalMutablePackageInfo(Phone.DRIVER_B).requestedPermissions = null;
        negotiate("a");
        RpcException kept = assertThrows(RpcException.class, () -> negotiate("b"));
        assertTrue(kept.getMessage(), kept.getMessage().contains("install the drivers after"));
    }

    @Test
    public void callsOverlap() throws Exception {
        String a = negotiate("a");
        List<CompletableFuture<Map<String, Object>>> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            String id = "6f9619ff-8b86-4011-b42d-00c04fc9640" + i;
            calls.add(CompletableFuture.supplyAsync(() -> {
                try {
                    return execute("a", a, id, "fixture_append", "{\"value\":\"v\"}");
                } catch (Exception failure) {
                    throw new IllegalStateException(failure);
                }
            }));
        }
        for (CompletableFuture<Map<String, Object>> call : calls) {
            assertEquals("success", text(call.join(), "status"));
        }
        Map<String, Object> ledger = execute("a", a, "6f9619ff-8b86-4011-b42d-00c04fc96411", "fixture_ledger", "{}");
        Object entries = Json.object(data(ledger).get("value"), "value").get("entries");
        assertEquals(4, Json.list(entries, "entries").size());
    }

    @Test
    public void theEndOfTheProcessIsAnExceptionAndTheNextOneGoesOn() throws Exception {
        String a = negotiate("a");
        ask("control.fault", "at", "after_commit", "tool", "fixture_append");
        String id = "6f9619ff-8b86-4011-b42d-00c04fc96422";
        Map<String, Object> died = execute("a", a, id, "fixture_append", "{\"value\":\"v\"}");
        assertEquals("android.os.DeadObjectException", Json.object(died.get("exception"), "exception").get("class"));
        // §6: the repetition finds what was committed.
        Map<String, Object> again = execute("a", negotiate("a"), id, "fixture_append", "{\"value\":\"v\"}");
        assertEquals("success", text(again, "status"));
        Map<String, Object> ledger = execute("a", negotiate("a"), "6f9619ff-8b86-4011-b42d-00c04fc96433", "fixture_ledger", "{}");
        assertEquals(1, Json.list(Json.object(data(ledger).get("value"), "value").get("entries"), "entries").size());
    }

    /** Another driver was told of the death first, or the process died on a thread of its own. */
    @Test
    public void aControlThatMetADeadProcessIsNotTakenForDone() throws Exception {
        List<String> reached = new ArrayList<>();
        List<String> dying = new ArrayList<>();
        Driver.Device device = ofDriverA();
        device.port = (authority, method, arg, extras) -> {
            if (dying.remove(method)) {
                throw new DeadObjectException();
            }
            reached.add(method);
            Bundle reply = new Bundle();
            reply.putString("result", "{\"controls\":[]}");
            return reply;
        };
        Rpc driver = Link.between(new Driver(device, () -> {}), request -> {})[1];
        Map<String, Object> reset = Json.objectOf("nonce", "n", "now_ms", JsonNumber.of(1));
        driver.request("target.reset", reset);
        reached.clear();
        // What may be done again is done in the next process.
        dying.add("reset");
        driver.request("target.reset", reset);
        assertEquals(List.of("reset"), reached);
        // A dead process is noticed before what may not.
        reached.clear();
        dying.add("describe");
        driver.request("control.clock", Json.objectOf("advance_ms", JsonNumber.of(5)));
        assertEquals(List.of("describe", "clock"), reached);
        dying.add("clock");
        RpcException nobodyKnows = assertThrows(
                RpcException.class, () -> driver.request("control.clock", Json.objectOf("advance_ms", JsonNumber.of(5))));
        assertEquals(-32000, nobodyKnows.code);
        // An operation has its effect there, and a fault may be due at it.
        dying.add("operation");
        driver.request("control.operation", Json.objectOf("operation_id", "op", "to", "commit"));
        driver.close();
    }

    /** What driver a has on a device, but for its port to the provider. */
    private static Driver.Device ofDriverA() {
        Driver.Device device = new Driver.Device();
        device.packages = RuntimeEnvironment.getApplication().getPackageManager();
        device.identities = new LocalIdentities.Fixed("a", 1);
        device.target = Phone.FIXTURE;
        device.ownPackage = Phone.DRIVER_A;
        return device;
    }

    /** The runner asks for it to know who hangs: the provider, or the driver. */
    @Test
    public void theDriverSaysThatItIsThereWhileTheProviderHangs() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        Driver.Device device = ofDriverA();
        device.callLimitMs = 200;
        device.describeLimitMs = 200;
        CountDownLatch hangs = new CountDownLatch(1);
        device.port = (authority, method, arg, extras) -> {
            if (hangs.getCount() > 0) {
                throw new IllegalArgumentException("Unknown authority " + authority);
            }
            never.await();
            return null;
        };
        Rpc hung = Link.between(new Driver(device, () -> {}), request -> {})[1];
        hung.request("target.describe", Json.objectOf("protocol", JsonNumber.of(1)));
        hangs.countDown();
        RpcException given = assertThrows(RpcException.class, () -> hung.request(
                "provider.call", Json.objectOf("caller", CALLERS.get("a"), "authority", AUTHORITY, "method", "negotiate")));
        assertTrue(given.getMessage(), given.getMessage().contains("has not returned"));
        Object described = hung.request("target.describe", Json.objectOf("protocol", JsonNumber.of(1)));
        assertEquals(AUTHORITY, Json.object(described, "describe").get("authority"));
        never.countDown();
        hung.close();
    }

    /** As most apps are. The runner takes no description without versions and capabilities. */
    @Test
    public void anAppWithoutTheFixtureIsDescribedAllTheSame() throws Exception {
        Driver.Device device = ofDriverA();
        device.port = (authority, method, arg, extras) -> {
            if (!authority.equals(AUTHORITY)) {
                throw new IllegalArgumentException("Unknown authority " + authority);
            }
            Bundle reply = new Bundle();
            reply.putString("data", "{\"selected_version\":2,\"capabilities\":[\"large_results\",\"of_its_own\"]}");
            return reply;
        };
        Rpc driver = Link.between(new Driver(device, () -> {}), request -> {})[1];
        Map<String, Object> described =
                Json.object(driver.request("target.describe", Json.objectOf("protocol", JsonNumber.of(1))), "describe");
        assertEquals(List.of(JsonNumber.of(1), JsonNumber.of(2)), described.get("versions"));
        assertEquals(List.of("large_results"), described.get("capabilities"));
        assertEquals(List.of("fds"), described.get("controls"));
        assertFalse(described.containsKey("fixture"));
        driver.close();
    }

    /** On a device that is busy, say. Taken for one without the fixture, it would have all its vectors not run. */
    @Test
    public void aFixtureThatIsSlowToStartIsNotTakenForNone() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        Driver.Device device = ofDriverA();
        device.describeLimitMs = 1;
        device.firstDescribeLimitMs = 200;
        device.port = (authority, method, arg, extras) -> {
            started.await();
            Bundle reply = new Bundle();
            reply.putString("result", "{\"controls\":[\"clock\"]}");
            return reply;
        };
        Rpc driver = Link.between(new Driver(device, () -> {}), request -> {})[1];
        Map<String, Object> protocol = Json.objectOf("protocol", JsonNumber.of(1));
        for (Map.Entry<String, Map<String, Object>> verb : Map.of(
                "target.describe", protocol, "target.reset", Json.objectOf("now_ms", JsonNumber.of(1))).entrySet()) {
            RpcException refused = assertThrows(RpcException.class, () -> driver.request(verb.getKey(), verb.getValue()));
            assertTrue(refused.getMessage(), refused.getMessage().contains("does not say whether"));
        }
        started.countDown();
        Object described = driver.request("target.describe", protocol);
        assertTrue(Json.list(Json.object(described, "describe").get("controls"), "controls").contains("clock"));
        driver.close();
    }

    @Test
    public void whatTheDriverFailsAtIsNoExceptionOfTheProvider() throws Exception {
        Driver.Device device = ofDriverA();
        device.facts = pending -> {
            throw new IllegalStateException("the device does not tell");
        };
        device.port = (authority, method, arg, extras) -> {
            Bundle reply = new Bundle();
            reply.putParcelable("resolution", PendingIntent.getActivity(
                    RuntimeEnvironment.getApplication(), 0, new Intent("x"), PendingIntent.FLAG_IMMUTABLE));
            return reply;
        };
        Rpc driver = Link.between(new Driver(device, () -> {}), request -> {})[1];
        RpcException own = assertThrows(RpcException.class, () -> driver.request(
                "provider.call", Json.objectOf("caller", CALLERS.get("a"), "authority", AUTHORITY, "method", "negotiate")));
        assertEquals(-32000, own.code);
        driver.close();
    }

    @Test
    public void onlyTheDriversSignatureMayUseTheControls() throws Exception {
        for (String caller : List.of("b", "a_other_key")) {
            Object answer = host.request("provider.call", Json.objectOf(
                    "caller", CALLERS.get(caller), "authority", AUTHORITY + ".control", "method", "describe", "arg", "{}"));
            Object exception = Json.object(answer, "answer").get("exception");
            assertEquals(caller, "java.lang.SecurityException", Json.object(exception, "exception").get("class"));
        }
    }

    @Test
    public void whatCannotBeDoneIsSaid() throws Exception {
        assertEquals(-32601, assertThrows(RpcException.class, () -> ask("no.such.verb")).code);
        assertEquals(-32602, assertThrows(RpcException.class, () -> ask("target.describe", "protocol", JsonNumber.of(2))).code);
        Map<String, Object> stranger = Json.objectOf("uid", JsonNumber.of(1), "packages", new ArrayList<Object>());
        RpcException unknown = assertThrows(RpcException.class, () -> ask(
                "provider.call", "caller", stranger, "authority", AUTHORITY, "method", "negotiate"));
        assertEquals(-32000, unknown.code);
        assertThrows(RpcException.class, () -> ask("fd.read", "fd", "fd-99", "max_bytes", JsonNumber.of(1)));
        Map<String, Object> nobody =
                Json.objectOf("caller", CALLERS.get("a"), "authority", "org.nobody", "method", "negotiate");
        Object exception = Json.object(host.request("provider.call", nobody), "answer").get("exception");
        assertEquals("java.lang.IllegalArgumentException", Json.object(exception, "exception").get("class"));
    }
}
