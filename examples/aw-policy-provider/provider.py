"""A policy provider of aw-provider/v1alpha1: one request on standard input, one reply on standard output.

Written from the specification alone, with the standard library alone, to see whether the suite's vectors say the same to
somebody else. `messages` reads requests, `policy` decides.
"""

import json
import sys

from messages import API_VERSION, MESSAGE_BYTES, Invalid, check_request, read
from policy import OPERATIONS, Failed, Policy


def main():
    # One byte more than a message may have is enough to know that it is too long; the rest is read so that nobody writes
    # into a pipe that has no reader.
    data = sys.stdin.buffer.read(MESSAGE_BYTES + 1)
    while sys.stdin.buffer.read(1 << 16):
        pass
    try:
        request = read(data)
        check_request(request)
    except Invalid as error:
        # Whose request it was cannot be told, so that there is no reply that could be correlated.
        print(f"no request: {error}", file=sys.stderr)
        return 65
    reply = {"api_version": API_VERSION, "request_id": request["request_id"]}
    try:
        reply.update(status="ok", **answer(request))
    except Failed as error:
        print(f"failed: {error.code}", file=sys.stderr)
        reply.update(status="error", error_code=error.code)
    sys.stdout.write(json.dumps(reply, indent=1) + "\n")
    return 0


def answer(request):
    if request["method"] == "describe":
        return {"operations": OPERATIONS}
    policy = Policy(request["config"])
    if request["method"] == "validate_config":
        return {}
    return {"input_digest": request["input_digest"], "effects": policy.decide(request)}


if __name__ == "__main__":
    sys.exit(main())
