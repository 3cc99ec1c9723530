package org.cetp.json;

import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reading, writing and comparing JSON. Values are plain Java: {@link Map} (in the order of the text), {@link List},
 * {@link String}, {@link JsonNumber}, {@link Boolean} and null; {@code Integer} and {@code Long} may be written as well.
 */
public final class Json {
    private Json() {}

    /**
     * Reads exactly one value.
     *
     * @param maxDepth how many lists and objects may be open at a time
     */
    public static Object parse(String text, int maxDepth) throws JsonException {
        return new JsonReader(text, maxDepth).read();
    }

    /** Reads exactly one value, which has to be an object. */
    public static Map<String, Object> parseObject(String text, int maxDepth) throws JsonException {
        return object(parse(text, maxDepth), "the text");
    }

    /** Compact JSON. */
    public static String write(Object value) {
        return new JsonWriter().write(value);
    }

    /** An object of alternating names and values; a null value leaves the member out. */
    public static Map<String, Object> objectOf(Object... namesAndValues) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            if (namesAndValues[i + 1] != null) {
                object.put((String) namesAndValues[i], namesAndValues[i + 1]);
            }
        }
        return object;
    }

    /** The value as an object; {@code what} names it in the message if it is none. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> object(Object value, String what) throws JsonException {
        if (value instanceof Map) {
            return (Map<String, Object>) value;
        }
        throw new JsonException(what + " is no object");
    }

    /** The value as a list; {@code what} names it in the message if it is none. */
    @SuppressWarnings("unchecked")
    public static List<Object> list(Object value, String what) throws JsonException {
        if (value instanceof List) {
            return (List<Object>) value;
        }
        throw new JsonException(what + " is no list");
    }

    /** The value as a text; {@code what} names it in the message if it is none. */
    public static String text(Object value, String what) throws JsonException {
        if (value instanceof String) {
            return (String) value;
        }
        throw new JsonException(what + " is no text");
    }

    /** The value as a whole number; {@code what} names it in the message if it is none. */
    public static long whole(Object value, String what) throws JsonException {
        if (value instanceof JsonNumber) {
            return ((JsonNumber) value).longValue();
        }
        if (value instanceof Integer || value instanceof Long) {
            return ((Number) value).longValue();
        }
        throw new JsonException(what + " is no whole number");
    }

    /**
     * Whether two values are the same JSON: numbers by value, members in any order. For values whose depth was limited,
     * as it goes down by recursion.
     */
    public static boolean equal(Object one, Object other) {
        if (one == null || other == null) {
            return one == other;
        }
        if (one instanceof Map && other instanceof Map) {
            return equalObjects((Map<?, ?>) one, (Map<?, ?>) other);
        }
        if (one instanceof List && other instanceof List) {
            return equalLists((List<?>) one, (List<?>) other);
        }
        return one.equals(other);
    }

    private static boolean equalObjects(Map<?, ?> one, Map<?, ?> other) {
        if (one.size() != other.size()) {
            return false;
        }
        for (Map.Entry<?, ?> member : one.entrySet()) {
            if (!other.containsKey(member.getKey()) || !equal(member.getValue(), other.get(member.getKey()))) {
                return false;
            }
        }
        return true;
    }

    private static boolean equalLists(Collection<?> one, Collection<?> other) {
        if (one.size() != other.size()) {
            return false;
        }
        Iterator<?> others = other.iterator();
        for (Object element : one) {
            if (!equal(element, others.next())) {
                return false;
            }
        }
        return true;
    }

    /** Whether a text holds a surrogate without its other half: then it is no Unicode text and has no UTF-8 form. */
    public static boolean hasLoneSurrogate(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isHighSurrogate(c)) {
                i++;
                if (i >= text.length() || !Character.isLowSurrogate(text.charAt(i))) {
                    return true;
                }
            } else if (Character.isLowSurrogate(c)) {
                return true;
            }
        }
        return false;
    }
}
