package org.cetp.provider;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/**
 * JSON Schema 2020-12 (§3.2), as much of it as a provider's own tools need. A keyword that is not known here is an error
 * when the schema is compiled and never passed over: what is not checked must not look as if it were. There are no
 * references, so none can leave the document.
 */
final class JsonSchema {
    private static final Set<String> ANNOTATIONS =
            new HashSet<>(Arrays.asList("$schema", "$comment", "title", "description", "default", "examples", "deprecated"));

    private Boolean always;
    private Set<String> types;
    private List<Object> allowed;
    private BigDecimal minimum;
    private BigDecimal maximum;
    private BigDecimal exclusiveMinimum;
    private BigDecimal exclusiveMaximum;
    private long minLength;
    private long maxLength = Long.MAX_VALUE;
    private long minItems;
    private long maxItems = Long.MAX_VALUE;
    private JsonSchema items;
    private final Map<String, JsonSchema> properties = new LinkedHashMap<>();
    private final List<String> required = new ArrayList<>();
    private JsonSchema additionalProperties;
    private final List<JsonSchema> anyOf = new ArrayList<>();

    private JsonSchema() {}

    static JsonSchema compile(Object schema) throws JsonException {
        JsonSchema compiled = new JsonSchema();
        if (schema instanceof Boolean) {
            compiled.always = (Boolean) schema;
            return compiled;
        }
        for (Map.Entry<String, Object> keyword : Json.object(schema, "a schema").entrySet()) {
            compiled.add(keyword.getKey(), keyword.getValue());
        }
        return compiled;
    }

    private void add(String keyword, Object value) throws JsonException {
        switch (keyword) {
            case "type":
                types = new HashSet<>(value instanceof String ? texts(Arrays.asList(value)) : texts(value));
                break;
            case "enum":
                allowed = Json.list(value, keyword);
                break;
            case "const":
                allowed = new ArrayList<>(Arrays.asList(value));
                break;
            case "minimum":
                minimum = number(value);
                break;
            case "maximum":
                maximum = number(value);
                break;
            case "exclusiveMinimum":
                exclusiveMinimum = number(value);
                break;
            case "exclusiveMaximum":
                exclusiveMaximum = number(value);
                break;
            case "minLength":
                minLength = Json.whole(value, keyword);
                break;
            case "maxLength":
                maxLength = Json.whole(value, keyword);
                break;
            case "minItems":
                minItems = Json.whole(value, keyword);
                break;
            case "maxItems":
                maxItems = Json.whole(value, keyword);
                break;
            case "items":
                items = compile(value);
                break;
            case "properties":
                for (Map.Entry<String, Object> property : Json.object(value, keyword).entrySet()) {
                    properties.put(property.getKey(), compile(property.getValue()));
                }
                break;
            case "required":
                required.addAll(texts(value));
                break;
            case "additionalProperties":
                additionalProperties = compile(value);
                break;
            case "anyOf":
                for (Object schema : Json.list(value, keyword)) {
                    anyOf.add(compile(schema));
                }
                break;
            default:
                if (!ANNOTATIONS.contains(keyword)) {
                    throw new JsonException("the schema keyword " + keyword + " is not supported");
                }
        }
    }

    private static List<String> texts(Object value) throws JsonException {
        List<String> texts = new ArrayList<>();
        for (Object item : Json.list(value, "a list of names")) {
            texts.add(Json.text(item, "a name"));
        }
        return texts;
    }

    private static BigDecimal number(Object value) throws JsonException {
        BigDecimal number = value instanceof JsonNumber ? ((JsonNumber) value).decimalOrNull() : null;
        if (number == null) {
            throw new JsonException("a limit is no number");
        }
        return number;
    }

    /** Whether a value conforms. It goes down by recursion: the depth of the value has been limited by its reader. */
    boolean accepts(Object value) {
        if (always != null) {
            return always;
        }
        return (types == null || hasType(value))
                && (allowed == null || isAllowed(value))
                && (!(value instanceof JsonNumber) || acceptsNumber((JsonNumber) value))
                && (!(value instanceof String) || acceptsText((String) value))
                && (!(value instanceof List) || acceptsList((List<?>) value))
                && (!(value instanceof Map) || acceptsObject((Map<?, ?>) value))
                && (anyOf.isEmpty() || acceptsAny(value));
    }

    private boolean hasType(Object value) {
        if (value instanceof JsonNumber) {
            return types.contains("number") || (types.contains("integer") && ((JsonNumber) value).isWhole());
        }
        return types.contains(
                value == null ? "null"
                        : value instanceof String ? "string"
                        : value instanceof Boolean ? "boolean"
                        : value instanceof List ? "array"
                        : "object");
    }

    private boolean isAllowed(Object value) {
        for (Object one : allowed) {
            if (Json.equal(one, value)) {
                return true;
            }
        }
        return false;
    }

    private boolean acceptsNumber(JsonNumber number) {
        if (minimum == null && maximum == null && exclusiveMinimum == null && exclusiveMaximum == null) {
            return true;
        }
        BigDecimal value = number.decimalOrNull();
        return value != null
                && (minimum == null || value.compareTo(minimum) >= 0)
                && (maximum == null || value.compareTo(maximum) <= 0)
                && (exclusiveMinimum == null || value.compareTo(exclusiveMinimum) > 0)
                && (exclusiveMaximum == null || value.compareTo(exclusiveMaximum) < 0);
    }

    /** A length is one in characters, not in units of UTF-16. */
    private boolean acceptsText(String text) {
        int length = text.codePointCount(0, text.length());
        return minLength <= length && length <= maxLength;
    }

    private boolean acceptsList(List<?> list) {
        if (list.size() < minItems || list.size() > maxItems) {
            return false;
        }
        if (items != null) {
            for (Object item : list) {
                if (!items.accepts(item)) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean acceptsObject(Map<?, ?> object) {
        for (String name : required) {
            if (!object.containsKey(name)) {
                return false;
            }
        }
        for (Map.Entry<?, ?> member : object.entrySet()) {
            JsonSchema schema = properties.get(member.getKey());
            if (schema == null) {
                schema = additionalProperties;
            }
            if (schema != null && !schema.accepts(member.getValue())) {
                return false;
            }
        }
        return true;
    }

    private boolean acceptsAny(Object value) {
        for (JsonSchema schema : anyOf) {
            if (schema.accepts(value)) {
                return true;
            }
        }
        return false;
    }
}
