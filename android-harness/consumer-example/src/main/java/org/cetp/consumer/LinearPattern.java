package org.cetp.consumer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.cetp.json.JsonException;

/**
 * A regular expression of a schema, on an engine whose time is linear in the text. Java's own goes back and forth, for years
 * where somebody means ill ({@code (a+)+$}), and on Android nothing can stop it: it is native code that copies its input.
 *
 * <p>The language is ECMA-262's without what an engine of this kind cannot do: look-around and back-references. A pattern
 * that has them, or is otherwise not understood, is refused and never passed over.
 */
final class LinearPattern {
    /** Instructions of one pattern: {@code ((a{100}){100}){100}} is short to write. */
    private static final int MOST_INSTRUCTIONS = 20_000;

    private static final int MOST_REPEATS = 1_000;
    private static final int MOST_GROUPS_DEEP = 50;

    /** Told of each step. */
    interface Steps {
        void step(int n);
    }

    private enum Kind {
        SET,
        SPLIT,
        JUMP,
        START,
        END,
        WORD_EDGE,
        NO_WORD_EDGE,
        MATCH
    }

    /** What the machine does at one place: take a character of a set, go on at one or two places, look around, or match. */
    private static final class Instruction {
        final Kind kind;
        CharacterSet set;
        int first;
        int second;

        Instruction(Kind kind) {
            this.kind = kind;
        }
    }

    private final List<Instruction> program = new ArrayList<>();
    private final String pattern;
    private int at;
    private int deep;

    private LinearPattern(String pattern) throws JsonException {
        this.pattern = pattern;
        alternatives();
        if (at < pattern.length()) {
            throw wrong();
        }
        emit(Kind.MATCH);
    }

    static LinearPattern compile(String pattern) throws JsonException {
        return new LinearPattern(pattern);
    }

    private static JsonException wrong() {
        return new JsonException("a pattern cannot be used");
    }

    // --- reading the pattern; instructions are appended as it is read ---

    private Instruction emit(Kind kind) throws JsonException {
        if (program.size() >= MOST_INSTRUCTIONS) {
            throw wrong();
        }
        Instruction instruction = new Instruction(kind);
        program.add(instruction);
        return instruction;
    }

    private boolean next(char wanted) {
        if (at < pattern.length() && pattern.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private int take() throws JsonException {
        if (at >= pattern.length()) {
            throw wrong();
        }
        int c = pattern.codePointAt(at);
        at += Character.charCount(c);
        return c;
    }

    /** {@code a|b}: a split before each but the last, a jump to the end after each. */
    private void alternatives() throws JsonException {
        List<Instruction> jumps = new ArrayList<>();
        while (true) {
            int begin = program.size();
            sequence();
            if (!next('|')) {
                break;
            }
            insertSplit(begin, program.size() + 2);
            jumps.add(emit(Kind.JUMP));
        }
        for (Instruction jump : jumps) {
            jump.first = program.size();
        }
    }

    /** Puts a split before what begins there; it goes on behind it, and at {@code other}. */
    private void insertSplit(int begin, int other) throws JsonException {
        List<Instruction> body = moved(begin);
        Instruction split = emit(Kind.SPLIT);
        split.first = begin + 1;
        split.second = other;
        appendShifted(body, 1);
    }

    /** Takes away what was appended since. */
    private List<Instruction> moved(int begin) {
        List<Instruction> tail = program.subList(begin, program.size());
        List<Instruction> body = new ArrayList<>(tail);
        tail.clear();
        return body;
    }

    private void appendShifted(List<Instruction> body, int by) throws JsonException {
        for (Instruction each : body) {
            Instruction copy = emit(each.kind);
            copy.set = each.set;
            copy.first = each.first + by;
            copy.second = each.second + by;
        }
    }

    private void sequence() throws JsonException {
        while (at < pattern.length() && pattern.charAt(at) != '|' && pattern.charAt(at) != ')') {
            int begin = program.size();
            boolean repeatable = term();
            if (at < pattern.length() && "*+?{".indexOf(pattern.charAt(at)) >= 0) {
                if (!repeatable) {
                    throw wrong();
                }
                repeat(begin);
            }
        }
    }

    /** Whether it may be repeated. */
    private boolean term() throws JsonException {
        int c = take();
        switch (c) {
            case '^':
                emit(Kind.START);
                return false;
            case '$':
                emit(Kind.END);
                return false;
            case '(':
                group();
                return true;
            case '[':
                emit(Kind.SET).set = characterClass();
                return true;
            case '.':
                emit(Kind.SET).set = CharacterSet.lineEnds().inverted();
                return true;
            case '\\':
                return escape();
            case '*':
            case '+':
            case '?':
            case '{':
                throw wrong();
            default:
                emit(Kind.SET).set = CharacterSet.of(c);
                return true;
        }
    }

    private void group() throws JsonException {
        if (++deep > MOST_GROUPS_DEEP) {
            throw wrong();
        }
        if (next('?')) {
            if (next('<') && at < pattern.length() && pattern.charAt(at) != '=' && pattern.charAt(at) != '!') {
                at = pattern.indexOf('>', at) + 1; // a name, which means nothing here
                if (at == 0) {
                    throw wrong();
                }
            } else if (!next(':')) {
                throw wrong(); // look-around
            }
        }
        alternatives();
        if (!next(')')) {
            throw wrong();
        }
        deep--;
    }

    private boolean escape() throws JsonException {
        if (next('b')) {
            emit(Kind.WORD_EDGE);
            return false;
        }
        if (next('B')) {
            emit(Kind.NO_WORD_EDGE);
            return false;
        }
        emit(Kind.SET).set = escaped();
        return true;
    }

    private CharacterSet escaped() throws JsonException {
        int c = take();
        switch (c) {
            case 'd':
                return CharacterSet.range('0', '9');
            case 'D':
                return CharacterSet.range('0', '9').inverted();
            case 'w':
                return CharacterSet.words();
            case 'W':
                return CharacterSet.words().inverted();
            case 's':
                return CharacterSet.spaces();
            case 'S':
                return CharacterSet.spaces().inverted();
            case 'p':
            case 'P':
                if (!next('{')) {
                    throw wrong();
                }
                int end = pattern.indexOf('}', at);
                CharacterSet property = CharacterSet.property(end < 0 ? "" : pattern.substring(at, end));
                if (property == null) {
                    throw wrong();
                }
                at = end + 1;
                return c == 'p' ? property : property.inverted();
            default:
                return CharacterSet.of(character(c));
        }
    }

    /** The character that an escape stands for. */
    private int character(int c) throws JsonException {
        switch (c) {
            case 't':
                return '\t';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 'f':
                return '\f';
            case 'v':
                return 0x0b;
            case '0':
                return 0;
            case 'x':
                return hex(2);
            case 'u':
                if (next('{')) {
                    int end = pattern.indexOf('}', at);
                    int c2 = end < 0 ? -1 : hex(end - at);
                    at++;
                    return c2;
                }
                int unit = hex(4);
                if (Character.isHighSurrogate((char) unit) && pattern.startsWith("\\u", at)) {
                    at += 2;
                    return Character.toCodePoint((char) unit, (char) hex(4));
                }
                return unit;
            default:
                if (c < 128 && Character.isLetterOrDigit(c)) {
                    throw wrong(); // a back-reference, or what is not known here
                }
                return c;
        }
    }

    private int hex(int digits) throws JsonException {
        if (digits < 1 || digits > 6 || at + digits > pattern.length()) {
            throw wrong();
        }
        String text = pattern.substring(at, at + digits);
        if (!text.matches("[0-9a-fA-F]+")) {
            throw wrong();
        }
        at += digits;
        return Integer.parseInt(text, 16);
    }

    private CharacterSet characterClass() throws JsonException {
        boolean inverted = next('^');
        CharacterSet set = new CharacterSet();
        while (!next(']')) {
            CharacterSet first = classAtom();
            if (at + 1 < pattern.length() && pattern.charAt(at) == '-' && pattern.charAt(at + 1) != ']') {
                at++;
                CharacterSet last = classAtom();
                if (first.single() < 0 || last.single() < first.single()) {
                    throw wrong();
                }
                first = CharacterSet.range(first.single(), last.single());
            }
            set.add(first);
        }
        return inverted ? set.inverted() : set;
    }

    private CharacterSet classAtom() throws JsonException {
        int c = take();
        if (c != '\\') {
            return CharacterSet.of(c);
        }
        return next('b') ? CharacterSet.of(0x08) : next('-') ? CharacterSet.of('-') : escaped();
    }

    /** Repeats what begins there. Whether it is greedy makes no difference to whether there is a match. */
    private void repeat(int begin) throws JsonException {
        int least = 0;
        int most = -1; // without end
        int sign = take();
        if (sign == '+') {
            least = 1;
        } else if (sign == '?') {
            most = 1;
        } else if (sign == '{') {
            int end = pattern.indexOf('}', at);
            String counts = end < 0 ? "" : pattern.substring(at, end);
            if (!counts.matches("[0-9]{1,4}(,[0-9]{0,4})?")) {
                throw wrong();
            }
            int comma = counts.indexOf(',');
            least = Integer.parseInt(comma < 0 ? counts : counts.substring(0, comma));
            most = comma < 0 ? least : comma == counts.length() - 1 ? -1 : Integer.parseInt(counts.substring(comma + 1));
            at = end + 1;
        }
        next('?');
        if (least > MOST_REPEATS || most > MOST_REPEATS || most >= 0 && most < least) {
            throw wrong();
        }
        List<Instruction> body = moved(begin);
        for (int i = 0; i < least; i++) {
            appendShifted(body, program.size() - begin);
        }
        if (most < 0) {
            Instruction split = emit(Kind.SPLIT);
            int loop = program.size() - 1;
            split.first = loop + 1;
            appendShifted(body, program.size() - begin);
            emit(Kind.JUMP).first = loop;
            split.second = program.size();
        } else {
            for (int i = least; i < most; i++) {
                Instruction split = emit(Kind.SPLIT);
                split.first = program.size();
                appendShifted(body, program.size() - begin);
                split.second = program.size();
            }
        }
    }

    // --- running ---

    /** Whether it matches anywhere in the text. Each character is looked at once, by every place that can be reached. */
    boolean find(String text, Steps steps) {
        int[] places = new int[program.size()];
        int[] marks = new int[program.size()];
        Arrays.fill(marks, -1);
        int count = 0;
        int before = -1;
        for (int i = 0; ; ) {
            int c = i < text.length() ? text.codePointAt(i) : -1;
            // It may begin at any character.
            int[] reached = Arrays.copyOf(places, count + 1);
            reached[count] = 0;
            count = close(reached, places, marks, i, before, c, steps);
            if (count < 0) {
                return true;
            }
            if (c < 0) {
                return false;
            }
            int kept = 0;
            for (int n = 0; n < count; n++) {
                if (program.get(places[n]).set.has(c)) {
                    places[kept++] = places[n] + 1;
                }
            }
            count = kept;
            before = c;
            i += Character.charCount(c);
        }
    }

    /**
     * Follows everything that takes no character. Gives how many places were reached that take one, or -1 at a match.
     *
     * @param marks the position at which each place was visited last
     */
    private int close(int[] from, int[] into, int[] marks, int position, int before, int after, Steps steps) {
        int count = 0;
        int[] stack = new int[from.length + 2 * program.size()];
        int open = 0;
        for (int place : from) {
            stack[open++] = place;
        }
        while (open > 0) {
            int place = stack[--open];
            if (marks[place] == position) {
                continue;
            }
            marks[place] = position;
            steps.step(1);
            Instruction instruction = program.get(place);
            switch (instruction.kind) {
                case MATCH:
                    return -1;
                case SET:
                    into[count++] = place;
                    break;
                case SPLIT:
                    stack[open++] = instruction.second;
                    stack[open++] = instruction.first;
                    break;
                case JUMP:
                    stack[open++] = instruction.first;
                    break;
                default:
                    if (holds(instruction.kind, before, after)) {
                        stack[open++] = place + 1;
                    }
            }
        }
        return count;
    }

    private static boolean holds(Kind kind, int before, int after) {
        switch (kind) {
            case START:
                return before < 0;
            case END:
                return after < 0;
            default:
                boolean edge = CharacterSet.isWord(before) != CharacterSet.isWord(after);
                return edge == (kind == Kind.WORD_EDGE);
        }
    }
}
