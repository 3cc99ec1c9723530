package org.cetp.consumer;

import android.os.Bundle;
import java.util.Map;
import org.cetp.json.JsonException;
import org.cetp.shim.Platform;
import org.cetp.shim.Reply;

/** What a call came to. It holds the descriptors of the reply and closes them. */
final class Answer implements AutoCloseable {
    /** Kinds of answers. */
    enum Kind {
        SUCCESS,
        ACCEPTED,
        ERROR,
        /** No answer came. The provider may have done it, or be doing it (§4.1, §6). */
        LOST,
        /** What came is no reply of the protocol. */
        MALFORMED
    }

    /** What has to be echoed. */
    enum Echo {
        /** execute_tool: the reply names our request and version, or is not its reply (§4.2). */
        MUST,
        /** Another method of version 2: what is echoed must be ours. */
        MAY,
        /** negotiate, and version 1. */
        NONE
    }

    final Kind kind;
    final Object data;
    final Problem problem;
    final String why;
    final Reply reply;

    private Answer(Kind kind, Object data, Problem problem, String why, Reply reply) {
        this.kind = kind;
        this.data = data;
        this.problem = problem;
        this.why = why;
        this.reply = reply;
    }

    private static Answer without(Kind kind, String why, Reply reply) {
        return new Answer(kind, null, null, why, reply);
    }

    /** Makes a call and reads what comes. */
    static Answer of(Platform platform, String authority, String method, Bundle extras, Echo echo, String requestId) {
        Reply reply;
        try {
            reply = platform.call(authority, method, extras);
        } catch (Platform.CallFailed failed) {
            switch (failed.kind) {
                case DIED:
                    return without(Kind.LOST, "The provider died in the call", null);
                case TIMED_OUT:
                    return without(Kind.LOST, "The provider did not answer in time", null);
                default:
                    return without(Kind.MALFORMED, "The provider threw an exception", null);
            }
        }
        if (reply.bundle == null || reply.isEmpty()) {
            return without(Kind.LOST, "The provider gave no answer", reply);
        }
        Bundle bundle = reply.bundle;
        if (!echoes(bundle, echo, requestId)) {
            return without(Kind.MALFORMED, "The answer is not to this request", reply);
        }
        String status = Wire.text(bundle, "status");
        if ("error".equals(status)) {
            return new Answer(Kind.ERROR, null, Problem.of(reply), null, reply);
        }
        if (!"success".equals(status) && !"accepted".equals(status)) {
            return without(Kind.MALFORMED, "The answer has no status that is known", reply);
        }
        String text = Wire.text(bundle, "data");
        if (text == null) {
            return without(Kind.MALFORMED, "The answer has no data", reply);
        }
        try {
            Object data = Texts.json(text, Limits.DATA_BYTES);
            return new Answer(status.equals("success") ? Kind.SUCCESS : Kind.ACCEPTED, data, null, null, reply);
        } catch (JsonException wrong) {
            return without(Kind.MALFORMED, "The answer's data cannot be used: " + wrong.getMessage(), reply);
        }
    }

    private static boolean echoes(Bundle bundle, Echo echo, String requestId) {
        if (echo == Echo.NONE) {
            return true;
        }
        Object id = Wire.value(bundle, "request_id");
        Object version = Wire.value(bundle, "protocol_version");
        boolean must = echo == Echo.MUST;
        return (id == null ? !must : id.equals(requestId))
                && (version == null ? !must : version.equals(Integer.valueOf(Wire.VERSION)));
    }

    /** The data as an object; an empty one where it is none, in which everything is missing. */
    @SuppressWarnings("unchecked")
    Map<String, Object> object() {
        return data instanceof Map ? (Map<String, Object>) data : new java.util.HashMap<String, Object>();
    }

    @Override
    public void close() {
        if (reply != null) {
            reply.close();
        }
    }
}
