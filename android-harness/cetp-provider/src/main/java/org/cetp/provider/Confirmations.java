package org.cetp.provider;

import android.app.PendingIntent;
import android.content.Context;
import android.content.Intent;
import android.database.Cursor;
import android.net.Uri;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * What only the user can decide: the authorization of scopes and the confirmation of single calls (§4.3).
 *
 * <p>A question and its resume_token are bound to the caller's identity, the tool, the request_id, the bytes of the
 * arguments and a validity. While it lives, asking again gives the same PendingIntent and the same token, so that asking
 * early spends nothing. Its token works once, after the user has approved, and is spent in the transaction that has the
 * effect.
 */
public final class Confirmations {
    /** What the user can do. */
    public enum Decision {
        APPROVE,
        DENY,
        /** Leaves without a word; this counts as no (§5: "refused or cancelled the confirmation"). */
        DISMISS
    }

    private enum Need {
        /** Scopes that the caller lacks (AUTH_REQUIRED). What is approved lasts. */
        AUTHORIZATION,
        /** This one call (USER_ACTION_REQUIRED). */
        CONFIRMATION
    }

    private enum State {
        PENDING,
        APPROVED,
        DENIED,
        SPENT
    }

    /** How a request stands with the user: it may go on, or it is answered with a refusal. */
    static final class Consent {
        /** The approved question that is to be spent with the execution; null where the user was not needed. */
        final Long ticket;
        final Refusal withheld;

        private Consent(Long ticket, Refusal withheld) {
            this.ticket = ticket;
            this.withheld = withheld;
        }

        static Consent given(Long ticket) {
            return new Consent(ticket, null);
        }

        static Consent withheld(Refusal refusal) {
            return new Consent(null, refusal);
        }
    }

    private static final class Row {
        long id;
        int uid;
        String identity;
        String requestId;
        String tool;
        String argsSha256;
        boolean isWrite;
        Need need;
        List<Object> scopes;
        String token;
        State state;
        long expiresMs;
    }

    private final Context context;
    private final String authority;
    private final CetpApp app;
    private final Clock clock;

    Confirmations(Context context, String authority, CetpApp app, Clock clock) {
        this.context = context;
        this.authority = authority;
        this.app = app;
        this.clock = clock;
    }

    // --- the protocol's side ---

    /** Whether the user has consented to what this execution needs. A question that is asked has to be committed. */
    Consent consent(
            Store.Transaction tx, ExecuteRequest request, Map<String, Object> args, List<String> missing, Catalogue catalogue) {
        for (String scope : missing) {
            if (!app.mayBeAskedFor(scope)) {
                return Consent.withheld(
                        new Refusal(ErrorCode.PERMISSION_DENIED, "The caller lacks a scope of this tool."));
            }
        }
        Need need = need(request, args, missing);
        if (request.resumeToken != null) {
            Consent byToken = byToken(tx, request, need);
            if (byToken != null) {
                return byToken;
            }
        }
        return need == null ? Consent.given(null) : byAsking(tx, request, args, missing, need, catalogue);
    }

    /**
     * §3.4: what is declared "always" is confirmed each time, and so is what turns out riskier than it was declared.
     * §4.3: whatever the consumer says about it in arguments or extras is not looked at.
     */
    private static Need need(ExecuteRequest request, Map<String, Object> args, List<String> missing) {
        if (!missing.isEmpty()) {
            return Need.AUTHORIZATION;
        }
        return request.tool.alwaysAsks || request.tool.needsUser(args) ? Need.CONFIRMATION : null;
    }

    /**
     * What the token that came with the request stands for. Null if it was a good one and what was approved does not cover
     * what is needed now: the scope is there and the call is still to be confirmed, or the scope was withdrawn again.
     */
    private Consent byToken(Store.Transaction tx, ExecuteRequest request, Need need) {
        Row row = first(tx, "token = ?", request.resumeToken);
        boolean good = row != null && belongs(row, request) && row.state != State.SPENT && clock.nowMs() < row.expiresMs;
        if (!good) {
            String words = "resume_token belongs to another call, was used, or has expired.";
            return Consent.withheld(Refusal.invalidRequest(words));
        }
        switch (row.state) {
            case DENIED:
                return Consent.withheld(cancelled());
            case PENDING:
                return Consent.withheld(ask(row));
            default:
                if (need == null || (need == Need.CONFIRMATION && row.need == Need.CONFIRMATION)) {
                    return Consent.given(row.id);
                }
                spend(tx, row.id);
                return null;
        }
    }

    /** Asks the user, or finds that the user has been asked about exactly this already. */
    private Consent byAsking(
            Store.Transaction tx, ExecuteRequest request, Map<String, Object> args, List<String> missing, Need need,
            Catalogue catalogue) {
        List<Object> scopes = new ArrayList<Object>(missing);
        Row row =
                first(
                        tx,
                        "uid = ? AND request_id = ? AND identity = ? AND tool = ? AND args_sha256 = ? AND need = ?"
                                + " AND scopes = ? AND state <> 'SPENT' AND expires_ms > ? ORDER BY id DESC LIMIT 1",
                        request.caller.uid, request.requestId, request.caller.key(), request.tool.name,
                        request.argsSha256, need.name(), Json.write(scopes), clock.nowMs());
        if (row != null && row.state == State.DENIED) {
            return Consent.withheld(cancelled());
        }
        if (row != null && row.state == State.APPROVED && need == Need.AUTHORIZATION) {
            // Approved, and the scope is missing all the same: it has been withdrawn since.
            spend(tx, row.id);
            row = null;
        }
        return Consent.withheld(ask(row == null ? put(tx, request, args, scopes, need, catalogue) : row));
    }

    /** §4.3: bound to the caller, the tool, the bytes of the arguments and the request_id. */
    private static boolean belongs(Row row, ExecuteRequest request) {
        return row.identity.equals(request.caller.key())
                && row.tool.equals(request.tool.name)
                && row.argsSha256.equals(request.argsSha256)
                && row.requestId.equals(request.requestId);
    }

    private Row put(
            Store.Transaction tx, ExecuteRequest request, Map<String, Object> args, List<Object> scopes, Need need,
            Catalogue catalogue) {
        Row row = new Row();
        row.need = need;
        row.token = Hashing.randomName("rt_");
        row.id =
                tx.insert(
                        "INSERT INTO confirmations (uid, identity, request_id, tool, args_sha256, is_write, need, scopes,"
                                + " texts, token, state, expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        request.caller.uid, request.caller.key(), request.requestId, request.tool.name,
                        request.argsSha256, request.tool.writes, need.name(), Json.write(scopes),
                        Json.write(texts(request, args, scopes, need, catalogue)), row.token, State.PENDING.name(),
                        clock.nowMs() + Limits.RESUME_TTL_MS);
        return row;
    }

    /** §7.2; and who asks, by all packages of the UID (§7.1). */
    private static List<Object> texts(
            ExecuteRequest request, Map<String, Object> args, List<Object> scopes, Need need, Catalogue catalogue) {
        if (need == Need.CONFIRMATION) {
            return request.tool.question(args).show("Asked for by", request.caller.packageNames()).lines();
        }
        Question question = new Question("Allow another app to use this one?");
        question.show("App", request.caller.packageNames());
        for (Object scope : scopes) {
            question.show("It asks for", catalogue.scopeTitle((String) scope));
        }
        return question.show("To use", request.tool.title).lines();
    }

    private Refusal ask(Row row) {
        return row.need == Need.AUTHORIZATION
                ? Refusal.needsUser(
                        ErrorCode.AUTH_REQUIRED, "The user has to authorize this app.", resolution(row.id), row.token)
                : Refusal.needsUser(
                        ErrorCode.USER_ACTION_REQUIRED, "The user has to confirm this call.", resolution(row.id), row.token);
    }

    /**
     * §4.3, §7.2: explicit, for a component of our own, and immutable. The data makes it one of its own: PendingIntents
     * that differ in extras only are one and the same.
     */
    private PendingIntent resolution(long id) {
        Intent intent = new Intent(context, app.confirmationActivity());
        intent.setData(Uri.parse("content://" + authority + "/confirmations/" + id));
        return PendingIntent.getActivity(context, 0, intent, PendingIntent.FLAG_IMMUTABLE);
    }

    /** In the transaction of the effect: nothing that was confirmed once can be executed twice. */
    static void spend(Store.Transaction tx, Long ticket) {
        if (ticket != null) {
            tx.update("UPDATE confirmations SET state = 'SPENT' WHERE id = ?", ticket);
        }
    }

    private static Refusal cancelled() {
        return new Refusal(ErrorCode.USER_CANCELLED, "The user did not agree.");
    }

    // --- the side of the Activity ---

    /** What the Activity shows; null if there is no such question. */
    public List<String> texts(Store.Transaction tx, long id) {
        try (Cursor row = tx.query("SELECT texts FROM confirmations WHERE id = ?", id)) {
            if (!row.moveToFirst()) {
                return null;
            }
            List<String> texts = new ArrayList<>();
            for (Object text : ourList(row.getString(0))) {
                texts.add((String) text);
            }
            return texts;
        }
    }

    /**
     * The user's decision; false if there is no such question. The first decision stands, and after the validity nothing
     * happens. A "no" to a write is the terminal result of its execution and is stored at once, so that no repeat turns it
     * into a "yes".
     */
    public boolean decide(Store.Transaction tx, long id, Decision decision) {
        Row row = first(tx, "id = ?", id);
        if (row == null) {
            return false;
        }
        long nowMs = clock.nowMs();
        if (row.state != State.PENDING || nowMs >= row.expiresMs) {
            return true;
        }
        if (decision == Decision.APPROVE) {
            setState(tx, id, State.APPROVED, row.expiresMs);
            for (Object scope : row.scopes) {
                Authorization.grant(tx, row.identity, (String) scope, null);
            }
            return true;
        }
        // Remembered as long as a result would be.
        setState(tx, id, State.DENIED, nowMs + Limits.RETENTION_MS);
        Executions.Record existing = Executions.find(tx, row.uid, row.requestId);
        if (row.isWrite && (existing == null || existing.isExpired(nowMs))) {
            Executions.Record record = new Executions.Record();
            record.uid = row.uid;
            record.requestId = row.requestId;
            record.tool = row.tool;
            record.argsSha256 = row.argsSha256;
            record.arrivedMs = nowMs;
            record.state = Executions.State.ENDED;
            Executions.insert(tx, record);
            Executions.fail(tx, record, cancelled());
        }
        return true;
    }

    private static void setState(Store.Transaction tx, long id, State state, long expiresMs) {
        tx.update("UPDATE confirmations SET state = ?, expires_ms = ? WHERE id = ?", state.name(), expiresMs, id);
    }

    private static Row first(Store.Transaction tx, String condition, Object... values) {
        String sql =
                "SELECT id, uid, identity, request_id, tool, args_sha256, is_write, need, scopes, token, state, expires_ms"
                        + " FROM confirmations WHERE " + condition;
        try (Cursor at = tx.query(sql, values)) {
            if (!at.moveToFirst()) {
                return null;
            }
            Row row = new Row();
            row.id = at.getLong(0);
            row.uid = at.getInt(1);
            row.identity = at.getString(2);
            row.requestId = at.getString(3);
            row.tool = at.getString(4);
            row.argsSha256 = at.getString(5);
            row.isWrite = at.getInt(6) == 1;
            row.need = Need.valueOf(at.getString(7));
            row.scopes = ourList(at.getString(8));
            row.token = at.getString(9);
            row.state = State.valueOf(at.getString(10));
            row.expiresMs = at.getLong(11);
            return row;
        }
    }

    private static List<Object> ourList(String json) {
        try {
            return Json.list(Json.parse(json, 2), "a stored list");
        } catch (JsonException notOurs) {
            throw new IllegalStateException("a stored list cannot be read", notOurs);
        }
    }
}
