package org.cetp.provider;

import android.content.Context;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.cetp.json.Json;

/** How a result travels: inline, as a file, or not at all (§4.5). That follows the session that asks, also on a repeat. */
final class Results {
    private final File folder;
    private final ScheduledExecutorService closer =
            Executors.newSingleThreadScheduledExecutor(
                    new ThreadFactory() {
                        @Override
                        public Thread newThread(Runnable work) {
                            Thread thread = new Thread(work, "cetp-closer");
                            thread.setDaemon(true);
                            return thread;
                        }
                    });

    Results(Context context) {
        folder = context.getCacheDir();
    }

    /** {@code data}, and the descriptor that goes beside it where the result is a file. */
    static final class Carried {
        final String data;
        private final ParcelFileDescriptor resultFd;

        private Carried(String data, ParcelFileDescriptor resultFd) {
            this.data = data;
            this.resultFd = resultFd;
        }

        Bundle into(Bundle reply) {
            if (resultFd != null) {
                reply.putParcelable(Keys.RESULT_FD, resultFd);
            }
            return reply;
        }
    }

    /**
     * @param value the result as JSON text
     * @param before what stands in {@code data} before the result's envelope; for a synchronous result nothing
     * @param after what stands after it
     */
    Carried carry(Session session, String value, String before, String after) throws Refusal {
        String data = before + "{\"kind\":\"inline\",\"value\":" + value + "}" + after;
        // What counts is the JSON that goes into the Bundle.
        if (ToolCode.utf8Length(data) <= Limits.MAX_INLINE_RESULT_BYTES) {
            return new Carried(data, null);
        }
        if (!session.has(Capability.LARGE_RESULTS) || ToolCode.utf8Length(value) > Limits.MAX_FILE_RESULT_BYTES) {
            throw new Refusal(ErrorCode.RESULT_TOO_LARGE, "The result is too large.");
        }
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        String envelope =
                Json.write(
                        Json.objectOf(
                                "kind", "file",
                                "media_type", "application/json",
                                "size_bytes", bytes.length,
                                "sha256", Hashing.sha256(bytes)));
        try {
            return new Carried(before + envelope + after, readOnly(bytes));
        } catch (IOException full) {
            throw new Refusal(ErrorCode.UNAVAILABLE, "There is no room for the result at the moment.");
        }
    }

    /**
     * A descriptor that can only read, of a file that has no name any more: nobody else can open it, and it is gone with
     * the last descriptor. A pipe would not do as well: it blocks a thread of ours for as long as the consumer likes.
     */
    private ParcelFileDescriptor readOnly(byte[] bytes) throws IOException {
        File file = File.createTempFile("result", ".json", folder);
        try {
            try (FileOutputStream out = new FileOutputStream(file)) {
                out.write(bytes);
            }
            ParcelFileDescriptor descriptor = ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY);
            closeLater(descriptor);
            return descriptor;
        } finally {
            file.delete();
        }
    }

    /**
     * Writing a Bundle to the Binder duplicates a descriptor, and nobody closes the one that it was made of. A reply
     * cannot tell when it has been written, so ours is closed when that is certainly over.
     */
    private void closeLater(final ParcelFileDescriptor descriptor) {
        closer.schedule(
                new Runnable() {
                    @Override
                    public void run() {
                        try {
                            descriptor.close();
                        } catch (IOException alreadyGone) {
                            // Nothing is left to be done.
                        }
                    }
                },
                Limits.DESCRIPTOR_GRACE_MS,
                TimeUnit.MILLISECONDS);
    }

    void close() {
        closer.shutdownNow();
    }
}
