package org.cetp.shim;

import java.util.List;

/** A consumer, as it is asked by an agent. One of it lives from one {@code target.reset} to the next. */
public interface ConsumerUnderTest {
    /** Makes consumers in which nothing has happened. */
    interface Factory {
        /** Its optional capabilities, by their names in the protocol (§2.3). */
        List<String> capabilities();

        /** The platform answers from the first verb on, and not yet in here. */
        ConsumerUnderTest create(Platform platform);
    }

    /** Looks at the installed apps, in the order of the scan (§2.1); a row for each Service with the action. */
    List<Row> discover(List<InstalledApp> apps);

    /**
     * Executes a tool to its end. Called on many threads at a time.
     *
     * @param args JSON text
     * @param timeoutMs how long one call of the provider may take
     */
    Outcome execute(String providerId, String tool, String args, long timeoutMs);

    /** The agent wants every open execution of that tool to end. */
    void cancel(String providerId, String tool);
}
