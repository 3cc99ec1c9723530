package org.cetp.standin;

import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import org.cetp.driver.Rpc;

/** What a socket pair is on a device: two ends that talk to each other, each read by a thread of its own. */
final class Link {
    private Link() {}

    /** The end at which the first one answers, and that of the second one. */
    static Rpc[] between(Rpc.Handler first, Rpc.Handler second) throws IOException {
        Pipe there = Pipe.open();
        Pipe back = Pipe.open();
        Rpc firstEnd = new Rpc(Channels.newInputStream(there.source()), Channels.newOutputStream(back.sink()), first);
        Rpc secondEnd = new Rpc(Channels.newInputStream(back.source()), Channels.newOutputStream(there.sink()), second);
        daemon(firstEnd::run);
        daemon(secondEnd::run);
        return new Rpc[] {firstEnd, secondEnd};
    }

    /** What goes on beside the session that needs it. */
    interface Work {
        void run() throws IOException;
    }

    /** Does it in a thread of its own, with a stack for values that are nested deeply. */
    static void daemon(Work work) {
        Thread thread =
                new Thread(
                        null,
                        () -> {
                            try {
                                work.run();
                            } catch (IOException closed) {
                                // The session that needed it is over.
                            }
                        },
                        "session",
                        16 << 20);
        thread.setDaemon(true);
        thread.start();
    }
}
