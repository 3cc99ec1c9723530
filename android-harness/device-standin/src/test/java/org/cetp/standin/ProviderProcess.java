package org.cetp.standin;

import android.content.ContentProvider;
import android.content.Context;
import android.os.Bundle;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import org.cetp.fixture.FixtureControlProvider;
import org.cetp.fixture.FixtureToolProvider;
import org.cetp.scripted.ScriptedProvider;
import org.cetp.scripted.Stage;
import org.robolectric.shadows.ShadowContentResolver;

/**
 * One life of the provider's process: its ContentProviders with all that they hold in memory, and its Binder threads. The
 * files under it stay when it ends.
 *
 * <p>The end is as near to SIGKILL as one JVM allows. From that moment no reply leaves, whoever waits for one is told that
 * the process is dead, and the thread that died goes no further (its transaction is undone). Another thread that is inside
 * a transaction comes to its end as if it had been a moment earlier; then the database is closed, so nothing more is
 * written, and only then the next life begins.
 */
final class ProviderProcess {
    private final Map<String, ContentProvider> byAuthority = new LinkedHashMap<>();
    private final CompletableFuture<Void> death = new CompletableFuture<>();
    private final ExecutorService binderThreads =
            Executors.newCachedThreadPool(
                    work -> {
                        Thread thread = new Thread(null, work, "provider-binder", 16 << 20);
                        thread.setDaemon(true);
                        return thread;
                    });
    private Thread undertaker;
    private Stage stage;

    /** The fixture's process. */
    static ProviderProcess ofFixture(Context base, Manifest manifest) {
        ProviderProcess process = new ProviderProcess();
        Context context = new PackageContext(base, manifest.packageName());
        process.add(context, manifest, FixtureToolProvider.class, process.new MortalToolProvider());
        process.add(context, manifest, FixtureControlProvider.class, new FixtureControlProvider());
        return process;
    }

    /** A scripted provider's process, with its stage. */
    static ProviderProcess ofScripted(Context base, Manifest manifest) {
        ProviderProcess process = new ProviderProcess();
        process.stage = process.new MortalStage();
        ScriptedProvider provider =
                new ScriptedProvider() {
                    @Override
                    protected Stage stage() {
                        return process.stage;
                    }
                };
        process.add(new PackageContext(base, manifest.packageName()), manifest, ScriptedProvider.class, provider);
        return process;
    }

    /** A scripted provider's; null for the fixture. */
    Stage stage() {
        return stage;
    }

    private void add(Context context, Manifest manifest, Class<?> declared, ContentProvider provider) {
        var info = manifest.provider(declared.getName());
        byAuthority.put(info.authority, provider);
        // Within the process a provider is found by its authority as itself; see BinderEnd for everybody else.
        ShadowContentResolver.registerProviderInternal(info.authority, provider);
        provider.attachInfo(context, info);
    }

    /** The fixture's provider, whose process ends by this class. */
    private final class MortalToolProvider extends FixtureToolProvider {
        @Override
        protected void die() {
            end();
            throw new ThreadDeath();
        }
    }

    /** A scripted provider's stage, whose process ends by this class. */
    private final class MortalStage extends Stage {
        @Override
        protected void die() {
            end();
        }
    }

    /** A call that has arrived; exceptional with {@link ThreadDeath} where the process died in it. */
    CompletableFuture<Bundle> call(String authority, int uid, String method, String arg, Bundle extras) {
        ContentProvider provider = byAuthority.get(authority);
        CompletableFuture<Bundle> reply = new CompletableFuture<>();
        Runnable transaction =
                () -> {
                    ThreadBinder.enter(uid);
                    try {
                        reply.complete(provider.call(method, arg, extras));
                    } catch (Throwable thrown) {
                        reply.completeExceptionally(thrown);
                    } finally {
                        ThreadBinder.leave();
                    }
                };
        try {
            binderThreads.execute(transaction);
        } catch (RejectedExecutionException buried) {
            // It died, and was buried, between being found and being called.
            reply.completeExceptionally(new ThreadDeath());
        }
        return reply;
    }

    boolean has(String authority) {
        return byAuthority.containsKey(authority);
    }

    boolean isDead() {
        return death.isDone();
    }

    /** Completes when the process ends. */
    CompletableFuture<Void> death() {
        return death;
    }

    synchronized void end() {
        if (death.isDone()) {
            return;
        }
        undertaker = new Thread(() -> byAuthority.values().forEach(ContentProvider::shutdown), "provider-undertaker");
        undertaker.setDaemon(true);
        death.complete(null);
        undertaker.start();
    }

    /** The process if it lives. Of one that has died it is awaited that nothing of it can write any more, and there is none. */
    static ProviderProcess living(ProviderProcess process) {
        if (process == null || !process.isDead()) {
            return process;
        }
        try {
            process.awaitBurial();
        } catch (InterruptedException stop) {
            throw new IllegalStateException(stop);
        }
        return null;
    }

    private void awaitBurial() throws InterruptedException {
        Thread at;
        synchronized (this) {
            at = undertaker;
        }
        at.join();
        binderThreads.shutdown();
    }
}
