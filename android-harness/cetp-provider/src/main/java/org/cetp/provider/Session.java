package org.cetp.provider;

import java.util.Set;
import java.util.concurrent.Semaphore;

/** What a session token stands for (§2.2): UID, version and capability set, and a validity. None of it ever changes. */
final class Session {
    final int uid;
    final int version;
    final Set<Capability> capabilities;
    final long expiresMs;

    /** One for each call that may be worked on at a time. */
    private final Semaphore places = new Semaphore(Limits.MAX_CONCURRENT_REQUESTS);

    Session(int uid, int version, Set<Capability> capabilities, long expiresMs) {
        this.uid = uid;
        this.version = version;
        this.capabilities = capabilities;
        this.expiresMs = expiresMs;
    }

    boolean has(Capability capability) {
        return capabilities.contains(capability);
    }

    /** §2.3: a method, or an answer, that was not negotiated. */
    void need(Capability capability) throws Refusal {
        if (!has(capability)) {
            throw new Refusal(ErrorCode.UNSUPPORTED_CAPABILITY, capability.wireName + " was not negotiated.");
        }
    }

    /** §6: nothing is lost or doubled above the limit; the consumer is told to come again. */
    void enter() throws Refusal {
        if (!places.tryAcquire()) {
            throw Refusal.busy("Too many calls at a time.", Limits.BUSY_RETRY_MS);
        }
    }

    void leave() {
        places.release();
    }
}
