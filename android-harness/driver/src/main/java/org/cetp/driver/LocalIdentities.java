package org.cetp.driver;

import java.util.List;

/** Whom this app can pass for, by the suite's names of callers. It is one of them at a time. */
public interface LocalIdentities {
    List<String> names();

    /** Makes the platform see this app as that caller. Nothing of it is under way meanwhile. */
    void become(String name) throws RpcException;

    /** The UID that the platform gave to this app, whoever it passes for. */
    int uid();

    /** An app that is what it is. */
    final class Fixed implements LocalIdentities {
        private final String name;
        private final int uid;

        public Fixed(String name, int uid) {
            this.name = name;
            this.uid = uid;
        }

        @Override
        public List<String> names() {
            return java.util.Collections.singletonList(name);
        }

        @Override
        public void become(String other) {}

        @Override
        public int uid() {
            return uid;
        }
    }
}
