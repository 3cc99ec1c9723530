package org.cetp.shim;

import java.io.Closeable;
import java.io.IOException;

/** A descriptor of a reply (§4.5). */
public interface ResultFile extends Closeable {
    /**
     * The next bytes, at most so many; null at the end.
     *
     * @throws IOException reading failed
     */
    byte[] read(int maxBytes) throws IOException;

    /** Closes it; once more does nothing. */
    @Override
    void close();
}
