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
        read(firstEnd);
        read(secondEnd);
        return new Rpc[] {firstEnd, secondEnd};
    }

    private static void read(Rpc end) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                end.run();
                            } catch (IOException closed) {
                                // The session that needed it is over.
                            }
                        },
                        "link");
        thread.setDaemon(true);
        thread.start();
    }
}
