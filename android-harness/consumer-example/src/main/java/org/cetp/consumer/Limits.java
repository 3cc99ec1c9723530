package org.cetp.consumer;

/**
 * Every limit of this consumer. A provider is not trusted (§7.3): whatever comes from it is bounded before anything is
 * kept, shown or computed, and whatever is repeated is repeated a bounded number of times.
 */
final class Limits {
    private Limits() {}

    /** {@code data} of a reply, in UTF-8 bytes: a Binder transaction does not carry more. */
    static final int DATA_BYTES = 1 << 20;

    /** Nesting of {@code data}, of a file and of arguments; each level costs stack. */
    static final int DEPTH = 64;

    /** Values in one JSON text: in memory one takes many times its text. */
    static final int VALUES = 500_000;

    /** Characters of a name for people, of a description, of an error's message. */
    static final int NAME_CHARS = 128;
    static final int DESCRIPTION_CHARS = 4_096;
    static final int MESSAGE_CHARS = 1_024;

    /** Bytes of a provider_id, as of the package name that it begins with. */
    static final int PROVIDER_ID_CHARS = 255;

    /** Bytes of a session token (§2.2), and of what else is only sent back. */
    static final int TOKEN_BYTES = 256;
    static final int OPAQUE_BYTES = 4_096;

    /** Tools and scopes of one provider; providers. More than an agent can choose from. */
    static final int TOOLS = 256;
    static final int SCOPES = 256;
    static final int PROVIDERS = 64;

    /** The largest result file (§4.5), and how much of it is asked for at once. */
    static final long FILE_BYTES = 6 << 20;
    static final int READ_BYTES = 256 << 10;

    /** How long a file may take, and how many readings there are between two looks at the clock. */
    static final long READ_MS = 300_000;
    static final int READS_BETWEEN_LOOKS = 64;

    /** One schema: its text, its nesting, its patterns, and the work of one validation. */
    static final int SCHEMA_BYTES = 64 << 10;
    static final int SCHEMA_DEPTH = 48;
    static final int PATTERNS = 32;
    static final int PATTERN_CHARS = 512;
    static final int SCHEMA_STEPS = 4_000_000;
    static final int SCHEMA_CHAIN = 64;

    /** How long negotiate, get_provider_info and list_tools may take. */
    static final long READ_TIMEOUT_MS = 10_000;

    /** The first pause before a repetition, which doubles; and the longest: who asks for more is not repeated. */
    static final long BACKOFF_MS = 200;
    static final long WAIT_MS = 120_000;

    /** Repetitions after errors that allow it (§5), after losses (§6), negotiations (§2.2) and user actions (§4.3). */
    static final int RETRIES = 3;
    static final int LOSSES = 2;
    static final int RENEWALS = 2;
    static final int USER_ACTIONS = 3;

    /** Polls and cancellations of one operation, and the pauses between polls (§4.4). */
    static final int POLLS = 500;
    static final int CANCELS = 3;
    static final long POLL_MS = 1_000;
    static final long LEAST_POLL_MS = 50;
    static final long LONGEST_POLL_MS = 60_000;

    /** Calls in flight in one session, whatever the provider allows (§2.2). */
    static final long IN_FLIGHT = 16;

    static long pauseMs(int repetitions) {
        return BACKOFF_MS << Math.min(repetitions, 8);
    }
}
