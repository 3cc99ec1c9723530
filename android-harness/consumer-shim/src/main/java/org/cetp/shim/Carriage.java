package org.cetp.shim;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/** Which answers of the host a scripted provider can give over a Binder, and which it cannot. */
final class Carriage {
    /**
     * A text costs two bytes for each unit, and all transactions that are under way to a process share one MiB, so that
     * two of this length fit.
     */
    private static final int MOST_CHARACTERS = 240_000;

    /** The framework reads Bundles inside Bundles by recursion. */
    private static final int MOST_DEPTH = 40;

    /** Those that both a Parcel and the scripted provider know. */
    private static final Set<String> EXCEPTIONS =
            new HashSet<>(
                    Arrays.asList(
                            "java.lang.SecurityException",
                            "java.lang.IllegalArgumentException",
                            "java.lang.IllegalStateException",
                            "java.lang.NullPointerException",
                            "java.lang.UnsupportedOperationException",
                            "android.os.BadParcelableException"));

    private Carriage() {}

    /** @param packageName the scripted provider's, which creates its PendingIntents */
    static Played.How of(Map<String, Object> answer, String packageName) throws JsonException {
        if (Boolean.TRUE.equals(answer.get("timeout"))) {
            return Played.How.HANGS;
        }
        if (answer.get("exception") != null) {
            Map<String, Object> exception = Json.object(answer.get("exception"), "exception");
            Object name = exception.get("class");
            if ("android.os.DeadObjectException".equals(name)) {
                return Played.How.DIES;
            }
            return EXCEPTIONS.contains(name) && isShort(answer) ? Played.How.CARRIED : Played.How.DIRECT;
        }
        Object bundle = answer.get("bundle");
        boolean can = bundle == null || isShort(answer) && carries(Json.object(bundle, "bundle"), packageName, 0);
        return can ? Played.How.CARRIED : Played.How.DIRECT;
    }

    private static boolean isShort(Map<String, Object> answer) {
        return Json.write(answer).length() <= MOST_CHARACTERS;
    }

    private static boolean carries(Map<String, Object> bundle, String packageName, int depth) throws JsonException {
        if (depth > MOST_DEPTH) {
            return false;
        }
        for (Object each : bundle.values()) {
            Map<String, Object> value = Json.object(each, "a value");
            if (value.containsKey("parcelable")) {
                return false;
            }
            if (value.containsKey("bundle") && !carries(Json.object(value.get("bundle"), "bundle"), packageName, depth + 1)) {
                return false;
            }
            if (value.containsKey("pending_intent") && !isOurs(Json.object(value.get("pending_intent"), "it"), packageName)) {
                return false;
            }
            if (value.containsKey("fd")) {
                Object access = Json.object(value.get("fd"), "fd").get("access");
                if (!"r".equals(access) && !"rw".equals(access)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Another package's cannot be made by this one; one that leads anywhere, and can be changed, the system forbids. */
    private static boolean isOurs(Map<String, Object> pending, String packageName) {
        return packageName.equals(pending.get("creator_package"))
                && pending.get("immutable") instanceof Boolean
                && !Boolean.FALSE.equals(pending.get("explicit"));
    }
}
