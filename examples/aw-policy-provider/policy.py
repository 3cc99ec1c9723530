"""The policy: which tools are blocked, and which words are masked in results.

It decides or fails; a failure is never turned into a decision.
"""


class Failed(Exception):
    """The policy has no decision. `code` says why, and repeats nothing private."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


OPERATIONS = [
    {"name": "guard", "events": ["tool.before"], "effects": ["observe", "block"]},
    {"name": "watch", "events": ["tool.after"], "effects": ["observe"]},
    {"name": "mask", "events": ["tool.after"], "effects": ["replace_result"]},
]


class Policy:
    """A private configuration that was checked."""

    def __init__(self, config):
        unknown = set(config) - {"blocked_tools", "blocked_tools_file", "masked_words"}
        if unknown:
            raise Failed("config.unknown_setting")
        self.blocked = set(_texts(config.get("blocked_tools", []), "config.blocked_tools"))
        self.masked = _texts(config.get("masked_words", []), "config.masked_words")
        self.file = config.get("blocked_tools_file")
        if self.file is not None and not (isinstance(self.file, str) and self.file):
            raise Failed("config.blocked_tools_file")

    def decide(self, request):
        """The candidate effects of a call."""
        event = request["event"]
        operation = next((op for op in OPERATIONS if op["name"] == request["operation"]), None)
        if operation is None:
            raise Failed("unknown_operation")
        if event["name"] not in operation["events"]:
            raise Failed("operation_not_for_event")
        allowed = request["allowed_effects"]
        if operation["name"] == "guard":
            return self._guard(event["tool"]["native_name"], "block" in allowed)
        if operation["name"] == "mask":
            return self._mask(event["tool"].get("result_projection"), "replace_result" in allowed)
        return [{"type": "observe", "reason_code": "seen"}] if "observe" in allowed else []

    def _guard(self, name, may_block):
        blocked = self.blocked
        if self.file is not None:
            try:
                with open(self.file, encoding="utf-8") as lines:
                    blocked = blocked | {line.strip() for line in lines if line.strip()}
            except (OSError, UnicodeDecodeError):
                raise Failed("blocked_tools_file_unreadable") from None
        if name not in blocked:
            return []
        if not may_block:
            # Passing would be the wrong decision, and blocking is not ours to request here.
            raise Failed("block_not_allowed")
        return [{"type": "block", "reason_code": "tool.blocked", "text": "This tool is blocked by policy."}]

    def _mask(self, projection, may_replace):
        if projection is None or not may_replace:
            return []
        text = projection["text"]
        for word in self.masked:
            text = text.replace(word, "*" * len(word))
        if text == projection["text"]:
            return []
        return [{"type": "replace_result", "reason_code": "masked", "text": text}]


def _texts(value, code):
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise Failed(code)
    return value
