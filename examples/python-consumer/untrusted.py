"""Handing provider texts on as data, never as instructions (sections 4.2 and 7.3).

All that the agent gets from this consumer is made here: a value labelled `"trust": "data"`, or a
failure whose provider text is cut and said to be the provider's. Texts are never interpreted, and
nothing that a provider writes decides which of these shapes is used.
"""

import limits

# What this consumer says where the protocol has no code: nobody knows whether the effect took place.
OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"


class Refused(Exception):
    """Something is not acceptable; the message is this consumer's own text."""


def clean(text, limit):
    """A text that is short, valid Unicode and free of control characters."""
    short = text[:limit]
    # Lone surrogates cannot be written as UTF-8; they become U+FFFD.
    short = short.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    short = "".join(c if c >= " " and c != "\x7f" or c in "\n\t" else "\ufffd" for c in short)
    return short + "…" if len(text) > limit else short


def success(value):
    return {"outcome": "success", "value": value, "trust": "data"}


def error(code, message):
    return {"outcome": "error", "error_code": code, "message": message}


def refused(message):
    return {"outcome": "refused", "message": message}


def quoted(provider_id, text):
    """A provider's words with their origin, for an error message."""
    return f"[data from {provider_id}] {clean(text, limits.MAX_ERROR_CHARS)}"
