package org.cetp.shim;

import android.util.Log;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;

/** The link to a scripted provider's process, for a whole session: where the process has died, it is made anew. */
final class ScriptedLink implements Rpc.Handler {
    private static final String TAG = "CetpDriver";

    /**
     * How long a process may take to end, and then the next one to be looked for. With {@link DeviceBinding} and {@link Played}
     * it stays below the 20 s that the runner waits for a consumer: what is late here must not look like its doing.
     */
    private static final long PATIENCE_MS = 4_000;

    private static final long PAUSE_MS = 50;

    private final ScriptedBinding binding;
    private Rpc rpc;
    private boolean dying;
    private boolean closed;
    private volatile Rpc.Handler player;
    private final Map<Played.How, Integer> counts = new EnumMap<>(Played.How.class);

    ScriptedLink(ScriptedBinding binding) {
        this.binding = binding;
    }

    ScriptedBinding binding() {
        return binding;
    }

    /** Who plays the provider from now on. */
    void playedBy(Rpc.Handler next) {
        player = next;
    }

    @Override
    public void handle(Rpc.Request request) {
        player.handle(request);
    }

    /** The process was told to die: the next call is for another one. */
    synchronized void dies() {
        dying = true;
    }

    /** A call was played. */
    synchronized void count(Played.How how) {
        Integer before = counts.get(how);
        counts.put(how, before == null ? 1 : before + 1);
    }

    /** The link, with a process behind it that is alive as far as anybody knows. */
    synchronized Rpc open() throws IOException {
        try {
            if (dying && rpc != null && !rpc.awaitClosed(PATIENCE_MS)) {
                throw new IOException("the scripted provider was told to die and lives");
            }
            dying = false;
            if (rpc != null && !rpc.awaitClosed(0)) {
                return rpc;
            }
            return connect();
        } catch (InterruptedException stop) {
            throw new IOException("interrupted");
        }
    }

    /** A process that is just ending may still be found; then it is tried again. */
    private Rpc connect() throws IOException, InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (true) {
            try {
                rpc = binding.connect(this);
                if (rpc != null) {
                    return rpc;
                }
                throw new IOException("the app " + binding.packageName() + " is not installed");
            } catch (IOException failure) {
                if (System.nanoTime() >= until) {
                    throw failure;
                }
                Log.i(TAG, "the scripted provider: " + failure.getMessage());
                Thread.sleep(PAUSE_MS);
            }
        }
    }

    /** Lets the provider's process let go of what it made for a vector, if there is one. */
    synchronized void forget() {
        try {
            if (rpc != null && !dying && !rpc.awaitClosed(0)) {
                rpc.request("forget", org.cetp.json.Json.objectOf());
            }
        } catch (IOException | RpcException | InterruptedException gone) {
            Log.i(TAG, "the scripted provider: " + gone.getMessage());
        }
    }

    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        Log.i(TAG, "calls of the scripted provider: " + counts);
        if (rpc != null) {
            rpc.close();
        }
    }
}
