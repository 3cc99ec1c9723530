"""Authorization and confirmation by the user in the provider's UI (section 4.3).

The consumer launches what the provider sent only if it is what 4.3 and 7.2 describe: a PendingIntent that the
provider's own package created, immutable, for its own component. A fact that the platform cannot tell is
not there to be checked; a fact that is wrong is never overlooked. The v1 `authorize_intent` is not read.
"""

import jsonrpc
import limits
from envelope import MalformedFailure, opaque_text
from untrusted import Refused

NEEDS_USER = ("AUTH_REQUIRED", "USER_ACTION_REQUIRED")


def can_be_resolved(failure):
    return failure.code in NEEDS_USER and not isinstance(failure, MalformedFailure)


def confirm(host, package, bundle):
    """Launch the resolution, wait for the Activity to finish, and return the token to resume with.

    Whether the user approved is not ours to know: also after a cancelled launch the call is resumed once
    and the provider, who decides, answers (the diagram of 4.3).
    """
    resume_token = opaque_text(bundle.string("resume_token"), limits.MAX_RESUME_TOKEN_BYTES)
    if resume_token is None:
        raise Refused("resume_token is missing, no text, or too long")
    resolution = bundle.pending_intent("resolution")
    if resolution is None:
        raise Refused("resolution is missing or no PendingIntent")
    if resolution.get("creator_package") != package:
        raise Refused("the resolution was not created by the provider's package")
    if resolution.get("immutable") not in (True, None):
        raise Refused("the resolution is mutable")
    if resolution.get("explicit") not in (True, None):
        raise Refused("the resolution is not explicit")
    component = resolution.get("component")
    if isinstance(component, str) and "/" in component and component.split("/")[0] != package:
        raise Refused("the resolution leads out of the provider's package")
    try:
        host.launch(resolution["id"])
    except jsonrpc.RemoteError:
        raise Refused("the resolution could not be launched") from None
    return resume_token
