package org.cetp.json;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.Test;

public class JsonTest {
    private static Object parse(String text) throws JsonException {
        return Json.parse(text, 100);
    }

    private static String again(String text) throws JsonException {
        return Json.write(parse(text));
    }

    @Test
    public void whatIsReadIsWrittenAgain() throws JsonException {
        for (String text : List.of(
                "null", "true", "false", "0", "-0", "1.50", "1e+2", "-12E-7", "123456789012345678901234567890",
                "\"\"", "\"a\\\"\\\\\"", "[]", "{}", "[[],{}]", "{\"a\":[1,{\"b\":null}],\"c\":\"测\"}", "\"\uD83D\uDE00\"")) {
            assertEquals(text, again(text));
        }
    }

    @Test
    public void spaceIsLeftOutAndEscapesAreResolved() throws JsonException {
        assertEquals("{\"a\":[1,2]}", again(" {\t\"a\" :\r\n[ 1 , 2 ] } "));
        assertEquals("\b\f\n\r\t/A\uD83D\uDE00", parse("\"\\b\\f\\n\\r\\t\\/\\u0041\\uD83D\\ude00\""));
        assertEquals("\"\\u0001\\n\\u2028\"", Json.write("\u0001\n\u2028"));
        assertEquals("\"\\ud800\"", Json.write("\uD800"));
    }

    @Test
    public void whatIsNoJsonIsRefused() {
        for (String text : List.of(
                "", " ", "nul", "True", "NaN", "Infinity", "01", "+1", "1.", ".5", "1e", "-", "0x1", "--1", "\"", "\"\\x\"",
                "\"\\u12\"", "\"\\u\uFF11\uFF11\uFF11\uFF11\"", "\"\n\"", "'a'", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]",
                "{", "{\"a\"", "{\"a\":", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "]", "[}", "{]", "1 2", "[] []",
                "// x", "/**/1", "\uFEFF1", "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":1}", "\"\\ud800\"", "\"\\udc00\\ud800\"",
                "\"\uD800\"", "\u00A01", "tru\u0065x")) {
            assertThrows(text, JsonException.class, () -> parse(text));
        }
    }

    @Test
    public void nestingIsLimitedAndDoesNotTakeTheStack() throws Exception {
        int depth = 10_000;
        String deep = "[".repeat(depth) + "]".repeat(depth);
        assertEquals(deep, Json.write(Json.parse(deep, depth)));
        assertThrows(JsonException.class, () -> Json.parse("[" + deep + "]", depth));
        String objects = "{\"a\":".repeat(depth) + "1" + "}".repeat(depth);
        assertEquals(objects, Json.write(Json.parse(objects, depth)));
        // A million brackets are refused at the limit; they do not overflow anything.
        assertThrows(JsonException.class, () -> Json.parse("[".repeat(1_000_000), depth));
    }

    @Test
    public void numbersAreComparedByValue() throws JsonException {
        assertEquals(parse("1"), parse("1.0"));
        assertEquals(parse("100"), parse("1e2"));
        assertEquals(parse("1").hashCode(), parse("1.0").hashCode());
        assertEquals(parse("-0"), parse("0"));
        assertEquals(parse("-0").hashCode(), parse("0").hashCode());
        assertFalse(parse("9007199254740993").equals(parse("9007199254740992")));
        assertTrue(((JsonNumber) parse("5.0")).isWhole());
        assertTrue(((JsonNumber) parse("5e0")).isWhole());
        assertTrue(((JsonNumber) parse("0.0")).isWhole());
        assertFalse(((JsonNumber) parse("5.5")).isWhole());
        assertEquals(Long.MIN_VALUE, ((JsonNumber) parse("-9223372036854775808")).longValue());
        for (String text : List.of("9223372036854775808", "1.5", "1e400000000", "1e99999999999999999999")) {
            assertThrows(text, JsonException.class, () -> ((JsonNumber) parse(text)).longValue());
        }
    }

    @Test(timeout = 5_000)
    public void hugeExponentsAreNotExpanded() throws JsonException {
        assertTrue(((JsonNumber) parse("1e2000000000")).isWhole());
        assertNull(((JsonNumber) parse("1e99999999999999999999")).decimalOrNull());
        assertFalse(parse("1e2000000000").equals(parse("1e-2000000000")));
        assertEquals("1e2000000000", again("1e2000000000"));
    }

    @Test
    public void equalityIgnoresTheOrderOfMembers() throws JsonException {
        assertTrue(Json.equal(parse("{\"a\":1,\"b\":[1.0,null]}"), parse("{\"b\":[1,null],\"a\":1e0}")));
        assertFalse(Json.equal(parse("{\"a\":null}"), parse("{\"b\":null}")));
        assertFalse(Json.equal(parse("[1]"), parse("[1,1]")));
        assertFalse(Json.equal(parse("true"), parse("1")));
        assertFalse(Json.equal(parse("\"1\""), parse("1")));
    }

    @Test
    public void membersAreNamed() throws JsonException {
        assertEquals("{\"a\":1}", Json.write(Json.objectOf("a", 1L, "b", null)));
        Map<String, Object> object = Json.parseObject("{\"n\":7}", 1);
        assertEquals(7, Json.whole(object.get("n"), "n"));
        assertThrows(JsonException.class, () -> Json.text(object.get("n"), "n"));
        assertThrows(JsonException.class, () -> Json.list(object, "o"));
        assertThrows(JsonException.class, () -> Json.parseObject("[]", 1));
    }

    @Test
    public void floatsAreTheShortestDecimal() {
        assertEquals("0.1", JsonNumber.of(0.1f).toString());
        assertThrows(IllegalArgumentException.class, () -> JsonNumber.of(Double.NaN));
    }
}
