package org.cetp.consumer;

import java.math.BigDecimal;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/**
 * One application of a {@link Schema} to a value. Somebody else's schema is a program: references double the work at each
 * level as cheaply as they are written. So every step is counted, those of a {@link LinearPattern} too.
 */
final class Validation implements LinearPattern.Steps {
    /** The steps are used up, or a reference leads back to itself for the same value. */
    static final class TooMuch extends RuntimeException {
        private static final long serialVersionUID = 1L;

        TooMuch() {
            super(null, null, false, false);
        }
    }

    /** What keywords have looked at in one value, for the unevaluated ones. */
    private static final class Looked {
        final Set<String> members = new HashSet<>();
        final Set<Integer> items = new HashSet<>();

        void add(Looked other) {
            members.addAll(other.members);
            items.addAll(other.items);
        }
    }

    private final Schema schema;
    private int steps;

    Validation(Schema schema) {
        this.schema = schema;
    }

    boolean accepts(Object rules, Object value) {
        return accepts(rules, value, new Looked(), 0);
    }

    @Override
    public void step(int n) {
        steps += n;
        if (steps > Limits.SCHEMA_STEPS) {
            throw new TooMuch();
        }
    }

    /** @param chain how many schemas apply to this same value already, one inside the other */
    private boolean accepts(Object rules, Object value, Looked looked, int chain) {
        step(1);
        if (rules instanceof Boolean) {
            return (Boolean) rules;
        }
        if (chain > Limits.SCHEMA_CHAIN) {
            throw new TooMuch();
        }
        Map<?, ?> keywords = (Map<?, ?>) rules;
        step(keywords.size());
        return acceptsItself(keywords, value)
                && (!(value instanceof JsonNumber) || acceptsNumber(keywords, (JsonNumber) value))
                && (!(value instanceof String) || acceptsText(keywords, (String) value))
                && (!(value instanceof List) || acceptsList(keywords, (List<?>) value, looked))
                && (!(value instanceof Map) || acceptsObject(keywords, (Map<?, ?>) value, looked, chain))
                && acceptsCombined(keywords, value, looked, chain)
                && (!schema.asksUnevaluated || acceptsUnevaluated(keywords, value, looked));
    }

    // --- any value ---

    private boolean acceptsItself(Map<?, ?> keywords, Object value) {
        Object type = keywords.get("type");
        if (type instanceof String && !isOfType((String) type, value)) {
            return false;
        }
        if (type instanceof List) {
            boolean any = false;
            for (Object one : (List<?>) type) {
                any |= isOfType((String) one, value);
            }
            if (!any) {
                return false;
            }
        }
        if (keywords.containsKey("const") && !Json.equal(keywords.get("const"), value)) {
            return false;
        }
        if (keywords.containsKey("enum")) {
            for (Object one : (List<?>) keywords.get("enum")) {
                step(1);
                if (Json.equal(one, value)) {
                    return true;
                }
            }
            return false;
        }
        return true;
    }

    private static boolean isOfType(String type, Object value) {
        switch (type) {
            case "null":
                return value == null;
            case "boolean":
                return value instanceof Boolean;
            case "string":
                return value instanceof String;
            case "number":
                return value instanceof JsonNumber;
            case "integer":
                return value instanceof JsonNumber && ((JsonNumber) value).isWhole();
            case "array":
                return value instanceof List;
            default:
                return value instanceof Map;
        }
    }

    /** Schemas for the same value. */
    private boolean acceptsCombined(Map<?, ?> keywords, Object value, Looked looked, int chain) {
        for (String keyword : new String[] {"$ref", "$dynamicRef"}) {
            if (keywords.containsKey(keyword) && !acceptsInPlace(target(keywords.get(keyword)), value, looked, chain)) {
                return false;
            }
        }
        for (Object one : list(keywords, "allOf")) {
            if (!acceptsInPlace(one, value, looked, chain)) {
                return false;
            }
        }
        if (keywords.containsKey("anyOf") && count(list(keywords, "anyOf"), value, looked, chain) == 0) {
            return false;
        }
        if (keywords.containsKey("oneOf") && count(list(keywords, "oneOf"), value, looked, chain) != 1) {
            return false;
        }
        if (keywords.containsKey("not") && accepts(keywords.get("not"), value, new Looked(), chain + 1)) {
            return false;
        }
        if (keywords.containsKey("if")) {
            String then = acceptsInPlace(keywords.get("if"), value, looked, chain) ? "then" : "else";
            return !keywords.containsKey(then) || acceptsInPlace(keywords.get(then), value, looked, chain);
        }
        return true;
    }

    /** What a schema that does not accept has looked at does not count. */
    private boolean acceptsInPlace(Object rules, Object value, Looked looked, int chain) {
        Looked inner = new Looked();
        boolean accepted = accepts(rules, value, inner, chain + 1);
        if (accepted && schema.asksUnevaluated) {
            looked.add(inner);
        }
        return accepted;
    }

    private int count(List<?> several, Object value, Looked looked, int chain) {
        int accepted = 0;
        for (Object one : several) {
            accepted += acceptsInPlace(one, value, looked, chain) ? 1 : 0;
        }
        return accepted;
    }

    private Object target(Object reference) {
        try {
            return schema.resolve((String) reference);
        } catch (JsonException never) {
            throw new TooMuch(); // every reference was followed when the schema was looked through
        }
    }

    private static List<?> list(Map<?, ?> keywords, String keyword) {
        Object list = keywords.get(keyword);
        return list == null ? new java.util.ArrayList<Object>() : (List<?>) list;
    }

    // --- numbers and texts ---

    private boolean acceptsNumber(Map<?, ?> keywords, JsonNumber number) {
        BigDecimal value = number.decimalOrNull();
        if (value == null) {
            // Beyond what can be computed with: accepted where nothing is asked of it.
            return !keywords.containsKey("minimum") && !keywords.containsKey("maximum")
                    && !keywords.containsKey("exclusiveMinimum") && !keywords.containsKey("exclusiveMaximum")
                    && !keywords.containsKey("multipleOf");
        }
        BigDecimal minimum = decimal(keywords, "minimum");
        BigDecimal maximum = decimal(keywords, "maximum");
        BigDecimal above = decimal(keywords, "exclusiveMinimum");
        BigDecimal below = decimal(keywords, "exclusiveMaximum");
        return (minimum == null || value.compareTo(minimum) >= 0)
                && (maximum == null || value.compareTo(maximum) <= 0)
                && (above == null || value.compareTo(above) > 0)
                && (below == null || value.compareTo(below) < 0)
                && isMultiple(value, decimal(keywords, "multipleOf"));
    }

    private static boolean isMultiple(BigDecimal value, BigDecimal of) {
        if (of == null || value.signum() == 0) {
            return true;
        }
        // Dividing writes the digits out: of 1e2000000000 there are too many.
        if (Math.abs((long) value.scale() - of.scale()) > 1_000 || value.precision() > 1_000 || of.precision() > 1_000) {
            throw new TooMuch();
        }
        return value.remainder(of).signum() == 0;
    }

    private static BigDecimal decimal(Map<?, ?> keywords, String keyword) {
        Object number = keywords.get(keyword);
        return number == null ? null : ((JsonNumber) number).decimalOrNull();
    }

    /** A length is one in characters, not in units of UTF-16. */
    private boolean acceptsText(Map<?, ?> keywords, String text) {
        if (keywords.containsKey("minLength") || keywords.containsKey("maxLength")) {
            step(text.length() / 16);
            if (!inRange(keywords, "minLength", "maxLength", text.codePointCount(0, text.length()))) {
                return false;
            }
        }
        Object pattern = keywords.get("pattern");
        return pattern == null || matches((String) pattern, text);
    }

    private boolean matches(String pattern, String text) {
        return schema.patterns.get(pattern).find(text, this);
    }

    private static boolean inRange(Map<?, ?> keywords, String least, String most, int n) {
        Object minimum = keywords.get(least);
        Object maximum = keywords.get(most);
        BigDecimal count = BigDecimal.valueOf(n);
        return (minimum == null || count.compareTo(((JsonNumber) minimum).decimalOrNull()) >= 0)
                && (maximum == null || count.compareTo(((JsonNumber) maximum).decimalOrNull()) <= 0);
    }

    // --- lists ---

    private boolean acceptsList(Map<?, ?> keywords, List<?> list, Looked looked) {
        if (!inRange(keywords, "minItems", "maxItems", list.size())) {
            return false;
        }
        List<?> prefix = list(keywords, "prefixItems");
        boolean hasItems = keywords.containsKey("items");
        for (int i = 0; i < list.size(); i++) {
            boolean inPrefix = i < prefix.size();
            if (!inPrefix && !hasItems) {
                break;
            }
            if (!accepts(inPrefix ? prefix.get(i) : keywords.get("items"), list.get(i), new Looked(), 0)) {
                return false;
            }
            looked.items.add(i);
        }
        if (Boolean.TRUE.equals(keywords.get("uniqueItems"))) {
            step(list.size());
            if (new HashSet<Object>(list).size() < list.size()) {
                return false;
            }
        }
        return !keywords.containsKey("contains") || acceptsContents(keywords, list, looked);
    }

    private boolean acceptsContents(Map<?, ?> keywords, List<?> list, Looked looked) {
        int found = 0;
        for (int i = 0; i < list.size(); i++) {
            if (accepts(keywords.get("contains"), list.get(i), new Looked(), 0)) {
                found++;
                looked.items.add(i);
            }
        }
        return (keywords.containsKey("minContains") || found > 0) && inRange(keywords, "minContains", "maxContains", found);
    }

    // --- objects ---

    private boolean acceptsObject(Map<?, ?> keywords, Map<?, ?> object, Looked looked, int chain) {
        if (!inRange(keywords, "minProperties", "maxProperties", object.size())) {
            return false;
        }
        if (!object.keySet().containsAll(list(keywords, "required"))) {
            return false;
        }
        Map<?, ?> properties = map(keywords, "properties");
        Map<?, ?> patterns = map(keywords, "patternProperties");
        for (Map.Entry<?, ?> member : object.entrySet()) {
            if (!acceptsMember(keywords, properties, patterns, (String) member.getKey(), member.getValue(), looked)) {
                return false;
            }
        }
        for (Map.Entry<?, ?> dependent : map(keywords, "dependentRequired").entrySet()) {
            if (object.containsKey(dependent.getKey()) && !object.keySet().containsAll((List<?>) dependent.getValue())) {
                return false;
            }
        }
        for (Map.Entry<?, ?> dependent : map(keywords, "dependentSchemas").entrySet()) {
            if (object.containsKey(dependent.getKey()) && !acceptsInPlace(dependent.getValue(), object, looked, chain)) {
                return false;
            }
        }
        return true;
    }

    private boolean acceptsMember(
            Map<?, ?> keywords, Map<?, ?> properties, Map<?, ?> patterns, String name, Object value, Looked looked) {
        step(1);
        if (keywords.containsKey("propertyNames") && !accepts(keywords.get("propertyNames"), name, new Looked(), 0)) {
            return false;
        }
        boolean known = false;
        if (properties.containsKey(name)) {
            known = true;
            if (!accepts(properties.get(name), value, new Looked(), 0)) {
                return false;
            }
        }
        for (Map.Entry<?, ?> pattern : patterns.entrySet()) {
            if (matches((String) pattern.getKey(), name)) {
                known = true;
                if (!accepts(pattern.getValue(), value, new Looked(), 0)) {
                    return false;
                }
            }
        }
        if (!known && keywords.containsKey("additionalProperties")) {
            known = true;
            if (!accepts(keywords.get("additionalProperties"), value, new Looked(), 0)) {
                return false;
            }
        }
        if (known) {
            looked.members.add(name);
        }
        return true;
    }

    private static Map<?, ?> map(Map<?, ?> keywords, String keyword) {
        Object map = keywords.get(keyword);
        return map == null ? new java.util.HashMap<Object, Object>() : (Map<?, ?>) map;
    }

    // --- what nothing else has looked at ---

    private boolean acceptsUnevaluated(Map<?, ?> keywords, Object value, Looked looked) {
        if (value instanceof Map && keywords.containsKey("unevaluatedProperties")) {
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                if (looked.members.add((String) member.getKey())
                        && !accepts(keywords.get("unevaluatedProperties"), member.getValue(), new Looked(), 0)) {
                    return false;
                }
            }
        }
        if (value instanceof List && keywords.containsKey("unevaluatedItems")) {
            List<?> list = (List<?>) value;
            for (int i = 0; i < list.size(); i++) {
                if (looked.items.add(i) && !accepts(keywords.get("unevaluatedItems"), list.get(i), new Looked(), 0)) {
                    return false;
                }
            }
        }
        return true;
    }
}
