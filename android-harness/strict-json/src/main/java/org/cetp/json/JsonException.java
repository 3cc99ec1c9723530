package org.cetp.json;

/** A text that is not JSON, or JSON that is not what it has to be. The message is for people who write programs. */
public final class JsonException extends Exception {
    private static final long serialVersionUID = 1L;

    public JsonException(String message) {
        super(message);
    }
}
