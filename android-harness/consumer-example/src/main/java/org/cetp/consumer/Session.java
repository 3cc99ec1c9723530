package org.cetp.consumer;

import android.os.Bundle;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/** What was negotiated with a provider (§2.2, §2.3). */
final class Session {
    static final String ASYNC = "async_operations";
    static final String CANCELLATION = "cancellation";
    static final String LARGE_RESULTS = "large_results";
    static final List<String> CAPABILITIES = Arrays.asList(ASYNC, CANCELLATION, LARGE_RESULTS);

    final String providerId;

    /** Only ever sent back. */
    final String token;

    final long maxRequestBytes;
    private final Set<String> granted = new HashSet<>();
    private final long mostInFlight;
    private long inFlight;

    /** From then on the token is worth nothing; null: for ever. */
    private final Long expiresMs;

    /** The extras of {@code negotiate}. */
    static Bundle offer() {
        Bundle extras = new Bundle();
        extras.putIntArray("consumer_versions", new int[] {2, 1});
        extras.putString("consumer_capabilities", Json.write(CAPABILITIES));
        return extras;
    }

    /** Checks the {@code data} of a reply. A provider that declares version 2 and fails here is disabled (§8). */
    Session(String packageName, Map<String, Object> data, long nowMs) throws Ending {
        try {
            if (!JsonNumber.of(2).equals(data.get("selected_version"))) {
                throw new JsonException("version 2 was not selected");
            }
            providerId = Json.text(data.get("provider_id"), "provider_id");
            if (!isInNamespace(providerId, packageName)) {
                throw new JsonException("provider_id is outside of the package");
            }
            Json.text(data.get("provider_name"), "provider_name");
            token = Json.text(data.get("session_token"), "session_token");
            if (!Texts.isOpaque(token) || Texts.utf8Length(token) > Limits.TOKEN_BYTES) {
                throw new JsonException("session_token is empty or too long");
            }
            for (Object name : Json.list(data.get("capabilities"), "capabilities")) {
                // What was not offered is ignored, and so never used (§2.3).
                if (CAPABILITIES.contains(Json.text(name, "a capability"))) {
                    granted.add((String) name);
                }
            }
            Map<String, Object> limits = Json.object(data.get("limits"), "limits");
            maxRequestBytes = limit(limits, "max_request_bytes", 65_536);
            limit(limits, "max_inline_result_bytes", 262_144);
            limit(limits, "idempotency_window_seconds", 86_400);
            mostInFlight = Math.min(limit(limits, "max_concurrent_requests", 1), Limits.IN_FLIGHT);
            expiresMs = expiry(data.get("expires_at"), nowMs);
        } catch (JsonException wrong) {
            throw Ending.refused("The negotiation failed: " + wrong.getMessage());
        }
    }

    /** A limit that is not there is at its minimum, as a provider must not have a lower one. */
    private static long limit(Map<String, Object> limits, String name, long least) throws JsonException {
        if (!limits.containsKey(name)) {
            return least;
        }
        long limit = Json.whole(limits.get(name), name);
        if (limit < least) {
            throw new JsonException(name + " is lower than allowed");
        }
        return limit;
    }

    /** One in the past cannot be meant, as the session was just made: the two clocks differ. */
    private static Long expiry(Object expiresAt, long nowMs) throws JsonException {
        if (expiresAt == null) {
            return null;
        }
        try {
            long ms = OffsetDateTime.parse(Json.text(expiresAt, "expires_at")).toInstant().toEpochMilli();
            return ms > nowMs ? ms : null;
        } catch (DateTimeException | ArithmeticException noInstant) {
            throw new JsonException("expires_at is no instant");
        }
    }

    /**
     * §3.1: a provider_id is the package's name or lies in its namespace. Every part of it is a plain word, so that none can
     * look like another one.
     */
    static boolean isInNamespace(String providerId, String packageName) {
        return providerId.length() <= Limits.PROVIDER_ID_CHARS
                && (providerId.equals(packageName) || providerId.startsWith(packageName + "."))
                && providerId.matches("[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*)*");
    }

    /** An optional method is called, and an optional answer taken, only with its capability. */
    boolean can(String capability) {
        return granted.contains(capability);
    }

    boolean isOver(long nowMs) {
        return expiresMs != null && nowMs >= expiresMs;
    }

    /** Waits until one more call may be in flight (§2.2). Every call of it is followed by {@link #leave}. */
    synchronized void enter() throws Ending {
        while (inFlight >= mostInFlight) {
            try {
                wait();
            } catch (InterruptedException stop) {
                throw Ending.refused("The consumer ends");
            }
        }
        inFlight++;
    }

    synchronized void leave() {
        inFlight--;
        notify();
    }
}
