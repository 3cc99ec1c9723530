package org.cetp.provider;

import android.database.Cursor;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The durable records of executions with effects (§6), which are their operations as well (§4.4): one row serves both, so
 * that "one execution" and "one operation" cannot come apart.
 */
final class Executions {
    /** How far an execution is. Only operations are ever between the two ends. */
    enum State {
        QUEUED,
        RUNNING,
        /** The effect is committed and the operation has not ended. */
        COMMITTED,
        ENDED,
        /** Past its retention: only its name is left. */
        EXPIRED
    }

    /** How an execution ended; this never changes again. */
    enum Outcome {
        VALUE,
        ERROR,
        CANCELLED
    }

    /** One record. */
    static final class Record {
        int uid;
        String requestId;
        String tool;
        String argsSha256;
        long arrivedMs;
        State state;
        Outcome outcome;
        Refusal error;
        String operationId;
        String args;
        boolean held;

        /** What is under way is kept until it ends; the window begins with the first arrival (§6). */
        boolean isExpired(long nowMs) {
            return state == State.EXPIRED || (state == State.ENDED && nowMs >= arrivedMs + Limits.RETENTION_MS);
        }

        boolean isOpen() {
            return state == State.QUEUED || state == State.RUNNING;
        }
    }

    private static final String SELECT =
            "SELECT uid, request_id, tool, args_sha256, arrived_ms, state, outcome, error, operation_id, args, held"
                    + " FROM executions WHERE ";

    private Executions() {}

    /**
     * The record of a request, or null. The key is the UID and the request_id, whatever session asks; it stands for one
     * tool and one text of arguments (§6).
     */
    static Record find(Store.Transaction tx, ExecuteRequest request, long nowMs) throws Refusal {
        Record record = find(tx, request.caller.uid, request.requestId);
        if (record == null || record.isExpired(nowMs)) {
            return null;
        }
        if (!record.tool.equals(request.tool.name) || !record.argsSha256.equals(request.argsSha256)) {
            throw Refusal.invalidRequest("This request_id belongs to another execution.");
        }
        return record;
    }

    static Record find(Store.Transaction tx, int uid, String requestId) {
        return first(tx, "uid = ? AND request_id = ?", uid, requestId);
    }

    static Record ofOperation(Store.Transaction tx, String operationId) {
        return first(tx, "operation_id = ?", operationId);
    }

    /** Operations that a process left without an end. */
    static List<Record> unfinished(Store.Transaction tx) {
        return all(tx, "operation_id IS NOT NULL AND state IN ('QUEUED', 'RUNNING', 'COMMITTED') ORDER BY rowid");
    }

    private static Record first(Store.Transaction tx, String condition, Object... values) {
        List<Record> found = all(tx, condition, values);
        return found.isEmpty() ? null : found.get(0);
    }

    private static List<Record> all(Store.Transaction tx, String condition, Object... values) {
        List<Record> records = new ArrayList<>();
        try (Cursor row = tx.query(SELECT + condition, values)) {
            while (row.moveToNext()) {
                Record record = new Record();
                record.uid = row.getInt(0);
                record.requestId = row.getString(1);
                record.tool = row.getString(2);
                record.argsSha256 = row.getString(3);
                record.arrivedMs = row.getLong(4);
                record.state = State.valueOf(row.getString(5));
                record.outcome = row.isNull(6) ? null : Outcome.valueOf(row.getString(6));
                record.error = row.isNull(7) ? null : Refusal.fromJson(row.getString(7));
                record.operationId = row.getString(8);
                record.args = row.getString(9);
                record.held = row.getInt(10) == 1;
                records.add(record);
            }
        }
        return records;
    }

    /** Writes a record that is not there, or takes the place of one past its retention. */
    static void insert(Store.Transaction tx, Record record) {
        forgetPieces(tx, record);
        tx.update(
                "INSERT OR REPLACE INTO executions"
                        + " (uid, request_id, tool, args_sha256, arrived_ms, state, operation_id, args, held)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                record.uid, record.requestId, record.tool, record.argsSha256, record.arrivedMs, record.state.name(),
                record.operationId, record.args, record.held);
    }

    static void advance(Store.Transaction tx, Record record, State state) {
        tx.update(
                "UPDATE executions SET state = ? WHERE uid = ? AND request_id = ?",
                state.name(), record.uid, record.requestId);
    }

    /** Stores the value of a success; the state says whether the execution has ended with it. */
    static void settle(Store.Transaction tx, Record record, State state, String value) {
        settle(tx, record, state, Outcome.VALUE, null);
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        for (int at = 0, piece = 0; at < bytes.length; at += Limits.PIECE_BYTES, piece++) {
            tx.update(
                    "INSERT INTO result_pieces VALUES (?, ?, ?, ?)",
                    record.uid, record.requestId, piece,
                    Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + Limits.PIECE_BYTES)));
        }
    }

    /** Stores a definite failure. */
    static void fail(Store.Transaction tx, Record record, Refusal error) {
        settle(tx, record, State.ENDED, Outcome.ERROR, org.cetp.json.Json.write(error.toJson()));
    }

    static void cancel(Store.Transaction tx, Record record) {
        settle(tx, record, State.ENDED, Outcome.CANCELLED, null);
    }

    private static void settle(Store.Transaction tx, Record record, State state, Outcome outcome, String error) {
        // The arguments have done their service: what may be sensitive is not kept longer than needed.
        tx.update(
                "UPDATE executions SET state = ?, outcome = ?, error = ?, args = NULL WHERE uid = ? AND request_id = ?",
                state.name(), outcome.name(), error, record.uid, record.requestId);
    }

    /** The value of a success, one piece a query, as a Cursor's window holds 2 MiB in all. */
    static String value(Store.Transaction tx, Record record) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        String sql = "SELECT bytes FROM result_pieces WHERE uid = ? AND request_id = ? AND piece = ?";
        for (int piece = 0; ; piece++) {
            try (Cursor row = tx.query(sql, record.uid, record.requestId, piece)) {
                if (!row.moveToFirst()) {
                    return new String(bytes.toByteArray(), StandardCharsets.UTF_8);
                }
                byte[] next = row.getBlob(0);
                bytes.write(next, 0, next.length);
            }
        }
    }

    private static void forgetPieces(Store.Transaction tx, Record record) {
        tx.update("DELETE FROM result_pieces WHERE uid = ? AND request_id = ?", record.uid, record.requestId);
    }

    /** Removes what is past its retention. Of an operation the name stays for a while (§5: RESULT_EXPIRED). */
    static void purge(Store.Transaction tx, long nowMs) {
        long keptFrom = nowMs - Limits.RETENTION_MS;
        tx.update(
                "DELETE FROM result_pieces WHERE EXISTS (SELECT 1 FROM executions e WHERE e.uid = result_pieces.uid"
                        + " AND e.request_id = result_pieces.request_id AND e.state = 'ENDED' AND e.arrived_ms <= ?)",
                keptFrom);
        tx.update(
                "UPDATE executions SET state = 'EXPIRED', outcome = NULL, error = NULL"
                        + " WHERE state = 'ENDED' AND operation_id IS NOT NULL AND arrived_ms <= ?",
                keptFrom);
        tx.update("DELETE FROM executions WHERE state = 'ENDED' AND operation_id IS NULL AND arrived_ms <= ?", keptFrom);
        tx.update("DELETE FROM executions WHERE state = 'EXPIRED' AND arrived_ms <= ?", nowMs - Limits.TOMBSTONE_MS);
        tx.update("DELETE FROM confirmations WHERE expires_ms <= ?", keptFrom);
    }
}
