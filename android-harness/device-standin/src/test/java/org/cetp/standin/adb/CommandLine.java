package org.cetp.standin.adb;

import java.util.ArrayList;
import java.util.List;

/**
 * A command line of the shell, as far as the harness uses one: words with quotes and backslashes, commands after each other
 * with {@code ;} or {@code &&}, and {@code $?}. Anything else that a shell would act on is refused.
 */
final class CommandLine {
    /** What stands before a command. */
    enum Join {
        ALWAYS,
        IF_GOOD
    }

    record Command(Join join, List<String> words) {}

    private CommandLine() {}

    static List<Command> parse(String line) throws SyntaxException {
        List<Command> commands = new ArrayList<>();
        List<String> words = new ArrayList<>();
        StringBuilder word = null;
        Join join = Join.ALWAYS;
        char quote = 0;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (quote == '\'' || (quote == '"' && c != '\\')) {
                if (c == quote) {
                    quote = 0;
                } else {
                    word.append(c);
                }
                continue;
            }
            switch (c) {
                case '\'', '"' -> {
                    word = word == null ? new StringBuilder() : word;
                    quote = quote == c ? 0 : c;
                }
                case '\\' -> {
                    word = word == null ? new StringBuilder() : word;
                    if (++i == line.length()) {
                        throw new SyntaxException("a backslash at the end");
                    }
                    word.append(line.charAt(i));
                }
                case ' ', '\t', ';', '&', '\n' -> {
                    if (word != null) {
                        words.add(word.toString());
                        word = null;
                    }
                    if (c == '&' && (++i == line.length() || line.charAt(i) != '&')) {
                        throw new SyntaxException("no background commands");
                    }
                    if (c != ' ' && c != '\t') {
                        if (!words.isEmpty()) {
                            commands.add(new Command(join, words));
                            words = new ArrayList<>();
                        }
                        join = c == '&' ? Join.IF_GOOD : Join.ALWAYS;
                    }
                }
                case '|', '<', '>', '`', '(', ')', '*' -> throw new SyntaxException("no " + c);
                default -> (word = word == null ? new StringBuilder() : word).append(c);
            }
        }
        if (quote != 0) {
            throw new SyntaxException("a quote without an end");
        }
        if (word != null) {
            words.add(word.toString());
        }
        if (!words.isEmpty()) {
            commands.add(new Command(join, words));
        }
        return commands;
    }

    static final class SyntaxException extends Exception {
        private static final long serialVersionUID = 1L;

        SyntaxException(String message) {
            super(message);
        }
    }
}
