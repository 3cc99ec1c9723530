package org.cetp.consumer;

import java.util.ArrayList;
import java.util.List;

/** A set of characters of a {@link LinearPattern}: ranges, categories of Unicode, and what is not in another set. */
final class CharacterSet {
    private final List<int[]> ranges = new ArrayList<>();
    private final List<Integer> categories = new ArrayList<>();
    private final List<CharacterSet> others = new ArrayList<>();
    private boolean inverted;

    static CharacterSet of(int c) {
        return range(c, c);
    }

    static CharacterSet range(int first, int last) {
        CharacterSet set = new CharacterSet();
        set.ranges.add(new int[] {first, last});
        return set;
    }

    static CharacterSet words() {
        CharacterSet set = range('0', '9');
        set.add(range('A', 'Z'));
        set.add(range('a', 'z'));
        set.add(of('_'));
        return set;
    }

    static boolean isWord(int c) {
        return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_';
    }

    static CharacterSet lineEnds() {
        CharacterSet set = of('\n');
        set.add(of('\r'));
        set.add(range(0x2028, 0x2029));
        return set;
    }

    /** ECMA-262's white space and line ends. */
    static CharacterSet spaces() {
        CharacterSet set = lineEnds();
        set.add(of('\t'));
        set.add(range(0x0b, 0x0c));
        set.add(of(0xfeff));
        set.categories.add((int) Character.SPACE_SEPARATOR);
        return set;
    }

    /** A general category of Unicode by its short name; null where it is not known here. */
    static CharacterSet property(String name) {
        CharacterSet set = new CharacterSet();
        switch (name) {
            case "L":
            case "Letter":
                set.addAll(
                        Character.UPPERCASE_LETTER, Character.LOWERCASE_LETTER, Character.TITLECASE_LETTER,
                        Character.MODIFIER_LETTER, Character.OTHER_LETTER);
                return set;
            case "Lu":
                set.addAll(Character.UPPERCASE_LETTER);
                return set;
            case "Ll":
                set.addAll(Character.LOWERCASE_LETTER);
                return set;
            case "N":
            case "Number":
                set.addAll(Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER);
                return set;
            case "Nd":
                set.addAll(Character.DECIMAL_DIGIT_NUMBER);
                return set;
            default:
                return null;
        }
    }

    private void addAll(byte... more) {
        for (byte category : more) {
            categories.add((int) category);
        }
    }

    void add(CharacterSet other) {
        if (other.inverted || !other.others.isEmpty()) {
            others.add(other);
            return;
        }
        ranges.addAll(other.ranges);
        categories.addAll(other.categories);
    }

    CharacterSet inverted() {
        CharacterSet set = new CharacterSet();
        set.others.add(this);
        set.inverted = true;
        return set;
    }

    /** The only character in it; -1 where it is another set. */
    int single() {
        boolean one = !inverted && others.isEmpty() && categories.isEmpty() && ranges.size() == 1;
        return one && ranges.get(0)[0] == ranges.get(0)[1] ? ranges.get(0)[0] : -1;
    }

    boolean has(int c) {
        return listed(c) != inverted;
    }

    private boolean listed(int c) {
        for (int[] range : ranges) {
            if (range[0] <= c && c <= range[1]) {
                return true;
            }
        }
        if (!categories.isEmpty() && categories.contains(Character.getType(c))) {
            return true;
        }
        for (CharacterSet other : others) {
            if (other.has(c)) {
                return true;
            }
        }
        return false;
    }
}
