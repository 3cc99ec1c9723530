package org.cetp.standin;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.os.Bundle;
import java.io.ByteArrayOutputStream;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;
import org.cetp.json.Json;
import org.cetp.json.JsonNumber;
import org.cetp.shim.ConsumerUnderTest;
import org.cetp.shim.InstalledApp;
import org.cetp.shim.Outcome;
import org.cetp.shim.Platform;
import org.cetp.shim.Reply;
import org.cetp.shim.ResultFile;
import org.cetp.shim.Row;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;
import org.robolectric.annotation.LooperMode;

/** A consumer's platform with the scripted provider's app behind it; the test is the host that plays it. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE, shadows = ThreadBinder.class)
@LooperMode(LooperMode.Mode.INSTRUMENTATION_TEST) // the device's main thread is none of the test's
public class ScriptedTest {
    private static final String AUTHORITY = "org.example.p.tools";

    private final List<String> asked = Collections.synchronizedList(new ArrayList<>());
    private final byte[] content = new byte[100_000];
    private Phone phone;
    private Rpc host;
    private Platform platform;

    /** How the host answers {@code provider.call}, as JSON; null for none. */
    private volatile String answer;

    /** What happens before it answers. */
    private volatile Runnable hostPauses = () -> {};

    @Before
    public void connect() throws Exception {
        new Random(7).nextBytes(content);
        phone = new Phone(RuntimeEnvironment.getApplication());
        assertTrue(phone.install(Phone.SCRIPTED));
        Pipe there = Pipe.open();
        Pipe back = Pipe.open();
        ConsumerUnderTest.Factory factory = new Probe();
        Link.daemon(() -> phone.serveConsumer(
                factory, Channels.newInputStream(there.source()), Channels.newOutputStream(back.sink()), true, () -> {}));
        host = new Rpc(Channels.newInputStream(back.source()), Channels.newOutputStream(there.sink()), this::play);
        Link.daemon(host::run);
        reset();
    }

    @After
    public void close() {
        host.close();
    }

    private void reset() throws Exception {
        host.request("target.reset", Json.objectOf("nonce", "n", "now_ms", JsonNumber.of(0)));
    }

    /** Gives the test the platform, and does nothing else. */
    private final class Probe implements ConsumerUnderTest.Factory {
        @Override
        public List<String> capabilities() {
            return List.of();
        }

        @Override
        public ConsumerUnderTest create(Platform made) {
            platform = made;
            return new ConsumerUnderTest() {
                @Override
                public List<Row> discover(List<InstalledApp> apps) {
                    return List.of();
                }

                @Override
                public Outcome execute(String providerId, String tool, String args, long timeoutMs) {
                    throw new IllegalStateException();
                }

                @Override
                public void cancel(String providerId, String tool) {
                    made.nowMs(); // as an app does that calls cancel_operation in here
                }
            };
        }
    }

    private int readSoFar;

    private void play(Rpc.Request request) {
        asked.add(request.method);
        try {
            switch (request.method) {
                case "provider.call":
                    assertEquals(AUTHORITY, request.params.get("authority"));
                    assertNull(request.params.get("arg"));
                    hostPauses.run();
                    request.answer(Json.parseObject(answer, 64));
                    return;
                case "fd.read":
                    int most = (int) Json.whole(request.params.get("max_bytes"), "max_bytes");
                    int end = Math.min(readSoFar + most, content.length);
                    byte[] next = Arrays.copyOfRange(content, readSoFar, end);
                    readSoFar = end;
                    request.answer(
                            Json.objectOf("base64", Base64.getEncoder().encodeToString(next), "eof", end == content.length));
                    return;
                default:
                    request.answer(Json.objectOf());
            }
        } catch (Exception wrong) {
            request.refuse(RpcException.cannotAct(wrong.toString()));
        }
    }

    private Reply call(String answered) throws Exception {
        answer = answered;
        Bundle extras = new Bundle();
        extras.putString("request_id", "r \u00e9 \ud83d\ude00");
        extras.putLong("deadline_at_ms", Long.MAX_VALUE);
        return platform.call(AUTHORITY, "execute_tool", extras);
    }

    /** Where the harness itself had gone wrong, this would be refused. */
    private void assertNothingBroke() throws Exception {
        assertEquals(Json.objectOf("providers", List.of()), host.request("consumer.discover", Json.objectOf("packages", List.of())));
    }

    @Test
    public void valuesAndAPendingIntentOfItsOwnComeOverTheBinder() throws Exception {
        String pending = "{\"id\":\"pi-1\",\"creator_package\":\"org.example.p\",\"creator_uid\":1,\"immutable\":%s,\"explicit\":true}";
        for (boolean immutable : new boolean[] {true, false}) {
            Reply reply = call("{\"bundle\":{\"status\":{\"string\":\"error\"},\"n\":{\"long\":\"9223372036854775807\"},\"resolution\":"
                    + "{\"pending_intent\":" + String.format(pending, immutable) + "}}}");
            assertEquals("error", reply.bundle.getString("status"));
            assertEquals(Long.MAX_VALUE, reply.bundle.getLong("n"));
            assertFalse(reply.bundle.containsKey("resolution"));
            assertEquals("org.example.p", reply.resolutions.get("resolution").creatorPackage);
            assertEquals(immutable, reply.resolutions.get("resolution").immutable);
        }
        assertNull(call("{\"bundle\":null}").bundle);
        assertEquals(3, phone.scripted().calls());
        assertEquals(1, phone.scripted().lives());
        assertNothingBroke();
    }

    @Test
    public void bytesComeThroughAPipeAsTheHostGivesThem() throws Exception {
        for (String access : List.of("r", "rw")) {
            readSoFar = 0;
            asked.clear();
            Reply reply = call("{\"bundle\":{\"result_fd\":{\"fd\":{\"id\":\"f\",\"access\":\"" + access + "\"}}}}");
            ByteArrayOutputStream read = new ByteArrayOutputStream();
            try (ResultFile file = reply.files.get("result_fd")) {
                for (byte[] next = file.read(70_000); next != null; next = file.read(70_000)) {
                    read.write(next);
                }
            }
            assertArrayEquals(content, read.toByteArray());
            assertEquals(List.of("provider.call", "fd.read", "fd.read", "fd.close"), asked);
        }
        assertEquals(Json.objectOf("open", JsonNumber.of(0)), host.request("observe.fds", Json.objectOf()));
        assertNothingBroke();
    }

    @Test
    public void itDiesAndIsThereAgain() throws Exception {
        for (int life = 1; life <= 3; life++) {
            Platform.CallFailed died = assertThrows(
                    Platform.CallFailed.class,
                    () -> call("{\"exception\":{\"class\":\"android.os.DeadObjectException\",\"message\":\"\"}}"));
            assertEquals(Platform.CallFailed.Kind.DIED, died.kind);
            assertEquals("v", call("{\"bundle\":{\"k\":{\"string\":\"v\"}}}").bundle.getString("k"));
            assertEquals(life + 1, phone.scripted().lives());
        }
        assertNothingBroke();
    }

    @Test
    public void itHangsUntilTheNextVector() throws Exception {
        for (int i = 0; i < 3; i++) {
            Platform.CallFailed hung = assertThrows(Platform.CallFailed.class, () -> call("{\"timeout\":true}"));
            assertEquals(Platform.CallFailed.Kind.TIMED_OUT, hung.kind);
            assertNothingBroke();
            reset();
        }
        assertEquals("v", call("{\"bundle\":{\"k\":{\"string\":\"v\"}}}").bundle.getString("k"));
        assertEquals(1, phone.scripted().lives());
    }

    @Test
    public void aCancellationMayUseThePlatform() throws Exception {
        CompletableFuture<Object> cancelled = CompletableFuture.supplyAsync(() -> {
            try {
                return host.request("consumer.cancel", Json.objectOf("provider_id", "org.example.p", "tool", "t"));
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
        });
        assertEquals(Json.objectOf(), cancelled.get(20, TimeUnit.SECONDS));
        assertTrue(asked.contains("clock.now"));
        assertNothingBroke();
    }

    @Test
    public void itThrowsWhatAParcelCarries() throws Exception {
        for (String name : List.of("java.lang.SecurityException", "android.os.BadParcelableException")) {
            Platform.CallFailed thrown = assertThrows(
                    Platform.CallFailed.class,
                    () -> call("{\"exception\":{\"class\":\"" + name + "\",\"message\":\"no\"}}"));
            assertEquals(Platform.CallFailed.Kind.THROWN, thrown.kind);
            assertEquals(name, thrown.getMessage());
        }
        assertNothingBroke();
    }

    /** Another package's PendingIntent, a text above a transaction's size: the consumer gets them as the host plays them. */
    @Test
    public void whatItCannotGiveComesWithoutIt() throws Exception {
        Reply foreign = call("{\"bundle\":{\"resolution\":{\"pending_intent\":{\"id\":\"pi-1\",\"creator_package\":\"com.bank\","
                + "\"creator_uid\":1,\"immutable\":true,\"explicit\":true}}}}");
        assertEquals("com.bank", foreign.resolutions.get("resolution").creatorPackage);
        String text = "x".repeat(600_000);
        assertEquals(text, call("{\"bundle\":{\"data\":{\"string\":\"" + text + "\"}}}").bundle.getString("data"));
        assertNothingBroke();
    }

    /** The process is ended by the system and not by the host: an error of the harness, and no verdict on the consumer. */
    @Test
    public void aDeathThatNobodyPlayedIsAnErrorOfTheHarness() throws Exception {
        call("{\"bundle\":{}}");
        hostPauses = () -> phone.scripted().end();
        assertThrows(Platform.CallFailed.class, () -> call("{\"bundle\":{}}"));
        RpcException refused = assertThrows(RpcException.class, this::assertNothingBroke);
        assertTrue(refused.getMessage(), refused.getMessage().contains("the scripted provider returned, and the call brought"));
        hostPauses = () -> {};
        reset();
        call("{\"bundle\":{}}");
        assertNothingBroke();
    }
}
