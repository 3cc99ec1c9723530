package org.cetp.consumer;

import android.os.Bundle;
import java.util.List;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;
import org.cetp.shim.Platform;

/**
 * One execution of a tool of version 2, from the agent's arguments to a checked value (§4, §6).
 *
 * <p>It has one request_id from its first call to its last: every repetition asks for the same execution, so that nothing
 * can happen twice. Everything that is repeated is counted.
 */
final class Execution {
    private final Platform platform;
    private final Peer peer;
    private final String name;

    /** These bytes are sent, every time: a resume token is bound to them (§4.3). */
    private final String args;

    private final long timeoutMs;
    private final String requestId = Wire.newId();
    private Peer.Agreed agreed;
    private Tool tool;
    private String resumeToken;
    private boolean dismissed;
    private boolean sent;

    /** It has become an operation: from then on the agent's wish to end it goes to the provider. */
    private boolean following;

    private int losses;
    private int retries;
    private int renewals;
    private int userActions;
    private volatile boolean cancelled;

    Execution(Platform platform, Peer peer, String tool, String args, long timeoutMs) {
        this.platform = platform;
        this.peer = peer;
        this.name = tool;
        this.args = args;
        this.timeoutMs = Math.max(1, timeoutMs);
    }

    boolean isOf(String providerId, String toolName) {
        return peer.providerId.equals(providerId) && name.equals(toolName);
    }

    void cancel() {
        cancelled = true;
    }

    /** Executes to the end. */
    Object run() throws Ending {
        try {
            prepare();
            return conclude();
        } catch (Ending ending) {
            if (ending.code == null && sent && tool.writes) {
                throw Ending.refused(ending.getMessage() + ". Whether the tool had its effect is not known.");
            }
            throw ending;
        }
    }

    /** Nothing is sent that the provider would refuse anyway. */
    private void prepare() throws Ending {
        agreed = peer.agreed();
        tool = agreed.catalogue.tools.get(name);
        if (tool == null) {
            throw Ending.refused("The provider has no such tool that can be used");
        }
        try {
            tool.input.check(Texts.json(args, Long.MAX_VALUE));
        } catch (JsonException wrong) {
            throw Ending.refused("The arguments cannot be sent: " + wrong.getMessage());
        }
    }

    private Object conclude() throws Ending {
        while (true) {
            try (Answer answer = send()) {
                switch (answer.kind) {
                    case SUCCESS:
                        return Results.take(platform, agreed.session, tool.output, answer.data, answer.reply);
                    case ACCEPTED:
                        return follow(answer.object());
                    case ERROR:
                        afterError(answer.problem);
                        break;
                    case LOST:
                        afterLoss(answer.why);
                        break;
                    default:
                        throw Ending.refused(answer.why);
                }
            }
        }
    }

    private Answer send() throws Ending {
        if (Texts.utf8Length(args) > agreed.session.maxRequestBytes) {
            throw Ending.refused("The arguments cannot be sent: they are too long for this provider");
        }
        Bundle extras = envelope();
        extras.putString("tool_name", name);
        extras.putString("args", args);
        if (resumeToken != null) {
            extras.putString("resume_token", resumeToken);
        }
        sent = true;
        return call("execute_tool", extras, Answer.Echo.MUST);
    }

    private Bundle envelope() {
        return Wire.request(agreed.session.token, requestId, platform.nowMs() + timeoutMs);
    }

    private Answer call(String method, Bundle extras, Answer.Echo echo) throws Ending {
        return peer.call(agreed.session, method, extras, echo, requestId);
    }

    // --- repetitions ---

    private void afterError(Problem problem) throws Ending {
        switch (problem.next(retries)) {
            case AGAIN:
                again(problem);
                break;
            case NEGOTIATE:
                renew(problem);
                break;
            case ASK_USER:
                askUser(problem);
                break;
            default:
                throw problem.ending();
        }
    }

    private void again(Problem problem) throws Ending {
        if (retries >= Limits.RETRIES || givesUp()) {
            throw problem.ending();
        }
        platform.sleep(problem.waitMs(retries++));
    }

    /** A new session in the place of one that the provider no longer knows (§2.2). The tool must still be what it was. */
    private void renew(Problem problem) throws Ending {
        if (renewals >= Limits.RENEWALS || givesUp()) {
            throw problem.ending();
        }
        renewals++;
        agreed = peer.renew(agreed);
        Tool now = agreed.catalogue.tools.get(name);
        if (now == null || !Json.equal(now.descriptor, tool.descriptor)) {
            throw Ending.refused("The tool has changed since it was shown");
        }
    }

    /**
     * §4.3: the user decides on the provider's own screen; then the same call is made again, with the resume token. Only a
     * PendingIntent of the provider itself that nobody can change is launched: it acts with its creator's identity.
     */
    private void askUser(Problem problem) throws Ending {
        if (problem.resolution == null || dismissed || userActions >= Limits.USER_ACTIONS || givesUp()) {
            throw problem.ending();
        }
        if (!peer.packageName.equals(problem.resolution.creatorPackage)) {
            throw Ending.refused("The provider's screen is not shown: it is not the provider's own");
        }
        if (Boolean.FALSE.equals(problem.resolution.immutable)) {
            throw Ending.refused("The provider's screen is not shown: it can be changed");
        }
        userActions++;
        switch (platform.launch(problem.resolution)) {
            case OK:
                break;
            case CANCELLED:
                dismissed = true; // whether that is a refusal is the provider's to say; but nobody is asked again
                break;
            default:
                throw Ending.refused("The provider's screen could not be shown");
        }
        resumeToken = problem.resumeToken;
    }

    /** §6: a call without an answer may have had its effect. The same call with the same request_id finds out. */
    private void afterLoss(String why) throws Ending {
        if (losses >= Limits.LOSSES || givesUp()) {
            throw tool.writes ? Ending.unknown(why) : Ending.error("UNAVAILABLE", why);
        }
        platform.sleep(Limits.pauseMs(++losses));
    }

    /** Nothing is repeated for an agent that does not want it any more. */
    private boolean givesUp() {
        return cancelled && !following;
    }

    // --- operations (§4.4) ---

    private Object follow(Map<String, Object> accepted) throws Ending {
        if (!agreed.session.can(Session.ASYNC)) {
            throw Ending.refused("The provider answered with an operation, which was not negotiated");
        }
        Object operation = accepted.get("operation_id");
        if (!Texts.isOpaque(operation)) {
            throw Ending.refused("The operation has no identifier");
        }
        long waitMs = pollAfterMs(accepted);
        int cancels = 0;
        boolean answered = false;
        losses = 0;
        retries = 0;
        following = true;
        for (int poll = 0; poll < Limits.POLLS; poll++) {
            if (cancelled && !answered && cancels < Limits.CANCELS && agreed.session.can(Session.CANCELLATION)) {
                cancels++;
                answered = cancel((String) operation);
            }
            if (waitMs > 0) {
                platform.sleep(waitMs);
            }
            if (!agreed.session.can(Session.ASYNC)) {
                throw Ending.unknown("The provider no longer tells about operations");
            }
            waitMs = 0;
            try (Answer answer = call("get_operation", about((String) operation), Answer.Echo.MAY)) {
                switch (answer.kind) {
                    case SUCCESS:
                        losses = 0;
                        retries = 0;
                        Map<String, Object> state = answer.object();
                        if (hasEnded((String) operation, state)) {
                            return Results.take(platform, agreed.session, tool.output, state.get("result"), answer.reply);
                        }
                        waitMs = pollAfterMs(state);
                        break;
                    case ERROR:
                        afterErrorOfPoll(answer.problem);
                        break;
                    case LOST:
                        afterLoss(answer.why);
                        break;
                    case ACCEPTED:
                        throw Ending.refused("The answer is no answer to this method");
                    default:
                        throw Ending.refused(answer.why);
                }
            }
        }
        throw Ending.unknown("The operation does not come to an end");
    }

    private void afterErrorOfPoll(Problem problem) throws Ending {
        switch (problem.next(retries)) {
            case AGAIN:
                again(problem);
                break;
            case NEGOTIATE:
                renew(problem);
                break;
            default:
                throw problem.ending(); // the user cannot help with a question about a state
        }
    }

    /**
     * Whether it has succeeded; any other end is thrown. A terminal state counts only as it is written: progress is for
     * display, and what nobody defined is neither success nor cancellation.
     */
    @SuppressWarnings("unchecked")
    private static boolean hasEnded(String operation, Map<String, Object> state) throws Ending {
        if (!operation.equals(state.get("operation_id"))) {
            throw Ending.refused("The answer is about another operation");
        }
        switch (String.valueOf(state.get("state"))) {
            case "queued":
            case "running":
            case "cancellation_requested": // none of §4.4; after cancel_operation some providers say it here as well
                return false;
            case "succeeded":
                return true;
            case "failed":
                if (state.get("error") instanceof Map) {
                    throw Problem.of((Map<String, Object>) state.get("error")).ending();
                }
                throw Ending.refused("The operation failed without an error");
            case "cancelled":
                throw Ending.error("CANCELLED", "The operation was cancelled before it had an effect");
            default:
                throw Ending.refused("The operation is in an unknown state");
        }
    }

    /**
     * Asks to cancel; whether that has certainly arrived. Polling goes on: only the state {@code cancelled} means that nothing
     * will happen any more.
     */
    private boolean cancel(String operation) throws Ending {
        try (Answer answer = call("cancel_operation", about(operation), Answer.Echo.MAY)) {
            switch (answer.kind) {
                case LOST:
                    return false;
                case ERROR:
                    return !answer.problem.retryable && !"NEGOTIATION_REQUIRED".equals(answer.problem.code);
                default:
                    return true;
            }
        }
    }

    private Bundle about(String operation) {
        Bundle extras = envelope();
        extras.putString("operation_id", operation);
        return extras;
    }

    /** {@code poll_after_ms}, within our own bounds. */
    private static long pollAfterMs(Map<String, Object> data) throws Ending {
        Object after = data.get("poll_after_ms");
        if (after == null) {
            return Limits.POLL_MS;
        }
        double ms = after instanceof JsonNumber ? ((JsonNumber) after).doubleValue() : -1;
        if (ms < 0) {
            throw Ending.refused("poll_after_ms is no time");
        }
        return (long) Math.max(Limits.LEAST_POLL_MS, Math.min(Math.ceil(ms), Limits.LONGEST_POLL_MS));
    }

    /** A list of executions that are under way is searched by this. */
    static void cancelAll(List<Execution> open, String providerId, String tool) {
        for (Execution execution : open) {
            if (execution.isOf(providerId, tool)) {
                execution.cancel();
            }
        }
    }
}
