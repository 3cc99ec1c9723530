package org.cetp.driver;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Who makes a call: this app, in one of the identities that it can take, or another driver app to which the request is
 * handed on. Calls of one identity run beside each other; where this app has to become somebody else, those that are under
 * way are awaited first.
 */
final class Callers {
    private final NamedCallers named = new NamedCallers();
    private final LocalIdentities local;
    private final Map<String, Rpc> others;
    private final ReentrantReadWriteLock identity = new ReentrantReadWriteLock(true);
    private String current;

    /** @param others driver apps by the caller that each is */
    Callers(LocalIdentities local, Map<String, Rpc> others) {
        this.local = local;
        this.others = new HashMap<>(others);
        this.current = local.names().get(0);
    }

    List<Object> names() {
        List<Object> names = new ArrayList<>();
        names.addAll(local.names());
        names.addAll(others.keySet());
        return names;
    }

    /** The name of a caller of the wire, if there is somebody to play it. */
    String nameOf(Object caller) throws RpcException {
        String name = named.nameOf(caller);
        if (!names().contains(name)) {
            throw RpcException.cannotAct("this driver cannot assume the caller " + name);
        }
        return name;
    }

    /** The driver app that is this caller; null where it is this one. */
    Rpc other(String name) {
        return others.get(name);
    }

    Iterable<Rpc> others() {
        return others.values();
    }

    /** Keeps this app what it has become until the lock is released. */
    Lock as(String name) throws RpcException {
        while (true) {
            identity.readLock().lock();
            if (current.equals(name)) {
                return identity.readLock();
            }
            identity.readLock().unlock();
            identity.writeLock().lock();
            try {
                if (!current.equals(name)) {
                    local.become(name);
                    current = name;
                }
            } finally {
                identity.writeLock().unlock();
            }
        }
    }

    /** This app as it is at the beginning. */
    void reset() throws RpcException {
        as(local.names().get(0)).unlock();
    }

    /** The UID that a caller has on this device. */
    long deviceUid(String name) throws java.io.IOException, RpcException {
        Rpc other = others.get(name);
        return other == null ? local.uid() : ((Number) numberOf(other)).longValue();
    }

    private static Object numberOf(Rpc other) throws java.io.IOException, RpcException {
        Object uid = other.request(Driver.UID, new HashMap<String, Object>());
        try {
            return org.cetp.json.Json.whole(uid, "uid");
        } catch (org.cetp.json.JsonException wrong) {
            throw RpcException.cannotAct(wrong.getMessage());
        }
    }

    /** The UID on the wire of whoever has this UID on the device; a stranger keeps its own. */
    long wireUid(long deviceUid) throws java.io.IOException, RpcException {
        for (Object name : names()) {
            if (deviceUid((String) name) == deviceUid) {
                return named.uidOf((String) name);
            }
        }
        return deviceUid;
    }
}
