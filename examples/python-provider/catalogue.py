"""What the provider offers: its identity, scopes and tools (section 3), and the manifest that leads to it (2.1).

A catalogue never changes.  A provider whose tools or capabilities change gets another catalogue; that is what makes it
safe to read one from many threads, and `revision` a plain digest of what a caller is shown.
"""

import hashlib
import re

import schema
import strict_json
import values

ALL_CAPABILITIES = ("async_operations", "cancellation", "large_results")
SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SCOPE_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,127}")
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
    """A descriptor of section 3.3 with its compiled schemas, and the code behind it.

    `behaviour` does the work; see `fixture_tools` for its methods.  A tool that is not `visible` is hidden from every
    caller: it is not listed, and calling it by name is answered as if it did not exist (section 3.4).
    """

    def __init__(self, descriptor, behaviour, visible=True):
        self.descriptor = descriptor
        self.behaviour = behaviour
        self.visible = visible
        self.name = descriptor["name"]
        self.title = descriptor["title"]
        self.scopes = tuple(descriptor["scopes"])
        annotations = descriptor["annotations"]
        self.is_read = annotations["effect"] == "read"
        self.is_async = annotations["execution"] == "sync_or_async"
        self.always_confirm = annotations["confirmation"] == "always"
        self.irreversible = annotations["destructive"]
        self.input_violation = schema.compile_schema(descriptor["input_schema"])
        self.output_violation = schema.compile_schema(descriptor["output_schema"])
        self._check()

    def _check(self):
        """A descriptor that breaks section 3 is a programming error, to be found at the start and not by a consumer."""
        annotations = self.descriptor["annotations"]
        assert _TOOL_NAME.fullmatch(self.name), self.name
        assert annotations.keys() == _ANNOTATIONS.keys(), self.name
        assert all(annotations[name] in allowed for name, allowed in _ANNOTATIONS.items()), self.name
        if annotations["effect"] in ("delete", "transaction") or self.irreversible or annotations["risk"] == "high":
            assert self.always_confirm, self.name
        # Nothing in section 3.4 asks for the confirmation of a read, and `executions` has no place for one.
        assert not (self.is_read and self.always_confirm), self.name

    def listed(self, asynchronous):
        """As list_tools shows it.  `sync_or_async` is used in sessions with async_operations only (section 3.4)."""
        if not self.is_async or asynchronous:
            return self.descriptor
        return {**self.descriptor, "annotations": {**self.descriptor["annotations"], "execution": "sync"}}


class Catalogue:
    def __init__(self, *, package, provider_name, description, scopes, tools, capabilities=ALL_CAPABILITIES):
        self.provider_id = package  # section 3.1: the package name, unless there is a reason for something below it
        self.provider_name = provider_name
        self.scopes = scopes
        self.capabilities = tuple(capabilities)
        self._tools = {tool.name: tool for tool in tools}
        assert len(self._tools) == len(tools), "tool names are unique"
        assert all(_SCOPE_NAME.fullmatch(scope["name"]) for scope in scopes)
        names = {scope["name"] for scope in scopes}
        assert all(names.issuperset(tool.scopes) for tool in tools), "every scope of a tool is in the catalogue"

        self.scope_titles = {scope["name"]: scope["title"] for scope in scopes}
        self.info = strict_json.dumps(
            {
                "provider_id": self.provider_id,
                "provider_name": provider_name,
                "description": description,
                "schema_dialect": SCHEMA_DIALECT,
                "scopes": scopes,
            }
        )
        self.info_v1 = strict_json.dumps(
            {
                "provider_name": provider_name,
                "description": description,
                "scopes": [{"name": scope["name"], "description": scope["description"]} for scope in scopes],
            }
        )
        self._listing = {asynchronous: self._list(asynchronous) for asynchronous in (True, False)}
        self.listing_v1 = strict_json.dumps(
            {
                "tools": [
                    {
                        "name": tool.name,
                        "description": tool.descriptor["description"],
                        "parameters": tool.descriptor["input_schema"],
                    }
                    for tool in tools
                    if tool.visible and tool.is_read  # v1 is read-only (section 2.1)
                ]
            }
        )

    def _list(self, asynchronous):
        tools = [tool.listed(asynchronous) for tool in self._tools.values() if tool.visible]
        # A consumer may keep a list as long as its revision stays (section 3.3).  A digest of the list itself changes
        # exactly when the list does, over restarts and between sessions of different capabilities alike.
        revision = hashlib.sha256(strict_json.dumps(tools).encode()).hexdigest()[:32]
        return strict_json.dumps({"revision": f"tools-{revision}", "tools": tools})

    def listing(self, session):
        return self._listing["async_operations" in session.capabilities]

    def visible_tool(self, name):
        tool = self._tools.get(name)
        return tool if tool is not None and tool.visible else None

    def tool(self, name):
        """Also a hidden one: for the inside, never for a name that a caller sent."""
        return self._tools[name]


def manifest(package, authority, versions):
    """The discovery service and the ContentProvider, as an Android build would report them (section 2.1).

    A build turns android:value="2" into an Int and leaves "1,2" a String.
    """
    declared = values.string("1,2") if 1 in versions else values.int32(2)
    return {
        "package": package,
        "services": [
            {
                "name": f"{package}.ToolProviderService",
                "exported": True,
                "actions": ["com.clawseed.action.TOOL_PROVIDER"],
                "meta_data": values.encode_bundle(
                    {
                        "com.clawseed.tools.authority": values.string(authority),
                        # The legacy field serves v1 consumers only: a provider of both versions says 1 there.
                        "com.clawseed.tools.version": values.int32(min(versions)),
                        "com.clawseed.tools.versions": declared,
                    }
                ),
            }
        ],
        "providers": [
            {
                "name": f"{package}.ToolContentProvider",
                "authority": authority,
                "exported": True,
                # Normal level: an entry for discovery and defence in depth, no boundary of security (section 7.1).
                "permission": "com.clawseed.permission.ACCESS_TOOLS",
            }
        ],
    }
