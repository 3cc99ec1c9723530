//! Every limit of the consumer, each with its reason. A provider is not trusted (§7.3): whatever comes from it is bounded
//! here before anything is kept, shown or computed, and whatever is repeated is repeated a bounded number of times.

/// The versions of CETP that are spoken here, descending (§2.2).
pub const VERSIONS: [i32; 2] = [2, 1];

// What is kept and shown.

/// `data` of a reply, in UTF-8 bytes. A Binder transaction holds 1 MiB, and a String takes two bytes for each UTF-16
/// unit of it, so no honest reply comes near.
pub const MAX_DATA_BYTES: usize = 1 << 20;

/// Nesting of `data`, of a result file and of arguments. Nobody writes more by hand, and each level costs stack.
pub const MAX_LEVEL: usize = 64;

/// Values in one JSON text. In memory a value takes many times its text: this bounds how many.
pub const MAX_VALUES: usize = 500_000;

/// Characters of a name for people: provider, tool title, scope title.
pub const MAX_NAME_CHARS: usize = 128;

/// Characters of a description.
pub const MAX_DESCRIPTION_CHARS: usize = 4_096;

/// Characters of an error's message.
pub const MAX_MESSAGE_CHARS: usize = 1_024;

/// Bytes of `provider_id`, as of the package name that it begins with.
pub const MAX_PROVIDER_ID_BYTES: usize = 255;

/// Bytes of `session_token` (§2.2).
pub const MAX_TOKEN_BYTES: usize = 256;

/// Bytes of what else is only sent back: `resume_token`, `operation_id`, `revision`. The text names no limit.
pub const MAX_OPAQUE_BYTES: usize = 4_096;

/// Tools of one provider. More than an agent can choose from.
pub const MAX_TOOLS: usize = 256;

/// Scopes of one provider, and of one tool.
pub const MAX_SCOPES: usize = 256;

/// Providers that are used at the same time.
pub const MAX_PROVIDERS: usize = 64;

/// The largest result file (§4.5), far above what an agent can read.
pub const MAX_FILE_BYTES: u64 = 6 << 20;

/// What is asked for in one reading of a file.
pub const READ_CHUNK_BYTES: usize = 256 << 10;

/// How long a file may take to come, in milliseconds, and how many readings there are between two looks at the clock.
pub const MAX_READ_MS: i64 = 300_000;
/// See [`MAX_READ_MS`].
pub const READS_BETWEEN_LOOKS: u64 = 64;

// Schemas; see `schema.rs` for how they work together.

/// UTF-8 bytes of one schema.
pub const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// Nesting of one schema.
pub const MAX_SCHEMA_LEVEL: usize = 48;

/// References in one schema. A chain of them costs stack.
pub const MAX_REFERENCES: usize = 200;

/// Subschemas that apply to one and the same value, when every reference is written out.
pub const MAX_EXPANSION: u64 = 10_000;

/// How deep the subschemas for one and the same value lie in each other, when every reference is written out. With
/// [`MAX_LEVEL`] this bounds the stack that validation takes.
pub const MAX_APPLIED_LEVEL: usize = 32;

/// [`MAX_EXPANSION`] below `unevaluatedProperties` and `unevaluatedItems`, which ask each of them again.
pub const MAX_UNEVALUATED_EXPANSION: u64 = 100;

/// Patterns in one schema, and bytes of one pattern.
pub const MAX_PATTERNS: usize = 32;
/// See [`MAX_PATTERNS`].
pub const MAX_PATTERN_BYTES: usize = 512;

/// Memory of one compiled pattern, in bytes.
pub const MAX_PATTERN_MEMORY: usize = 64 << 10;

/// Steps of one validation: a subschema applied to a value is one, more where it does more. An honest result takes
/// a few for each value in it.
pub const MAX_STEPS: u64 = 4_000_000;

/// Steps for each byte of a text that meets a pattern: the engine is linear in the text, and in the pattern.
pub const STEPS_OF_PATTERN: u64 = 16;

// Time, in milliseconds, and repetition.

/// How long `negotiate`, `get_provider_info` and `list_tools` may take.
pub const READ_TIMEOUT_MS: i64 = 10_000;

/// The first wait before a repetition where the provider names none; it doubles each time.
pub const BACKOFF_MS: u64 = 200;

/// The longest wait before a repetition. Who asks for more is told that it did not work for now: waiting less than
/// `retry_after_ms` is forbidden (§5).
pub const MAX_WAIT_MS: u64 = 120_000;

/// Repetitions of one execution after errors that allow it (§5).
pub const MAX_RETRIES: u32 = 3;

/// Repetitions of one call after the provider died or did not answer (§6).
pub const MAX_LOSSES: u32 = 2;

/// Negotiations within one execution (§2.2).
pub const MAX_RENEWALS: u32 = 2;

/// User actions within one execution (§4.3): to sign in, to grant a scope, to confirm.
pub const MAX_USER_ACTIONS: u32 = 3;

/// `get_operation` calls for one operation (§4.4).
pub const MAX_POLLS: u32 = 500;

/// `cancel_operation` calls for one operation.
pub const MAX_CANCELS: u32 = 3;

/// The wait between polls where the provider names none.
pub const POLL_MS: u64 = 1_000;

/// The least and the longest wait between polls, whatever `poll_after_ms` says (§4.4).
pub const MIN_POLL_MS: u64 = 50;
/// See [`MIN_POLL_MS`].
pub const MAX_POLL_MS: u64 = 60_000;

/// Calls in flight in one session, whatever `max_concurrent_requests` allows (§2.2).
pub const MAX_IN_FLIGHT: u64 = 16;

// What a session has at least (§2.2).

/// The least `max_request_bytes`.
pub const LEAST_REQUEST_BYTES: u64 = 65_536;
/// The least `max_inline_result_bytes`.
pub const LEAST_INLINE_RESULT_BYTES: u64 = 262_144;
/// The least `max_concurrent_requests`.
pub const LEAST_CONCURRENT_REQUESTS: u64 = 1;
/// The least `idempotency_window_seconds`.
pub const LEAST_IDEMPOTENCY_WINDOW_SECONDS: u64 = 86_400;
