package org.cetp.provider;

import java.util.Map;
import org.cetp.json.Json;

/** Every limit of the provider, each with its reason. */
public final class Limits {
    // What is negotiated (§2.2 gives the least values).

    /** Of {@code args}, in UTF-8 bytes (§4.1). */
    static final int MAX_REQUEST_BYTES = 65_536;
    /** Of {@code data} as it is sent, in UTF-8 bytes (§4.5). */
    static final int MAX_INLINE_RESULT_BYTES = 262_144;
    /** A call blocks one of the process's few Binder threads while it is worked on; more than this is refused at once. */
    static final int MAX_CONCURRENT_REQUESTS = 4;
    /** §6: the least that is allowed. */
    static final long IDEMPOTENCY_WINDOW_SECONDS = 86_400;

    // Times.

    /** An hour more than the window: a consumer whose clock differs a little shall not lose the end of it. */
    public static final long RETENTION_MS = IDEMPOTENCY_WINDOW_SECONDS * 1000 + 3_600_000;
    /** How long the name of an expired operation is known, so that it says RESULT_EXPIRED (§5). */
    static final long TOMBSTONE_MS = 30L * 86_400_000;
    static final long SESSION_TTL_MS = 3_600_000;
    /** Time for a person to read and decide (§4.3). */
    public static final long RESUME_TTL_MS = 600_000;
    /** What a consumer is asked to wait between polls. */
    static final long POLL_AFTER_MS = 100;
    /** What a consumer is asked to wait when all places of its session are taken. */
    static final long BUSY_RETRY_MS = 50;
    /** How far the clock goes before old rows are removed again. */
    static final long PURGE_EVERY_MS = 3_600_000;
    /** By then a reply has long been written to the Binder, and our copy of its descriptor may be closed (§4.5). */
    static final long DESCRIPTOR_GRACE_MS = 30_000;

    // Amounts.

    /** A consumer needs one session; this bounds what a caller can make the provider hold. */
    static final int MAX_SESSIONS_OF_UID = 256;
    /** Nesting of {@code args}: nobody writes this by hand, and each level costs stack where it is checked (§7.3). */
    static final int MAX_ARGS_DEPTH = 256;
    /** The largest file result: our own cap (§4.5). The content is held in memory while it is written. */
    static final int MAX_FILE_RESULT_BYTES = 64 << 20;
    /** A row of a Cursor has to fit into its window, which holds 2 MiB: a larger result is stored in pieces. */
    static final int PIECE_BYTES = 512 << 10;

    private Limits() {}

    /** {@code limits} of a negotiate reply. */
    static Map<String, Object> toJson() {
        return Json.objectOf(
                "max_request_bytes", MAX_REQUEST_BYTES,
                "max_inline_result_bytes", MAX_INLINE_RESULT_BYTES,
                "max_concurrent_requests", MAX_CONCURRENT_REQUESTS,
                "idempotency_window_seconds", IDEMPOTENCY_WINDOW_SECONDS);
    }
}
