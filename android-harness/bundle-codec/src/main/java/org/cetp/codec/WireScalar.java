package org.cetp.codec;

import java.util.Base64;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.json.JsonNumber;

/**
 * How single values look on the wire where JSON cannot hold them as they are: longs outside ±2^53 as decimal text,
 * doubles that are not finite by name, texts with a lone surrogate as the bytes of their UTF-16.
 */
public final class WireScalar {
    /** Beyond this a reader that makes doubles of numbers would lose digits. */
    private static final long EXACT_IN_DOUBLE = 1L << 53;

    private WireScalar() {}

    // --- to the wire ---

    public static Object ofText(String text) {
        if (!Json.hasLoneSurrogate(text)) {
            return text;
        }
        byte[] bytes = new byte[2 * text.length()];
        for (int i = 0; i < text.length(); i++) {
            bytes[2 * i] = (byte) text.charAt(i);
            bytes[2 * i + 1] = (byte) (text.charAt(i) >> 8);
        }
        return Json.objectOf("utf16", ofBytes(bytes));
    }

    public static Object ofLong(long value) {
        boolean exact = -EXACT_IN_DOUBLE <= value && value <= EXACT_IN_DOUBLE;
        return exact ? (Object) Long.valueOf(value) : Long.toString(value);
    }

    public static Object ofDouble(double value) {
        boolean finite = !Double.isNaN(value) && !Double.isInfinite(value);
        return finite ? (Object) JsonNumber.of(value) : Double.toString(value);
    }

    public static Object ofFloat(float value) {
        boolean finite = !Float.isNaN(value) && !Float.isInfinite(value);
        return finite ? (Object) JsonNumber.of(value) : Float.toString(value);
    }

    public static String ofBytes(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    // --- from the wire ---

    public static String toText(Object wire) throws WireException {
        if (wire instanceof String) {
            return (String) wire;
        }
        if (!(wire instanceof Map) || ((Map<?, ?>) wire).size() != 1) {
            throw new WireException("neither a text nor {\"utf16\"}");
        }
        byte[] bytes = toBytes(((Map<?, ?>) wire).get("utf16"));
        if (bytes.length % 2 != 0) {
            throw new WireException("utf16 ends in half a unit");
        }
        char[] units = new char[bytes.length / 2];
        for (int i = 0; i < units.length; i++) {
            units[i] = (char) (bytes[2 * i] & 0xff | bytes[2 * i + 1] << 8);
        }
        return new String(units);
    }

    public static char toChar(Object wire) throws WireException {
        String text = toText(wire);
        if (text.length() != 1) {
            throw new WireException("a char is one unit of UTF-16");
        }
        return text.charAt(0);
    }

    public static long toLong(Object wire) throws WireException {
        if (wire instanceof String && ((String) wire).matches("-?(0|[1-9][0-9]{0,18})")) {
            try {
                return Long.parseLong((String) wire);
            } catch (NumberFormatException beyond) {
                throw new WireException("a long outside its range");
            }
        }
        return toWhole(wire, Long.MIN_VALUE, Long.MAX_VALUE);
    }

    public static long toWhole(Object wire, long least, long most) throws WireException {
        try {
            long value = Json.whole(wire, "the value");
            if (least <= value && value <= most) {
                return value;
            }
        } catch (JsonException noNumber) {
            throw new WireException(noNumber.getMessage());
        }
        throw new WireException("a number outside its range");
    }

    public static double toDouble(Object wire) throws WireException {
        if (wire instanceof JsonNumber) {
            return ((JsonNumber) wire).doubleValue();
        }
        return notFinite(wire);
    }

    /** Not by way of a double, which would round twice. */
    public static float toFloat(Object wire) throws WireException {
        if (wire instanceof JsonNumber) {
            return ((JsonNumber) wire).floatValue();
        }
        return (float) notFinite(wire);
    }

    private static double notFinite(Object wire) throws WireException {
        if ("NaN".equals(wire) || "Infinity".equals(wire) || "-Infinity".equals(wire)) {
            return Double.parseDouble((String) wire);
        }
        throw new WireException("no number");
    }

    public static boolean toBool(Object wire) throws WireException {
        if (wire instanceof Boolean) {
            return (Boolean) wire;
        }
        throw new WireException("neither true nor false");
    }

    public static byte[] toBytes(Object wire) throws WireException {
        try {
            return Base64.getDecoder().decode(Json.text(wire, "the value"));
        } catch (JsonException | IllegalArgumentException noBase64) {
            throw new WireException("no base64");
        }
    }
}
