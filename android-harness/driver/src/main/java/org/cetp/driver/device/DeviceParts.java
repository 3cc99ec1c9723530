package org.cetp.driver.device;

import android.content.Context;
import android.os.Process;
import org.cetp.driver.Driver;
import org.cetp.driver.LocalIdentities;
import org.cetp.driver.UnstableClientPort;

/** What every driver app has, whichever caller it is. */
final class DeviceParts {
    /** Driver apps are named after the caller that they are. */
    private static final String PACKAGE_PREFIX = "org.cetp.driver.";

    private DeviceParts() {}

    static Driver.Device of(Context context, String target) {
        Driver.Device device = new Driver.Device();
        device.packages = context.getPackageManager();
        device.port = new UnstableClientPort(context.getContentResolver());
        device.identities = new LocalIdentities.Fixed(callerOf(context.getPackageName()), Process.myUid());
        device.resolutions = new ActivityResolutions(context);
        device.target = target;
        device.ownPackage = context.getPackageName();
        return device;
    }

    static String packageOf(String caller) {
        return PACKAGE_PREFIX + caller;
    }

    private static String callerOf(String packageName) {
        if (!packageName.startsWith(PACKAGE_PREFIX)) {
            throw new IllegalStateException(packageName + " is no driver app");
        }
        return packageName.substring(PACKAGE_PREFIX.length());
    }
}
