package org.cetp.provider;

import android.os.Bundle;

/** The Bundles that go back (§4.2, §4.4, §5). {@code echo} is the request's own {@code request_id}, or null. */
final class Replies {
    static final int VERSION = 2;

    private Replies() {}

    /** {@code data} is JSON text already: it is serialised once, measured, and sent as it was measured (§4.5). */
    static Bundle success(String echo, String data) {
        Bundle reply = reply("success", echo);
        reply.putString(Keys.DATA, data);
        return reply;
    }

    /** §2.2: the reply to negotiate has these two, since it comes before any version is agreed on. */
    static Bundle negotiated(String data) {
        Bundle reply = new Bundle();
        reply.putString(Keys.STATUS, "success");
        reply.putString(Keys.DATA, data);
        return reply;
    }

    static Bundle accepted(String echo, String data) {
        Bundle reply = reply("accepted", echo);
        reply.putString(Keys.DATA, data);
        return reply;
    }

    static Bundle error(String echo, Refusal refusal) {
        Bundle reply = reply("error", echo);
        reply.putString(Keys.ERROR_CODE, refusal.code.name());
        reply.putString(Keys.ERROR_MESSAGE, refusal.getMessage());
        reply.putBoolean(Keys.RETRYABLE, refusal.retryable);
        if (refusal.retryAfterMs != null) {
            reply.putLong(Keys.RETRY_AFTER_MS, refusal.retryAfterMs);
        }
        if (refusal.resolution != null) {
            reply.putParcelable(Keys.RESOLUTION, refusal.resolution);
            reply.putString(Keys.RESUME_TOKEN, refusal.resumeToken);
        }
        return reply;
    }

    private static Bundle reply(String status, String echo) {
        Bundle reply = new Bundle();
        reply.putString(Keys.STATUS, status);
        reply.putInt(Keys.PROTOCOL_VERSION, VERSION);
        if (echo != null) {
            reply.putString(Keys.REQUEST_ID, echo);
        }
        return reply;
    }
}
