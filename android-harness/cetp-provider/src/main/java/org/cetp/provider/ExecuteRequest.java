package org.cetp.provider;

/** A checked request to execute a tool (§4.1). */
final class ExecuteRequest {
    final Identity caller;
    final Session session;
    final Tool tool;
    final String requestId;
    final long deadlineMs;
    final String args;
    /** Of the bytes as they came: §4.3 and §6 bind to them and not to what they mean. */
    final String argsSha256;
    /** Null where none came. */
    final String resumeToken;

    ExecuteRequest(
            Identity caller, Session session, Tool tool, String requestId, long deadlineMs, String args, String resumeToken) {
        this.caller = caller;
        this.session = session;
        this.tool = tool;
        this.requestId = requestId;
        this.deadlineMs = deadlineMs;
        this.args = args;
        this.argsSha256 = Hashing.sha256(args);
        this.resumeToken = resumeToken;
    }

    /** §3.4: an operation is had only where async_operations was negotiated; elsewhere such a tool is synchronous. */
    boolean runsInBackground() {
        return tool.mayRunInBackground && session.has(Capability.ASYNC_OPERATIONS);
    }

    /** §4.1: before a side effect begins. */
    void checkDeadline(long nowMs) throws Refusal {
        if (nowMs >= deadlineMs) {
            throw new Refusal(
                    ErrorCode.DEADLINE_EXCEEDED, "The deadline has passed; query the same request_id before trying again.");
        }
    }
}
