package org.cetp.provider;

import android.os.Bundle;
import android.util.Log;
import java.util.Map;

/**
 * v1 for old consumers of a dual-stack provider (§2.1, §8): the read-only subset, in v1's envelope. It is no way around
 * anything: visibility, scopes, arguments and outputs are checked as in v2. v1 has no sessions, no confirmation and no
 * deduplication, so what needs one of them does not exist here.
 */
final class LegacyV1 {
    private final Engine engine;

    LegacyV1(Engine engine) {
        this.engine = engine;
    }

    Bundle call(Identity caller, String method, Extras extras) {
        try {
            Bundle reply = new Bundle();
            reply.putString(Keys.DATA, answer(caller, method, extras));
            reply.putString(Keys.STATUS, "success");
            return reply;
        } catch (Refusal refusal) {
            return error(refusal.code, refusal.getMessage());
        } catch (ThreadDeath end) {
            throw end;
        } catch (RuntimeException | Error failure) {
            Log.w("CetpProvider", "v1: " + failure.getClass().getName());
            return error(ErrorCode.INTERNAL_ERROR, "The provider cannot answer at the moment.");
        }
    }

    private String answer(Identity caller, String method, Extras extras) throws Refusal {
        engine.arrives(caller);
        switch (method) {
            case "list_tools":
                return engine.catalogue().listingV1;
            case "get_provider_info":
                return engine.catalogue().infoV1;
            case "execute_tool":
                return execute(caller, extras);
            default:
                throw new Refusal(ErrorCode.TOOL_NOT_FOUND, "There is no such method.");
        }
    }

    private String execute(Identity caller, Extras extras) throws Refusal {
        Audit.Trail trail = new Audit.Trail();
        try {
            String value = value(caller, extras, trail);
            try (Store.Transaction tx = engine.store.begin()) {
                Audit.success(tx, caller, trail, "success");
                tx.commit();
            }
            return value;
        } catch (Refusal refusal) {
            try (Store.Transaction tx = engine.store.begin()) {
                Audit.refusal(tx, caller, trail, refusal);
                tx.commit();
            }
            throw refusal;
        }
    }

    private String value(Identity caller, Extras extras, Audit.Trail trail) throws Refusal {
        Tool tool = engine.catalogue().visible(extras.text(Keys.TOOL_NAME));
        if (tool.writes) {
            throw new Refusal(ErrorCode.TOOL_NOT_FOUND, "There is no such tool.");
        }
        trail.tool = tool.name;
        // In v1 it is for logs only, and may be missing or anything.
        String echo = extras.echo();
        trail.requestId = echo != null && Extras.isUuid(echo) ? echo : null;
        try (Store.Transaction tx = engine.store.begin()) {
            if (!Authorization.missing(tx, caller, tool.scopes, engine.clock.nowMs()).isEmpty()) {
                throw new Refusal(ErrorCode.PERMISSION_DENIED, "The caller lacks a scope of this tool.");
            }
            Map<String, Object> args = ToolCode.arguments(tool, ToolCode.argsText(extras));
            if (tool.alwaysAsks || tool.needsUser(args)) {
                throw new Refusal(ErrorCode.PERMISSION_DENIED, "This call needs the user, whom v1 cannot ask.");
            }
            String value = ToolCode.perform(tool, args, new Work(tx, trail.requestId, tool.name));
            if (ToolCode.utf8Length(value) > Limits.MAX_INLINE_RESULT_BYTES) {
                throw new Refusal(ErrorCode.INTERNAL_ERROR, "The result is too large.");
            }
            return value;
        }
    }

    /** v1's envelope, with the nearest code that v1 has. */
    private static Bundle error(ErrorCode code, String message) {
        ErrorCode known;
        switch (code) {
            case AUTH_REQUIRED:
            case PERMISSION_DENIED:
            case TOOL_NOT_FOUND:
            case INVALID_ARGS:
            case RATE_LIMITED:
                known = code;
                break;
            case INVALID_REQUEST:
                known = ErrorCode.INVALID_ARGS;
                break;
            default:
                known = ErrorCode.INTERNAL_ERROR;
        }
        Bundle reply = new Bundle();
        reply.putString(Keys.STATUS, "error");
        reply.putString(Keys.ERROR_CODE, known.name());
        reply.putString(Keys.ERROR_MESSAGE, message);
        return reply;
    }
}
