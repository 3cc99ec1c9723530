package org.cetp.provider;

/** Keys of request and reply Bundles. */
final class Keys {
    // Requests (§2.2, §4.1).
    static final String CONSUMER_VERSIONS = "consumer_versions";
    static final String CONSUMER_CAPABILITIES = "consumer_capabilities";
    static final String PROTOCOL_VERSION = "protocol_version";
    static final String SESSION_TOKEN = "session_token";
    static final String REQUEST_ID = "request_id";
    static final String DEADLINE_AT_MS = "deadline_at_ms";
    static final String TOOL_NAME = "tool_name";
    static final String ARGS = "args";
    static final String RESUME_TOKEN = "resume_token";
    static final String OPERATION_ID = "operation_id";

    // Replies (§4.2, §4.3, §4.5, §5).
    static final String STATUS = "status";
    static final String DATA = "data";
    static final String RESULT_FD = "result_fd";
    static final String RESOLUTION = "resolution";
    static final String ERROR_CODE = "error_code";
    static final String ERROR_MESSAGE = "error_message";
    static final String ERROR_DETAILS = "error_details";
    static final String RETRYABLE = "retryable";
    static final String RETRY_AFTER_MS = "retry_after_ms";

    private Keys() {}
}
