package org.cetp.standin.adb;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;

/** adb's file service, as much of it as {@code adb push} needs. Files are kept in memory, by their paths. */
final class SyncService implements Transport.Service {
    private static final int REGULAR_FILE = 0100644;
    private static final int MAX_PATH = 1024;

    private final Map<String, byte[]> files;

    SyncService(Map<String, byte[]> files) {
        this.files = files;
    }

    @Override
    public void serve(AdbStream stream) throws IOException {
        DataInputStream in = new DataInputStream(stream.input());
        try {
            while (true) {
                String request = id(in);
                int length = word(in);
                switch (request) {
                    case "STAT" -> stat(path(in, length), stream);
                    case "SEND" -> receive(path(in, length), in, stream);
                    case "QUIT" -> {
                        return;
                    }
                    default -> {
                        fail(stream, "the stand-in has no " + request);
                        return;
                    }
                }
            }
        } catch (EOFException end) {
            // The other side has no more requests.
        }
    }

    private void stat(String path, AdbStream stream) throws IOException {
        byte[] file = files.get(path);
        ByteBuffer answer = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
        answer.put("STAT".getBytes(StandardCharsets.US_ASCII));
        answer.putInt(file == null ? 0 : REGULAR_FILE).putInt(file == null ? 0 : file.length);
        answer.putInt(file == null ? 0 : (int) Instant.now().getEpochSecond());
        stream.output().write(answer.array());
    }

    /** SEND names the path and, after a comma, the mode; then come pieces, and the time that ends the file. */
    private void receive(String pathAndMode, DataInputStream in, AdbStream stream) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        for (String piece = id(in); !piece.equals("DONE"); piece = id(in)) {
            if (!piece.equals("DATA")) {
                throw new IOException("neither DATA nor DONE");
            }
            content.write(in.readNBytes(word(in)));
        }
        word(in);
        files.put(pathAndMode.substring(0, pathAndMode.lastIndexOf(',')), content.toByteArray());
        stream.output().write(answer("OKAY", new byte[0]));
    }

    private static void fail(AdbStream stream, String why) throws IOException {
        stream.output().write(answer("FAIL", why.getBytes(StandardCharsets.UTF_8)));
    }

    private static byte[] answer(String id, byte[] body) {
        ByteBuffer answer = ByteBuffer.allocate(8 + body.length).order(ByteOrder.LITTLE_ENDIAN);
        answer.put(id.getBytes(StandardCharsets.US_ASCII)).putInt(body.length).put(body);
        return answer.array();
    }

    private static String id(DataInputStream in) throws IOException {
        byte[] id = new byte[4];
        in.readFully(id);
        return new String(id, StandardCharsets.US_ASCII);
    }

    private static int word(DataInputStream in) throws IOException {
        return Integer.reverseBytes(in.readInt());
    }

    private static String path(DataInputStream in, int length) throws IOException {
        if (length < 0 || length > MAX_PATH) {
            throw new IOException("no path");
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }
}
