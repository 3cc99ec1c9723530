package org.cetp.consumer;

import android.os.Bundle;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;
import org.cetp.shim.Reply;
import org.cetp.shim.Resolution;

/** An error that a provider reports (§5), read without believing it. */
final class Problem {
    /** Codes that are final by their meaning, whatever {@code retryable} says: "no" in the table of §5. */
    private static final Set<String> FINAL =
            new HashSet<>(
                    Arrays.asList(
                            "UNSUPPORTED_VERSION", "UNSUPPORTED_CAPABILITY", "USER_CANCELLED", "PERMISSION_DENIED",
                            "TOOL_NOT_FOUND", "METHOD_NOT_FOUND", "INVALID_ARGS", "INVALID_REQUEST", "CANCELLED",
                            "RESULT_TOO_LARGE", "RESULT_EXPIRED"));

    private static final Set<String> REPEATABLE =
            new HashSet<>(
                    Arrays.asList(
                            "NEGOTIATION_REQUIRED", "CONFLICT", "RATE_LIMITED", "DEADLINE_EXCEEDED", "UNAVAILABLE",
                            "INTERNAL_ERROR"));

    private static final Set<String> FOR_THE_USER =
            new HashSet<>(Arrays.asList("AUTH_REQUIRED", "USER_ACTION_REQUIRED"));

    /** What follows from it. */
    enum Next {
        /** It is final. */
        STOP,
        /** The same call again, after {@link #waitMs}. */
        AGAIN,
        /** A new session first (§2.2). */
        NEGOTIATE,
        /** The user first (§4.3). */
        ASK_USER
    }

    /** Null for one that the specification does not have. */
    final String code;

    /** The provider's own text, bounded. Data. */
    final String message;

    /** True only for a Boolean true in an error that is whole. */
    final boolean retryable;

    private final long retryAfterMs;

    /** Where the user decides, and the token to come back with; both or neither. */
    final Resolution resolution;
    final String resumeToken;

    private Problem(
            Object code, Object message, Object retryable, Long retryAfterMs, Resolution resolution, Object token) {
        String name = code instanceof String ? (String) code : "";
        boolean known = FINAL.contains(name) || REPEATABLE.contains(name) || FOR_THE_USER.contains(name);
        this.code = known ? name : null;
        this.message = message instanceof String ? Texts.shown((String) message, Limits.MESSAGE_CHARS) : "";
        // An error that lacks a part, or has one of another type, is a failure and nothing more.
        boolean whole = code instanceof String && message instanceof String && retryAfterMs != null;
        this.retryable = whole && Boolean.TRUE.equals(retryable);
        this.retryAfterMs = retryAfterMs == null ? 0 : retryAfterMs;
        boolean canAsk = resolution != null && Texts.isOpaque(token);
        this.resolution = canAsk ? resolution : null;
        this.resumeToken = canAsk ? (String) token : null;
    }

    static Problem of(Reply reply) {
        Bundle bundle = reply.bundle;
        Object after = Wire.value(bundle, "retry_after_ms");
        Long afterMs = after == null ? Long.valueOf(0) : after instanceof Long && (Long) after >= 0 ? (Long) after : null;
        return new Problem(
                Wire.value(bundle, "error_code"),
                Wire.value(bundle, "error_message"),
                Wire.value(bundle, "retryable"),
                afterMs,
                reply.resolutions.get("resolution"),
                Wire.value(bundle, "resume_token"));
    }

    /** From the {@code error} of a failed operation (§4.4). */
    static Problem of(Map<String, Object> error) {
        Long afterMs = 0L;
        if (error.get("retry_after_ms") != null) {
            try {
                afterMs = ((JsonNumber) error.get("retry_after_ms")).longValue();
            } catch (ClassCastException | JsonException noNumber) {
                afterMs = null;
            }
        }
        return new Problem(
                error.get("error_code"), error.get("error_message"), error.get("retryable"), afterMs, null, null);
    }

    /** What follows, when there were already so many repetitions. */
    Next next(int repetitions) {
        if (FOR_THE_USER.contains(code)) {
            return Next.ASK_USER; // only the user can change the answer, whatever retryable says
        }
        if (!retryable || !REPEATABLE.contains(code)) {
            return Next.STOP;
        }
        if (code.equals("NEGOTIATION_REQUIRED")) {
            return Next.NEGOTIATE;
        }
        // Nothing is repeated sooner than the provider asks: who asks for too long is not repeated.
        return waitMs(repetitions) <= Limits.WAIT_MS ? Next.AGAIN : Next.STOP;
    }

    long waitMs(int repetitions) {
        return Math.max(retryAfterMs, Limits.pauseMs(repetitions));
    }

    Ending ending() {
        return Ending.error(code == null ? Ending.UNKNOWN_CODE : code, message);
    }
}
