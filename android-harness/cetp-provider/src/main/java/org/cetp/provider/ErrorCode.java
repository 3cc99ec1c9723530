package org.cetp.provider;

/** The error codes of §5. The list is complete: a consumer treats anything else as a failure it does not know. */
public enum ErrorCode {
    UNSUPPORTED_VERSION(Retry.NO),
    UNSUPPORTED_CAPABILITY(Retry.NO),
    NEGOTIATION_REQUIRED(Retry.YES),
    AUTH_REQUIRED(Retry.DEPENDS),
    USER_ACTION_REQUIRED(Retry.DEPENDS),
    USER_CANCELLED(Retry.NO),
    PERMISSION_DENIED(Retry.NO),
    TOOL_NOT_FOUND(Retry.NO),
    METHOD_NOT_FOUND(Retry.NO),
    INVALID_ARGS(Retry.NO),
    INVALID_REQUEST(Retry.NO),
    CONFLICT(Retry.DEPENDS),
    RATE_LIMITED(Retry.YES),
    DEADLINE_EXCEEDED(Retry.DEPENDS),
    CANCELLED(Retry.NO),
    RESULT_TOO_LARGE(Retry.NO),
    RESULT_EXPIRED(Retry.NO),
    UNAVAILABLE(Retry.YES),
    INTERNAL_ERROR(Retry.DEPENDS);

    /** The table's column "retryable". */
    enum Retry {
        YES,
        NO,
        DEPENDS
    }

    final Retry retry;

    ErrorCode(Retry retry) {
        this.retry = retry;
    }
}
