package org.cetp.driver;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * JSON-RPC 2.0 over a pair of streams, one message a line ("Framing" in docs/target-protocol.md). Both sides may ask;
 * answers may come in any order.
 */
public final class Rpc implements Closeable {
    /** Both are the target protocol's. */
    static final int MAX_LINE_BYTES = 8 << 20;
    static final int MAX_DEPTH = 10_000;

    /** Who answers the other side. */
    public interface Handler {
        /** Called on the thread that reads: it must not wait. The request is answered now or later, on any thread. */
        void handle(Request request);
    }

    /** A request of the other side. */
    public final class Request {
        public final String method;
        public final Map<String, Object> params;
        private final Object id;

        private Request(String method, Map<String, Object> params, Object id) {
            this.method = method;
            this.params = params;
            this.id = id;
        }

        public void answer(Object result) {
            Map<String, Object> message = message();
            message.put("id", id);
            message.put("result", result);
            send(message);
        }

        public void refuse(RpcException refusal) {
            Map<String, Object> message = message();
            message.put("id", id);
            message.put("error", Json.objectOf("code", refusal.code, "message", String.valueOf(refusal.getMessage())));
            send(message);
        }
    }

    /** An answer that is waited for. */
    private static final class Pending {
        Map<String, Object> answer;
        boolean closed;
    }

    private final InputStream in;
    private final OutputStream out;
    private final Handler handler;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Pending> pending = new HashMap<>();
    private boolean closed;

    public Rpc(InputStream in, OutputStream out, Handler handler) {
        this.in = new BufferedInputStream(in, 1 << 16);
        this.out = out;
        this.handler = handler;
    }

    /** Reads until the stream ends. */
    public void run() throws IOException {
        try {
            for (String line = readLine(); line != null; line = readLine()) {
                receive(line);
            }
        } finally {
            close();
        }
    }

    /** Null at the end. A line that is cut off by the end is none. */
    private String readLine() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream(256);
        while (true) {
            int b = in.read();
            if (b < 0) {
                return null;
            }
            if (b == '\n') {
                break;
            }
            if (line.size() >= MAX_LINE_BYTES) {
                throw new IOException("a line is longer than " + MAX_LINE_BYTES + " bytes");
            }
            line.write(b);
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(line.toByteArray()))
                    .toString();
        } catch (CharacterCodingException noUtf8) {
            throw new IOException("a line is no UTF-8");
        }
    }

    private void receive(String line) throws IOException {
        try {
            Map<String, Object> message = Json.parseObject(line, MAX_DEPTH);
            if (!"2.0".equals(message.get("jsonrpc"))) {
                throw new JsonException("no message of JSON-RPC 2.0");
            }
            if (message.containsKey("method")) {
                Object params = message.get("params");
                Map<String, Object> object = params == null ? Json.objectOf() : Json.object(params, "params");
                handler.handle(new Request(Json.text(message.get("method"), "method"), object, message.get("id")));
            } else {
                answered(message);
            }
        } catch (JsonException wrong) {
            throw new IOException(wrong.getMessage());
        }
    }

    private void answered(Map<String, Object> message) throws JsonException {
        long id = Json.whole(message.get("id"), "id");
        synchronized (pending) {
            Pending waiting = pending.remove(id);
            if (waiting == null) {
                throw new JsonException("an answer to nothing that was asked");
            }
            waiting.answer = message;
            pending.notifyAll();
        }
    }

    /** Asks the other side and waits for its answer, without a limit: the host decides how long it thinks. */
    public Object request(String method, Map<String, Object> params) throws IOException, RpcException {
        long id = ids.incrementAndGet();
        Pending mine = new Pending();
        synchronized (pending) {
            if (closed) {
                throw new IOException("the connection is closed");
            }
            pending.put(id, mine);
        }
        Map<String, Object> message = message();
        message.put("id", id);
        message.put("method", method);
        message.put("params", params);
        send(message);
        synchronized (pending) {
            while (mine.answer == null && !mine.closed) {
                try {
                    pending.wait();
                } catch (InterruptedException stop) {
                    throw new IOException("interrupted");
                }
            }
        }
        if (mine.answer == null) {
            throw new IOException("the connection was closed before the answer");
        }
        try {
            if (mine.answer.containsKey("error")) {
                Map<String, Object> error = Json.object(mine.answer.get("error"), "error");
                int code = (int) Json.whole(error.get("code"), "code");
                throw new RpcException(code, Json.text(error.get("message"), "message"));
            }
        } catch (JsonException wrong) {
            throw new IOException(wrong.getMessage());
        }
        return mine.answer.get("result");
    }

    private static Map<String, Object> message() {
        return Json.objectOf("jsonrpc", "2.0");
    }

    private void send(Map<String, Object> message) {
        byte[] line = (Json.write(message) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) {
            try {
                out.write(line);
                out.flush();
            } catch (IOException gone) {
                close(); // whoever reads on the other side is gone, and notices nothing any more
            }
        }
    }

    /** Whether the connection has ended; waits for it as long as it may. */
    public boolean awaitClosed(long millis) throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        synchronized (pending) {
            while (!closed) {
                long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
                if (left <= 0) {
                    return false;
                }
                pending.wait(left);
            }
            return true;
        }
    }

    /** Ends the connection; nobody waits any longer. */
    @Override
    public void close() {
        try {
            in.close();
            out.close();
        } catch (IOException alreadyClosed) {
            // It is closed, which is what was wanted.
        }
        synchronized (pending) {
            closed = true;
            for (Pending waiting : pending.values()) {
                waiting.closed = true;
            }
            pending.clear();
            pending.notifyAll();
        }
    }
}
