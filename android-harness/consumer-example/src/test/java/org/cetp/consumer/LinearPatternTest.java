package org.cetp.consumer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Random;
import java.util.regex.Pattern;
import org.cetp.json.JsonException;
import org.junit.Test;

public class LinearPatternTest {
    private static boolean find(String pattern, String text) throws JsonException {
        return LinearPattern.compile(pattern).find(text, n -> {});
    }

    /** Java's engine is another implementation of the same language, where both have it. */
    @Test
    public void itFindsWhatJavasEngineFinds() throws JsonException {
        String[] patterns = {
            "a", "^a", "a$", "^$", "", "ab|cd", "^(ab|c)+$", "a*b", "^a?b+c{2}$", "^a{1,3}$", "^(a{2}){2,}$", "[a-c]x", "[^a-c]", "^[\\d-]+$",
            "\\bab\\b", "\\Ba", ".", "^.{2}$", "\\w+\\s\\w+", "(?:a|b)*c", "(?<n>a)b", "a|", "^(a|ab)(c|bcd)$", "\\u0061", "\\x61b", "[\\]\\\\]",
            "^(a|b)*?$", "^((a|b)|(c|ab))*$", "\\.", "\\$", "^(|a)+$", "^\\p{L}+$", "[\\w.]+@[\\w.]+", "(a*)*b", "^a{0}b"
        };
        Random random = new Random(7);
        for (String pattern : patterns) {
            // Java's $ also stands before a last line end, and its dot refuses one line end more.
            Pattern java = Pattern.compile(pattern.endsWith("$") && !pattern.endsWith("\\$") ? pattern.replaceAll("\\$$", "\\\\z") : pattern);
            for (int i = 0; i < 400; i++) {
                StringBuilder text = new StringBuilder();
                for (int n = random.nextInt(7); n > 0; n--) {
                    text.append("aabbcdx1 .@-\\]$_\n\r".charAt(random.nextInt(18)));
                }
                assertEquals(pattern + " in " + text, java.matcher(text).find(), find(pattern, text.toString()));
            }
        }
    }

    @Test
    public void charactersAreCodePoints() throws JsonException {
        assertTrue(find("^.$", "😀"));
        assertTrue(find("^[😀-😂]$", "😁"));
        assertTrue(find("^\\u{1f600}$", "😀"));
        assertTrue(find("^\\ud83d\\ude00$", "😀"));
    }

    @Test
    public void whatItCannotDoIsRefused() {
        for (String pattern : new String[] {
            "(?=a)", "(?!a)", "(?<=a)b", "(a)\\1", "(", ")", "[a", "a**", "*a", "a{2,1}", "a{1001}", "((a{100}){100}){100}", "\\p{Greek}",
            "\\q", "[b-a]", "\\", "\\xg1", "^*", "(?<n", "a{x}"
        }) {
            assertThrows(pattern, JsonException.class, () -> LinearPattern.compile(pattern));
        }
    }

    @Test(timeout = 60_000)
    public void itsTimeIsLinear() throws JsonException {
        String text = "a".repeat(20_000) + "b";
        long[] steps = new long[1];
        assertTrue(!LinearPattern.compile("^(a+)+$").find(text, n -> steps[0] += n));
        assertTrue("steps: " + steps[0], steps[0] < 20L * text.length());
    }
}
