package org.cetp.consumer;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/**
 * A JSON Schema (2020-12) of a provider, used without trusting it (§3.2, §7.3). It is looked through before it is kept: its
 * size, its patterns, and its references, each of which must lead to a place in the same document. {@link Validation} then
 * counts its steps.
 */
final class Schema {
    private static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";

    private static final Set<String> ONE =
            set("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
                    "unevaluatedItems", "unevaluatedProperties", "contentSchema");
    private static final Set<String> SEVERAL = set("allOf", "anyOf", "oneOf", "prefixItems");
    private static final Set<String> NAMED = set("properties", "patternProperties", "$defs", "dependentSchemas");
    private static final Set<String> COUNTS =
            set("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains");
    private static final Set<String> NUMBERS =
            set("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf");
    private static final Set<String> TYPES = set("null", "boolean", "object", "array", "number", "string", "integer");

    final Object document;
    final Map<String, LinearPattern> patterns = new HashMap<>();

    /** Whether anything asks what other keywords have looked at. */
    boolean asksUnevaluated;

    private final Map<String, Object> anchors = new HashMap<>();
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<Object, Boolean>());

    /** Null may be among them: it is no schema, and is told so when its turn comes. */
    private final Queue<Object> waiting = new LinkedList<>();

    private Schema(Object document) throws JsonException {
        this.document = document;
        collectAnchors(document);
        waiting.add(document);
        while (!waiting.isEmpty()) {
            look(waiting.remove());
        }
        seen.clear();
    }

    private static Set<String> set(String... names) {
        return new HashSet<>(Arrays.asList(names));
    }

    /** Looks a schema through. */
    static Schema of(Object document) throws JsonException {
        if (!isBounded(document)) {
            throw new JsonException("a schema is too large");
        }
        return new Schema(document);
    }

    static boolean isDialect(Object uri) {
        return DIALECT.equals(uri) || (DIALECT + "#").equals(uri);
    }

    /** Whether it has a size at all that is worth looking at. */
    static boolean isBounded(Object schema) {
        return depth(schema) <= Limits.SCHEMA_DEPTH && Texts.utf8Length(Json.write(schema)) <= Limits.SCHEMA_BYTES;
    }

    /** The depth of a text was limited when it was read. */
    private static int depth(Object value) {
        int deepest = 0;
        if (value instanceof Map) {
            for (Object inner : ((Map<?, ?>) value).values()) {
                deepest = Math.max(deepest, depth(inner));
            }
        } else if (value instanceof List) {
            for (Object inner : (List<?>) value) {
                deepest = Math.max(deepest, depth(inner));
            }
        } else {
            return 0;
        }
        return deepest + 1;
    }

    /** Throws where the value does not conform, or cannot be checked. */
    void check(Object value) throws JsonException {
        boolean conforms;
        try {
            conforms = new Validation(this).accepts(document, value);
        } catch (Validation.TooMuch | StackOverflowError endless) {
            throw new JsonException("checking it would take too long");
        }
        if (!conforms) {
            throw new JsonException("it does not conform to its schema");
        }
    }

    // --- looking through ---

    private void collectAnchors(Object value) {
        if (value instanceof Map) {
            for (String keyword : new String[] {"$anchor", "$dynamicAnchor"}) {
                if (((Map<?, ?>) value).get(keyword) instanceof String) {
                    anchors.put((String) ((Map<?, ?>) value).get(keyword), value);
                }
            }
            for (Object inner : ((Map<?, ?>) value).values()) {
                collectAnchors(inner);
            }
        } else if (value instanceof List) {
            for (Object inner : (List<?>) value) {
                collectAnchors(inner);
            }
        }
    }

    private void look(Object schema) throws JsonException {
        if (schema instanceof Boolean) {
            return;
        }
        Map<String, Object> keywords = Json.object(schema, "a schema");
        if (!seen.add(schema)) {
            return;
        }
        for (Map.Entry<String, Object> entry : keywords.entrySet()) {
            lookAt(entry.getKey(), entry.getValue(), schema == document);
        }
    }

    private void lookAt(String keyword, Object value, boolean isRoot) throws JsonException {
        if (ONE.contains(keyword)) {
            waiting.add(value);
            asksUnevaluated |= keyword.startsWith("unevaluated");
        } else if (SEVERAL.contains(keyword)) {
            waiting.addAll(Json.list(value, keyword));
        } else if (NAMED.contains(keyword)) {
            Map<String, Object> named = Json.object(value, keyword);
            waiting.addAll(named.values());
            if (keyword.equals("patternProperties")) {
                for (String pattern : named.keySet()) {
                    compile(pattern);
                }
            }
        } else if (COUNTS.contains(keyword)) {
            if (!(value instanceof JsonNumber) || !((JsonNumber) value).isWhole() || ((JsonNumber) value).doubleValue() < 0) {
                throw new JsonException(keyword + " is no count");
            }
        } else if (NUMBERS.contains(keyword)) {
            boolean number = value instanceof JsonNumber && ((JsonNumber) value).decimalOrNull() != null;
            if (!number || keyword.equals("multipleOf") && ((JsonNumber) value).decimalOrNull().signum() <= 0) {
                throw new JsonException(keyword + " is no number that can be used");
            }
        } else {
            lookAtOther(keyword, value, isRoot);
        }
    }

    private void lookAtOther(String keyword, Object value, boolean isRoot) throws JsonException {
        switch (keyword) {
            case "type":
                List<Object> types = value instanceof String ? Collections.singletonList(value) : Json.list(value, keyword);
                if (types.isEmpty() || !TYPES.containsAll(types)) {
                    throw new JsonException("an unknown type");
                }
                break;
            case "enum":
                Json.list(value, keyword);
                break;
            case "required":
                names(value);
                break;
            case "dependentRequired":
                for (Object names : Json.object(value, keyword).values()) {
                    names(names);
                }
                break;
            case "uniqueItems":
                if (!(value instanceof Boolean)) {
                    throw new JsonException(keyword + " is no Boolean");
                }
                break;
            case "pattern":
                compile(Json.text(value, keyword));
                break;
            case "$ref":
            case "$dynamicRef":
                waiting.add(resolve(Json.text(value, keyword)));
                break;
            case "$schema":
                if (!isRoot || !isDialect(value)) {
                    throw new JsonException("a schema of another dialect");
                }
                break;
            case "$id":
                if (!isRoot) {
                    throw new JsonException("a schema inside the schema");
                }
                break;
            default:
                break; // annotations, and what the dialect does not know
        }
    }

    private static void names(Object value) throws JsonException {
        for (Object name : Json.list(value, "a list of names")) {
            Json.text(name, "a name");
        }
    }

    private void compile(String pattern) throws JsonException {
        if (pattern.length() > Limits.PATTERN_CHARS || patterns.size() >= Limits.PATTERNS) {
            throw new JsonException("patterns are too many or too long");
        }
        patterns.put(pattern, LinearPattern.compile(pattern));
    }

    /** §3.2: the place in this document to which a reference leads. Nothing is ever fetched. */
    Object resolve(String reference) throws JsonException {
        if (!reference.startsWith("#")) {
            throw new JsonException("a reference leads out of the schema");
        }
        String fragment = decoded(reference.substring(1));
        if (fragment.isEmpty()) {
            return document;
        }
        Object at = document;
        if (!fragment.startsWith("/")) {
            at = anchors.get(fragment);
        } else {
            for (String part : fragment.substring(1).split("/", -1)) {
                String name = part.replace("~1", "/").replace("~0", "~");
                if (at instanceof Map) {
                    at = ((Map<?, ?>) at).get(name);
                } else if (at instanceof List && name.matches("[0-9]{1,6}")) {
                    int index = Integer.parseInt(name);
                    at = index < ((List<?>) at).size() ? ((List<?>) at).get(index) : null;
                } else {
                    at = null;
                }
            }
        }
        if (!(at instanceof Map) && !(at instanceof Boolean)) {
            throw new JsonException("a reference leads nowhere");
        }
        return at;
    }

    private static String decoded(String fragment) throws JsonException {
        try {
            // A plus sign is itself in a fragment.
            return java.net.URLDecoder.decode(fragment.replace("+", "%2B"), "UTF-8");
        } catch (java.io.UnsupportedEncodingException | IllegalArgumentException broken) {
            throw new JsonException("a reference cannot be read");
        }
    }
}
