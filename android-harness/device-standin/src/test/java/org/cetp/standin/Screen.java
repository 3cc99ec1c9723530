package org.cetp.standin;

import static org.robolectric.Shadows.shadowOf;

import android.app.Activity;
import android.app.PendingIntent;
import android.content.Intent;
import android.os.Handler;
import android.os.Looper;
import android.view.View;
import android.view.ViewGroup;
import android.widget.TextView;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.cetp.driver.IntentFacts;
import org.cetp.driver.Resolutions;
import org.cetp.driver.RpcException;
import org.robolectric.Robolectric;
import org.robolectric.android.controller.ActivityController;

/**
 * The screen of the stand-in. Robolectric only notes that an Activity was to be opened; this opens it, takes it off when it
 * has finished, and lets somebody look at it and touch it.
 */
public final class Screen implements Resolutions, IntentFacts {
    /** Long, for a machine that is busy with other things; the runner's own limit comes first. */
    private static final long PATIENCE_SECONDS = 60;

    /** An Activity is up a moment after it was asked for, as on a device. */
    private static final long COMES_UP_MS = 30;

    private final Phone phone;

    /** Activities that are up, the uppermost first. Only the main thread touches it. */
    private final Deque<ActivityController<? extends Activity>> up = new ArrayDeque<>();

    Screen(Phone phone) {
        this.phone = phone;
    }

    @Override
    public Intent intentOf(PendingIntent pending) {
        return shadowOf(pending).getSavedIntent();
    }

    @Override
    public Launch launch(PendingIntent pending) throws RpcException {
        if (!pending.isActivity()) {
            throw RpcException.cannotAct("this PendingIntent opens no Activity");
        }
        phone.process(); // opening an Activity starts the process of its app
        Intent intent = new Intent(intentOf(pending));
        CompletableFuture<ActivityController<? extends Activity>> opened = new CompletableFuture<>();
        CompletableFuture.delayedExecutor(COMES_UP_MS, TimeUnit.MILLISECONDS).execute(() -> {
            try {
                opened.complete(onMainThread(() -> open(intent)));
            } catch (RpcException failure) {
                opened.completeExceptionally(failure);
            }
        });
        return millis -> {
            try {
                ActivityController<? extends Activity> activity = opened.get(millis, TimeUnit.MILLISECONDS);
                return onMainThread(() -> {
                    takeOffFinished();
                    return activity.get().isFinishing();
                });
            } catch (ExecutionException | TimeoutException neverCameUp) {
                return false;
            }
        };
    }

    private ActivityController<? extends Activity> open(Intent intent) throws ReflectiveOperationException {
        Class<? extends Activity> type =
                Class.forName(intent.getComponent().getClassName()).asSubclass(Activity.class);
        ActivityController<? extends Activity> activity = Robolectric.buildActivity(type, intent).setup();
        up.push(activity);
        takeOffFinished();
        return activity;
    }

    private void takeOffFinished() {
        up.removeIf(
                activity -> {
                    boolean isOver = activity.get().isFinishing();
                    if (isOver) {
                        activity.pause().stop().destroy();
                    }
                    return isOver;
                });
    }

    /** The process behind the screens is gone, and they with it, without a word. */
    void drop() {
        new Handler(Looper.getMainLooper()).post(up::clear);
    }

    // --- what a person, or uiautomator, does ---

    /** What is on the screen, as {@code uiautomator dump} has it. */
    public String dump() throws RpcException {
        return onMainThread(
                () -> {
                    StringBuilder xml = new StringBuilder("<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>");
                    xml.append("<hierarchy rotation=\"0\">");
                    if (!up.isEmpty()) {
                        dump(up.peek().get().getWindow().getDecorView(), 0, xml);
                    }
                    return xml.append("</hierarchy>").toString();
                });
    }

    private static void dump(View view, int index, StringBuilder xml) {
        int[] at = new int[2];
        view.getLocationOnScreen(at);
        String text = view instanceof TextView shown ? shown.getText().toString() : "";
        xml.append("<node index=\"").append(index).append("\" text=\"").append(escaped(text));
        xml.append("\" class=\"").append(view.getAccessibilityClassName());
        xml.append("\" package=\"").append(Phone.FIXTURE);
        xml.append("\" clickable=\"").append(view.isClickable());
        xml.append("\" bounds=\"[").append(at[0]).append(',').append(at[1]).append("][");
        xml.append(at[0] + view.getWidth()).append(',').append(at[1] + view.getHeight()).append("]\">");
        if (view instanceof ViewGroup group) {
            for (int i = 0; i < group.getChildCount(); i++) {
                dump(group.getChildAt(i), i, xml);
            }
        }
        xml.append("</node>");
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;").replace("\n", "&#10;");
    }

    /** A finger at a place; whether there was anything to touch. */
    public boolean tap(int x, int y) throws RpcException {
        return onMainThread(
                () -> {
                    View view = up.isEmpty() ? null : at(up.peek().get().getWindow().getDecorView(), x, y);
                    boolean touched = view != null && view.performClick();
                    takeOffFinished();
                    return touched;
                });
    }

    private static View at(View view, int x, int y) {
        int[] at = new int[2];
        view.getLocationOnScreen(at);
        boolean inside = x >= at[0] && x < at[0] + view.getWidth() && y >= at[1] && y < at[1] + view.getHeight();
        if (!inside) {
            return null;
        }
        if (view instanceof ViewGroup group) {
            for (int i = group.getChildCount() - 1; i >= 0; i--) {
                View child = at(group.getChildAt(i), x, y);
                if (child != null) {
                    return child;
                }
            }
        }
        return view.isClickable() ? view : null;
    }

    /** The key "back". */
    @SuppressWarnings("deprecation")
    public void back() throws RpcException {
        onMainThread(
                () -> {
                    if (!up.isEmpty()) {
                        up.peek().get().onBackPressed();
                        takeOffFinished();
                    }
                    return null;
                });
    }

    private static <T> T onMainThread(Callable<T> work) throws RpcException {
        FutureTask<T> task = new FutureTask<>(work);
        new Handler(Looper.getMainLooper()).post(task);
        try {
            return task.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException failure) {
            throw RpcException.cannotAct("the screen: " + failure);
        }
    }
}
