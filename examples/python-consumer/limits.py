"""Every local limit of this consumer, in one place, each with its reason.

What a provider declares or negotiates is what the protocol allows, never what this process must
spend (section 2.2, last paragraph). So each figure below holds whatever the other side says.
"""

MIB = 1024 * 1024
KIB = 1024

# -- the stdio connection to the runner (fixed by the target protocol) --------------------------
MAX_LINE_BYTES = 8 * MIB            # what we send
MAX_RECEIVED_LINE_BYTES = 9 * MIB   # a little more than the protocol allows: the margin costs nothing
MAX_LINE_DEPTH = 16_384             # likewise; the protocol says 10,000
MAX_OPEN_REQUESTS = 64              # threads that work at the same time

# -- JSON text that comes from a provider, and args that come from the agent -------------------
MAX_JSON_DEPTH = 128               # everything that walks parsed values recursively relies on it
MAX_JSON_ITEMS = 500_000           # members and elements: a few bytes of text each, but ~100 of memory
MAX_INLINE_BYTES = MIB             # `data` of any reply; Binder could not carry as much
MAX_FILE_BYTES = 8 * MIB           # content of a file result (4.5: "set a local read limit")
MAX_ARGS_BYTES = 384 * KIB         # a Binder String costs 2 bytes a character, the buffer is 1 MiB

# -- reading a descriptor -----------------------------------------------------------------------
FD_CHUNK_BYTES = 256 * KIB
MAX_FD_READS = 20_000              # content that drips byte by byte is cut here
MAX_EMPTY_READS = 64               # consecutive reads without a byte and without the end

# -- texts and counts (7.3) ---------------------------------------------------------------------
MAX_SESSION_TOKEN_BYTES = 256      # 2.2
MAX_RESUME_TOKEN_BYTES = 4096
MAX_OPERATION_ID_BYTES = 1024
MAX_REVISION_BYTES = 1024
MAX_PROVIDER_ID_CHARS = 255
MAX_NAME_CHARS = 200               # a longer provider name is cut
MAX_DESCRIPTION_CHARS = 1000       # a longer description is cut
MAX_ERROR_CHARS = 500              # a longer error text is cut
MAX_V1_TOOL_NAME_CHARS = 128
MAX_VERSIONS_CHARS = 256
MAX_CAPABILITIES = 64
MAX_SCOPES = 256
MAX_TOOLS = 256                    # of one provider; a longer list is refused
MAX_TOOLS_IN_ALL = 1024            # of all providers: keeps the answer to discover below a line

# -- JSON Schema --------------------------------------------------------------------------------
MAX_SCHEMA_NODES = 5_000           # subschemas of one document
MAX_SCHEMA_CHARS = 128 * KIB       # names and texts in one document
MAX_SCHEMA_RECURSION = 600         # nested applications of subschemas, so that "#" -> "#" ends
MAX_PATTERN_CHARS = 1_000
MAX_PATTERN_PROGRAM = 10_000       # instructions, after a{2,5} was written out
SCHEMA_LIST_STEPS = 500_000        # to check all schemas of one tool list
VALIDATION_STEPS = 500_000         # to check one value, patterns included: below a second, on a slow phone a few
MAX_PATTERN_STATES = 500_000       # states remembered while one pattern is matched: some tens of MiB

# -- retries, waiting, polling (sections 4.4, 5, 6) --------------------------------------------
DEFAULT_TIMEOUT_MS = 30_000
MAX_TIMEOUT_MS = 24 * 3600 * 1000
READ_TIMEOUT_MS = 30_000           # negotiate, get_provider_info, list_tools
MAX_SENDS = 10                     # execute_tool, for whatever mixture of reasons
MAX_RETRIES = 3                    # after errors with retryable=true
MAX_LOST_REPLIES = 3               # repeats after Binder death, time-out, null or empty Bundle
MAX_RENEGOTIATIONS = 2             # within one execution
MAX_NEGOTIATIONS = 3               # to open one session
BACKOFF_MS = 500                   # doubles with each repeat
MAX_RETRY_WAIT_MS = 10 * 60 * 1000  # a longer retry_after_ms is obeyed by not retrying at all
MIN_POLL_MS = 100
DEFAULT_POLL_MS = 1_000
MAX_POLL_MS = 3600 * 1000
MAX_POLLS = 600
MAX_OPERATION_MS = 24 * 3600 * 1000  # the least idempotency window: later the result may be gone
