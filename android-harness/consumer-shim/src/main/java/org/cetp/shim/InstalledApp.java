package org.cetp.shim;

import android.os.Bundle;
import java.util.List;

/** An app, as the package manager tells of it. */
public final class InstalledApp {
    public final String packageName;
    public final List<Service> services;
    public final List<Provider> providers;

    public InstalledApp(String packageName, List<Service> services, List<Provider> providers) {
        this.packageName = packageName;
        this.services = services;
        this.providers = providers;
    }

    /** A Service of the manifest. */
    public static final class Service {
        public final boolean exported;
        public final List<String> actions;
        public final Bundle metaData;

        public Service(boolean exported, List<String> actions, Bundle metaData) {
            this.exported = exported;
            this.actions = actions;
            this.metaData = metaData;
        }
    }

    /** A ContentProvider of the manifest. */
    public static final class Provider {
        /** Several authorities are separated by semicolons. */
        public final String authority;

        public final boolean exported;

        public Provider(String authority, boolean exported) {
            this.authority = authority;
            this.exported = exported;
        }
    }
}
