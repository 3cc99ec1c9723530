package org.cetp.provider;

import android.os.Bundle;
import org.cetp.json.Json;

/**
 * The extras of a call, read by the exact type of each value.
 *
 * <p>The getters of Bundle are lenient: {@code getLong} of an Int gives its default, and a default must never pass for a
 * value that was sent. What has another type than the specification says is refused.
 */
final class Extras {
    private final Bundle bundle;

    Extras(Bundle bundle) {
        this.bundle = bundle == null ? Bundle.EMPTY : bundle;
    }

    /** The value of a key; null and no value are the same to a reader. */
    @SuppressWarnings("deprecation") // the typed getters are the lenient ones
    Object get(String key) throws Refusal {
        try {
            return bundle.get(key);
        } catch (RuntimeException unreadable) {
            // A Parcelable of a class that is not ours. Nothing in this protocol is one.
            throw Refusal.invalidRequest("The extras cannot be read.");
        }
    }

    /** Null where it is missing. */
    String optionalText(String key) throws Refusal {
        Object value = get(key);
        if (value == null) {
            return null;
        }
        if (!(value instanceof String)) {
            throw Refusal.invalidRequest(key + " is no String.");
        }
        if (Json.hasLoneSurrogate((String) value)) {
            // It has no UTF-8 form, so it can be neither measured (§4.1) nor digested (§6).
            throw Refusal.invalidRequest(key + " is not valid Unicode.");
        }
        return (String) value;
    }

    String text(String key) throws Refusal {
        String value = optionalText(key);
        if (value == null) {
            throw Refusal.invalidRequest(key + " is missing.");
        }
        return value;
    }

    int[] intArray(String key) throws Refusal {
        Object value = get(key);
        if (value == null) {
            throw Refusal.invalidRequest(key + " is missing.");
        }
        if (!(value instanceof int[])) {
            throw Refusal.invalidRequest(key + " is no int[].");
        }
        return (int[]) value;
    }

    /** {@code request_id}: a UUID as it is usually written, of any version and case (§4.1). */
    String requestId() throws Refusal {
        String id = text(Keys.REQUEST_ID);
        if (!isUuid(id)) {
            throw Refusal.invalidRequest("request_id is no UUID.");
        }
        return id;
    }

    /** {@code deadline_at_ms}: a Long, and not the Int that a careless consumer sends (§4.1). */
    long deadlineMs() throws Refusal {
        Object value = get(Keys.DEADLINE_AT_MS);
        if (value == null) {
            throw Refusal.invalidRequest("deadline_at_ms is missing.");
        }
        if (!(value instanceof Long)) {
            throw Refusal.invalidRequest("deadline_at_ms is no Long.");
        }
        return (Long) value;
    }

    /** What a reply echoes (§5): whatever String came as {@code request_id}, well-formed or not; otherwise null. */
    String echo() {
        try {
            Object value = get(Keys.REQUEST_ID);
            return value instanceof String ? (String) value : null;
        } catch (Refusal unreadable) {
            return null;
        }
    }

    /** 8-4-4-4-12 hexadecimal digits. {@code UUID.fromString} would take much shorter forms. */
    static boolean isUuid(String text) {
        if (text.length() != 36) {
            return false;
        }
        for (int i = 0; i < 36; i++) {
            char c = text.charAt(i);
            boolean dash = i == 8 || i == 13 || i == 18 || i == 23;
            if (dash ? c != '-' : c >= 128 || Character.digit(c, 16) < 0) {
                return false;
            }
        }
        return true;
    }
}
