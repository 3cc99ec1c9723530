package org.cetp.consumer;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * A tool that can be used (§3.3, §3.4). A member that must be there and is not, or is of another type, is never made up,
 * and neither is a value that the specification does not know: that would turn what nobody said into a promise.
 */
final class Tool {
    private static final List<String> EFFECTS = Arrays.asList("read", "create", "update", "delete", "transaction");

    final String name;

    /** Bounded, and data. */
    final String description;

    final boolean writes;
    final boolean mayBeAsync;
    final Schema input;
    final Schema output;

    /** As it came, to tell whether it is still the same tool. */
    final Map<String, Object> descriptor;

    Tool(Map<String, Object> descriptor) throws JsonException {
        this.descriptor = descriptor;
        name = Json.text(descriptor.get("name"), "name");
        if (!name.matches("[a-z][a-z0-9_]{0,63}")) {
            throw new JsonException("the name is none of a tool");
        }
        description = Texts.shown(Json.text(descriptor.get("description"), "description"), Limits.DESCRIPTION_CHARS);
        List<Object> scopes = Json.list(descriptor.get("scopes"), "scopes");
        if (scopes.size() > Limits.SCOPES) {
            throw new JsonException("there are too many scopes");
        }
        for (Object scope : scopes) {
            Catalogue.checkScopeName(scope);
        }
        Map<String, Object> annotations = Json.object(descriptor.get("annotations"), "annotations");
        String effect = oneOf(annotations, "effect", EFFECTS);
        String risk = oneOf(annotations, "risk", Arrays.asList("low", "moderate", "high"));
        String confirmation = oneOf(annotations, "confirmation", Arrays.asList("never", "provider_policy", "always"));
        boolean destructive = flag(annotations, "destructive");
        flag(annotations, "idempotent"); // it changes nothing: every repetition has the same request_id (§6)
        flag(annotations, "open_world");
        writes = !effect.equals("read");
        mayBeAsync = oneOf(annotations, "execution", Arrays.asList("sync", "sync_or_async")).equals("sync_or_async");
        // What cannot be undone is confirmed every time. Who declares it otherwise is not to be trusted with it.
        boolean grave = effect.equals("delete") || effect.equals("transaction") || destructive || risk.equals("high");
        if (grave && !confirmation.equals("always")) {
            throw new JsonException("a grave tool without confirmation");
        }
        input = Schema.of(required(descriptor, "input_schema"));
        output = Schema.of(required(descriptor, "output_schema"));
    }

    private static Object required(Map<String, Object> object, String name) throws JsonException {
        if (!object.containsKey(name)) {
            throw new JsonException(name + " is missing");
        }
        return object.get(name);
    }

    private static boolean flag(Map<String, Object> annotations, String name) throws JsonException {
        Object flag = annotations.get(name);
        if (!(flag instanceof Boolean)) {
            throw new JsonException(name + " is no Boolean");
        }
        return (Boolean) flag;
    }

    static String oneOf(Map<String, Object> object, String name, List<String> known) throws JsonException {
        String value = Json.text(object.get(name), name);
        if (!known.contains(value)) {
            throw new JsonException(name + " has an unknown value");
        }
        return value;
    }
}
