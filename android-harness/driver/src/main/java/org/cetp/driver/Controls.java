package org.cetp.driver;

import android.os.Bundle;
import android.os.DeadObjectException;
import android.util.Log;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * The controls of a provider that carries the fixture, over the test-only provider beside it. There are none where that
 * provider is not there, or does not trust this driver.
 */
final class Controls {
    /** The contract with {@code org.cetp.fixture.FixtureControlProvider}. */
    private static final String SUFFIX = ".control";
    private static final String RESULT = "result";
    private static final String REFUSED = "refused";

    /** How long a process that was ended may take to come up again. */
    private static final long RESTART_MS = 20_000;

    /** Controls that may be used twice: they only look, or set something to what it is then. */
    private static final Set<String> REPEATABLE =
            new HashSet<>(Arrays.asList("describe", "reset", "scopes", "fault", "audit", "screens"));

    /** The one control beside {@code restart} in which a process may have to die: an effect at which a fault is due. */
    private static final String MAY_DIE = "operation";

    private final ProviderPort port;
    private final String authority;

    Controls(ProviderPort port, String toolAuthority) {
        this.port = port;
        this.authority = toolAuthority + SUFFIX;
    }

    /** What the fixture says of itself; null where there is none. */
    Map<String, Object> describe() {
        try {
            return callOrRepeat("describe", Json.objectOf());
        } catch (Exception none) {
            Log.i("CetpDriver", "no controls: " + none);
            return null;
        }
    }

    Map<String, Object> use(String control, Map<String, Object> params) throws RpcException {
        try {
            if (REPEATABLE.contains(control)) {
                return callOrRepeat(control, params);
            }
            callOrRepeat("describe", Json.objectOf()); // what dies from here on is a process that was there
            return call(control, params);
        } catch (RpcException refused) {
            throw refused;
        } catch (DeadObjectException died) {
            if (control.equals(MAY_DIE)) {
                return Json.objectOf();
            }
            throw RpcException.cannotAct(control + ": the process died, and nobody knows whether it has acted");
        } catch (Exception failed) {
            throw RpcException.cannotAct(control + ": " + failed.getClass().getName() + ": " + failed.getMessage());
        }
    }

    /**
     * The death of a process is told to its clients a moment after it. Who comes in between finds the provider of the old
     * process, has this exception, and finds the new one when it comes again.
     */
    private Map<String, Object> callOrRepeat(String control, Map<String, Object> params) throws Exception {
        try {
            return call(control, params);
        } catch (DeadObjectException died) {
            return call(control, params);
        }
    }

    /** Ends the process and waits until it is there again. */
    void restart(Map<String, Object> params) throws RpcException {
        try {
            call("restart", params);
            throw RpcException.cannotAct("the process is still there");
        } catch (DeadObjectException died) {
            // As it should be.
        } catch (RpcException refused) {
            throw refused;
        } catch (Exception failed) {
            throw RpcException.cannotAct("restart: " + failed.getClass().getName());
        }
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RESTART_MS);
        while (describe() == null) {
            if (System.nanoTime() >= until) {
                throw RpcException.cannotAct("the process did not come up again");
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException stop) {
                throw RpcException.cannotAct("interrupted");
            }
        }
    }

    private Map<String, Object> call(String control, Map<String, Object> params) throws Exception {
        Bundle reply = port.call(authority, control, Json.write(params), null);
        if (reply == null) {
            throw RpcException.cannotAct(control + ": no reply");
        }
        String refused = reply.getString(REFUSED);
        if (refused != null) {
            throw RpcException.cannotAct(refused);
        }
        try {
            return Json.parseObject(reply.getString(RESULT), 64);
        } catch (JsonException broken) {
            throw RpcException.cannotAct(control + ": the reply cannot be read");
        }
    }
}
