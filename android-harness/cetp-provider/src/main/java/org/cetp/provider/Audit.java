package org.cetp.provider;

import android.database.Cursor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.cetp.json.Json;

/** The audit (§7.2): who used what, what was decided, how it ended. No argument and no result is in it. */
public final class Audit {
    private Audit() {}

    /** What an execution leaves on its way for its line. */
    static final class Trail {
        /** Once it is known to exist: what a caller makes up is not written down. */
        String tool;
        /** Once it is known to be a UUID. */
        String requestId;
        /** {@code allowed}, {@code confirmed} or {@code repeated}, once that is decided. */
        String decision;
        /** Whether the line was written in the transaction of the effect. */
        boolean written;
    }

    static void success(Store.Transaction tx, Identity caller, Trail trail, String status) {
        write(tx, caller.uid, trail.tool, trail.requestId, trail.decision == null ? "allowed" : trail.decision, status);
    }

    static void refusal(Store.Transaction tx, Identity caller, Trail trail, Refusal refusal) {
        String decision;
        switch (refusal.code) {
            case AUTH_REQUIRED:
                decision = "authorization_required";
                break;
            case USER_ACTION_REQUIRED:
                decision = "confirmation_required";
                break;
            case USER_CANCELLED:
            case PERMISSION_DENIED:
                decision = "denied";
                break;
            default:
                decision = trail.decision == null ? "refused" : trail.decision;
        }
        write(tx, caller.uid, trail.tool, trail.requestId, decision, refusal.code.name());
    }

    static void operationEnded(Store.Transaction tx, Executions.Record operation, String result) {
        write(tx, operation.uid, operation.tool, operation.requestId, "operation", result);
    }

    private static void write(
            Store.Transaction tx, int uid, String tool, String requestId, String decision, String result) {
        tx.update(
                "INSERT INTO audit (caller_uid, tool, request_id, decision, result) VALUES (?, ?, ?, ?, ?)",
                uid, tool, requestId, decision, result);
    }

    /** All events, in order. */
    public static List<Map<String, Object>> events(Store.Transaction tx) {
        List<Map<String, Object>> events = new ArrayList<>();
        try (Cursor row = tx.query("SELECT caller_uid, tool, request_id, decision, result FROM audit ORDER BY id")) {
            while (row.moveToNext()) {
                Map<String, Object> event = Json.objectOf("caller_uid", row.getLong(0));
                event.put("tool", row.getString(1));
                event.put("request_id", row.getString(2));
                event.put("decision", row.getString(3));
                event.put("result", row.getString(4));
                events.add(event);
            }
        }
        return events;
    }
}
