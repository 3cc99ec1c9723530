package org.cetp.driver.device;

import android.content.Context;
import android.os.Process;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.cetp.driver.LocalIdentities;
import org.cetp.driver.RpcException;

/**
 * The callers {@code a} and {@code shared}: the driver's UID with its one package, and with a second one, which is
 * installed and removed as it is needed. Both APKs name the same {@code sharedUserId} and have the same signer.
 */
final class SecondPackage implements LocalIdentities {
    private static final String NAME = "org.cetp.driver.a.second";

    private final Context context;
    private final Shell shell;
    private final String apk;

    /** @param apk where the second package lies on the device, readable for the shell */
    SecondPackage(Context context, Shell shell, String apk) throws IOException {
        this.context = context;
        this.shell = shell;
        this.apk = apk;
        if (isInstalled()) {
            shell.run("pm uninstall " + NAME); // left by a run that was cut off
        }
    }

    @Override
    public List<String> names() {
        return Arrays.asList("a", "shared");
    }

    @Override
    public int uid() {
        return Process.myUid();
    }

    @Override
    public void become(String name) throws RpcException {
        boolean second = name.equals("shared");
        try {
            String said = shell.run(second ? "pm install -r -t " + apk : "pm uninstall " + NAME);
            if (isInstalled() != second) {
                throw RpcException.cannotAct("the second package: " + said);
            }
        } catch (IOException failure) {
            throw RpcException.cannotAct("the second package: " + failure.getMessage());
        }
    }

    private boolean isInstalled() {
        String[] names = context.getPackageManager().getPackagesForUid(Process.myUid());
        return names != null && Arrays.asList(names).contains(NAME);
    }
}
