package org.cetp.standin;

import android.content.Context;
import android.content.ContextWrapper;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;

/** The context of an app of the stand-in. All of them share the one application that Robolectric has. */
final class PackageContext extends ContextWrapper {
    private final String packageName;

    PackageContext(Context base, String packageName) {
        super(base);
        this.packageName = packageName;
    }

    @Override
    public String getPackageName() {
        return packageName;
    }

    @Override
    public ApplicationInfo getApplicationInfo() {
        try {
            return getPackageManager().getApplicationInfo(packageName, 0);
        } catch (PackageManager.NameNotFoundException notInstalled) {
            throw new IllegalStateException(notInstalled);
        }
    }
}
