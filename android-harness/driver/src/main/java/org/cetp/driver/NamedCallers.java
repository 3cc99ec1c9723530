package org.cetp.driver;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * The identities that the suite's callers have on the wire ({@code vectors/fixture/callers.json}). A device has UIDs and
 * packages of its own; the name is what both sides have in common.
 */
final class NamedCallers {
    private final Map<String, Object> byName;

    NamedCallers() {
        try {
            byName = Json.parseObject(resource(), 16);
        } catch (IOException | JsonException broken) {
            throw new IllegalStateException("callers.json", broken);
        }
    }

    private static String resource() throws IOException {
        try (InputStream in = NamedCallers.class.getResourceAsStream("callers.json")) {
            if (in == null) {
                throw new IOException("callers.json is not in the app");
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[8192];
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                bytes.write(buffer, 0, n);
            }
            return new String(bytes.toByteArray(), StandardCharsets.UTF_8);
        }
    }

    /** The name of a caller of the wire. */
    String nameOf(Object caller) throws RpcException {
        for (Map.Entry<String, Object> known : byName.entrySet()) {
            if (Json.equal(known.getValue(), caller)) {
                return known.getKey();
            }
        }
        throw RpcException.cannotAct("this caller is none of those that are named in the suite");
    }

    /** The UID that a named caller has on the wire. */
    long uidOf(String name) {
        try {
            return Json.whole(Json.object(byName.get(name), name).get("uid"), "uid");
        } catch (JsonException broken) {
            throw new IllegalStateException("callers.json", broken);
        }
    }
}
