package org.cetp.shim;

import android.os.ParcelFileDescriptor;
import android.util.Base64;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.Arrays;

/**
 * A descriptor that came through the Binder. What the host gives for each reading is written into its other end by the
 * provider's process and read here, so that the host sees each reading and nothing is read ahead.
 */
final class PipedFile implements ResultFile {
    /** An empty pipe takes as much without a reader. */
    private static final int PIECE = 32 << 10;

    private final ParcelFileDescriptor descriptor;
    private final FileInputStream content;
    private final ResultFile played;
    private final String id;
    private final ScriptedPlatform platform;

    PipedFile(ParcelFileDescriptor descriptor, ResultFile played, String id, ScriptedPlatform platform) {
        this.descriptor = descriptor;
        this.content = new FileInputStream(descriptor.getFileDescriptor());
        this.played = played;
        this.id = id;
        this.platform = platform;
    }

    @Override
    public byte[] read(int maxBytes) throws IOException {
        byte[] wanted = played.read(maxBytes);
        if (wanted == null) {
            platform.end(id);
            if (content.read() >= 0) {
                platform.wrongBytes(id);
            }
            return null;
        }
        byte[] came = new byte[wanted.length];
        for (int from = 0; from < wanted.length; from += PIECE) {
            int to = Math.min(from + PIECE, wanted.length);
            platform.write(id, Base64.encodeToString(Arrays.copyOfRange(wanted, from, to), Base64.NO_WRAP));
            for (int at = from; at < to; ) {
                int n = content.read(came, at, to - at);
                if (n <= 0) {
                    platform.wrongBytes(id);
                    throw new IOException("the pipe ended");
                }
                at += n;
            }
        }
        if (!Arrays.equals(wanted, came)) {
            platform.wrongBytes(id);
        }
        return came;
    }

    @Override
    public void close() {
        try {
            descriptor.close();
        } catch (IOException alreadyClosed) {
            // It is closed, which is what was wanted.
        }
        played.close();
    }
}
