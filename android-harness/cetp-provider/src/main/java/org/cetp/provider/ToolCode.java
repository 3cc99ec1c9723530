package org.cetp.provider;

import android.util.Log;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * The border between the protocol and a tool's code. Arguments are untrusted (§7.3), so is the tool's output (§4.2), and
 * nothing that a tool throws gets past here (§5).
 */
final class ToolCode {
    private static final String TAG = "CetpProvider";

    private ToolCode() {}

    /** {@code args}, within its size, which is counted in UTF-8 bytes and not in characters (§4.1). */
    static String argsText(Extras extras) throws Refusal {
        String args = extras.text(Keys.ARGS);
        if (utf8Length(args) > Limits.MAX_REQUEST_BYTES) {
            throw Refusal.invalidRequest("args is longer than " + Limits.MAX_REQUEST_BYTES + " bytes.");
        }
        return args;
    }

    /** An object that conforms to input_schema (§5) and to the business rules, which no schema says (§7.3). */
    static Map<String, Object> arguments(Tool tool, String text) throws Refusal {
        Map<String, Object> args;
        try {
            args = Json.parseObject(text, Limits.MAX_ARGS_DEPTH);
        } catch (JsonException wrong) {
            throw new Refusal(ErrorCode.INVALID_ARGS, "The arguments are no JSON object, or nested too deeply.");
        }
        if (!tool.input.accepts(args)) {
            throw new Refusal(ErrorCode.INVALID_ARGS, "The arguments do not fit the tool's input schema.");
        }
        try {
            tool.check(args);
        } catch (ThreadDeath end) {
            throw end;
        } catch (RuntimeException | Error failure) {
            throw failed(tool, failure);
        }
        return args;
    }

    /** Runs the tool: the value as JSON text. What breaks output_schema is never a success (§4.2). */
    static String perform(Tool tool, Map<String, Object> args, Work work) throws Refusal {
        Object value;
        try {
            value = tool.perform(args, work);
            if (!tool.output.accepts(value)) {
                Log.w(TAG, tool.name + ": the output breaks its schema");
                throw new Refusal(ErrorCode.INTERNAL_ERROR, "The tool failed.");
            }
            return Json.write(value);
        } catch (Refusal refused) {
            throw refused;
        } catch (ThreadDeath end) {
            throw end; // the one Error that is no failure: the thread is being ended
        } catch (Exception | Error failure) {
            throw failed(tool, failure);
        }
    }

    /** The class of what went wrong helps whoever reads the log. Its text could hold anything, so it stays unread (§5). */
    private static Refusal failed(Tool tool, Throwable failure) {
        Log.w(TAG, tool.name + ": " + failure.getClass().getName());
        return new Refusal(ErrorCode.INTERNAL_ERROR, "The tool failed.");
    }

    /** The length in UTF-8 of a text that is valid Unicode, without encoding it. */
    static long utf8Length(String text) {
        long length = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            // Each half of a surrogate pair is two of the character's four bytes.
            length += c < 0x80 ? 1 : c < 0x800 || Character.isSurrogate(c) ? 2 : 3;
        }
        return length;
    }
}
