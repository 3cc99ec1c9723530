package org.cetp.standin;

import android.content.pm.ApplicationInfo;
import android.content.pm.PackageInfo;
import android.content.pm.SigningInfo;
import java.util.List;
import org.cetp.driver.LocalIdentities;
import org.robolectric.shadows.ShadowPackageManager;

/**
 * A driver app's packages as the package manager tells them. Here one app can be any of the suite's callers under one UID,
 * by being reinstalled with other certificates; on a device only some of that is possible.
 */
final class Identity implements LocalIdentities {
    private static final String A = "org.cetp.driver.a";
    private static final String SECOND = "org.cetp.driver.a.second";

    private final ShadowPackageManager packages;
    private final int uid;
    private final List<String> names;

    /** Every caller of that UID; a device can be the first of them, and the last. */
    static final List<String> ALL = List.of("a", "a_other_key", "a_rotated", "shared");

    Identity(ShadowPackageManager packages, int uid, List<String> names) {
        this.packages = packages;
        this.uid = uid;
        this.names = names;
        become(names.get(0));
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public int uid() {
        return uid;
    }

    @Override
    public void become(String name) {
        switch (name) {
            case "a" -> only(Certificates.signedBy("driver a"));
            case "a_other_key" -> only(Certificates.signedBy("somebody else"));
            case "a_rotated" -> only(Certificates.signedBy("driver a, rotated", "driver a"));
            case "shared" -> {
                install(packages, A, uid, Certificates.signedBy("driver a"));
                install(packages, SECOND, uid, Certificates.signedBy("driver a"));
                packages.setPackagesForUid(uid, A, SECOND);
            }
            default -> throw new IllegalArgumentException(name);
        }
    }

    private void only(SigningInfo signing) {
        packages.removePackage(SECOND);
        install(packages, A, uid, signing);
        packages.setPackagesForUid(uid, A);
    }

    /** A package that has a UID for itself. */
    static void install(ShadowPackageManager packages, String name, int uid, String certificateOwner) {
        install(packages, name, uid, Certificates.signedBy(certificateOwner));
        packages.setPackagesForUid(uid, name);
    }

    private static void install(ShadowPackageManager packages, String name, int uid, SigningInfo signing) {
        PackageInfo info = new PackageInfo();
        info.packageName = name;
        info.applicationInfo = new ApplicationInfo();
        info.applicationInfo.packageName = name;
        info.applicationInfo.uid = uid;
        info.signingInfo = signing;
        info.requestedPermissions = new String[] {"com.clawseed.permission.ACCESS_TOOLS"};
        packages.installPackage(info);
    }
}
