package org.cetp.provider;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Who calls (§7.1): the UID with all of its packages and their current signing certificates. A grant is bound to exactly
 * this, so a changed certificate or a second package under the UID is another identity, which holds nothing until the
 * user grants it something.
 */
public final class Identity {
    public final int uid;
    private final List<CallerPackage> packages;

    Identity(int uid, List<CallerPackage> packages) {
        this.uid = uid;
        this.packages = packages;
    }

    /** A package of the UID. */
    static final class CallerPackage {
        final String name;
        /** SHA-256 of each current signer's certificate, in lowercase hex. */
        final List<String> signers;

        CallerPackage(String name, List<String> signers) {
            this.name = name;
            this.signers = new ArrayList<>(signers);
            Collections.sort(this.signers);
        }
    }

    /** Whether the platform could not say anything about the caller. Such a caller never holds anything. */
    public boolean isUnknown() {
        return packages.isEmpty();
    }

    /** For people: the names of all packages, not only of the first. */
    String packageNames() {
        StringBuilder names = new StringBuilder();
        for (CallerPackage caller : packages) {
            names.append(names.length() == 0 ? "" : ", ").append(caller.name);
        }
        return names.toString();
    }

    /** Equal texts, equal identities. Names of packages and digests hold none of the separators. */
    String key() {
        List<String> parts = new ArrayList<>();
        for (CallerPackage caller : packages) {
            StringBuilder part = new StringBuilder(caller.name).append('=');
            for (String signer : caller.signers) {
                part.append(signer).append('+');
            }
            parts.add(part.toString());
        }
        Collections.sort(parts);
        StringBuilder key = new StringBuilder().append(uid);
        for (String part : parts) {
            key.append(' ').append(part);
        }
        return key.toString();
    }
}
