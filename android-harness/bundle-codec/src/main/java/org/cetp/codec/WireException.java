package org.cetp.codec;

/** What came from the other side of the wire is no value of the target protocol. */
public final class WireException extends Exception {
    private static final long serialVersionUID = 1L;

    public WireException(String message) {
        super(message);
    }
}
