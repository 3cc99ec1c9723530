package org.cetp.driver.device;

import android.app.UiAutomation;
import android.os.Build;
import android.os.ParcelFileDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;

/** What an instrumentation may do as the shell. */
final class Shell {
    private final UiAutomation automation;

    Shell(UiAutomation automation) {
        this.automation = automation;
    }

    /** Runs a command, without a shell's syntax; its output. */
    synchronized String run(String command) throws IOException {
        ParcelFileDescriptor output = automation.executeShellCommand(command);
        try (InputStream in = new ParcelFileDescriptor.AutoCloseInputStream(output)) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[8192];
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                bytes.write(buffer, 0, n);
            }
            return new String(bytes.toByteArray(), StandardCharsets.UTF_8).trim();
        }
    }

    /** Does something with one of the shell's permissions; null where this version cannot lend it. */
    synchronized <T> T with(String permission, Callable<T> work) throws Exception {
        if (Build.VERSION.SDK_INT < 29) {
            return null;
        }
        automation.adoptShellPermissionIdentity(permission);
        try {
            return work.call();
        } finally {
            automation.dropShellPermissionIdentity();
        }
    }
}
