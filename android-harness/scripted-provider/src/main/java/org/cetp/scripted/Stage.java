package org.cetp.scripted;

import android.content.Context;
import android.os.BadParcelableException;
import android.os.Bundle;
import android.os.Process;
import android.util.Base64;
import android.util.Log;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.cetp.codec.BundleCodec;
import org.cetp.codec.WireException;
import org.cetp.driver.Rpc;
import org.cetp.driver.RpcException;
import org.cetp.json.Json;
import org.cetp.json.JsonException;

/**
 * What a scripted provider's process has: the link to who plays it, and the {@link Props} of its replies. The link is asked
 * {@code provider.call}; it answers as the target protocol does, or with {@code {"die": true}}. It asks in turn for bytes
 * in a pipe ({@code pipe.write}, {@code pipe.end}), and to let go of everything ({@code forget}).
 */
public class Stage implements Rpc.Handler {
    private static final String TAG = "CetpDriver";

    /** How long a call waits for a link: a consumer may call before the harness has bound to a process that is new. */
    private static final long PATIENCE_MS = 10_000;

    private static final Stage OF_PROCESS = new Stage();

    private final Props props = new Props();
    private final BundleCodec codec = new BundleCodec(props);
    private final ExecutorService inOrder = Executors.newSingleThreadExecutor();
    private Rpc link;

    static Stage ofProcess() {
        return OF_PROCESS;
    }

    /** The app whose PendingIntents and files these are. */
    public void enter(Context context) {
        props.enter(context);
    }

    /** From now on this link plays the provider. */
    public synchronized void connect(Rpc newLink) {
        link = newLink;
        notifyAll();
    }

    private synchronized Rpc link() {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        try {
            while (link == null) {
                long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
                if (left <= 0) {
                    throw new IllegalStateException("nobody plays this provider");
                }
                wait(left);
            }
        } catch (InterruptedException stop) {
            throw new IllegalStateException("interrupted");
        }
        return link;
    }

    /** One call of a consumer. It takes as long as the host wants it to. */
    final Bundle play(String authority, String method, String arg, Bundle extras) {
        Map<String, Object> params = Json.objectOf("authority", authority, "method", method);
        params.put("arg", arg);
        params.put("extras", codec.encode(extras));
        Map<String, Object> answer;
        try {
            answer = Json.object(link().request("provider.call", params), "the answer");
            if (answer.get("exception") != null) {
                throw thrown(Json.object(answer.get("exception"), "exception"));
            }
            if (!Boolean.TRUE.equals(answer.get("die"))) {
                return codec.decode(answer.get("bundle"));
            }
        } catch (IOException | RpcException | JsonException | WireException broken) {
            // The harness on the other side sees that this is not what was played, and says so.
            throw new IllegalStateException("the scripted provider: " + broken.getMessage());
        }
        die();
        throw new ThreadDeath(); // the signal is on its way: nothing more shall happen on this thread
    }

    /** Those that a Parcel carries; there are no others to be thrown here. */
    private static RuntimeException thrown(Map<String, Object> exception) {
        String message = String.valueOf(exception.get("message"));
        switch (String.valueOf(exception.get("class"))) {
            case "java.lang.SecurityException":
                return new SecurityException(message);
            case "java.lang.IllegalArgumentException":
                return new IllegalArgumentException(message);
            case "java.lang.NullPointerException":
                return new NullPointerException(message);
            case "java.lang.UnsupportedOperationException":
                return new UnsupportedOperationException(message);
            case "android.os.BadParcelableException":
                return new BadParcelableException(message);
            default:
                return new IllegalStateException(message);
        }
    }

    /** Ends the process in this very moment. */
    protected void die() {
        Process.killProcess(Process.myPid());
    }

    @Override
    public final void handle(final Rpc.Request request) {
        inOrder.execute(
                new Runnable() {
                    @Override
                    public void run() {
                        try {
                            act(request.method, request.params);
                            request.answer(Json.objectOf());
                        } catch (RpcException refusal) {
                            request.refuse(refusal);
                        } catch (IOException | JsonException | RuntimeException failure) {
                            Log.e(TAG, request.method, failure);
                            request.refuse(RpcException.cannotAct(request.method + ": " + failure));
                        }
                    }
                });
    }

    private void act(String verb, Map<String, Object> params) throws RpcException, IOException, JsonException {
        switch (verb) {
            case "pipe.write":
                byte[] bytes = Base64.decode(Json.text(params.get("base64"), "base64"), Base64.DEFAULT);
                props.write(Json.text(params.get("fd"), "fd"), bytes);
                return;
            case "pipe.end":
                props.end(Json.text(params.get("fd"), "fd"));
                return;
            case "forget":
                props.clear();
                return;
            default:
                throw new RpcException(RpcException.NO_SUCH_VERB, "there is no verb " + verb);
        }
    }
}
