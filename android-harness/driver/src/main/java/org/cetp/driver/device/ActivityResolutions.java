package org.cetp.driver.device;

import android.app.PendingIntent;
import android.content.Context;
import android.content.Intent;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.cetp.driver.Resolutions;

/** Opens resolutions as a consumer does: from an Activity that waits for the result. */
final class ActivityResolutions implements Resolutions {
    /** What was opened and has not come back, by the token that travels in the intent. */
    private static final Map<Long, CountDownLatch> OPEN = new ConcurrentHashMap<>();
    private static final AtomicLong TOKENS = new AtomicLong();

    private final Context context;

    ActivityResolutions(Context context) {
        this.context = context;
    }

    @Override
    public Launch launch(PendingIntent pending) {
        long token = TOKENS.incrementAndGet();
        final CountDownLatch back = new CountDownLatch(1);
        OPEN.put(token, back);
        context.startActivity(
                new Intent(context, ResolutionActivity.class)
                        .addFlags(Intent.FLAG_ACTIVITY_NEW_TASK | Intent.FLAG_ACTIVITY_MULTIPLE_TASK)
                        .putExtra(ResolutionActivity.PENDING, pending)
                        .putExtra(ResolutionActivity.TOKEN, token));
        return new Launch() {
            @Override
            public boolean awaitFinished(long millis) throws InterruptedException {
                return back.await(millis, TimeUnit.MILLISECONDS);
            }
        };
    }

    /** Called by the Activity that has its result. */
    static void back(long token) {
        CountDownLatch waiting = OPEN.remove(token);
        if (waiting != null) {
            waiting.countDown();
        }
    }
}
