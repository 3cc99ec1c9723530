package org.cetp.standin.adb;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/** Runs command lines: finds each command among those of the device, and ends with the last exit code. */
final class Shell {
    /** The commands of the device. */
    interface Commands {
        /** What a shell says of a command that is not there. */
        int NOT_FOUND = 127;

        /**
         * @param words the command and its arguments
         * @param input what the other side sends while it runs
         * @return the exit code, {@link #NOT_FOUND} where there is no such command
         */
        int run(List<String> words, InputStream input, ShellOutput output) throws IOException;
    }

    private final Commands commands;

    Shell(Commands commands) {
        this.commands = commands;
    }

    void run(String line, InputStream input, ShellOutput output) throws IOException {
        int code = 0;
        try {
            for (CommandLine.Command command : CommandLine.parse(line)) {
                if (command.join() == CommandLine.Join.IF_GOOD && code != 0) {
                    continue;
                }
                int last = code;
                List<String> words = command.words().stream().map(w -> w.replace("$?", Integer.toString(last))).toList();
                code = builtin(words, output);
                if (code < 0) {
                    code = commands.run(words, input, output);
                    if (code == Commands.NOT_FOUND) {
                        output.err("/system/bin/sh: " + words.get(0) + ": inaccessible or not found");
                    }
                }
            }
        } catch (CommandLine.SyntaxException wrong) {
            output.err("/system/bin/sh: syntax error: " + wrong.getMessage());
            code = 1;
        }
        output.exit(code);
    }

    /** -1 where it is none. */
    private static int builtin(List<String> words, ShellOutput output) throws IOException {
        switch (words.get(0)) {
            case "echo":
                output.line(String.join(" ", words.subList(1, words.size())));
                return 0;
            case "true":
                return 0;
            case "false":
                return 1;
            default:
                return -1;
        }
    }
}
