package org.cetp.driver.device;

import android.app.Activity;
import android.app.Instrumentation;
import android.os.Bundle;
import android.util.Log;
import java.io.IOException;

/**
 * An instrumentation that serves sessions on a socket, by {@code -e socket NAME}. It reports
 * {@code INSTRUMENTATION_STATUS: socket=NAME} when it listens, and ends with the session that asks for it.
 */
public abstract class SocketInstrumentation extends Instrumentation {
    /** Any code of a status; adb shows it beside the values. */
    private static final int LISTENING = 1;

    private Bundle arguments;

    /** What it is, for the log: "the driver". */
    protected abstract String what();

    /** What each connection gets; called once, before it listens. */
    protected abstract SocketServer.Sessions sessions() throws IOException;

    /** The arguments that {@code am instrument} was given. */
    protected final Bundle arguments() {
        return arguments;
    }

    @Override
    public void onCreate(Bundle given) {
        super.onCreate(given);
        arguments = given;
        start(); // calls onStart on a thread of its own
    }

    @Override
    public void onStart() {
        Bundle result = new Bundle();
        String socket = arguments.getString("socket", SocketServer.DEFAULT_NAME);
        try {
            try (SocketServer server = new SocketServer(socket, sessions())) {
                Bundle status = new Bundle();
                status.putString("socket", socket);
                sendStatus(LISTENING, status);
                server.run();
            }
            finish(Activity.RESULT_OK, result);
        } catch (IOException | RuntimeException failure) {
            Log.e(SocketServer.TAG, what() + " cannot run", failure);
            result.putString("error", String.valueOf(failure));
            finish(Activity.RESULT_CANCELED, result);
        }
    }
}
