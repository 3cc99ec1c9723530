package org.cetp.consumer;

import android.os.Bundle;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.cetp.shim.InstalledApp;

/** Who offers tools, and in which version: discovery from manifests (§2.1, §8). */
final class Manifests {
    private static final String ACTION = "com.clawseed.action.TOOL_PROVIDER";
    private static final String AUTHORITY = "com.clawseed.tools.authority";
    private static final String VERSION = "com.clawseed.tools.version";
    private static final String VERSIONS = "com.clawseed.tools.versions";

    /** What a manifest leads to. */
    enum Verdict {
        /** Version 2, and never another one (§8). */
        V2,
        /** Version 1: the manifest has it and does not declare 2. */
        V1,
        /** No version in common. */
        IGNORED,
        /** Something is wrong. */
        REFUSED
    }

    /** A Service that says that it offers tools. */
    static final class Candidate {
        final String packageName;
        final String authority;
        final Verdict verdict;

        Candidate(String packageName, String authority, Verdict verdict) {
            this.packageName = packageName;
            this.authority = authority;
            this.verdict = verdict;
        }
    }

    private Manifests() {}

    /** Every Service with the action, in the order of the scan. */
    static List<Candidate> candidates(List<InstalledApp> apps) {
        List<Candidate> candidates = new ArrayList<>();
        for (InstalledApp app : apps) {
            for (InstalledApp.Service service : app.services) {
                if (service.exported && service.actions.contains(ACTION)) {
                    Object named = value(service.metaData, AUTHORITY);
                    String authority = named instanceof String ? (String) named : "";
                    boolean own = belongs(apps, app, authority);
                    candidates.add(
                            new Candidate(app.packageName, authority, own ? verdict(service.metaData) : Verdict.REFUSED));
                }
            }
        }
        return candidates;
    }

    /** §2.1: the ContentProvider is of the Service's package, else one app could speak for another. */
    private static boolean belongs(List<InstalledApp> apps, InstalledApp app, String authority) {
        boolean found = false;
        for (InstalledApp other : apps) {
            for (InstalledApp.Provider provider : other.providers) {
                for (String one : provider.authority.split(";")) {
                    if (one.equals(authority) && !authority.isEmpty()) {
                        if (!other.packageName.equals(app.packageName) || !provider.exported) {
                            return false;
                        }
                        found = true;
                    }
                }
            }
        }
        return found;
    }

    private static Verdict verdict(Bundle metaData) {
        Set<Integer> declared = versions(metaData);
        if (declared == null) {
            return Verdict.REFUSED;
        }
        return declared.contains(2) ? Verdict.V2 : declared.contains(1) ? Verdict.V1 : Verdict.IGNORED;
    }

    /** {@code versions} is authoritative where it is there at all; else {@code version} is the only one. Null: unreadable. */
    private static Set<Integer> versions(Bundle metaData) {
        Object several = value(metaData, VERSIONS);
        Object declared = several == null ? value(metaData, VERSION) : several;
        Set<Integer> versions = new HashSet<>();
        if (declared == null) {
            return versions;
        }
        if (declared instanceof Integer) {
            versions.add((Integer) declared); // what a build makes of "2"
            return versions;
        }
        if (!(declared instanceof String)) {
            return null;
        }
        for (String token : ((String) declared).split(",")) {
            String version = token.trim();
            if (version.isEmpty()) {
                continue;
            }
            // A token that is no number could be anything, a declaration of version 2 with a slip of the pen too.
            if (!version.matches("[0-9]+")) {
                return null;
            }
            versions.add(version.length() > 9 ? Integer.MAX_VALUE : Integer.parseInt(version));
        }
        return versions;
    }

    @SuppressWarnings("deprecation") // the typed getters hide what is of another type
    private static Object value(Bundle bundle, String key) {
        return bundle.get(key);
    }
}
