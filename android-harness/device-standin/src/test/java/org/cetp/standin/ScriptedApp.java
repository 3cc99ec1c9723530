package org.cetp.standin;

import android.content.Context;
import android.os.Bundle;
import android.util.Log;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.cetp.driver.Rpc;
import org.cetp.driver.UnstableClientPort;
import org.cetp.shim.ScriptedBinding;
import org.robolectric.shadows.ShadowContentResolver;
import org.robolectric.shadows.ShadowPackageManager;

/** The scripted provider's app on the stand-in: its process, and the way to it. */
final class ScriptedApp {
    private final Context context;
    private final Manifest manifest;
    private final AtomicInteger calls = new AtomicInteger();
    private int lives;
    private ProviderProcess process;

    ScriptedApp(Context context, Manifest manifest) {
        this.context = context;
        this.manifest = manifest;
    }

    void install(ShadowPackageManager packages, int uid) {
        manifest.install(packages, uid, "scripted");
    }

    synchronized void end() {
        if (process != null) {
            process.end();
        }
    }

    private synchronized ProviderProcess process() {
        process = ProviderProcess.living(process);
        if (process == null) {
            Log.i("ActivityManager", "Start proc " + ProcessHandle.current().pid() + ":" + manifest.packageName() + "/u0a44");
            process = ProviderProcess.ofScripted(context, manifest);
            lives++;
        }
        return process;
    }

    /** How many calls went over its Binder. */
    int calls() {
        return calls.get();
    }

    /** How many processes it has had. */
    synchronized int lives() {
        return lives;
    }

    /** How the consumer's app reaches it. */
    ScriptedBinding binding(boolean installed, int callingUid) {
        return new ScriptedBinding() {
            @Override
            public String packageName() {
                return manifest.packageName();
            }

            @Override
            public Rpc connect(Rpc.Handler handler) throws IOException {
                if (!installed) {
                    return null;
                }
                ProviderProcess connected = process();
                Rpc[] ends = Link.between(connected.stage(), handler);
                connected.stage().connect(ends[0]);
                // A socket ends with the process that holds it.
                connected.death().thenRun(ends[0]::close);
                return ends[1];
            }

            @Override
            public Bundle call(String authority, String method, Bundle extras) throws Exception {
                calls.incrementAndGet();
                String name = callingUid + "@" + authority;
                BinderEnd end = new BinderEnd(ScriptedApp.this::process, manifest.application(), authority, callingUid);
                ShadowContentResolver.registerProviderInternal(name, end);
                return new UnstableClientPort(context.getContentResolver()).call(name, method, null, extras);
            }
        };
    }
}
