"""Checking what a provider says about itself and its tools (section 3).

Unknown members are ignored; a missing required member, a wrong type or an unknown security value is not.
A fault in the provider's own description refuses the provider, a fault in a tool that tool only.
A member with the value null counts as absent.
"""

import re

import limits
from patterns import Budget
from schemas import DIALECT, Schema, SchemaError
from untrusted import Refused, clean
from envelope import opaque_text

_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SCOPE_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,127}")
_ID_TAIL = re.compile(r"(?:\.[A-Za-z0-9_-]+)*")

_ACCESS = ("read", "write")
_SENSITIVITY = ("public", "personal", "financial", "health", "device", "other")
_ANNOTATIONS = {
    "effect": ("read", "create", "update", "delete", "transaction"),
    "risk": ("low", "moderate", "high"),
    "destructive": (True, False),
    "idempotent": (True, False),
    "open_world": (True, False),
    "confirmation": ("never", "provider_policy", "always"),
    "execution": ("sync", "sync_or_async"),
}


class Tool:
    """A tool that passed; the schemas are compiled, the texts are short."""

    def __init__(self, name, description, input_schema, output_schema, annotations):
        self.name = name
        self.description = description
        self.input_schema = input_schema
        self.output_schema = output_schema      # None for v1, which has none
        self.annotations = annotations


def text_member(container, name):
    """A required String member of a description object."""
    value = container.get(name)
    if not isinstance(value, str):
        raise Refused(f"{name} is missing or no text")
    return value


def check_provider_id(provider_id, package):
    """3.1: the package name, or a name in its namespace. `com.ab` is not in the namespace of `com.a`."""
    if (
        not isinstance(provider_id, str)
        or len(provider_id) > limits.MAX_PROVIDER_ID_CHARS
        or not provider_id.startswith(package)
        or not _ID_TAIL.fullmatch(provider_id[len(package):])
    ):
        raise Refused("provider_id is not in the namespace of the package")
    return provider_id


def check_provider_info(info, package, provider_id):
    """get_provider_info (3.2). Returns the schema dialect of the session."""
    if check_provider_id(info.get("provider_id"), package) != provider_id:
        raise Refused("get_provider_info and negotiate name different providers")
    text_member(info, "provider_name")
    text_member(info, "description")
    scopes = info.get("scopes")
    if not isinstance(scopes, list) or len(scopes) > limits.MAX_SCOPES:
        raise Refused("scopes are missing, no list, or too many")
    for scope in scopes:
        if not isinstance(scope, dict):
            raise Refused("a scope is no object")
        if not _SCOPE_NAME.fullmatch(text_member(scope, "name")):
            raise Refused("a scope name is invalid")
        if scope.get("access") not in _ACCESS or scope.get("sensitivity") not in _SENSITIVITY:
            raise Refused("access or sensitivity of a scope is missing or unknown")
    dialect = info.get("schema_dialect")
    if dialect is None:
        return DIALECT
    # 3.2: the dialect governs every schema of the session; one that is not known cannot be checked.
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        raise Refused("unknown schema_dialect")
    return DIALECT


def check_revision(listing):
    revision = opaque_text(listing.get("revision"), limits.MAX_REVISION_BYTES)
    if revision is None:
        raise Refused("revision is missing, no text, or too long")
    return revision


def check_tools(listing, check_one):
    """The usable tools of a list, by name. A name that occurs twice names nothing: both are refused."""
    entries = listing.get("tools")
    if not isinstance(entries, list):
        raise Refused("tools is missing or no list")
    if len(entries) > limits.MAX_TOOLS:
        raise Refused("too many tools")
    budget = Budget(limits.SCHEMA_LIST_STEPS)
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    tools = {}
    for entry in entries:
        try:
            if not isinstance(entry, dict) or names.count(entry.get("name")) != 1:
                raise Refused("no object, or a name that is not unique")
            tool = check_one(entry, budget)
        except (Refused, SchemaError):
            continue
        tools[tool.name] = tool
    return tools


def check_v2_tool(entry, budget):
    name = text_member(entry, "name")
    if not _TOOL_NAME.fullmatch(name):
        raise Refused("invalid tool name")
    description = clean(text_member(entry, "description"), limits.MAX_DESCRIPTION_CHARS)
    scopes = entry.get("scopes")
    if not isinstance(scopes, list) or len(scopes) > limits.MAX_SCOPES:
        raise Refused("scopes are missing, no list, or too many")
    for scope in scopes:
        if not isinstance(scope, str) or not _SCOPE_NAME.fullmatch(scope):
            raise Refused("invalid scope name")
    annotations = check_annotations(entry.get("annotations"))
    for member in ("input_schema", "output_schema"):
        if entry.get(member) is None:
            raise Refused(f"{member} is missing")
    input_schema = Schema(entry["input_schema"], budget)
    output_schema = Schema(entry["output_schema"], budget)
    return Tool(name, description, input_schema, output_schema, annotations)


def check_annotations(annotations):
    """3.4: all seven, with allowed values; and what is dangerous says that it is always confirmed."""
    if not isinstance(annotations, dict):
        raise Refused("annotations are missing")
    for name, allowed in _ANNOTATIONS.items():
        value = annotations.get(name)
        # `1 == True` in Python, hence the comparison of types.
        if not any(type(value) is type(one) and value == one for one in allowed):
            raise Refused(f"{name} is missing or unknown")
    dangerous = (
        annotations["effect"] in ("delete", "transaction")
        or annotations["destructive"]
        or annotations["risk"] == "high"
    )
    if dangerous and annotations["confirmation"] != "always":
        raise Refused("a dangerous tool that is not always confirmed")
    return {name: annotations[name] for name in _ANNOTATIONS}


def check_v1_tool(entry, budget):
    """v1 knows a name, a description and `parameters`; it says nothing of name patterns or dialects."""
    name = text_member(entry, "name")
    if not name.isprintable() or not 0 < len(name) <= limits.MAX_V1_TOOL_NAME_CHARS:
        raise Refused("invalid tool name")
    description = clean(text_member(entry, "description"), limits.MAX_DESCRIPTION_CHARS)
    if entry.get("parameters") is None:
        raise Refused("parameters are missing")
    return Tool(name, description, Schema(entry["parameters"], budget, dialect=None), None, None)
