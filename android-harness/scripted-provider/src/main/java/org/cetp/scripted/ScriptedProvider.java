package org.cetp.scripted;

import android.os.Bundle;
import org.cetp.provider.CallOnlyProvider;

/** The ContentProvider that a consumer calls. */
public class ScriptedProvider extends CallOnlyProvider {
    /** The stage of this process. */
    protected Stage stage() {
        return Stage.ofProcess();
    }

    @Override
    public boolean onCreate() {
        stage().enter(getContext());
        return true;
    }

    @Override
    public Bundle call(String authority, String method, String arg, Bundle extras) {
        return stage().play(authority, method, arg, extras);
    }

    /** As it is before API 29, where a provider is not told by which authority it was found. */
    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        return stage().play(getContext().getPackageName() + ".tools", method, arg, extras);
    }
}
