package org.cetp.shim;

import java.util.Map;
import org.cetp.json.Json;

/** How an execution ended, for the agent. */
public final class Outcome {
    private final Map<String, Object> json;

    private Outcome(Map<String, Object> json) {
        this.json = json;
    }

    /** A value that conforms to the tool's schema, marked as data (§4.2, §7.3). */
    public static Outcome success(Object value) {
        Map<String, Object> json = Json.objectOf("outcome", "success", "trust", "data");
        json.put("value", value); // null is a value
        return new Outcome(json);
    }

    /** The provider says that it did not work, or nothing could be learned. The message may be the provider's: data too. */
    public static Outcome error(String code, String message) {
        return new Outcome(Json.objectOf("outcome", "error", "error_code", code, "message", message, "trust", "data"));
    }

    /** This consumer does not do it, or does not take what came. */
    public static Outcome refused(String message) {
        return new Outcome(Json.objectOf("outcome", "refused", "message", message));
    }

    Map<String, Object> toJson() {
        return json;
    }
}
