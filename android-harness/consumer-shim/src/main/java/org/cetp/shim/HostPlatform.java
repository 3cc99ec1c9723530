package org.cetp.shim;

import android.app.PendingIntent;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import android.util.Base64;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.cetp.codec.BundleCodec;
import org.cetp.codec.Handles;
import org.cetp.codec.WireException;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/** The platform as the host plays it: providers, the user, descriptors and the clock. */
final class HostPlatform implements Platform {
    private final Rpc host;
    private final BundleCodec codec = new BundleCodec(new NoHandles());
    private final Set<String> open = new HashSet<>();

    HostPlatform(Rpc host) {
        this.host = host;
    }

    /** Descriptors that were received and not closed. */
    int openDescriptors() {
        synchronized (open) {
            return open.size();
        }
    }

    @Override
    public Reply call(String authority, String method, Bundle extras) throws CallFailed {
        Map<String, Object> params = Json.objectOf("authority", authority, "method", method);
        params.put("arg", null);
        params.put("extras", codec.encode(extras));
        try {
            return take(Json.object(host.request("provider.call", params), "the answer"));
        } catch (IOException | RpcException | JsonException gone) {
            // Without a host there is no provider either.
            throw new CallFailed(CallFailed.Kind.DIED, gone.getMessage());
        }
    }

    /** What the host's answer to {@code provider.call} is to a consumer. */
    Reply take(Map<String, Object> result) throws CallFailed {
        try {
            if (Boolean.TRUE.equals(result.get("timeout"))) {
                throw new CallFailed(CallFailed.Kind.TIMED_OUT, "the call has not returned");
            }
            if (result.get("exception") != null) {
                throw thrown(Json.object(result.get("exception"), "exception"));
            }
            return reply(result.get("bundle"));
        } catch (JsonException gone) {
            throw new CallFailed(CallFailed.Kind.DIED, gone.getMessage());
        } catch (WireException unreadable) {
            throw new CallFailed(CallFailed.Kind.THROWN, unreadable.getMessage());
        }
    }

    /** What the Binder itself throws when the other side is gone or a transaction does not fit; else the provider did. */
    private static CallFailed thrown(Map<String, Object> exception) {
        String name = String.valueOf(exception.get("class"));
        boolean lost =
                name.endsWith("DeadObjectException")
                        || name.endsWith("DeadSystemException")
                        || name.endsWith("TransactionTooLargeException")
                        || name.endsWith("RemoteException");
        return new CallFailed(lost ? CallFailed.Kind.DIED : CallFailed.Kind.THROWN, name);
    }

    private Reply reply(Object wire) throws JsonException, WireException {
        Map<String, Resolution> resolutions = new LinkedHashMap<>();
        Map<String, ResultFile> files = new LinkedHashMap<>();
        if (wire == null) {
            return new Reply(null, resolutions, files);
        }
        Map<String, Object> bundle = Json.object(wire, "bundle");
        for (Iterator<Map.Entry<String, Object>> it = bundle.entrySet().iterator(); it.hasNext(); ) {
            Map.Entry<String, Object> entry = it.next();
            Map<String, Object> value = Json.object(entry.getValue(), entry.getKey());
            if (value.containsKey("pending_intent")) {
                resolutions.put(entry.getKey(), resolution(Json.object(value.get("pending_intent"), "pending_intent")));
                it.remove();
            } else if (value.containsKey("fd")) {
                files.put(entry.getKey(), file(Json.object(value.get("fd"), "fd")));
                it.remove();
            } else if (value.containsKey("bundle")) {
                closeInside(Json.object(value.get("bundle"), "bundle"));
            }
        }
        Reply reply = new Reply(null, resolutions, files);
        try {
            reply = new Reply(codec.decode(bundle), resolutions, files);
            return reply;
        } finally {
            if (reply.bundle == null) {
                reply.close(); // it could not be read: nobody else will close what came with it
            }
        }
    }

    private static Resolution resolution(Map<String, Object> wire) throws JsonException {
        Object creator = wire.get("creator_package");
        Object immutable = wire.get("immutable");
        return new Resolution(
                Json.text(wire.get("id"), "id"),
                creator instanceof String ? (String) creator : null,
                immutable instanceof Boolean ? (Boolean) immutable : null);
    }

    /** A descriptor that came: it counts as open until it is closed. */
    ResultFile file(Map<String, Object> wire) throws JsonException {
        final String id = Json.text(wire.get("id"), "id");
        synchronized (open) {
            open.add(id);
        }
        return new ResultFile() {
            private boolean ended;

            @Override
            public byte[] read(int maxBytes) throws IOException {
                if (ended) {
                    return null;
                }
                Map<String, Object> params = Json.objectOf("fd", id, "max_bytes", JsonNumber.of(maxBytes));
                try {
                    Map<String, Object> chunk = Json.object(host.request("fd.read", params), "the answer");
                    ended = Boolean.TRUE.equals(chunk.get("eof"));
                    byte[] bytes = Base64.decode(Json.text(chunk.get("base64"), "base64"), Base64.DEFAULT);
                    return ended && bytes.length == 0 ? null : bytes;
                } catch (RpcException | JsonException | IllegalArgumentException failed) {
                    throw new IOException(failed.getMessage());
                }
            }

            @Override
            public void close() {
                closeDescriptor(id);
            }
        };
    }

    private void closeDescriptor(String id) {
        synchronized (open) {
            if (!open.remove(id)) {
                return;
            }
        }
        try {
            host.request("fd.close", Json.objectOf("fd", id));
        } catch (IOException | RpcException gone) {
            // It is closed for us, whatever the host says.
        }
    }

    /** A descriptor in a Bundle inside the Bundle is nobody's: it is closed as soon as it has come. */
    private void closeInside(Map<String, Object> bundle) throws JsonException {
        Deque<Map<String, Object>> waiting = new ArrayDeque<>();
        waiting.push(bundle);
        while (!waiting.isEmpty()) {
            for (Iterator<Object> it = waiting.pop().values().iterator(); it.hasNext(); ) {
                Map<String, Object> value = Json.object(it.next(), "a value");
                if (value.containsKey("fd")) {
                    file(Json.object(value.get("fd"), "fd")).close();
                    it.remove();
                } else if (value.containsKey("pending_intent")) {
                    it.remove();
                } else if (value.containsKey("bundle")) {
                    waiting.push(Json.object(value.get("bundle"), "bundle"));
                }
            }
        }
    }

    @Override
    public Launched launch(Resolution resolution) {
        try {
            Object result = host.request("ui.launch", Json.objectOf("pending_intent", resolution.id));
            Object how = Json.object(result, "the answer").get("result");
            return "ok".equals(how) ? Launched.OK : "cancelled".equals(how) ? Launched.CANCELLED : Launched.FAILED;
        } catch (IOException | RpcException | JsonException failed) {
            return Launched.FAILED;
        }
    }

    /** A host without a clock has ended the session, and nothing that is reckoned with the time goes anywhere. */
    @Override
    public long nowMs() {
        try {
            Object result = host.request("clock.now", Json.objectOf());
            return Json.whole(Json.object(result, "the answer").get("now_ms"), "now_ms");
        } catch (IOException | RpcException | JsonException gone) {
            return 0;
        }
    }

    @Override
    public void sleep(long ms) {
        try {
            host.request("clock.sleep", Json.objectOf("ms", JsonNumber.of(ms)));
        } catch (IOException | RpcException gone) {
            // Nobody is there who would notice.
        }
    }

    /** None of these is left in what the codec gets, or comes out of it. */
    static final class NoHandles implements Handles {
        @Override
        public Map<String, Object> keep(PendingIntent pending) {
            throw new IllegalArgumentException("a consumer sends no PendingIntent");
        }

        @Override
        public Map<String, Object> keep(ParcelFileDescriptor descriptor) {
            throw new IllegalArgumentException("a consumer sends no descriptor");
        }

        @Override
        public PendingIntent pendingIntent(Map<String, Object> wire) throws WireException {
            throw new WireException("a PendingIntent where none can be");
        }

        @Override
        public ParcelFileDescriptor descriptor(Map<String, Object> wire) throws WireException {
            throw new WireException("a descriptor where none can be");
        }
    }
}
