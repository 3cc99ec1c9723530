package org.cetp.provider;

import android.os.Bundle;
import android.util.Log;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import org.cetp.json.Json;

/**
 * Background operations: work, polling, cancelling, and going on after a restart (§4.4).
 *
 * <p>Whoever changes an operation does so in one transaction that first looks where it is. Cancelling and committing
 * therefore cannot both win, and an end is never taken back.
 */
public final class Operations {
    private static final String TAG = "CetpProvider";

    /** How an operation is moved on. */
    public enum Step {
        RUN,
        /** It has its effect and does not end yet. */
        COMMIT,
        SUCCEED,
        FAIL
    }

    /** What became of moving it. */
    public enum Moved {
        YES,
        /** What is committed cannot fail. */
        NO,
        UNKNOWN
    }

    private final Engine engine;
    private final ExecutorService workers =
            Executors.newFixedThreadPool(
                    4,
                    new ThreadFactory() {
                        @Override
                        public Thread newThread(Runnable work) {
                            Thread thread = new Thread(work, "cetp-operation");
                            thread.setDaemon(true);
                            return thread;
                        }
                    });

    Operations(Engine engine) {
        this.engine = engine;
    }

    // --- the protocol's side ---

    /** {@code get_operation}. */
    Bundle status(Identity caller, Session session, Extras extras) throws Refusal {
        extras.deadlineMs();
        String requestId = extras.requestId();
        Executions.Record record;
        String value = null;
        try (Store.Transaction tx = engine.store.begin()) {
            record = find(tx, caller, requestId, extras);
            if (record.state == Executions.State.ENDED && record.outcome == Executions.Outcome.VALUE) {
                value = Executions.value(tx, record);
            }
        }
        if (value != null) {
            String before = "{\"operation_id\":\"" + record.operationId + "\",\"state\":\"succeeded\",\"result\":";
            Results.Carried carried = engine.results.carry(session, value, before, "}");
            return carried.into(Replies.success(requestId, carried.data));
        }
        return Replies.success(requestId, Json.write(unfinishedOrFailed(record)));
    }

    /** Progress is for people and does not tell whether the effect is there. */
    private static Map<String, Object> unfinishedOrFailed(Executions.Record record) {
        Map<String, Object> status = Json.objectOf("operation_id", record.operationId);
        if (record.state == Executions.State.ENDED) {
            boolean failed = record.outcome == Executions.Outcome.ERROR;
            status.put("state", failed ? "failed" : "cancelled");
            if (failed) {
                status.put("error", record.error.toJson());
            }
            return status;
        }
        boolean queued = record.state == Executions.State.QUEUED;
        int done = record.state == Executions.State.COMMITTED ? 1 : 0;
        status.put("state", queued ? "queued" : "running");
        status.put("progress", Json.objectOf("current", done, "total", 1, "message", queued ? "Waiting" : "Working"));
        status.put("poll_after_ms", Limits.POLL_AFTER_MS);
        return status;
    }

    /**
     * {@code cancel_operation}. The work is stopped in the same transaction that finds it without an effect, so the next
     * poll says "cancelled"; the reply promises no more than that the request was taken.
     */
    Bundle cancel(Identity caller, Extras extras) throws Refusal {
        extras.deadlineMs();
        String requestId = extras.requestId();
        try (Store.Transaction tx = engine.store.begin()) {
            Executions.Record record = find(tx, caller, requestId, extras);
            // Cancelling again is answered as the first time: the reply may have been lost.
            boolean again = record.outcome == Executions.Outcome.CANCELLED;
            if (!record.isOpen() && !again) {
                throw new Refusal(ErrorCode.CONFLICT, "The operation can no longer be cancelled.");
            }
            if (!again) {
                Executions.cancel(tx, record);
                Audit.operationEnded(tx, record, "cancelled");
                tx.commit();
            }
            String data = Json.write(Json.objectOf("operation_id", record.operationId, "state", "cancellation_requested"));
            return Replies.success(requestId, data);
        }
    }

    /**
     * One of another UID, one of another execution and one that never existed are answered alike, so that the answer tells
     * nothing (§4.1, §4.4).
     */
    private Executions.Record find(Store.Transaction tx, Identity caller, String requestId, Extras extras) throws Refusal {
        Executions.Record record = Executions.ofOperation(tx, extras.text(Keys.OPERATION_ID));
        if (record == null || record.uid != caller.uid || !record.requestId.equals(requestId)) {
            throw Refusal.invalidRequest("There is no such operation.");
        }
        if (record.isExpired(engine.clock.nowMs())) {
            throw new Refusal(ErrorCode.RESULT_EXPIRED, "The operation and its result are no longer kept.");
        }
        return record;
    }

    // --- the life of an operation ---

    /** Leaves an operation to a thread of its own. */
    void runInBackground(final String operationId) {
        try {
            workers.execute(
                    new Runnable() {
                        @Override
                        public void run() {
                            try {
                                move(operationId, Step.RUN);
                                move(operationId, Step.SUCCEED);
                            } catch (ThreadDeath end) {
                                throw end;
                            } catch (RuntimeException | Error failure) {
                                // The store failed. Nothing is lost: the operation goes on after a restart.
                                Log.w(TAG, "operation: " + failure.getClass().getName());
                            }
                        }
                    });
        } catch (RejectedExecutionException closing) {
            // As above.
        }
    }

    /** Goes on where an earlier process stopped: what was committed has succeeded, what works by itself works on. */
    void recover() {
        List<Executions.Record> left;
        try (Store.Transaction tx = engine.store.begin()) {
            left = Executions.unfinished(tx);
        }
        for (Executions.Record record : left) {
            if (record.state == Executions.State.COMMITTED) {
                move(record.operationId, Step.SUCCEED);
            } else if (!record.held) {
                runInBackground(record.operationId);
            }
        }
    }

    /** Moves an operation on. Nothing happens to one that has ended. */
    public Moved move(String operationId, Step step) {
        Moved moved;
        String committed = null;
        Refusal failure;
        try (Store.Transaction tx = engine.store.begin()) {
            Executions.Record record = Executions.ofOperation(tx, operationId);
            if (record == null) {
                return Moved.UNKNOWN;
            }
            boolean hasEffect = record.isOpen() && (step == Step.COMMIT || step == Step.SUCCEED);
            moved = moveIn(tx, record, step);
            tx.commit();
            failure = null;
            committed = hasEffect ? record.tool : null;
        } catch (Refusal definite) {
            moved = Moved.YES;
            failure = definite;
        }
        if (failure != null) {
            fail(operationId, failure);
        }
        if (committed != null) {
            engine.observer.committed(committed);
        }
        return moved;
    }

    private Moved moveIn(Store.Transaction tx, Executions.Record record, Step step) throws Refusal {
        if (record.state == Executions.State.COMMITTED) {
            if (step == Step.SUCCEED) {
                Executions.advance(tx, record, Executions.State.ENDED);
                Audit.operationEnded(tx, record, "succeeded");
            }
            return step == Step.FAIL ? Moved.NO : Moved.YES;
        }
        if (!record.isOpen()) {
            return Moved.YES;
        }
        switch (step) {
            case RUN:
                Executions.advance(tx, record, Executions.State.RUNNING);
                break;
            case COMMIT:
                Executions.settle(tx, record, Executions.State.COMMITTED, effectOf(tx, record));
                break;
            case SUCCEED:
                // The effect and the end in one transaction: a process that dies here leaves both or neither.
                Executions.settle(tx, record, Executions.State.ENDED, effectOf(tx, record));
                Audit.operationEnded(tx, record, "succeeded");
                break;
            default:
                throw new Refusal(ErrorCode.CONFLICT, "The work could not be done.");
        }
        return Moved.YES;
    }

    private String effectOf(Store.Transaction tx, Executions.Record record) throws Refusal {
        Tool tool = engine.catalogue().ofOperation(record.tool);
        if (tool == null) {
            throw new Refusal(ErrorCode.INTERNAL_ERROR, "The tool does not exist any more.");
        }
        Map<String, Object> args = ToolCode.arguments(tool, record.args);
        return ToolCode.perform(tool, args, new Work(tx, record.requestId, tool.name));
    }

    /** The transaction of the effect was undone: there is none, and that is how the operation ends. */
    private void fail(String operationId, Refusal failure) {
        try (Store.Transaction tx = engine.store.begin()) {
            Executions.Record record = Executions.ofOperation(tx, operationId);
            if (record != null && record.isOpen()) {
                Executions.fail(tx, record, failure);
                Audit.operationEnded(tx, record, failure.code.name());
                tx.commit();
            }
        }
    }

    void close() {
        workers.shutdown();
    }
}
