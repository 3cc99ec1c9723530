package org.cetp.standin.adb;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * What a command writes. In version 2 of the shell protocol each piece says what it is (stdout 1, stderr 2, exit code 3);
 * in the first one everything is written as it is, and the exit code is lost.
 */
final class ShellOutput {
    private static final int STDOUT = 1;
    private static final int STDERR = 2;
    private static final int EXIT = 3;

    private final OutputStream stream;
    private final boolean v2;

    ShellOutput(OutputStream stream, boolean v2) {
        this.stream = stream;
        this.v2 = v2;
    }

    void out(String text) throws IOException {
        write(STDOUT, text.getBytes(StandardCharsets.UTF_8));
    }

    void line(String text) throws IOException {
        out(text + "\n");
    }

    void err(String line) throws IOException {
        write(STDERR, (line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    void exit(int code) throws IOException {
        if (v2) {
            write(EXIT, new byte[] {(byte) code});
        }
    }

    private synchronized void write(int kind, byte[] bytes) throws IOException {
        if (!v2) {
            stream.write(bytes);
            return;
        }
        ByteBuffer packet = ByteBuffer.allocate(5 + bytes.length).order(ByteOrder.LITTLE_ENDIAN);
        packet.put((byte) kind).putInt(bytes.length).put(bytes);
        stream.write(packet.array());
    }
}
