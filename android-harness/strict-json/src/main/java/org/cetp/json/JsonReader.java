package org.cetp.json;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads one JSON value (RFC 8259) and nothing beside it. Refused are two members of one name, for nobody can say which
 * was meant; a lone surrogate, for it is no text; and nesting above the limit. It keeps its own stack, so that depth
 * costs memory of the heap and never overflows the thread.
 */
final class JsonReader {
    private final String text;
    private final int maxDepth;
    private int at;
    private Object root;

    /** Lists and objects that are open, the innermost on top. */
    private final Deque<Object> open = new ArrayDeque<>();
    /** For each open object the name that waits for its value. */
    private final Deque<String> names = new ArrayDeque<>();

    JsonReader(String text, int maxDepth) {
        this.text = text;
        this.maxDepth = maxDepth;
    }

    Object read() throws JsonException {
        while (true) {
            skipSpace();
            Object value;
            char c = peek();
            if (c == '[' || c == '{') {
                at++;
                value = c == '[' ? new ArrayList<Object>() : new LinkedHashMap<String, Object>();
                if (open.size() >= maxDepth) {
                    throw wrong("nested too deeply");
                }
                skipSpace();
                if (peek() == (c == '[' ? ']' : '}')) {
                    at++;
                } else {
                    open.push(value);
                    if (c == '{') {
                        names.push(name());
                    }
                    continue;
                }
            } else {
                value = scalar(c);
            }
            if (endsWith(value)) {
                return root;
            }
        }
    }

    /** Puts a finished value into what is open, and closes what ends after it. True when nothing is open any more. */
    private boolean endsWith(Object value) throws JsonException {
        Object finished = value;
        while (true) {
            Object container = open.peek();
            if (container == null) {
                skipSpace();
                if (at != text.length()) {
                    throw wrong("something after the value");
                }
                root = finished;
                return true;
            }
            boolean isList = container instanceof List;
            if (isList) {
                listOf(container).add(finished);
            } else {
                put(mapOf(container), names.pop(), finished);
            }
            skipSpace();
            char c = peek();
            at++;
            if (c == ',') {
                if (!isList) {
                    skipSpace();
                    names.push(name());
                }
                return false;
            }
            if (c != (isList ? ']' : '}')) {
                at--;
                throw wrong("neither a comma nor the end");
            }
            finished = open.pop();
        }
    }

    private void put(Map<String, Object> object, String name, Object value) throws JsonException {
        if (object.containsKey(name)) {
            throw wrong("two members of one name");
        }
        object.put(name, value);
    }

    @SuppressWarnings("unchecked")
    private static List<Object> listOf(Object container) {
        return (List<Object>) container;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> mapOf(Object container) {
        return (Map<String, Object>) container;
    }

    private String name() throws JsonException {
        if (peek() != '"') {
            throw wrong("a member without a name");
        }
        String name = string();
        skipSpace();
        if (peek() != ':') {
            throw wrong("no colon after a name");
        }
        at++;
        return name;
    }

    private Object scalar(char first) throws JsonException {
        switch (first) {
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Object word(String word, Object value) throws JsonException {
        if (!text.startsWith(word, at)) {
            throw wrong("no value");
        }
        at += word.length();
        return value;
    }

    private JsonNumber number() throws JsonException {
        int start = at;
        if (peek() == '-') {
            at++;
        }
        if (peek() == '0') {
            at++;
        } else {
            digits();
        }
        if (peek() == '.') {
            at++;
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            at++;
            if (peek() == '+' || peek() == '-') {
                at++;
            }
            digits();
        }
        return new JsonNumber(text.substring(start, at));
    }

    private void digits() throws JsonException {
        int start = at;
        while (peek() >= '0' && peek() <= '9') {
            at++;
        }
        if (at == start) {
            throw wrong("no value");
        }
    }

    private String string() throws JsonException {
        at++;
        StringBuilder built = null;
        int start = at;
        while (true) {
            if (at >= text.length()) {
                throw wrong("a text without an end");
            }
            char c = text.charAt(at);
            if (c == '"') {
                String tail = text.substring(start, at);
                at++;
                String whole = built == null ? tail : built.append(tail).toString();
                if (Json.hasLoneSurrogate(whole)) {
                    throw wrong("half a character");
                }
                return whole;
            }
            if (c < ' ') {
                throw wrong("a control character in a text");
            }
            if (c == '\\') {
                if (built == null) {
                    built = new StringBuilder();
                }
                built.append(text, start, at);
                at++;
                built.append(escaped());
                start = at;
            } else {
                at++;
            }
        }
    }

    private char escaped() throws JsonException {
        char c = peek();
        at++;
        switch (c) {
            case '"':
            case '\\':
            case '/':
                return c;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int unit = 0;
                for (int i = 0; i < 4; i++) {
                    char hex = peek();
                    // Character.digit alone would take digits of every script.
                    int digit = hex < 128 ? Character.digit(hex, 16) : -1;
                    if (digit < 0) {
                        throw wrong("no four hexadecimal digits");
                    }
                    unit = unit * 16 + digit;
                    at++;
                }
                return (char) unit;
            default:
                throw wrong("an unknown escape");
        }
    }

    private void skipSpace() {
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
                return;
            }
            at++;
        }
    }

    /** The next character; at the end one that nothing expects. */
    private char peek() {
        return at < text.length() ? text.charAt(at) : '\uffff';
    }

    private JsonException wrong(String what) {
        return new JsonException(what + " at character " + at);
    }
}
