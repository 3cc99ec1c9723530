package org.cetp.provider;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What an app brings to the protocol (§10): who it is, its tools, and its policy. Business rules, the question that the
 * user is asked, and the effect are in its {@link Tool}s.
 */
public abstract class CetpApp {
    /** Stable; the package name, or a name that begins with it and a dot (§3.1). */
    public abstract String providerId();

    /** For people. */
    public abstract String providerName();

    /** For people. */
    public abstract String description();

    /** The scope catalogue (§3.2): name, title, description, access, sensitivity. */
    public abstract List<Map<String, Object>> scopes();

    /** The tools as they are now. Asked again by {@link Engine#reload}. */
    public abstract List<Tool> tools();

    /** The optional capabilities as they are now. */
    public Set<Capability> capabilities() {
        return Capability.all();
    }

    /** Whether v1 is served beside v2 (§8). The manifest has to say the same (§2.1). */
    public boolean servesV1() {
        return true;
    }

    /** SQL that makes the app's own tables in the provider's database. */
    public String[] tables() {
        return new String[0];
    }

    /** Called at the entry of every call. By default nobody is granted anything by arriving (§7.1). */
    public void arrives(Store.Transaction tx, Identity caller) {}

    /** Whether the user may be asked for a scope (AUTH_REQUIRED); otherwise lacking it is PERMISSION_DENIED (§3.4). */
    public boolean mayBeAskedFor(String scope) {
        return true;
    }

    /** The Activity in which the user decides; it has to be in the manifest, not exported. */
    public Class<? extends ConfirmationActivity> confirmationActivity() {
        return ConfirmationActivity.class;
    }
}
