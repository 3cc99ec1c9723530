package org.cetp.provider;

import android.content.Context;
import android.os.Bundle;
import android.util.Log;

/**
 * One life of the provider's process, and each call from its entry to its reply. What an Engine holds itself is volatile;
 * what must survive is in its {@link Store}. Calls may come on many threads at once.
 */
public final class Engine {
    private static final String TAG = "CetpProvider";

    final CetpApp app;
    final Clock clock;
    final Store store;
    final ExecutionObserver observer;
    final Sessions sessions;
    final Results results;
    final Confirmations confirmations;
    final Operations operations;
    final Executor executor;
    private final LegacyV1 legacyV1;

    private volatile Catalogue catalogue;
    private long purgedMs = Long.MIN_VALUE;

    /** Opens the database, which is named after the authority, and goes on with what an earlier process left. */
    Engine(Context context, String authority, CetpApp app, ClockOfStore clock, ExecutionObserver observer) {
        this.app = app;
        this.observer = observer;
        store = new Store(context, databaseName(authority), app.tables());
        this.clock = clock.over(store);
        sessions = new Sessions(app.servesV1(), this.clock);
        results = new Results(context);
        confirmations = new Confirmations(context, authority, app, this.clock);
        operations = new Operations(this);
        executor = new Executor(this);
        legacyV1 = new LegacyV1(this);
        catalogue = new Catalogue(app);
        operations.recover();
    }

    public static String databaseName(String authority) {
        return authority + ".db";
    }

    /** Makes the clock; the device's own needs no store. */
    public interface ClockOfStore {
        Clock over(Store store);
    }

    /** One call. Always a Bundle: an exception that crossed the Binder would be a defect (§5). */
    Bundle call(Identity caller, String method, Bundle bundle) {
        Extras extras = new Extras(bundle);
        try {
            if (!method.equals("negotiate") && isV1(extras)) {
                return legacyV1.call(caller, method, extras);
            }
            return callV2(caller, method, extras);
        } catch (Refusal refusal) {
            return Replies.error(extras.echo(), refusal);
        } catch (ThreadDeath end) {
            throw end;
        } catch (RuntimeException | Error failure) {
            // The database failed, say. Its transaction was undone, so repeating is right.
            Log.w(TAG, method + ": " + failure.getClass().getName());
            Refusal unavailable = new Refusal(ErrorCode.UNAVAILABLE, "The provider cannot answer at the moment.");
            return Replies.error(extras.echo(), unavailable);
        }
    }

    /**
     * §4: the same method exists in v1 and v2, and protocol_version tells them apart. Without it a call to a dual-stack
     * provider is v1; anything but the Int 2 is never read as v2.
     */
    private boolean isV1(Extras extras) throws Refusal {
        Object version = extras.get(Keys.PROTOCOL_VERSION);
        boolean asksForV1 = version == null || version.equals(1);
        if (version != null && !(version instanceof Integer)) {
            throw Refusal.invalidRequest("protocol_version is no Int.");
        }
        if (asksForV1 ? !app.servesV1() : !version.equals(Replies.VERSION)) {
            throw new Refusal(ErrorCode.UNSUPPORTED_VERSION, "This provider does not support that protocol version.");
        }
        return asksForV1;
    }

    private Bundle callV2(Identity caller, String method, Extras extras) throws Refusal {
        arrives(caller);
        switch (method) {
            case "negotiate":
                purge();
                return Replies.negotiated(sessions.negotiate(caller, extras, app, catalogue.capabilities));
            case "get_provider_info":
            case "list_tools":
            case "execute_tool":
            case "get_operation":
            case "cancel_operation":
                Session session = sessions.find(caller, extras);
                session.enter();
                try {
                    return inSession(caller, session, method, extras);
                } finally {
                    session.leave();
                }
            default:
                throw new Refusal(ErrorCode.METHOD_NOT_FOUND, "There is no such method.");
        }
    }

    private Bundle inSession(Identity caller, Session session, String method, Extras extras) throws Refusal {
        switch (method) {
            // Lenient about request_id and deadline: §3.3 names neither, and nothing here could happen twice or too late.
            case "get_provider_info":
                return Replies.success(extras.echo(), catalogue.info);
            case "list_tools":
                return Replies.success(extras.echo(), catalogue.listing);
            case "execute_tool":
                return executor.execute(caller, session, extras);
            case "get_operation":
                session.need(Capability.ASYNC_OPERATIONS);
                return operations.status(caller, session, extras);
            default:
                session.need(Capability.CANCELLATION);
                return operations.cancel(caller, extras);
        }
    }

    void arrives(Identity caller) {
        try (Store.Transaction tx = store.begin()) {
            app.arrives(tx, caller);
            tx.commit();
        }
    }

    /** Forgets, now and then, what no promise covers any longer. */
    private synchronized void purge() {
        long nowMs = clock.nowMs();
        if (purgedMs == Long.MIN_VALUE || Math.abs(nowMs - purgedMs) >= Limits.PURGE_EVERY_MS) {
            purgedMs = nowMs;
            try (Store.Transaction tx = store.begin()) {
                Executions.purge(tx, nowMs);
                tx.commit();
            }
        }
    }

    Catalogue catalogue() {
        return catalogue;
    }

    // --- for the app that hosts it ---

    /** Takes over changed tools or capabilities. Sessions that negotiated what is now gone end (§2.3). */
    public synchronized void reload() {
        catalogue = new Catalogue(app);
        sessions.endThoseBeyond(catalogue.capabilities);
    }

    public Store store() {
        return store;
    }

    public Confirmations confirmations() {
        return confirmations;
    }

    public Operations operations() {
        return operations;
    }

    /** Ends this life: what is under way is finished or undone, and nothing can be written any more. */
    public void close() {
        operations.close();
        results.close();
        store.close();
    }
}
