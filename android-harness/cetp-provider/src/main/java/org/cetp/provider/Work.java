package org.cetp.provider;

/** One execution, as a tool's code needs to know it. */
public final class Work {
    /** The transaction in which the effect becomes durable together with its result (§10). Whoever began it commits it. */
    public final Store.Transaction tx;

    public final String requestId;
    public final String tool;

    Work(Store.Transaction tx, String requestId, String tool) {
        this.tx = tx;
        this.requestId = requestId;
        this.tool = tool;
    }
}
