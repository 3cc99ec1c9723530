package org.cetp.provider;

import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.Signature;
import android.os.Build;
import java.util.ArrayList;
import java.util.List;

/**
 * Asks the platform who is behind a UID (§7.1). Nothing that the caller says of itself is looked at.
 *
 * <p>A provider sees the packages that call it without any {@code <queries>}. It is asked anew at each call: a package
 * may have been replaced since the last one.
 */
public final class Identities {
    private final PackageManager packages;

    public Identities(PackageManager packages) {
        this.packages = packages;
    }

    public Identity of(int uid) {
        List<Identity.CallerPackage> found = new ArrayList<>();
        String[] names = packages.getPackagesForUid(uid);
        if (names != null) {
            for (String name : names) {
                try {
                    found.add(new Identity.CallerPackage(name, signersOf(name)));
                } catch (PackageManager.NameNotFoundException gone) {
                    // Uninstalled in this very moment. What is left of the identity would be another one: know nothing.
                    return new Identity(uid, new ArrayList<Identity.CallerPackage>());
                }
            }
        }
        return new Identity(uid, found);
    }

    /** The certificates that sign now. A rotated key's earlier ones do not count here, which §7.1 leaves open. */
    private List<String> signersOf(String name) throws PackageManager.NameNotFoundException {
        Signature[] signatures;
        if (Build.VERSION.SDK_INT >= 28) {
            PackageInfo info = packages.getPackageInfo(name, PackageManager.GET_SIGNING_CERTIFICATES);
            signatures = info.signingInfo == null ? null : info.signingInfo.getApkContentsSigners();
        } else {
            signatures = signaturesBefore28(name);
        }
        List<String> digests = new ArrayList<>();
        if (signatures != null) {
            for (Signature signature : signatures) {
                digests.add(Hashing.sha256(signature.toByteArray()));
            }
        }
        return digests;
    }

    @SuppressWarnings("deprecation")
    private Signature[] signaturesBefore28(String name) throws PackageManager.NameNotFoundException {
        return packages.getPackageInfo(name, PackageManager.GET_SIGNATURES).signatures;
    }
}
