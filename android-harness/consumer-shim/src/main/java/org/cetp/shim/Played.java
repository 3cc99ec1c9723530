package org.cetp.shim;

import android.os.Bundle;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.cetp.codec.BundleCodec;
import org.cetp.json.Json;

/** One call of a consumer over the Binder, from both of its ends: what the host answers, and what comes back. */
final class Played {
    /** How long the harness's own parts may take. What the host takes is its own affair. */
    private static final long PATIENCE_MS = 6_000;

    /** How the provider is to behave. */
    enum How {
        /** It returns or throws what the host answered, through the Binder. */
        CARRIED,
        /** Its process dies. */
        DIES,
        /** It does not return. */
        HANGS,
        /** The answer is nothing that this app can give: the consumer gets it without the Binder. */
        DIRECT
    }

    /** The same for two calls that no provider can tell from each other. */
    final String key;

    private boolean arrived;
    private How how;
    private Map<String, Object> answer;
    private boolean returned;
    private Bundle bundle;
    private Throwable thrown;

    Played(String key) {
        this.key = key;
    }

    static String key(Object authority, Object method, Object extras) {
        return authority + "\n" + method + "\n" + Json.write(extras);
    }

    static String key(String authority, String method, Bundle extras, BundleCodec codec) {
        return key(authority, method, codec.encode(extras));
    }

    // --- the provider's end ---

    synchronized void arrived() {
        arrived = true;
        notifyAll();
    }

    synchronized void answered(How then, Map<String, Object> with) {
        how = then;
        answer = with;
        notifyAll();
    }

    // --- the consumer's end ---

    synchronized void returned(Bundle with) {
        bundle = with;
        returned = true;
        notifyAll();
    }

    synchronized void threw(Throwable what) {
        thrown = what;
        returned = true;
        notifyAll();
    }

    /** Waits until there is something for the consumer; what is wrong with the harness, or null. */
    synchronized String await() throws InterruptedException {
        if (!waitFor(PATIENCE_MS, Until.ARRIVED)) {
            return "the call did not arrive at the scripted provider" + (thrown == null ? "" : ": " + thrown);
        }
        while (how == null) {
            wait();
        }
        if (how == How.HANGS || how == How.DIRECT) {
            return null;
        }
        return waitFor(PATIENCE_MS, Until.RETURNED) ? null : "the call did not return from the scripted provider";
    }

    private enum Until {
        ARRIVED,
        RETURNED
    }

    private boolean waitFor(long millis, Until what) throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (!(what == Until.ARRIVED ? arrived : returned)) {
            long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
            if (left <= 0 || what == Until.ARRIVED && returned) {
                return false;
            }
            wait(left);
        }
        return true;
    }

    synchronized How how() {
        return how;
    }

    synchronized Map<String, Object> answer() {
        return answer;
    }

    synchronized Bundle bundle() {
        return bundle;
    }

    synchronized Throwable thrown() {
        return thrown;
    }
}
