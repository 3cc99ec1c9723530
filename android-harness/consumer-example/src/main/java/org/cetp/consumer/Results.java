package org.cetp.consumer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.cetp.shim.Platform;
import org.cetp.shim.Reply;
import org.cetp.shim.ResultFile;

/** A result from its envelope to a checked value (§4.2, §4.5). */
final class Results {
    private Results() {}

    /**
     * Takes the value out of an envelope: of {@code data} after a synchronous call, of {@code result} in the state of an
     * operation. A file lies beside it in the reply, which closes it whatever happens here.
     */
    static Object take(Platform platform, Session session, Schema output, Object envelope, Reply reply) throws Ending {
        try {
            Map<String, Object> result = Json.object(envelope, "the envelope");
            Object kind = result.get("kind");
            Object value;
            if ("inline".equals(kind)) {
                if (!result.containsKey("value")) {
                    throw new JsonException("there is no value");
                }
                value = result.get("value");
            } else if ("file".equals(kind)) {
                if (!session.can(Session.LARGE_RESULTS)) {
                    throw new JsonException("files were not negotiated");
                }
                value = file(platform, result, reply.files.get("result_fd"));
            } else {
                throw new JsonException("it is of no known kind");
            }
            output.check(value);
            return value;
        } catch (JsonException wrong) {
            throw Ending.refused("The result cannot be used: " + wrong.getMessage());
        }
    }

    /**
     * Reads a file and holds it to what was declared: size, then digest, then JSON. Never more than the declared size and
     * one byte is read, and nothing at all of what is declared larger than we take.
     */
    private static Object file(Platform platform, Map<String, Object> declared, ResultFile file) throws JsonException {
        if (file == null) {
            throw new JsonException("there is no descriptor with it");
        }
        if (!"application/json".equals(declared.get("media_type"))) {
            throw new JsonException("its media type is not known");
        }
        long size = Json.whole(declared.get("size_bytes"), "size_bytes");
        if (size < 0 || size > Limits.FILE_BYTES) {
            throw new JsonException("it is too large");
        }
        String digest = Json.text(declared.get("sha256"), "sha256");
        if (!digest.matches("[0-9a-f]{64}")) {
            throw new JsonException("its digest is not declared");
        }
        byte[] content = readAll(platform, file, size);
        if (!digest.equals(sha256(content))) {
            throw new JsonException("its content is not what was declared");
        }
        try {
            String text =
                    StandardCharsets.UTF_8
                            .newDecoder()
                            .onMalformedInput(CodingErrorAction.REPORT)
                            .onUnmappableCharacter(CodingErrorAction.REPORT)
                            .decode(ByteBuffer.wrap(content))
                            .toString();
            return Texts.json(text, Limits.FILE_BYTES);
        } catch (CharacterCodingException noUtf8) {
            throw new JsonException("it is no UTF-8");
        }
    }

    private static byte[] readAll(Platform platform, ResultFile file, long size) throws JsonException {
        long untilMs = platform.nowMs() + Limits.READ_MS;
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        try {
            for (int reads = 1; ; reads++) {
                // One byte more than declared shows that it does not end there.
                byte[] bytes = file.read((int) Math.min(size + 1 - content.size(), Limits.READ_BYTES));
                if (bytes == null) {
                    break;
                }
                if (bytes.length == 0) {
                    throw new JsonException("it does not go on");
                }
                content.write(bytes);
                if (content.size() > size) {
                    throw new JsonException("it is longer than declared");
                }
                if (reads % Limits.READS_BETWEEN_LOOKS == 0 && platform.nowMs() > untilMs) {
                    throw new JsonException("it takes too long");
                }
            }
        } catch (IOException failed) {
            throw new JsonException("it cannot be read");
        }
        if (content.size() < size) {
            throw new JsonException("it is shorter than declared");
        }
        return content.toByteArray();
    }

    private static String sha256(byte[] content) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(content)) {
                hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException never) {
            throw new IllegalStateException(never);
        }
    }
}
