package org.cetp.consumer;

import java.nio.charset.StandardCharsets;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/** Texts of a provider: JSON, and what people or the agent will read (§7.3). */
final class Texts {
    private Texts() {}

    /** Reads one JSON document strictly and within bounds. The message is ours: nothing of the text is in it. */
    static Object json(String text, long maxBytes) throws JsonException {
        if (Json.hasLoneSurrogate(text)) {
            throw new JsonException("it is not valid Unicode");
        }
        if (text.length() > maxBytes || utf8Length(text) > maxBytes) {
            throw new JsonException("it is too long");
        }
        if (values(text) > Limits.VALUES) {
            throw new JsonException("it holds too many values");
        }
        try {
            return Json.parse(text, Limits.DEPTH);
        } catch (JsonException wrong) {
            throw new JsonException("it is no JSON that can be used");
        }
    }

    static int utf8Length(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    /** How many values a text can hold at most: each has a comma, a colon or a bracket before it. */
    private static int values(String text) {
        int count = 1;
        boolean inString = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (inString && c == '\\') {
                i++;
            } else if (c == '"') {
                inString = !inString;
            } else if (!inString && (c == ',' || c == ':' || c == '[' || c == '{')) {
                count++;
            }
        }
        return count;
    }

    /**
     * A text as it may be shown: without characters that hide or deceive, and cut. Nothing makes it harmless; it stays data
     * wherever it goes.
     */
    static String shown(String text, int mostChars) {
        StringBuilder out = new StringBuilder();
        int kept = 0;
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            i += Character.charCount(c);
            if (deceives(c)) {
                continue;
            }
            if (kept++ == mostChars) {
                return out.append('…').toString();
            }
            out.appendCodePoint(Character.isISOControl(c) ? ' ' : c);
        }
        return out.toString();
    }

    /** Whether a character has no picture of its own, or changes that of others. */
    private static boolean deceives(int c) {
        int type = Character.getType(c);
        boolean control = Character.isISOControl(c) && c != '\n' && c != '\t' && c != '\r';
        return control
                || type == Character.FORMAT
                || type == Character.SURROGATE
                || (c >= 0xfe00 && c <= 0xfe0f)
                || (c >= 0xe0000 && c <= 0xe0fff);
    }

    /** Whether a text that is only kept and sent back has a sane size. */
    static boolean isOpaque(Object text) {
        return text instanceof String
                && !((String) text).isEmpty()
                && ((String) text).length() <= Limits.OPAQUE_BYTES
                && !Json.hasLoneSurrogate((String) text)
                && utf8Length((String) text) <= Limits.OPAQUE_BYTES;
    }
}
