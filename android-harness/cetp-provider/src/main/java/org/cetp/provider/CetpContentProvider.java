package org.cetp.provider;

import android.content.Context;
import android.content.pm.ProviderInfo;
import android.os.Binder;
import android.os.Bundle;

/**
 * The ContentProvider that an app subclasses. It is exported; the permission of §7.1 is no boundary, so whatever is
 * allowed is decided in here, by who calls.
 */
public abstract class CetpContentProvider extends CallOnlyProvider {
    private String authority;
    private Engine engine;
    private Identities identities;

    /** The app behind the provider. Asked once in a process. */
    protected abstract CetpApp app(Context context);

    /** Where the time comes from. */
    protected Engine.ClockOfStore clock() {
        return new Engine.ClockOfStore() {
            @Override
            public Clock over(Store store) {
                return Clock.DEVICE;
            }
        };
    }

    /** Who is told of executions. */
    protected ExecutionObserver observer() {
        return ExecutionObserver.NONE;
    }

    @Override
    public void attachInfo(Context context, ProviderInfo info) {
        authority = info.authority;
        super.attachInfo(context, info);
    }

    /** Runs on the main thread while the app starts: the database is opened when it is first needed. */
    @Override
    public boolean onCreate() {
        identities = new Identities(getContext().getPackageManager());
        return true;
    }

    /**
     * One call of the protocol. {@code arg} has no meaning in it.
     *
     * <p>§7.1: the calling UID is a property of this thread in this moment, so it is read before anything else, and handed
     * on from here.
     */
    @Override
    public final Bundle call(String method, String arg, Bundle extras) {
        int uid = Binder.getCallingUid();
        return engine().call(identities.of(uid), method, extras);
    }

    /** The provider behind this ContentProvider, started if it was not. */
    public final synchronized Engine engine() {
        if (engine == null) {
            engine = new Engine(getContext(), authority, app(getContext()), clock(), observer());
        }
        return engine;
    }

    /** Ends the provider, as the end of the process would; the next call starts it over what is durable. */
    @Override
    public synchronized void shutdown() {
        if (engine != null) {
            engine.close();
            engine = null;
        }
    }
}
