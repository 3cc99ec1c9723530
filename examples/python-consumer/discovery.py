"""From manifests to the registry of usable providers (sections 2.1, 3.1 and 8).

Everything that decides here is independent of scan order: version sets and conflicts are looked at over
the whole scan, and no label takes part.
"""

import re
from urllib.parse import quote

import jsonrpc
import limits
from bundles import Bundle
from session import Provider
from untrusted import Refused
from v1 import open_v1

ACTION = "com.clawseed.action.TOOL_PROVIDER"
_AUTHORITY = "com.clawseed.tools.authority"
_VERSION = "com.clawseed.tools.version"
_VERSIONS = "com.clawseed.tools.versions"
_MAJOR = re.compile(r"[1-9][0-9]{0,8}")
_SUPPORTED = (2, 1)


def declared_versions(meta_data):
    """2.1: `versions`, where present, is the authority; `version` alone is the one supported version. Each
    may be an Int or a String. Tokens that are no positive decimal integer add nothing."""
    if _VERSIONS in meta_data:
        # Present without any usable token means no version at all, never v1.
        return _version_set(meta_data[_VERSIONS])
    found = _version_set(meta_data.get(_VERSION))
    return found if len(found) == 1 else frozenset()


def _version_set(value):
    bundle = Bundle({"value": value})
    number = bundle.int32("value")
    if number is not None:
        return frozenset([number]) if number > 0 else frozenset()
    text = bundle.string("value")
    if text is None or len(text) > limits.MAX_VERSIONS_CHARS:
        return frozenset()
    tokens = [token.strip() for token in text.split(",")]
    return frozenset(int(token) for token in tokens if _MAJOR.fullmatch(token))


class _Candidate:
    """One discovery service: what it declares, and in the end what became of it."""

    def __init__(self, package, authority, versions, fault):
        self.package = package
        self.authority = authority
        self.versions = versions
        self.fault = fault             # why it is refused before any call
        self.decision = "refused"
        self.provider = None


def _items(value):
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _candidates(packages):
    manifests = [manifest for manifest in _items(packages) if isinstance(manifest.get("package"), str)]
    owners = {}
    for manifest in manifests:
        for declared in _items(manifest.get("providers")):
            if isinstance(declared.get("authority"), str) and declared.get("exported") is not False:
                # android:authorities may hold several, separated by semicolons.
                for authority in declared["authority"].split(";"):
                    owners.setdefault(authority, set()).add(manifest["package"])
    found = []
    for manifest in manifests:
        for service in _items(manifest.get("services")):
            actions = service.get("actions")
            if not isinstance(actions, list) or ACTION not in actions or service.get("exported") is False:
                continue
            meta_data = service.get("meta_data")
            meta_data = meta_data if isinstance(meta_data, dict) else {}
            authority = Bundle(meta_data).string(_AUTHORITY) or ""
            # 2.1: Service and ContentProvider belong to the same package, and to no other one besides.
            fault = None
            if owners.get(authority, set()) != {manifest["package"]}:
                fault = "service and authority do not belong to the same package"
            found.append(_Candidate(manifest["package"], authority, declared_versions(meta_data), fault))
    _settle_versions(found)
    return found


def _settle_versions(candidates):
    """Section 8: a provider that declares v2 anywhere is never used as v1. So the services of a package are
    looked at together, and a second service for the same authority adds nothing but its versions."""
    first = {}
    declares_v2 = set()
    for candidate in candidates:
        if 2 in candidate.versions:
            declares_v2.add(candidate.package)
        if candidate.fault is None:
            key = (candidate.package, candidate.authority)
            if key in first:
                first[key].versions |= candidate.versions
                candidate.fault = "another service names the same authority"
            else:
                first[key] = candidate
    for candidate in candidates:
        if candidate.package in declares_v2 and 2 not in candidate.versions and candidate.fault is None:
            candidate.fault = "the package declares v2 elsewhere"


def _open(host, candidate):
    version = next((version for version in _SUPPORTED if version in candidate.versions), None)
    if version is None:
        candidate.decision = "ignored"
        return
    provider = Provider(host, candidate.package, candidate.authority, version)
    try:
        if version == 2:
            # Whatever goes wrong here, no v1 call follows: v2 was declared (section 8).
            provider.open()
        else:
            open_v1(provider)
    except jsonrpc.Abandoned:
        raise
    except Refused as refusal:
        candidate.fault = str(refusal)
        return
    except Exception as error:
        # One provider must not be able to end the scan of the others.
        candidate.fault = f"{type(error).__name__}: {error}"
        return
    candidate.provider = provider
    candidate.decision = f"v{version}"


def _refuse_conflicts(candidates):
    """3.1: two that claim one provider_id are both refused, so that neither scan order nor who was there
    first decides which of them gets the other's calls."""
    claims = {}
    for candidate in candidates:
        if candidate.provider is not None:
            claims.setdefault(candidate.provider.provider_id, []).append(candidate)
    for claimants in claims.values():
        if len(claimants) > 1:
            for candidate in claimants:
                candidate.provider = None
                candidate.decision = "refused"
                candidate.fault = "its provider_id is claimed twice"


def _limit_tools(candidates):
    left = limits.MAX_TOOLS_IN_ALL
    for candidate in candidates:
        if candidate.provider is not None:
            left -= len(candidate.provider.tools)
            if left < 0:
                candidate.provider = None
                candidate.decision = "refused"
                candidate.fault = "too many tools in all"


def exposed_name(provider_id, tool_name):
    """The name for the agent. Both parts are escaped, so the slash stands once and two tools never share a
    name, whatever their labels are."""
    return f"{quote(provider_id, safe='')}/{quote(tool_name, safe='')}"


def _row(candidate):
    provider = candidate.provider
    tools = provider.tools.values() if provider is not None else ()
    return {
        "package": candidate.package,
        "authority": candidate.authority,
        "decision": candidate.decision,
        "provider_id": provider.provider_id if provider is not None else "",
        "tools": [
            {
                "name": tool.name,
                "exposed_name": exposed_name(provider.provider_id, tool.name),
                "description": tool.description,
            }
            for tool in tools
        ],
    }


def discover(host, packages):
    """One scan. Returns the rows for the runner and the registry {provider_id: Provider} that replaces the
    one before; a provider that was disabled gets its new chance by being negotiated with again."""
    candidates = _candidates(packages)
    for candidate in candidates:
        if candidate.fault is None:
            _open(host, candidate)
    _refuse_conflicts(candidates)
    _limit_tools(candidates)
    for candidate in candidates:
        if candidate.fault is not None:
            jsonrpc.diagnose(f"refused {candidate.package!a}: {candidate.fault!a}"[:1000])
    registry = {c.provider.provider_id: c.provider for c in candidates if c.provider is not None}
    return [_row(candidate) for candidate in candidates], registry
