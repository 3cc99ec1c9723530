package org.cetp.provider;

import java.util.ArrayList;
import java.util.List;

/**
 * What the user is shown before something cannot be taken back (§7.2): the action, the object, the parameters, and the
 * consequence. Texts that an agent wrote are made visible as they are: nothing in them can hide or turn a line around.
 */
public final class Question {
    private final List<String> lines = new ArrayList<>();

    /** @param action what is done, in the provider's own words */
    public Question(String action) {
        lines.add(action);
    }

    /** A line for the object or a parameter. */
    public Question show(String label, String value) {
        lines.add(label + ": " + visible(value));
        return this;
    }

    /** What cannot be undone, in the provider's own words. */
    public Question consequence(String words) {
        lines.add(words);
        return this;
    }

    List<Object> lines() {
        return new ArrayList<Object>(lines);
    }

    /** Controls, line separators and marks of direction as their code. */
    private static String visible(String text) {
        StringBuilder shown = new StringBuilder();
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            i += Character.charCount(c);
            switch (Character.getType(c)) {
                case Character.CONTROL:
                case Character.FORMAT:
                case Character.LINE_SEPARATOR:
                case Character.PARAGRAPH_SEPARATOR:
                case Character.SURROGATE:
                    shown.append("\\u{").append(Integer.toHexString(c)).append('}');
                    break;
                default:
                    shown.appendCodePoint(c);
            }
        }
        return shown.toString();
    }
}
