package org.cetp.standin.adb;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;

/**
 * One stream of a transport, as a pair of Java's streams. Each piece that is written waits for the other side to have taken
 * the one before, and a piece that arrived is acknowledged when it is read.
 */
final class AdbStream implements AutoCloseable {
    private final Transport transport;
    private final int localId;
    private final int remoteId;
    private final int maxData;

    private final Queue<byte[]> arrived = new ArrayDeque<>();
    private boolean mayWrite = true;
    private boolean closed;

    AdbStream(Transport transport, int localId, int remoteId, int maxData) {
        this.transport = transport;
        this.localId = localId;
        this.remoteId = remoteId;
        this.maxData = maxData;
    }

    int localId() {
        return localId;
    }

    synchronized void arrived(byte[] payload) {
        arrived.add(payload);
        notifyAll();
    }

    synchronized void acknowledged() {
        mayWrite = true;
        notifyAll();
    }

    synchronized void closedByPeer() {
        closed = true;
        notifyAll();
    }

    /** The next piece that arrived; null at the end. */
    private byte[] take() throws IOException {
        byte[] piece;
        synchronized (this) {
            while (arrived.isEmpty() && !closed) {
                await();
            }
            piece = arrived.poll();
            if (closed) {
                return piece;
            }
        }
        transport.send(new Message(Message.OKAY, localId, remoteId));
        return piece;
    }

    private void send(byte[] piece) throws IOException {
        synchronized (this) {
            while (!mayWrite && !closed) {
                await();
            }
            if (closed) {
                throw new IOException("the stream is closed");
            }
            mayWrite = false;
        }
        transport.send(new Message(Message.WRTE, localId, remoteId, piece));
    }

    private void await() throws IOException {
        try {
            wait();
        } catch (InterruptedException stop) {
            throw new IOException("interrupted");
        }
    }

    @Override
    public void close() {
        boolean wasOpen;
        synchronized (this) {
            wasOpen = !closed;
            closed = true;
            notifyAll();
        }
        if (wasOpen) {
            try {
                transport.send(new Message(Message.CLSE, localId, remoteId));
            } catch (IOException gone) {
                // Then so is the stream.
            }
        }
    }

    InputStream input() {
        return new InputStream() {
            private byte[] piece = new byte[0];
            private int at;

            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                if (length == 0) {
                    return 0;
                }
                while (at == piece.length) {
                    piece = take();
                    at = 0;
                    if (piece == null) {
                        piece = new byte[0];
                        return -1;
                    }
                }
                int n = Math.min(length, piece.length - at);
                System.arraycopy(piece, at, into, offset, n);
                at += n;
                return n;
            }

            @Override
            public void close() {
                AdbStream.this.close();
            }
        };
    }

    OutputStream output() {
        return new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] from, int offset, int length) throws IOException {
                for (int at = 0; at < length; at += maxData) {
                    send(Arrays.copyOfRange(from, offset + at, offset + Math.min(length, at + maxData)));
                }
            }

            @Override
            public void close() {
                AdbStream.this.close();
            }
        };
    }
}
