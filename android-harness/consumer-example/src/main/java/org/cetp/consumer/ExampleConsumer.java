package org.cetp.consumer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.cetp.shim.ConsumerUnderTest;
import org.cetp.shim.InstalledApp;
import org.cetp.shim.Outcome;
import org.cetp.shim.Platform;
import org.cetp.shim.Row;

/**
 * The consumer. A provider is found by its provider_id and by nothing else (§3.1): two apps may have the same label, the
 * same tool names, and be scanned in any order.
 */
public final class ExampleConsumer implements ConsumerUnderTest {
    /** What makes consumers. */
    public static final Factory FACTORY =
            new Factory() {
                @Override
                public List<String> capabilities() {
                    return Session.CAPABILITIES;
                }

                @Override
                public ConsumerUnderTest create(Platform platform) {
                    return new ExampleConsumer(platform);
                }
            };

    private final Platform platform;

    /** Values are {@link Peer}s and {@link LegacyPeer}s. Replaced as a whole by each discovery. */
    private volatile Map<String, Object> providers = new HashMap<>();

    private final List<Execution> open = new ArrayList<>();

    private ExampleConsumer(Platform platform) {
        this.platform = platform;
    }

    // --- discovery ---

    @Override
    public synchronized List<Row> discover(List<InstalledApp> apps) {
        List<Manifests.Candidate> candidates = Manifests.candidates(apps);
        Object[] claims = new Object[candidates.size()];
        int used = 0;
        for (int i = 0; i < claims.length; i++) {
            claims[i] = used < Limits.PROVIDERS ? talkTo(candidates.get(i)) : null;
            used += claims[i] == null ? 0 : 1;
        }
        Map<String, Object> found = new HashMap<>();
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < claims.length; i++) {
            Manifests.Candidate candidate = candidates.get(i);
            if (candidate.verdict == Manifests.Verdict.IGNORED) {
                rows.add(Row.ignored(candidate.packageName, candidate.authority));
            } else if (claims[i] == null || !owns(i, candidates, claims)) {
                rows.add(Row.refused(candidate.packageName, candidate.authority));
            } else {
                found.put(idOf(claims[i]), claims[i]);
                rows.add(row(candidate, claims[i]));
            }
        }
        providers = found;
        return rows;
    }

    /** Null where it cannot be used. What declares version 2 is used in version 2 or not at all (§8). */
    private Object talkTo(Manifests.Candidate candidate) {
        try {
            switch (candidate.verdict) {
                case V2:
                    return new Peer(platform, candidate.packageName, candidate.authority, knownOf(candidate));
                case V1:
                    return new LegacyPeer(platform, candidate.packageName, candidate.authority);
                default:
                    return null;
            }
        } catch (Ending unusable) {
            return null;
        }
    }

    /** The tools of an earlier discovery; they are kept where their revision is the same (§3.3). */
    private Catalogue knownOf(Manifests.Candidate candidate) {
        for (Object provider : providers.values()) {
            if (provider instanceof Peer) {
                Peer peer = (Peer) provider;
                if (peer.packageName.equals(candidate.packageName) && peer.authority.equals(candidate.authority)) {
                    return peer.known();
                }
            }
        }
        return null;
    }

    /** Version 1 has no ids: its package is who it is. */
    private static String idOf(Object provider) {
        return provider instanceof Peer ? ((Peer) provider).providerId : ((LegacyPeer) provider).packageName;
    }

    /**
     * Whether a claim stands. An id belongs to the app whose package name it is or, where there is none, to the one whose
     * package is the nearest around it; a second claim of the same app leaves it to nobody. What was scanned first, and
     * whether the other app could be used, makes no difference.
     */
    private static boolean owns(int place, List<Manifests.Candidate> candidates, Object[] claims) {
        String id = idOf(claims[place]);
        String mine = candidates.get(place).packageName;
        for (int i = 0; i < claims.length; i++) {
            String other = candidates.get(i).packageName;
            if (other.length() > mine.length() && Session.isInNamespace(id, other)) {
                return false;
            }
            if (i != place && other.equals(mine) && claims[i] != null && idOf(claims[i]).equals(id)) {
                return false;
            }
        }
        return Session.isInNamespace(id, mine);
    }

    private static Row row(Manifests.Candidate candidate, Object provider) {
        String id = idOf(provider);
        if (provider instanceof LegacyPeer) {
            Row row = Row.used(candidate.packageName, candidate.authority, 1, id);
            for (Map.Entry<String, String> tool : ((LegacyPeer) provider).tools.entrySet()) {
                row.with(tool.getKey(), exposedName(id, tool.getKey()), tool.getValue());
            }
            return row;
        }
        Row row = Row.used(candidate.packageName, candidate.authority, 2, id);
        for (Tool tool : ((Peer) provider).known().tools.values()) {
            row.with(tool.name, exposedName(id, tool.name), tool.description);
        }
        return row;
    }

    /**
     * A name for the agent that leads to one tool of one provider only. Neither ids nor names of version 2 hold a hyphen; in
     * a name of version 1 everything but plain characters is written as its code.
     */
    private static String exposedName(String providerId, String tool) {
        StringBuilder name = new StringBuilder(providerId.replace('.', '-')).append("--");
        for (int i = 0; i < tool.length(); i++) {
            char c = tool.charAt(i);
            boolean plain = c == '_' || c < 128 && Character.isLetterOrDigit(c);
            name.append(plain ? String.valueOf(c) : "-" + Integer.toHexString(c) + "-");
        }
        return name.toString();
    }

    // --- execution ---

    @Override
    public Outcome execute(String providerId, String tool, String args, long timeoutMs) {
        Object provider = providers.get(providerId);
        try {
            if (provider instanceof LegacyPeer) {
                return Outcome.success(((LegacyPeer) provider).execute(tool, args));
            }
            if (provider instanceof Peer) {
                return Outcome.success(run(new Execution(platform, (Peer) provider, tool, args, timeoutMs)));
            }
            return Outcome.refused("There is no such provider that can be used");
        } catch (Ending ending) {
            return ending.toOutcome();
        }
    }

    private Object run(Execution execution) throws Ending {
        synchronized (open) {
            open.add(execution);
        }
        try {
            return execution.run();
        } finally {
            synchronized (open) {
                open.remove(execution);
            }
        }
    }

    @Override
    public void cancel(String providerId, String tool) {
        synchronized (open) {
            Execution.cancelAll(open, providerId, tool);
        }
    }
}
