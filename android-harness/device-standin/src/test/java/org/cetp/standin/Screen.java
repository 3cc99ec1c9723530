package org.cetp.standin;

import static org.robolectric.Shadows.shadowOf;

import android.app.Activity;
import android.app.PendingIntent;
import android.content.Intent;
import android.os.Handler;
import android.os.Looper;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.cetp.driver.IntentFacts;
import org.cetp.driver.Resolutions;
import org.cetp.driver.RpcException;
import org.robolectric.Robolectric;
import org.robolectric.android.controller.ActivityController;

/** Opens Activities where Robolectric only notes that one was to be opened, and sees into PendingIntents. */
final class Screen implements Resolutions, IntentFacts {
    private static final long PATIENCE_SECONDS = 15;

    private final Phone phone;

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
        onMainThread(
                () -> {
                    try {
                        Class<? extends Activity> type =
                                Class.forName(intent.getComponent().getClassName()).asSubclass(Activity.class);
                        opened.complete(Robolectric.buildActivity(type, intent).setup());
                    } catch (ReflectiveOperationException | RuntimeException failure) {
                        opened.completeExceptionally(failure);
                    }
                });
        try {
            ActivityController<? extends Activity> activity = opened.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            return millis -> awaitFinished(activity, millis);
        } catch (InterruptedException | ExecutionException | TimeoutException failure) {
            throw RpcException.cannotAct("the Activity cannot be opened: " + failure);
        }
    }

    /** The system takes a finished Activity off the screen and destroys it; here this does. */
    private static boolean awaitFinished(ActivityController<? extends Activity> activity, long millis)
            throws InterruptedException {
        CompletableFuture<Boolean> finished = new CompletableFuture<>();
        onMainThread(
                () -> {
                    boolean isFinishing = activity.get().isFinishing();
                    if (isFinishing) {
                        activity.pause().stop().destroy();
                    }
                    finished.complete(isFinishing);
                });
        try {
            return finished.get(millis, TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException failure) {
            return false;
        }
    }

    private static void onMainThread(Runnable work) {
        new Handler(Looper.getMainLooper()).post(work);
    }
}
