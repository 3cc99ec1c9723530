package org.cetp.provider;

import android.app.PendingIntent;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * A refusal or failure that the caller gets to see (§5). The message is for the user and is written by the provider: it
 * never quotes an exception, a path, a class or an argument.
 */
public final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    final ErrorCode code;
    final boolean retryable;
    /** When to repeat; null where nothing is said. */
    final Long retryAfterMs;

    /** Where the user decides, and the token to come back with (§4.3); null but for the two codes that carry them. */
    final transient PendingIntent resolution;
    final String resumeToken;

    /**
     * A code whose retrying is conditional counts as final here: what this provider refuses conditionally needs the user,
     * another input or a query first, and a consumer repeats by itself whatever says retryable.
     */
    public Refusal(ErrorCode code, String message) {
        this(code, message, code.retry == ErrorCode.Retry.YES, null, null, null);
    }

    private Refusal(ErrorCode code, String message, boolean retryable, Long retryAfterMs, PendingIntent resolution, String token) {
        super(message, null, false, false);
        this.code = code;
        this.retryable = retryable;
        this.retryAfterMs = retryAfterMs;
        this.resolution = resolution;
        this.resumeToken = token;
    }

    /** RATE_LIMITED, with the time after which it is worth while to come again. */
    public static Refusal busy(String message, long retryAfterMs) {
        return new Refusal(ErrorCode.RATE_LIMITED, message, true, retryAfterMs, null, null);
    }

    static Refusal needsUser(ErrorCode code, String message, PendingIntent resolution, String resumeToken) {
        return new Refusal(code, message, false, null, resolution, resumeToken);
    }

    static Refusal invalidRequest(String message) {
        return new Refusal(ErrorCode.INVALID_REQUEST, message);
    }

    /** The fields of §5 as JSON: the error of a failed operation (§4.4), and what is stored as a terminal result (§6). */
    Map<String, Object> toJson() {
        return Json.objectOf(
                Keys.ERROR_CODE, code.name(),
                Keys.ERROR_MESSAGE, getMessage(),
                Keys.RETRYABLE, retryable,
                Keys.RETRY_AFTER_MS, retryAfterMs);
    }

    /** Reads what {@link #toJson} wrote. */
    static Refusal fromJson(String text) {
        try {
            Map<String, Object> fields = Json.parseObject(text, 8);
            Object retryAfterMs = fields.get(Keys.RETRY_AFTER_MS);
            return new Refusal(
                    ErrorCode.valueOf(Json.text(fields.get(Keys.ERROR_CODE), Keys.ERROR_CODE)),
                    Json.text(fields.get(Keys.ERROR_MESSAGE), Keys.ERROR_MESSAGE),
                    Boolean.TRUE.equals(fields.get(Keys.RETRYABLE)),
                    retryAfterMs == null ? null : Json.whole(retryAfterMs, Keys.RETRY_AFTER_MS),
                    null,
                    null);
        } catch (JsonException notOurs) {
            throw new IllegalStateException("a stored error cannot be read", notOurs);
        }
    }
}
