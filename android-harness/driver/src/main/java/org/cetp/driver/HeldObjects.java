package org.cetp.driver;

import android.app.PendingIntent;
import android.content.ComponentName;
import android.content.Intent;
import android.os.Build;
import android.os.ParcelFileDescriptor;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileReader;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.cetp.codec.Handles;
import org.cetp.codec.WireException;
import org.cetp.json.Json;

/**
 * PendingIntents and descriptors that came with replies, by the ids that the host knows them by. Equal PendingIntents have
 * one id; every descriptor has its own.
 */
final class HeldObjects implements Handles {
    /** As base64 it stays below the longest line of the target protocol. */
    private static final int MAX_READ_BYTES = 4 << 20;

    /** The bits for reading and writing among the flags of an open file. */
    private static final int O_ACCMODE = 3;

    private static final class Descriptor {
        final ParcelFileDescriptor descriptor;
        final FileInputStream content;

        Descriptor(ParcelFileDescriptor descriptor) {
            this.descriptor = descriptor;
            this.content = new FileInputStream(descriptor.getFileDescriptor());
        }
    }

    private final String prefix;
    private final IntentFacts facts;
    private final Map<PendingIntent, String> intents = new LinkedHashMap<>();
    private final Map<String, Descriptor> descriptors = new HashMap<>();
    private long last;

    /** @param prefix tells the ids of this driver from those of another one */
    HeldObjects(String prefix, IntentFacts facts) {
        this.prefix = prefix;
        this.facts = facts;
    }

    // --- PendingIntents ---

    @Override
    public Map<String, Object> keep(PendingIntent pending) {
        Map<String, Object> wire =
                Json.objectOf(
                        "id", idOf(pending),
                        "creator_package", pending.getCreatorPackage(),
                        "creator_uid", pending.getCreatorUid());
        if (Build.VERSION.SDK_INT >= 31) {
            wire.put("immutable", pending.isImmutable());
        }
        Intent intent = facts.intentOf(pending);
        if (intent != null) {
            ComponentName component = intent.getComponent();
            wire.put("explicit", component != null);
            if (component != null) {
                wire.put("component", component.flattenToString());
            }
        }
        return wire;
    }

    private synchronized String idOf(PendingIntent pending) {
        String id = intents.get(pending);
        if (id == null) {
            id = prefix + "pi-" + ++last;
            intents.put(pending, id);
        }
        return id;
    }

    synchronized PendingIntent intent(String id) throws RpcException {
        for (Map.Entry<PendingIntent, String> known : intents.entrySet()) {
            if (known.getValue().equals(id)) {
                return known.getKey();
            }
        }
        throw RpcException.cannotAct("there is no PendingIntent " + id);
    }

    // --- descriptors ---

    @Override
    public synchronized Map<String, Object> keep(ParcelFileDescriptor descriptor) {
        String id = prefix + "fd-" + ++last;
        descriptors.put(id, new Descriptor(descriptor));
        return Json.objectOf("id", id, "access", accessOf(descriptor));
    }

    /**
     * What the kernel says of the open file; null where it cannot be asked. Not by {@code Os.fcntlInt}, which came with API
     * 30, and which answers 0, "read only", where Robolectric stands in for the kernel.
     */
    private static String accessOf(ParcelFileDescriptor descriptor) {
        File file = new File("/proc/self/fdinfo/" + descriptor.getFd());
        try (BufferedReader lines = new BufferedReader(new FileReader(file))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("flags:")) {
                    switch (Integer.parseInt(line.substring("flags:".length()).trim(), 8) & O_ACCMODE) {
                        case 0:
                            return "r";
                        case 1:
                            return "w";
                        default:
                            return "rw";
                    }
                }
            }
        } catch (IOException | NumberFormatException cannotTell) {
            // Left out: a fact that is not told is not judged.
        }
        return null;
    }

    /** The next bytes; an empty array at the end. */
    byte[] read(String id, long maxBytes) throws IOException, RpcException {
        Descriptor held;
        synchronized (this) {
            held = descriptors.get(id);
        }
        if (held == null) {
            throw RpcException.cannotAct("the descriptor " + id + " is not open");
        }
        byte[] buffer = new byte[(int) Math.min(maxBytes, MAX_READ_BYTES)];
        synchronized (held) {
            int n = held.content.read(buffer);
            return n <= 0 ? new byte[0] : java.util.Arrays.copyOf(buffer, n);
        }
    }

    void closeDescriptor(String id) {
        Descriptor held;
        synchronized (this) {
            held = descriptors.remove(id);
        }
        if (held != null) {
            try {
                held.descriptor.close();
            } catch (IOException alreadyGone) {
                // It is not open any more, which is what was asked for.
            }
        }
    }

    synchronized int openDescriptors() {
        return descriptors.size();
    }

    /** Lets go of everything: nothing of it has happened. */
    synchronized void clear() {
        for (String id : descriptors.keySet().toArray(new String[0])) {
            closeDescriptor(id);
        }
        intents.clear();
    }

    // The host never sends such objects to a driver of providers.

    @Override
    public PendingIntent pendingIntent(Map<String, Object> wire) throws WireException {
        throw new WireException("a PendingIntent cannot be made here");
    }

    @Override
    public ParcelFileDescriptor descriptor(Map<String, Object> wire) throws WireException {
        throw new WireException("a descriptor cannot be made here");
    }
}
