package org.cetp.provider;

import java.util.EnumSet;
import java.util.List;
import java.util.ArrayList;
import java.util.Set;

/** The optional capabilities (§2.3), in the order in which they are told. */
public enum Capability {
    /** {@code execute_tool} may answer with a background operation. */
    ASYNC_OPERATIONS("async_operations"),
    /** {@code cancel_operation} works. */
    CANCELLATION("cancellation"),
    /** Large results come as a descriptor. */
    LARGE_RESULTS("large_results");

    /** The name on the wire. */
    public final String wireName;

    Capability(String wireName) {
        this.wireName = wireName;
    }

    static Set<Capability> all() {
        return EnumSet.allOf(Capability.class);
    }

    static List<Object> namesOf(Set<Capability> set) {
        List<Object> names = new ArrayList<>();
        for (Capability capability : values()) {
            if (set.contains(capability)) {
                names.add(capability.wireName);
            }
        }
        return names;
    }
}
