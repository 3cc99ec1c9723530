package org.cetp.shim;

import android.app.PendingIntent;
import android.os.Build;
import android.os.Bundle;
import android.os.DeadObjectException;
import android.os.ParcelFileDescriptor;
import android.util.Log;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.cetp.codec.BundleCodec;
import org.cetp.codec.WireException;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * The platform with one real provider in it: calls of the scripted provider's authority go through the Binder to its app,
 * which asks here what to do; the host says it. What the app cannot do ({@link Carriage}) and what is no call of it is
 * played by the {@link HostPlatform}. The clock and the user are the host's in either case.
 *
 * <p>Both ends of each call are known here, and so is whether the Binder brought what was played. If it did not, the harness
 * is {@link #broken}, and the vector is an error.
 */
final class ScriptedPlatform implements Platform, Rpc.Handler {
    private static final String TAG = "CetpDriver";

    /** A consumer's thread may look at what is nested deeply, and so does the one that makes its call. */
    private static final long STACK_BYTES = 64 << 20;

    private final HostPlatform platform;
    private final Rpc host;
    private final ScriptedLink link;
    private final String authority;
    private final BundleCodec codec = new BundleCodec(new HostPlatform.NoHandles());
    private final List<Played> waiting = new ArrayList<>();
    private final List<Rpc.Request> hanging = new ArrayList<>();
    private int underWay;
    private String broken;

    ScriptedPlatform(HostPlatform platform, Rpc host, ScriptedLink link) {
        this.platform = platform;
        this.host = host;
        this.link = link;
        this.authority = link.binding().packageName() + ".tools";
        link.playedBy(this);
    }

    /** What the harness itself did wrong; null where it did nothing wrong. */
    synchronized String broken() {
        return broken;
    }

    private synchronized void breakDown(String why) {
        Log.e(TAG, why);
        if (broken == null) {
            broken = why;
        }
    }

    /** Nothing of this vector goes on: calls that hang come back, pipes are closed. */
    void close() {
        List<Rpc.Request> released;
        synchronized (this) {
            released = new ArrayList<>(hanging);
            hanging.clear();
        }
        for (Rpc.Request request : released) {
            request.answer(nothing());
        }
        link.forget();
    }

    // --- the consumer's end ---

    @Override
    public Reply call(String to, String method, Bundle extras) throws CallFailed {
        if (!authority.equals(to)) {
            return platform.call(to, method, extras);
        }
        Played played = new Played(Played.key(to, method, extras, codec));
        synchronized (this) {
            waiting.add(played);
            underWay++;
        }
        try {
            link.open();
            start(played, method, extras);
            String wrong = played.await();
            if (wrong == null) {
                return outcome(played);
            }
            breakDown(wrong);
        } catch (IOException | JsonException | WireException failure) {
            breakDown("the scripted provider: " + failure.getMessage());
        } catch (InterruptedException stop) {
            throw new CallFailed(CallFailed.Kind.DIED, "interrupted");
        } finally {
            synchronized (this) {
                waiting.remove(played);
                underWay--;
            }
        }
        throw new CallFailed(CallFailed.Kind.DIED, "the harness");
    }

    /** A call cannot be interrupted, so another thread makes it, which is left behind where it hangs. */
    private void start(final Played played, final String method, final Bundle extras) {
        Runnable work =
                new Runnable() {
                    @Override
                    public void run() {
                        try {
                            played.returned(link.binding().call(authority, method, extras));
                        } catch (Exception | StackOverflowError thrown) {
                            played.threw(thrown);
                        }
                    }
                };
        Thread thread = new Thread(null, work, "consumer-call", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }

    private Reply outcome(Played played) throws CallFailed, JsonException, WireException {
        Throwable thrown = played.thrown();
        switch (played.how()) {
            case HANGS:
                throw new CallFailed(CallFailed.Kind.TIMED_OUT, "the call has not returned");
            case DIES:
                if (!(thrown instanceof DeadObjectException)) {
                    breakDown("the scripted provider died, and the call brought " + thrown);
                }
                return platform.take(played.answer());
            case DIRECT:
                return platform.take(played.answer());
            default:
                return carried(played.answer(), played.bundle(), thrown);
        }
    }

    private Reply carried(Map<String, Object> answer, Bundle bundle, Throwable thrown)
            throws CallFailed, JsonException, WireException {
        if (answer.get("exception") != null) {
            Object name = Json.object(answer.get("exception"), "exception").get("class");
            if (thrown == null || !thrown.getClass().getName().equals(name)) {
                breakDown("the scripted provider threw " + name + ", and the call brought " + thrown);
            }
            return platform.take(answer);
        }
        if (thrown != null) {
            breakDown("the scripted provider returned, and the call brought " + thrown);
            throw new CallFailed(CallFailed.Kind.DIED, "the harness");
        }
        Reply reply = new Reply(bundle, new LinkedHashMap<String, Resolution>(), new LinkedHashMap<String, ResultFile>());
        Object wire = answer.get("bundle");
        boolean both = wire != null && bundle != null;
        if (both) {
            unpack(Json.object(wire, "bundle"), bundle, reply);
        }
        Object sent = both ? codec.encode(codec.decode(wire)) : wire;
        if (!Json.equal(sent, codec.encode(bundle))) {
            breakDown("the Binder brought another Bundle than the scripted provider returned");
        }
        return reply;
    }

    /** Takes PendingIntents and descriptors out of both; those inside of Bundles inside are nobody's, and are closed. */
    @SuppressWarnings("deprecation") // the typed getters came with API 33
    private void unpack(Map<String, Object> wire, Bundle bundle, Reply reply) throws JsonException, WireException {
        for (Iterator<Map.Entry<String, Object>> it = wire.entrySet().iterator(); it.hasNext(); ) {
            Map.Entry<String, Object> entry = it.next();
            String key = entry.getKey();
            Map<String, Object> value = Json.object(entry.getValue(), key);
            Object received = bundle.get(key);
            if (value.containsKey("bundle") && received instanceof Bundle) {
                unpack(Json.object(value.get("bundle"), "bundle"), (Bundle) received, null);
            } else if (value.containsKey("pending_intent") && received instanceof PendingIntent) {
                if (reply != null) {
                    String id = Json.text(Json.object(value.get("pending_intent"), key).get("id"), "id");
                    reply.resolutions.put(key, resolution(id, (PendingIntent) received));
                }
                bundle.remove(key);
                it.remove();
            } else if (value.containsKey("fd") && received instanceof ParcelFileDescriptor) {
                Map<String, Object> fd = Json.object(value.get("fd"), key);
                ResultFile file =
                        new PipedFile((ParcelFileDescriptor) received, platform.file(fd), Json.text(fd.get("id"), "id"), this);
                if (reply != null) {
                    reply.files.put(key, file);
                } else {
                    file.close();
                }
                bundle.remove(key);
                it.remove();
            } else if (value.containsKey("pending_intent") || value.containsKey("fd")) {
                throw new WireException(key + " did not come through the Binder");
            }
        }
    }

    /** With what Android tells of the object that came. */
    private static Resolution resolution(String id, PendingIntent pending) {
        Boolean immutable = Build.VERSION.SDK_INT >= 31 ? (Boolean) pending.isImmutable() : null;
        return new Resolution(id, pending.getCreatorPackage(), immutable);
    }

    @Override
    public Launched launch(Resolution resolution) {
        return platform.launch(resolution);
    }

    @Override
    public long nowMs() {
        return platform.nowMs();
    }

    @Override
    public void sleep(long ms) {
        platform.sleep(ms);
    }

    // --- what fills a pipe ---

    void write(String fd, String base64) throws IOException {
        ask("pipe.write", Json.objectOf("fd", fd, "base64", base64));
    }

    void end(String fd) throws IOException {
        ask("pipe.end", Json.objectOf("fd", fd));
    }

    private void ask(String verb, Map<String, Object> params) throws IOException {
        try {
            link.open().request(verb, params);
        } catch (IOException | RpcException failure) {
            breakDown(verb + ": " + failure.getMessage());
            throw new IOException(failure.getMessage());
        }
    }

    /** A pipe brought something else than was written into it. */
    void wrongBytes(String fd) {
        breakDown("the pipe " + fd + " brought other bytes than the scripted provider wrote");
    }

    // --- the provider's end ---

    @Override
    public void handle(final Rpc.Request request) {
        Runnable work =
                new Runnable() {
                    @Override
                    public void run() {
                        try {
                            play(request);
                        } catch (RpcException refusal) {
                            request.refuse(refusal);
                        }
                    }
                };
        Thread thread = new Thread(null, work, "scripted-call", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }

    private void play(Rpc.Request request) throws RpcException {
        if (!request.method.equals("provider.call")) {
            throw new RpcException(RpcException.NO_SUCH_VERB, "there is no verb " + request.method);
        }
        Map<String, Object> params = request.params;
        Played played = take(Played.key(params.get("authority"), params.get("method"), params.get("extras")));
        if (played == null) {
            throw RpcException.cannotAct("this is no call that the consumer made");
        }
        played.arrived();
        Map<String, Object> answer;
        Played.How how;
        try {
            answer = Json.object(host.request("provider.call", params), "the answer");
            how = Carriage.of(answer, link.binding().packageName());
        } catch (IOException | RpcException | JsonException gone) {
            // Without a host there is no provider either.
            answer = Json.objectOf("exception", Json.objectOf("class", "android.os.DeadObjectException", "message", ""));
            how = Played.How.DIRECT;
        }
        synchronized (this) {
            if (how == Played.How.DIES && underWay > 1) {
                how = Played.How.DIRECT; // the others would die with it, and the host has played them otherwise
            }
            if (how == Played.How.HANGS) {
                hanging.add(request);
            }
        }
        link.count(how);
        if (how == Played.How.DIES) {
            link.dies();
        }
        // What the consumer sees is taken apart; what the provider gets is written before.
        Map<String, Object> order = how == Played.How.DIES ? Json.objectOf("die", true) : answer;
        if (how != Played.How.HANGS) {
            request.answer(how == Played.How.DIRECT ? nothing() : order);
        }
        played.answered(how, answer);
    }

    private static Map<String, Object> nothing() {
        return Json.objectOf("bundle", Json.objectOf());
    }

    private synchronized Played take(String key) {
        for (Iterator<Played> it = waiting.iterator(); it.hasNext(); ) {
            Played played = it.next();
            if (played.key.equals(key)) {
                it.remove();
                return played;
            }
        }
        return null;
    }
}
