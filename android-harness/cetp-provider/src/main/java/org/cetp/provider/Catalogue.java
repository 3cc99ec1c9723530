package org.cetp.provider;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.cetp.json.Json;

/** The tools and scopes as they are at one time, and what is listed of them (§3.2, §3.3, and v1's list). */
final class Catalogue {
    private static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";

    final Set<Capability> capabilities;
    /** {@code data} of get_provider_info. */
    final String info;
    /** {@code data} of list_tools. */
    final String listing;
    /** The same for v1: the read-only subset (§2.1, §8). */
    final String infoV1;
    final String listingV1;

    private final Map<String, Tool> tools = new LinkedHashMap<>();
    private final Map<String, Object> scopeTitles = new LinkedHashMap<>();

    Catalogue(CetpApp app) {
        capabilities = app.capabilities();
        List<Object> scopes = new ArrayList<>();
        List<Object> scopesV1 = new ArrayList<>();
        for (Map<String, Object> scope : app.scopes()) {
            scopes.add(scope);
            scopesV1.add(Json.objectOf("name", scope.get("name"), "description", scope.get("description")));
            scopeTitles.put((String) scope.get("name"), scope.get("title"));
        }
        List<Object> listed = new ArrayList<>();
        List<Object> listedV1 = new ArrayList<>();
        for (Tool tool : app.tools()) {
            if (tools.put(tool.name, tool) != null) {
                throw new IllegalArgumentException("two tools are named " + tool.name);
            }
            if (!scopeTitles.keySet().containsAll(tool.scopes)) {
                throw new IllegalArgumentException(tool.name + " has a scope that is not in the catalogue");
            }
            if (tool.isHidden()) {
                continue;
            }
            listed.add(tool.descriptor);
            if (!tool.writes) {
                listedV1.add(
                        Json.objectOf(
                                "name", tool.name,
                                "description", tool.descriptor.get("description"),
                                "parameters", tool.descriptor.get("input_schema")));
            }
        }
        // §3.3: it changes whenever anything that is listed does, and only then.
        String revision = "tools-" + Hashing.sha256(Json.write(listed)).substring(0, 16);
        listing = Json.write(Json.objectOf("revision", revision, "tools", listed));
        listingV1 = Json.write(Json.objectOf("tools", listedV1));
        info =
                Json.write(
                        Json.objectOf(
                                "provider_id", app.providerId(),
                                "provider_name", app.providerName(),
                                "description", app.description(),
                                "schema_dialect", DIALECT,
                                "scopes", scopes));
        infoV1 =
                Json.write(
                        Json.objectOf(
                                "provider_name", app.providerName(), "description", app.description(), "scopes", scopesV1));
    }

    /** §5: a tool that does not exist and one that is hidden are answered alike. */
    Tool visible(String name) throws Refusal {
        Tool tool = tools.get(name);
        if (tool == null || tool.isHidden()) {
            throw new Refusal(ErrorCode.TOOL_NOT_FOUND, "There is no such tool.");
        }
        return tool;
    }

    /** A tool that was there when an operation began; null if it has gone since. */
    Tool ofOperation(String name) {
        return tools.get(name);
    }

    String scopeTitle(String scope) {
        Object title = scopeTitles.get(scope);
        return title == null ? scope : (String) title;
    }
}
