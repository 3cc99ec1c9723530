package org.cetp.consumer;

import android.os.Bundle;
import java.util.Map;
import org.cetp.shim.Platform;

/**
 * A provider of version 2. A session, what was told in it and the tools that were listed in it belong together: a new
 * negotiation makes all of it anew, and either all of it is good or nothing of it is used (§8).
 */
final class Peer {
    /** What holds since a negotiation. */
    static final class Agreed {
        final Session session;
        final Catalogue catalogue;

        Agreed(Session session, Catalogue catalogue) {
            this.session = session;
            this.catalogue = catalogue;
        }
    }

    final String packageName;
    final String authority;
    final String providerId;
    private final Platform platform;

    /** Null: the last negotiation failed, and the provider is disabled until one succeeds. */
    private Agreed agreed;

    /** The tools as they were last known, for their revision. */
    private Catalogue known;

    /** Negotiates for the first time. {@code before} are tools that are known from an earlier discovery, or null. */
    Peer(Platform platform, String packageName, String authority, Catalogue before) throws Ending {
        this.platform = platform;
        this.packageName = packageName;
        this.authority = authority;
        known = before;
        agreed = agree();
        known = agreed.catalogue;
        providerId = agreed.session.providerId;
    }

    synchronized Catalogue known() {
        return known;
    }

    /** What holds now; negotiated anew where nothing does, or the session is past its time. */
    synchronized Agreed agreed() throws Ending {
        return agreed != null && !agreed.session.isOver(platform.nowMs()) ? agreed : renew(agreed);
    }

    /** Negotiates in the place of what no longer holds, unless somebody else has done so meanwhile. */
    synchronized Agreed renew(Agreed old) throws Ending {
        if (agreed != null && agreed != old) {
            return agreed;
        }
        agreed = null;
        Agreed anew = agree();
        if (!anew.session.providerId.equals(providerId)) {
            throw Ending.refused("The provider has another provider_id than before"); // §3.1
        }
        agreed = anew;
        known = anew.catalogue;
        return anew;
    }

    private Agreed agree() throws Ending {
        try {
            return agreeOnce();
        } catch (Ending again) {
            if ("NEGOTIATION_REQUIRED".equals(again.code)) {
                return agreeOnce(); // the provider started anew in between, say
            }
            throw again;
        }
    }

    private Agreed agreeOnce() throws Ending {
        Session session = new Session(packageName, ask("negotiate", null), platform.nowMs());
        Catalogue.checkInfo(session.providerId, ask("get_provider_info", session));
        // §3.3: the revision is asked for after every negotiation; the list is only looked through where it is another.
        Map<String, Object> list = ask("list_tools", session);
        boolean same = known != null && known.revision.equals(Catalogue.revision(list));
        return new Agreed(session, same ? known : new Catalogue(list));
    }

    /** One of the calls without an effect: it may be repeated, under its own request_id (§4.1). */
    private Map<String, Object> ask(String method, Session session) throws Ending {
        String id = Wire.newId();
        int losses = 0;
        int retries = 0;
        while (true) {
            long deadlineMs = platform.nowMs() + Limits.READ_TIMEOUT_MS;
            Bundle extras = session == null ? Session.offer() : Wire.request(session.token, id, deadlineMs);
            Answer.Echo echo = session == null ? Answer.Echo.NONE : Answer.Echo.MAY;
            try (Answer answer = call(session, method, extras, echo, id)) {
                switch (answer.kind) {
                    case SUCCESS:
                        return answer.object();
                    case LOST:
                        if (losses++ == Limits.LOSSES) {
                            throw Ending.error("UNAVAILABLE", answer.why);
                        }
                        platform.sleep(Limits.pauseMs(losses));
                        break;
                    case ERROR:
                        if (answer.problem.next(retries) != Problem.Next.AGAIN || retries == Limits.RETRIES) {
                            throw answer.problem.ending();
                        }
                        platform.sleep(answer.problem.waitMs(retries++));
                        break;
                    case ACCEPTED:
                        throw Ending.refused("The answer is no answer to this method");
                    default:
                        throw Ending.refused(answer.why);
                }
            }
        }
    }

    Answer call(Session session, String method, Bundle extras, Answer.Echo echo, String id) throws Ending {
        if (session == null) {
            return Answer.of(platform, authority, method, extras, echo, id);
        }
        session.enter();
        try {
            return Answer.of(platform, authority, method, extras, echo, id);
        } finally {
            session.leave();
        }
    }
}
