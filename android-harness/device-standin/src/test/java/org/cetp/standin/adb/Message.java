package org.cetp.standin.adb;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * A message of adb's transport: six little-endian words (command, two arguments, length, checksum, complement of the
 * command) and the payload. {@code protocol.txt} of the adb sources is its description.
 */
record Message(int command, int arg0, int arg1, byte[] payload) {
    static final int CNXN = word("CNXN");
    static final int OPEN = word("OPEN");
    static final int OKAY = word("OKAY");
    static final int WRTE = word("WRTE");
    static final int CLSE = word("CLSE");

    private static final int HEADER_BYTES = 24;
    private static final int MAX_PAYLOAD = 1 << 20;

    Message(int command, int arg0, int arg1) {
        this(command, arg0, arg1, new byte[0]);
    }

    private static int word(String name) {
        return ByteBuffer.wrap(name.getBytes(StandardCharsets.US_ASCII)).order(ByteOrder.LITTLE_ENDIAN).getInt();
    }

    /** Null at the end of the stream. */
    static Message read(DataInputStream in) throws IOException {
        byte[] bytes = new byte[HEADER_BYTES];
        try {
            in.readFully(bytes);
        } catch (EOFException end) {
            return null;
        }
        ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int command = header.getInt();
        int arg0 = header.getInt();
        int arg1 = header.getInt();
        int length = header.getInt();
        header.getInt(); // the checksum means nothing since version 0x01000001
        if (header.getInt() != ~command || length < 0 || length > MAX_PAYLOAD) {
            throw new IOException("no message of adb");
        }
        byte[] payload = new byte[length];
        in.readFully(payload);
        return new Message(command, arg0, arg1, payload);
    }

    byte[] bytes() {
        int checksum = 0;
        for (byte b : payload) {
            checksum += b & 0xff;
        }
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + payload.length).order(ByteOrder.LITTLE_ENDIAN);
        out.putInt(command).putInt(arg0).putInt(arg1).putInt(payload.length).putInt(checksum).putInt(~command).put(payload);
        return out.array();
    }

    /** The payload as text, without the NUL that ends the name of a service. */
    String text() {
        String text = new String(payload, StandardCharsets.UTF_8);
        return text.endsWith("\0") ? text.substring(0, text.length() - 1) : text;
    }
}
