"""Android Bundles as the target protocol writes them: `{"key": {"<type>": value}}`.

Reading is by type: a getter answers None for a key that is absent, null or of another Android type.
`getLong` on an Int gives the default on Android too, so an Int where the specification says Long is a
mistyped field, not a small Long.
"""

import base64
import binascii

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
_EXACT = 2**53


# -- writing ------------------------------------------------------------------------------------
def string(text):
    return {"string": text}


def int32(number):
    return {"int": number}


def int64(number):
    # Beyond 2^53 a JSON number is not safe; the protocol writes such a long as decimal digits.
    return {"long": number if -_EXACT <= number <= _EXACT else str(number)}


def int_array(numbers):
    return {"int_array": list(numbers)}


# -- reading ------------------------------------------------------------------------------------
def integer(value):
    """An integer that may be written as a number or as decimal digits; None for anything else."""
    if isinstance(value, str) and len(value) <= 20:
        digits = value[1:] if value.startswith("-") else value
        return int(value) if digits.isascii() and digits.isdigit() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Bundle:
    """A received Bundle. Built from anything: what is no Bundle reads as one with no usable key."""

    def __init__(self, raw):
        self._raw = raw if isinstance(raw, dict) else {}

    def is_empty(self):
        return not self._raw

    def has(self, key):
        """Whether the key is there with a value other than null."""
        return key in self._raw and self._typed(key)[0] != "null"

    def string(self, key):
        """A String, possibly with lone surrogates: Android Strings are UTF-16 and so may be broken."""
        kind, value = self._typed(key)
        if kind == "string" and isinstance(value, str):
            return value
        if kind == "string" and isinstance(value, dict):
            kind, value = "utf16", value.get("utf16")
        if kind != "utf16" or not isinstance(value, str):
            return None
        try:
            return base64.b64decode(value, validate=True).decode("utf-16-le", "surrogatepass")
        except (binascii.Error, ValueError):
            return None

    def int32(self, key):
        number = integer(self._get(key, "int"))
        return number if number is not None and -INT_MAX - 1 <= number <= INT_MAX else None

    def int64(self, key):
        number = integer(self._get(key, "long"))
        return number if number is not None and -LONG_MAX - 1 <= number <= LONG_MAX else None

    def boolean(self, key):
        value = self._get(key, "bool")
        return value if isinstance(value, bool) else None

    def pending_intent(self, key):
        value = self._get(key, "pending_intent")
        return value if isinstance(value, dict) and isinstance(value.get("id"), str) else None

    def descriptor(self, key):
        value = self._get(key, "fd")
        return value if isinstance(value, dict) and isinstance(value.get("id"), str) else None

    def descriptor_ids(self):
        """Every descriptor in the Bundle, asked for or not, also in nested Bundles (no recursion: the
        nesting is the provider's)."""
        found = []
        stack = [self._raw]
        while stack:
            for value in stack.pop().values():
                if not isinstance(value, dict):
                    continue
                descriptor = value.get("fd")
                if isinstance(descriptor, dict) and isinstance(descriptor.get("id"), str):
                    if descriptor["id"] not in found:
                        found.append(descriptor["id"])
                if isinstance(value.get("bundle"), dict):
                    stack.append(value["bundle"])
        return found

    def _typed(self, key):
        value = self._raw.get(key)
        if isinstance(value, dict) and len(value) == 1:
            return next(iter(value.items()))
        return (None, None)

    def _get(self, key, kind):
        found, value = self._typed(key)
        return value if found == kind else None
