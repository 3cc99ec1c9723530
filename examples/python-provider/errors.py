"""The error model of section 5."""

# The codes of the table, and whether each may be retried; None where the table says "conditional".
RETRYABLE = {
    "UNSUPPORTED_VERSION": False,
    "UNSUPPORTED_CAPABILITY": False,
    "NEGOTIATION_REQUIRED": True,
    "AUTH_REQUIRED": None,
    "USER_ACTION_REQUIRED": None,
    "USER_CANCELLED": False,
    "PERMISSION_DENIED": False,
    "TOOL_NOT_FOUND": False,
    "METHOD_NOT_FOUND": False,
    "INVALID_ARGS": False,
    "INVALID_REQUEST": False,
    "CONFLICT": None,
    "RATE_LIMITED": True,
    "DEADLINE_EXCEEDED": None,
    "CANCELLED": False,
    "RESULT_TOO_LARGE": False,
    "RESULT_EXPIRED": False,
    "UNAVAILABLE": True,
    "INTERNAL_ERROR": None,
}


class ProtocolError(Exception):
    """A refusal or failure that the caller gets to see.

    `message` is for the user and written by the provider: it never quotes an exception, a path or an argument.
    `details` is optional JSON for programs.  `bundle` holds further entries of the error Bundle, such as `resolution`.
    """

    def __init__(self, code, message, *, retryable=None, details=None, retry_after_ms=None, bundle=None):
        super().__init__(code)
        fixed = RETRYABLE[code]
        self.code = code
        self.message = message
        # A conditional code is final unless whoever raises it knows better: a consumer repeats by itself only what is
        # retryable (section 5), and most conditional errors need a user or another request first.
        self.retryable = bool(retryable) if fixed is None else fixed
        self.details = details
        self.retry_after_ms = retry_after_ms
        self.bundle = bundle or {}

    def to_json(self):
        """The fields of section 5 as JSON: for a failed operation, and for a stored terminal result."""
        fields = {"error_code": self.code, "error_message": self.message, "retryable": self.retryable}
        if self.details is not None:
            fields["error_details"] = self.details
        return fields

    @classmethod
    def from_json(cls, fields):
        return cls(
            fields["error_code"],
            fields["error_message"],
            retryable=fields["retryable"],
            details=fields.get("error_details"),
        )


def invalid_request(message):
    return ProtocolError("INVALID_REQUEST", message)
