package org.cetp.json;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Writes a value as compact JSON, members in the order of the map. Depth costs memory of the heap only. */
final class JsonWriter {
    private static final String HEX = "0123456789abcdef";

    private final StringBuilder out = new StringBuilder();

    /** Iterators over what is open, the innermost on top, and what closes each. */
    private final Deque<Iterator<?>> open = new ArrayDeque<>();
    private final Deque<Character> ends = new ArrayDeque<>();

    String write(Object value) {
        begin(value);
        while (!open.isEmpty()) {
            Iterator<?> rest = open.peek();
            if (!rest.hasNext()) {
                open.pop();
                out.append(ends.pop().charValue());
                continue;
            }
            char last = out.charAt(out.length() - 1);
            if (last != '[' && last != '{') {
                out.append(',');
            }
            Object next = rest.next();
            if (ends.peek() == '}') {
                Map.Entry<?, ?> member = (Map.Entry<?, ?>) next;
                string((String) member.getKey());
                out.append(':');
                next = member.getValue();
            }
            begin(next);
        }
        return out.toString();
    }

    private void begin(Object value) {
        if (value == null || value instanceof Boolean || value instanceof JsonNumber) {
            out.append(value);
        } else if (value instanceof Integer || value instanceof Long) {
            out.append(value);
        } else if (value instanceof String) {
            string((String) value);
        } else if (value instanceof Map) {
            out.append('{');
            open.push(((Map<?, ?>) value).entrySet().iterator());
            ends.push('}');
        } else if (value instanceof List) {
            out.append('[');
            open.push(((List<?>) value).iterator());
            ends.push(']');
        } else {
            throw new IllegalArgumentException("no JSON value: " + value.getClass().getName());
        }
    }

    private void string(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c == '\n') {
                out.append("\\n");
            } else if (c < ' ' || c == '\u2028' || c == '\u2029' || isLone(text, i)) {
                out.append("\\u");
                for (int shift = 12; shift >= 0; shift -= 4) {
                    out.append(HEX.charAt(c >> shift & 15));
                }
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    /** Whether a surrogate stands alone: written as such it would have no UTF-8 form. */
    private static boolean isLone(String text, int i) {
        char c = text.charAt(i);
        if (Character.isHighSurrogate(c)) {
            return i + 1 >= text.length() || !Character.isLowSurrogate(text.charAt(i + 1));
        }
        return Character.isLowSurrogate(c) && (i == 0 || !Character.isHighSurrogate(text.charAt(i - 1)));
    }
}
