package org.cetp.consumer;

import android.os.Bundle;
import java.util.UUID;

/** The Bundles of requests (§4.1), and reading with strict types. */
final class Wire {
    static final int VERSION = 2;

    private Wire() {}

    static String newId() {
        return UUID.randomUUID().toString();
    }

    /** The fields of every request of version 2 but {@code negotiate}. */
    static Bundle request(String sessionToken, String requestId, long deadlineMs) {
        Bundle extras = new Bundle();
        extras.putInt("protocol_version", VERSION);
        extras.putString("session_token", sessionToken);
        extras.putString("request_id", requestId);
        extras.putLong("deadline_at_ms", deadlineMs);
        return extras;
    }

    /** The value as it is. {@code getBoolean} and its like would give a default for a value of another type. */
    @SuppressWarnings("deprecation")
    static Object value(Bundle bundle, String key) {
        return bundle.get(key);
    }

    /** Null where it is no String. */
    static String text(Bundle bundle, String key) {
        Object value = value(bundle, key);
        return value instanceof String ? (String) value : null;
    }
}
