package org.cetp.shim;

import java.util.ArrayList;
import java.util.List;
import org.cetp.json.Json;

/** What became of a Service with the discovery action. */
public final class Row {
    private final String packageName;
    private final String authority;
    private final String decision;
    private final String providerId;
    private final List<Object> tools = new ArrayList<>();

    private Row(String packageName, String authority, String decision, String providerId) {
        this.packageName = packageName;
        this.authority = authority;
        this.decision = decision;
        this.providerId = providerId;
    }

    /** It is used in that version, under that id. */
    public static Row used(String packageName, String authority, int version, String providerId) {
        return new Row(packageName, authority, "v" + version, providerId);
    }

    /** No version in common. */
    public static Row ignored(String packageName, String authority) {
        return new Row(packageName, authority, "ignored", null);
    }

    /** Not used, for another reason. */
    public static Row refused(String packageName, String authority) {
        return new Row(packageName, authority, "refused", null);
    }

    /**
     * A tool, as the agent is told of it.
     *
     * @param exposedName a name that no other tool of any provider has
     */
    public Row with(String name, String exposedName, String description) {
        tools.add(Json.objectOf("name", name, "exposed_name", exposedName, "description", description));
        return this;
    }

    Object toJson() {
        return Json.objectOf(
                "package", packageName,
                "authority", authority,
                "decision", decision,
                "provider_id", providerId,
                "tools", providerId == null ? null : tools);
    }
}
