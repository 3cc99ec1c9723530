package org.cetp.provider;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * A tool: its descriptor as list_tools shows it (§3.3), and the app's code behind it. A descriptor that is incomplete or
 * contradicts itself is refused when it is made, so that it never reaches a consumer.
 */
public abstract class Tool {
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_]{0,63}");

    final Map<String, Object> descriptor;
    public final String name;
    final String title;
    final List<String> scopes = new ArrayList<>();
    final JsonSchema input;
    final JsonSchema output;

    /** {@code effect} is other than read: it is deduplicated (§6) and not part of v1 (§8), whatever idempotent says. */
    final boolean writes;
    /** {@code confirmation} is always. */
    final boolean alwaysAsks;
    /** {@code execution} is sync_or_async. */
    final boolean mayRunInBackground;

    protected Tool(Map<String, Object> descriptor) {
        this.descriptor = descriptor;
        try {
            name = Json.text(descriptor.get("name"), "name");
            require(NAME.matcher(name).matches(), "the name does not match [a-z][a-z0-9_]{0,63} (§3.1)");
            title = Json.text(descriptor.get("title"), "title");
            Json.text(descriptor.get("description"), "description");
            for (Object scope : Json.list(descriptor.get("scopes"), "scopes")) {
                scopes.add(Json.text(scope, "a scope"));
            }
            input = JsonSchema.compile(descriptor.get("input_schema"));
            output = JsonSchema.compile(descriptor.get("output_schema"));

            Map<String, Object> annotations = Json.object(descriptor.get("annotations"), "annotations");
            String effect = oneOf(annotations, "effect", "read", "create", "update", "delete", "transaction");
            String risk = oneOf(annotations, "risk", "low", "moderate", "high");
            String confirmation = oneOf(annotations, "confirmation", "never", "provider_policy", "always");
            String execution = oneOf(annotations, "execution", "sync", "sync_or_async");
            boolean destructive = flag(annotations, "destructive");
            flag(annotations, "idempotent");
            flag(annotations, "open_world");

            boolean grave = effect.equals("delete") || effect.equals("transaction") || destructive || risk.equals("high");
            writes = !effect.equals("read");
            alwaysAsks = confirmation.equals("always");
            mayRunInBackground = execution.equals("sync_or_async");
            require(!grave || alwaysAsks, "its effect, destructive or risk needs confirmation=always (§3.4)");
            require(writes || !mayRunInBackground, "a read has no record to keep an operation in");
        } catch (JsonException incomplete) {
            throw new IllegalArgumentException(descriptor.get("name") + ": " + incomplete.getMessage());
        }
    }

    private static String oneOf(Map<String, Object> annotations, String member, String... allowed) throws JsonException {
        String value = Json.text(annotations.get(member), member);
        require(Arrays.asList(allowed).contains(value), member + " has an unknown value");
        return value;
    }

    private static boolean flag(Map<String, Object> annotations, String member) throws JsonException {
        Object value = annotations.get(member);
        require(value instanceof Boolean, member + " is no Boolean");
        return (Boolean) value;
    }

    private static void require(boolean holds, String otherwise) throws JsonException {
        if (!holds) {
            throw new JsonException(otherwise);
        }
    }

    // --- the app's code; arguments have passed input_schema ---

    /** Hidden from every caller (§7.2): neither listed nor reachable by its name. */
    public boolean isHidden() {
        return false;
    }

    /** The business rules that no schema says (§7.3). Called before the user is asked and before anything is written. */
    public void check(Map<String, Object> args) throws Refusal {}

    /** Whether these arguments make the call riskier than the annotations say (§3.4). */
    public boolean needsUser(Map<String, Object> args) {
        return false;
    }

    /** What the user is shown before this call is executed (§7.2). Needed by tools that ever ask. */
    public Question question(Map<String, Object> args) {
        return new Question(title);
    }

    /** Whether a background execution waits for somebody outside instead of going on by itself. */
    public boolean waitsForOthers(Map<String, Object> args) {
        return false;
    }

    /**
     * Computes the value and, unless it is a read, has the effect, through {@code work.tx} alone. A {@link Refusal} is a
     * definite failure without an effect; anything else that is thrown becomes INTERNAL_ERROR and is not told (§5).
     */
    public abstract Object perform(Map<String, Object> args, Work work) throws Exception;
}
