package org.cetp.consumer;

import android.os.Bundle;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.shim.Platform;

/**
 * A provider of version 1: the read-only bridge (§8). There is nothing to negotiate, to retry and to confirm. What comes is
 * as little trusted as in version 2.
 */
final class LegacyPeer {
    final String packageName;
    private final String authority;
    private final Platform platform;

    /** Descriptions by the names of tools. */
    final Map<String, String> tools = new TreeMap<>();

    LegacyPeer(Platform platform, String packageName, String authority) throws Ending {
        this.platform = platform;
        this.packageName = packageName;
        this.authority = authority;
        Object data = ask("list_tools", null);
        Object listed = data instanceof Map ? ((Map<?, ?>) data).get("tools") : null;
        if (!(listed instanceof List) || ((List<?>) listed).size() > Limits.TOOLS) {
            throw Ending.refused("The list of tools cannot be used");
        }
        Map<Object, Integer> named = new HashMap<>();
        for (Object each : (List<?>) listed) {
            Object name = each instanceof Map ? ((Map<?, ?>) each).get("name") : null;
            Integer times = named.get(name);
            named.put(name, times == null ? 1 : times + 1);
        }
        for (Object each : (List<?>) listed) {
            try {
                Map<String, Object> tool = Json.object(each, "a tool");
                String name = Json.text(tool.get("name"), "name");
                String description = Json.text(tool.get("description"), "description");
                Map<String, Object> parameters = Json.object(tool.get("parameters"), "parameters");
                // A name that is not shown as it is could be taken for another one.
                boolean plain = !name.isEmpty() && Texts.shown(name, Limits.NAME_CHARS).equals(name);
                if (plain && named.get(name) == 1 && Schema.isBounded(parameters)) {
                    tools.put(name, Texts.shown(description, Limits.DESCRIPTION_CHARS));
                }
            } catch (JsonException broken) {
                // It is left out.
            }
        }
    }

    Object execute(String tool, String args) throws Ending {
        if (!tools.containsKey(tool)) {
            throw Ending.refused("The provider has no such tool that can be used");
        }
        try {
            Texts.json(args, Long.MAX_VALUE);
        } catch (JsonException wrong) {
            throw Ending.refused("The arguments cannot be sent: " + wrong.getMessage());
        }
        Bundle extras = new Bundle();
        extras.putString("tool_name", tool);
        extras.putString("args", args);
        extras.putString("request_id", Wire.newId());
        return ask("execute_tool", extras);
    }

    private Object ask(String method, Bundle extras) throws Ending {
        try (Answer answer = Answer.of(platform, authority, method, extras, Answer.Echo.NONE, null)) {
            switch (answer.kind) {
                case SUCCESS:
                    return answer.data;
                case ERROR:
                    throw answer.problem.ending();
                case LOST:
                    throw Ending.error("UNAVAILABLE", answer.why);
                case ACCEPTED:
                    throw Ending.refused("The answer is no answer of version 1");
                default:
                    throw Ending.refused(answer.why);
            }
        }
    }
}
