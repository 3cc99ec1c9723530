package org.cetp.provider;

import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * Negotiation (§2.2). Sessions live in memory: a restart ends them, which §2.2 allows, and a consumer negotiates again.
 * Nothing else hangs on them, deduplication in particular does not (§6).
 */
final class Sessions {
    /** The last moment that four digits of a year can express. */
    private static final long LAST_INSTANT_MS = 253_402_300_799_999L;

    private final boolean v1;
    private final Clock clock;

    /** By UID, so that a token of another UID is simply unknown; the oldest session first. */
    private final Map<Integer, LinkedHashMap<String, Session>> byUid = new HashMap<>();

    Sessions(boolean v1, Clock clock) {
        this.v1 = v1;
        this.clock = clock;
    }

    /** {@code data} of a successful negotiate. */
    String negotiate(Identity caller, Extras extras, CetpApp app, Set<Capability> available) throws Refusal {
        int version = highestCommon(extras.intArray(Keys.CONSUMER_VERSIONS));
        Set<Capability> common = offered(extras.text(Keys.CONSUMER_CAPABILITIES));
        common.retainAll(available);
        if (version == 1) {
            common.clear();
        }
        long expiresMs = clock.nowMs() + Limits.SESSION_TTL_MS;
        String token = open(new Session(caller.uid, version, common, expiresMs));
        return Json.write(
                Json.objectOf(
                        "selected_version", version,
                        "provider_id", app.providerId(),
                        "provider_name", app.providerName(),
                        "session_token", token,
                        // Optional, so a clock beyond the calendar of this form has none.
                        "expires_at", expiresMs > LAST_INSTANT_MS ? null : instant(expiresMs),
                        "capabilities", Capability.namesOf(common),
                        "limits", Limits.toJson()));
    }

    /** Whatever the order of the list: an order that is not descending must not lead to a lower version. */
    private int highestCommon(int[] theirs) throws Refusal {
        int highest = 0;
        for (int version : theirs) {
            if (version == 2 || (version == 1 && v1)) {
                highest = Math.max(highest, version);
            }
        }
        if (highest == 0) {
            throw new Refusal(ErrorCode.UNSUPPORTED_VERSION, "There is no common protocol version.");
        }
        return highest;
    }

    /** Names that we do not know are left out; they do not fail the negotiation. */
    private static Set<Capability> offered(String text) throws Refusal {
        Set<Capability> known = EnumSet.noneOf(Capability.class);
        try {
            List<Object> names = Json.list(Json.parse(text, 2), "consumer_capabilities");
            for (Object name : names) {
                String wireName = Json.text(name, "a capability");
                for (Capability capability : Capability.values()) {
                    if (capability.wireName.equals(wireName)) {
                        known.add(capability);
                    }
                }
            }
        } catch (JsonException wrong) {
            throw Refusal.invalidRequest("consumer_capabilities is no JSON array of strings.");
        }
        return known;
    }

    private synchronized String open(Session session) {
        LinkedHashMap<String, Session> ofCaller = byUid.get(session.uid);
        if (ofCaller == null) {
            ofCaller = new LinkedHashMap<>();
            byUid.put(session.uid, ofCaller);
        }
        if (ofCaller.size() >= Limits.MAX_SESSIONS_OF_UID) {
            Iterator<Session> oldestFirst = ofCaller.values().iterator();
            oldestFirst.next();
            oldestFirst.remove();
        }
        String token = Hashing.randomName("");
        ofCaller.put(token, session);
        return token;
    }

    /**
     * The session of a v2 call. A token of another UID, of another version, past its time, or from before a restart is
     * answered alike, so that the answer tells nothing about tokens.
     */
    Session find(Identity caller, Extras extras) throws Refusal {
        String token = extras.optionalText(Keys.SESSION_TOKEN);
        Session session = token == null ? null : find(caller.uid, token);
        if (session == null || session.version != 2 || clock.nowMs() >= session.expiresMs) {
            throw new Refusal(ErrorCode.NEGOTIATION_REQUIRED, "Negotiate a session first.");
        }
        return session;
    }

    private synchronized Session find(int uid, String token) {
        Map<String, Session> ofCaller = byUid.get(uid);
        return ofCaller == null ? null : ofCaller.get(token);
    }

    /** §2.3: whoever negotiated what is now gone has to negotiate again, so that no session changes its meaning. */
    synchronized void endThoseBeyond(Set<Capability> available) {
        for (LinkedHashMap<String, Session> ofCaller : byUid.values()) {
            for (Iterator<Session> each = ofCaller.values().iterator(); each.hasNext(); ) {
                if (!available.containsAll(each.next().capabilities)) {
                    each.remove();
                }
            }
        }
    }

    /** RFC 3339. */
    private static String instant(long ms) {
        SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", Locale.ROOT);
        format.setTimeZone(TimeZone.getTimeZone("UTC"));
        return format.format(new Date(ms));
    }
}
