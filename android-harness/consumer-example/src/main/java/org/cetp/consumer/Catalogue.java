package org.cetp.consumer;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/** The tools of a provider (§3.3), and what it tells of itself (§3.2), checked. */
final class Catalogue {
    private static final List<String> SENSITIVITIES =
            Arrays.asList("public", "personal", "financial", "health", "device", "other");

    /** Equal revisions, equal tools: a catalogue is kept for as long as a new session shows its revision. */
    final String revision;

    /** The tools that can be used, by name. A broken one is left out. */
    final Map<String, Tool> tools = new TreeMap<>();

    Catalogue(Map<String, Object> data) throws Ending {
        revision = revision(data);
        Object listed = data.get("tools");
        if (!(listed instanceof List) || ((List<?>) listed).size() > Limits.TOOLS) {
            throw Ending.refused("The provider's list of tools cannot be used");
        }
        Map<Object, Integer> named = new HashMap<>();
        for (Object each : (List<?>) listed) {
            Object name = each instanceof Map ? ((Map<?, ?>) each).get("name") : null;
            Integer times = named.get(name);
            named.put(name, times == null ? 1 : times + 1);
        }
        for (Object each : (List<?>) listed) {
            try {
                Tool tool = new Tool(Json.object(each, "a tool"));
                // Names are unique (§3.1). Of two tools of one name nobody can say which one is meant.
                if (named.get(tool.name) == 1) {
                    tools.put(tool.name, tool);
                }
            } catch (JsonException broken) {
                // It is left out.
            }
        }
    }

    static String revision(Map<String, Object> data) throws Ending {
        Object revision = data.get("revision");
        if (!Texts.isOpaque(revision)) {
            throw Ending.refused("The provider's list of tools has no revision");
        }
        return (String) revision;
    }

    /** Checks {@code get_provider_info} against the id that was negotiated. */
    static void checkInfo(String providerId, Map<String, Object> info) throws Ending {
        try {
            if (!providerId.equals(info.get("provider_id"))) {
                throw new JsonException("it tells another provider_id than it negotiated with");
            }
            Json.text(info.get("provider_name"), "provider_name");
            Json.text(info.get("description"), "description");
            Object dialect = info.get("schema_dialect");
            if (dialect != null && !Schema.isDialect(dialect)) {
                throw new JsonException("its schemas are of another dialect");
            }
            List<Object> scopes = Json.list(info.get("scopes"), "scopes");
            if (scopes.size() > Limits.SCOPES) {
                throw new JsonException("it has too many scopes");
            }
            for (Object each : scopes) {
                Map<String, Object> scope = Json.object(each, "a scope");
                checkScopeName(scope.get("name"));
                Tool.oneOf(scope, "access", Arrays.asList("read", "write"));
                Tool.oneOf(scope, "sensitivity", SENSITIVITIES);
            }
        } catch (JsonException wrong) {
            throw Ending.refused("The provider cannot be used: " + wrong.getMessage());
        }
    }

    static void checkScopeName(Object name) throws JsonException {
        if (!Json.text(name, "a scope's name").matches("[a-z][a-z0-9_.-]{0,127}")) {
            throw new JsonException("a scope's name is none");
        }
    }
}
