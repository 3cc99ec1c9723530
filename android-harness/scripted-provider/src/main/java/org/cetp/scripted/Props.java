package org.cetp.scripted;

import android.app.PendingIntent;
import android.content.Context;
import android.content.Intent;
import android.net.Uri;
import android.os.ParcelFileDescriptor;
import java.io.Closeable;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Map;
import org.cetp.codec.Handles;
import org.cetp.codec.WireException;
import org.cetp.driver.RpcException;

/** The objects of replies that are no plain values: real PendingIntents of this app, real pipes and files. */
final class Props implements Handles {
    /** A descriptor that went into a reply, and the end by which it is filled. */
    private static final class Filled {
        final ParcelFileDescriptor given;
        final OutputStream end;

        Filled(ParcelFileDescriptor given, OutputStream end) {
            this.given = given;
            this.end = end;
        }
    }

    private final Map<String, Filled> open = new HashMap<>();
    private Context context;
    private int last;

    synchronized void enter(Context entered) {
        context = entered.getApplicationContext() == null ? entered : entered.getApplicationContext();
    }

    // --- what a vector asks for ---

    /** Those that differ in extras only would be the same one to the system, so each has data of its own. */
    @Override
    public synchronized PendingIntent pendingIntent(Map<String, Object> wire) throws WireException {
        Object immutable = wire.get("immutable");
        if (!(immutable instanceof Boolean)) {
            throw new WireException("a PendingIntent is immutable or it is not");
        }
        Uri data = Uri.parse("cetp-scripted:" + ++last);
        Intent intent = new Intent("org.cetp.scripted.RESOLVE", data).setClass(context, ScriptedActivity.class);
        // FLAG_MUTABLE came with API 31; before, a PendingIntent is that by itself.
        int mutable = android.os.Build.VERSION.SDK_INT >= 31 ? PendingIntent.FLAG_MUTABLE : 0;
        int flags = (Boolean) immutable ? PendingIntent.FLAG_IMMUTABLE : mutable;
        return PendingIntent.getActivity(context, last, intent, flags);
    }

    @Override
    public synchronized ParcelFileDescriptor descriptor(Map<String, Object> wire) throws WireException {
        String id = String.valueOf(wire.get("id"));
        try {
            end(id); // a vector may use a name again
            Filled filled = "r".equals(wire.get("access")) ? pipe() : file();
            open.put(id, filled);
            return filled.given;
        } catch (IOException failure) {
            throw new WireException("a descriptor cannot be made: " + failure.getMessage());
        }
    }

    private static Filled pipe() throws IOException {
        ParcelFileDescriptor[] ends = ParcelFileDescriptor.createPipe();
        return new Filled(ends[0], new ParcelFileDescriptor.AutoCloseOutputStream(ends[1]));
    }

    /** Open for reading and writing, as no pipe is. */
    private Filled file() throws IOException {
        File file = File.createTempFile("scripted", null, context.getCacheDir());
        ParcelFileDescriptor given = ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_WRITE);
        OutputStream end = new FileOutputStream(file, true);
        if (!file.delete()) {
            throw new IOException("the file cannot be removed");
        }
        return new Filled(given, end);
    }

    // --- what fills them ---

    void write(String id, byte[] bytes) throws IOException, RpcException {
        Filled filled;
        synchronized (this) {
            filled = open.get(id);
        }
        if (filled == null) {
            throw RpcException.cannotAct("there is no descriptor " + id);
        }
        filled.end.write(bytes);
        filled.end.flush();
    }

    synchronized void end(String id) {
        Filled filled = open.remove(id);
        if (filled != null) {
            close(filled.end);
            // The framework sends a copy and leaves this one open.
            close(filled.given);
        }
    }

    synchronized void clear() {
        for (String id : open.keySet().toArray(new String[0])) {
            end(id);
        }
    }

    private static void close(Closeable end) {
        try {
            end.close();
        } catch (IOException alreadyClosed) {
            // It is closed, which is what was wanted.
        }
    }

    // --- what no consumer sends ---

    @Override
    public Map<String, Object> keep(PendingIntent intent) {
        throw new IllegalArgumentException("a consumer sends no PendingIntent");
    }

    @Override
    public Map<String, Object> keep(ParcelFileDescriptor descriptor) {
        throw new IllegalArgumentException("a consumer sends no descriptor");
    }
}
