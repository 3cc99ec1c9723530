package org.cetp.json;

import java.math.BigDecimal;

/**
 * A number as it was written: {@code 1}, {@code 1.0} and {@code 1e0} stay what they are, and so does an integer that no
 * machine type can hold. Comparing is by value.
 */
public final class JsonNumber {
    private final String text;

    /** Only for text that is a number of JSON's grammar; {@link JsonReader} has seen to that. */
    JsonNumber(String text) {
        this.text = text;
    }

    public static JsonNumber of(long value) {
        return new JsonNumber(Long.toString(value));
    }

    /** JSON has no NaN and no infinity: whoever has one needs another way to say it. */
    public static JsonNumber of(double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            throw new IllegalArgumentException("JSON has no such number");
        }
        return new JsonNumber(Double.toString(value));
    }

    /** The shortest decimal that is this float, which is shorter than that of the same value as a double. */
    public static JsonNumber of(float value) {
        if (Float.isNaN(value) || Float.isInfinite(value)) {
            throw new IllegalArgumentException("JSON has no such number");
        }
        return new JsonNumber(Float.toString(value));
    }

    /** Whether the value is whole, however it is written: {@code 5.0} and {@code 5e0} are. */
    public boolean isWhole() {
        BigDecimal decimal = decimalOrNull();
        return decimal != null && (decimal.signum() == 0 || decimal.stripTrailingZeros().scale() <= 0);
    }

    /**
     * The exact value, or null where the exponent is beyond what can be computed with. It is compared and never expanded:
     * {@code 1e2000000000} is nine characters here and two gigabytes of digits elsewhere.
     */
    public BigDecimal decimalOrNull() {
        try {
            return new BigDecimal(text);
        } catch (NumberFormatException | ArithmeticException beyond) {
            return null;
        }
    }

    /** The value as a long, where it is whole and fits. */
    public long longValue() throws JsonException {
        BigDecimal decimal = decimalOrNull();
        if (decimal == null || !isWhole() || decimal.precision() - decimal.scale() > 19) {
            throw new JsonException("not a whole number of 64 bits");
        }
        try {
            return decimal.longValueExact();
        } catch (ArithmeticException beyond) {
            throw new JsonException("not a whole number of 64 bits");
        }
    }

    /** The nearest double, which may be infinite. */
    public double doubleValue() {
        return Double.parseDouble(text);
    }

    /** The nearest float, which may be infinite. */
    public float floatValue() {
        return Float.parseFloat(text);
    }

    /** Equal in value. */
    @Override
    public boolean equals(Object other) {
        if (!(other instanceof JsonNumber)) {
            return false;
        }
        JsonNumber that = (JsonNumber) other;
        if (text.equals(that.text)) {
            return true;
        }
        BigDecimal mine = decimalOrNull();
        BigDecimal theirs = that.decimalOrNull();
        return mine != null && theirs != null && mine.compareTo(theirs) == 0;
    }

    @Override
    public int hashCode() {
        return Double.valueOf(doubleValue() + 0.0).hashCode();
    }

    /** As it was written. */
    @Override
    public String toString() {
        return text;
    }
}
