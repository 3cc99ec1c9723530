package org.cetp.provider;

import android.os.Bundle;
import java.util.List;
import java.util.Map;
import org.cetp.json.Json;

/**
 * {@code execute_tool}, from the first check to the stored result (§3.4, §4, §6).
 *
 * <p>The order of checks, which the text leaves free, goes from what costs and tells least to what costs and tells most:
 * the envelope; the tool; scopes, so that nobody learns a stored result without them; for a write the record of its
 * request_id, so that a repeat ends here whatever its deadline; the arguments; the deadline; the user; the effect.
 */
final class Executor {
    private final Engine engine;

    Executor(Engine engine) {
        this.engine = engine;
    }

    Bundle execute(Identity caller, Session session, Extras extras) throws Refusal {
        Audit.Trail trail = new Audit.Trail();
        try {
            Bundle reply = execute(caller, session, extras, trail);
            if (!trail.written) {
                try (Store.Transaction tx = engine.store.begin()) {
                    Audit.success(tx, caller, trail, reply.getString(Keys.STATUS));
                    tx.commit();
                }
            }
            return reply;
        } catch (Refusal refusal) {
            try (Store.Transaction tx = engine.store.begin()) {
                Audit.refusal(tx, caller, trail, refusal);
                tx.commit();
            }
            throw refusal;
        }
    }

    private Bundle execute(Identity caller, Session session, Extras extras, Audit.Trail trail) throws Refusal {
        trail.requestId = extras.requestId();
        long deadlineMs = extras.deadlineMs();
        String resumeToken = extras.optionalText(Keys.RESUME_TOKEN);
        Tool tool = engine.catalogue().visible(extras.text(Keys.TOOL_NAME));
        trail.tool = tool.name;
        String args = ToolCode.argsText(extras);
        ExecuteRequest request =
                new ExecuteRequest(caller, session, tool, trail.requestId, deadlineMs, args, resumeToken);
        return tool.writes ? write(request, trail) : read(request, trail);
    }

    // --- reads: not deduplicated (§6), computed again each time ---

    private Bundle read(ExecuteRequest request, Audit.Trail trail) throws Refusal {
        Map<String, Object> args = ToolCode.arguments(request.tool, request.args);
        request.checkDeadline(engine.clock.nowMs());
        String value;
        Refusal withheld;
        try (Store.Transaction tx = engine.store.begin()) {
            Confirmations.Consent consent = consent(tx, request, args);
            withheld = consent.withheld;
            value = null;
            if (withheld == null) {
                Confirmations.spend(tx, consent.ticket);
                trail.decision = consent.ticket == null ? "allowed" : "confirmed";
                value = ToolCode.perform(request.tool, args, new Work(tx, request.requestId, request.tool.name));
            }
            tx.commit();
        }
        if (withheld != null) {
            throw withheld;
        }
        return present(request, value);
    }

    private Confirmations.Consent consent(Store.Transaction tx, ExecuteRequest request, Map<String, Object> args) {
        List<String> missing = missing(tx, request);
        return engine.confirmations.consent(tx, request, args, missing, engine.catalogue());
    }

    /** §7.2: looked up at every call, whatever was listed or granted before. */
    private List<String> missing(Store.Transaction tx, ExecuteRequest request) {
        return Authorization.missing(tx, request.caller, request.tool.scopes, engine.clock.nowMs());
    }

    // --- writes ---

    private Bundle write(ExecuteRequest request, Audit.Trail trail) throws Refusal {
        Stored stored;
        try (Store.Transaction tx = engine.store.begin()) {
            stored = stored(tx, request);
        }
        if (stored == null) {
            Map<String, Object> args = ToolCode.arguments(request.tool, request.args);
            // A repeat was answered above: it begins nothing.
            request.checkDeadline(engine.clock.nowMs());
            stored = request.runsInBackground() ? start(request, args, trail) : run(request, args, trail);
        }
        return stored.isNew ? reply(request, stored) : repeat(request, stored, trail);
    }

    /** A record, and its value if it ended with one. */
    private static final class Stored {
        final Executions.Record record;
        final String value;
        final boolean isNew;

        Stored(Executions.Record record, String value, boolean isNew) {
            this.record = record;
            this.value = value;
            this.isNew = isNew;
        }
    }

    /** What is recorded of the request; null if nothing is, or if the caller may not know. */
    private Stored stored(Store.Transaction tx, ExecuteRequest request) throws Refusal {
        if (!missing(tx, request).isEmpty()) {
            return null;
        }
        Executions.Record record = Executions.find(tx, request, engine.clock.nowMs());
        if (record == null) {
            return null;
        }
        boolean hasValue = record.state == Executions.State.ENDED && record.outcome == Executions.Outcome.VALUE;
        return new Stored(record, hasValue ? Executions.value(tx, record) : null, false);
    }

    /**
     * Looks once more, reserves, spends the confirmation, has the effect, stores the result and writes the audit: one
     * transaction (§10). Of identical requests at the same time the first to get in is the executor; the others find its
     * result (§6).
     */
    private Stored run(ExecuteRequest request, Map<String, Object> args, Audit.Trail trail) throws Refusal {
        Refusal withheld = null;
        Refusal failure = null;
        String value = null;
        try (Store.Transaction tx = engine.store.begin()) {
            Stored stored = stored(tx, request);
            if (stored != null) {
                return stored;
            }
            Confirmations.Consent consent = consent(tx, request, args);
            withheld = consent.withheld;
            if (withheld == null) {
                Executions.Record record = reserve(tx, request, consent, Executions.State.ENDED, trail);
                engine.observer.reserved(request.tool.name);
                // Whoever waited for a turn may have waited too long.
                request.checkDeadline(engine.clock.nowMs());
                try {
                    value = ToolCode.perform(request.tool, args, new Work(tx, request.requestId, request.tool.name));
                    Executions.settle(tx, record, Executions.State.ENDED, value);
                    Audit.success(tx, request.caller, trail, "success");
                } catch (Refusal definite) {
                    failure = definite;
                }
            }
            if (failure == null) {
                tx.commit();
            }
        }
        if (withheld != null) {
            throw withheld; // the question is committed
        }
        if (failure != null) {
            return failed(request, args, failure, trail);
        }
        trail.written = true;
        engine.observer.committed(request.tool.name);
        return new Stored(null, value, true);
    }

    /**
     * The transaction of a tool that failed was undone, whatever it had done by then. A definite failure is the terminal
     * result; one that may be tried again leaves nothing.
     */
    private Stored failed(ExecuteRequest request, Map<String, Object> args, Refusal failure, Audit.Trail trail)
            throws Refusal {
        if (!failure.retryable) {
            try (Store.Transaction tx = engine.store.begin()) {
                Stored overtaken = stored(tx, request);
                if (overtaken != null) {
                    return overtaken;
                }
                Confirmations.Consent consent = consent(tx, request, args);
                if (consent.withheld == null) {
                    Executions.Record record = reserve(tx, request, consent, Executions.State.ENDED, trail);
                    Executions.fail(tx, record, failure);
                    tx.commit();
                }
            }
        }
        throw failure;
    }

    /** The operation is durable before anyone hears of it; from there it goes on by itself, over restarts too. */
    private Stored start(ExecuteRequest request, Map<String, Object> args, Audit.Trail trail) throws Refusal {
        Refusal withheld;
        Executions.Record record = null;
        try (Store.Transaction tx = engine.store.begin()) {
            Stored stored = stored(tx, request);
            if (stored != null) {
                return stored;
            }
            Confirmations.Consent consent = consent(tx, request, args);
            withheld = consent.withheld;
            if (withheld == null) {
                record = reserve(tx, request, consent, Executions.State.QUEUED, trail);
                Audit.success(tx, request.caller, trail, "accepted");
            }
            tx.commit();
        }
        if (withheld != null) {
            throw withheld;
        }
        trail.written = true;
        engine.observer.reserved(request.tool.name);
        if (!record.held) {
            engine.operations.runInBackground(record.operationId);
        }
        return new Stored(record, null, true);
    }

    /** From here on the request_id stands for this tool and these arguments, and the confirmation is spent. */
    private Executions.Record reserve(
            Store.Transaction tx, ExecuteRequest request, Confirmations.Consent consent, Executions.State state,
            Audit.Trail trail) {
        trail.decision = consent.ticket == null ? "allowed" : "confirmed";
        Executions.Record record = new Executions.Record();
        record.uid = request.caller.uid;
        record.requestId = request.requestId;
        record.tool = request.tool.name;
        record.argsSha256 = request.argsSha256;
        record.arrivedMs = engine.clock.nowMs();
        record.state = state;
        if (state == Executions.State.QUEUED) {
            record.operationId = Hashing.randomName("op_");
            record.args = request.args;
            record.held = request.tool.waitsForOthers(argsOf(request));
        }
        Executions.insert(tx, record);
        Confirmations.spend(tx, consent.ticket);
        return record;
    }

    private static Map<String, Object> argsOf(ExecuteRequest request) {
        try {
            return ToolCode.arguments(request.tool, request.args);
        } catch (Refusal impossible) {
            throw new IllegalStateException(impossible); // they were checked before
        }
    }

    // --- replies ---

    private Bundle reply(ExecuteRequest request, Stored stored) throws Refusal {
        return stored.record == null ? present(request, stored.value) : accepted(request, stored.record);
    }

    /** The answer to a repeat: the same operation, or the same terminal result (§4.4, §6). */
    private Bundle repeat(ExecuteRequest request, Stored stored, Audit.Trail trail) throws Refusal {
        trail.decision = "repeated";
        Executions.Record record = stored.record;
        if (record.operationId != null && request.session.has(Capability.ASYNC_OPERATIONS)) {
            return accepted(request, record);
        }
        if (record.state != Executions.State.ENDED) {
            // §2.3: a session that did not negotiate operations gets none.
            throw new Refusal(ErrorCode.UNSUPPORTED_CAPABILITY, "This execution goes on as an operation.");
        }
        switch (record.outcome) {
            case VALUE:
                return present(request, stored.value);
            case ERROR:
                throw record.error;
            default:
                throw new Refusal(ErrorCode.CANCELLED, "The operation was cancelled.");
        }
    }

    private static Bundle accepted(ExecuteRequest request, Executions.Record record) {
        String data =
                Json.write(Json.objectOf("operation_id", record.operationId, "poll_after_ms", Limits.POLL_AFTER_MS));
        return Replies.accepted(request.requestId, data);
    }

    private Bundle present(ExecuteRequest request, String value) throws Refusal {
        Results.Carried carried = engine.results.carry(request.session, value, "", "");
        return carried.into(Replies.success(request.requestId, carried.data));
    }
}
