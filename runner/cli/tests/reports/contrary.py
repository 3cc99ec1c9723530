"""A target that means ill, for tests of reports: `hostile TEXT`, `secret` or `hang`.

It speaks the target protocol and answers whatever it is asked. `hostile` puts TEXT wherever a target can put a text; `secret`
puts the value of API_TOKEN there; `hang` never answers a provider.call.
"""

import json
import os
import sys
import time

MODE = sys.argv[1]
TEXT = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("API_TOKEN", "")


def describe():
    said = TEXT if MODE == "hostile" else "contrary"
    return {
        "protocol": 1, "name": said, "version": said, "roles": ["provider"], "versions": [1, 2],
        "capabilities": ["async_operations", "cancellation", "large_results"] + ([said] if MODE == "hostile" else []),
        "controls": ["clock", "restart", "user_decision", "caller_identity", "scopes", "faults", "operations", "reconfigure",
                     "audit", "ui", "fds"] + ([said] if MODE == "hostile" else []),
        "callers": "any", "package": "org.contrary", "authority": "org.contrary.tools", "fixture": 1,
        "resume_ttl_ms": 300000, "retention_ms": 86400000,
    }


def call(params):
    if params["method"] == "negotiate":
        data = {"selected_version": 2, "provider_id": "org.contrary", "provider_name": TEXT, "capabilities": [],
                "session_token": "token " + TEXT,
                "limits": {"max_request_bytes": 65536, "max_inline_result_bytes": 262144, "max_concurrent_requests": 4,
                           "idempotency_window_seconds": 86400}}
        return {"bundle": {"status": {"string": "success"}, "data": {"string": json.dumps(data)}}}
    extras = params.get("extras") or {}
    request = extras.get("request_id", {"string": TEXT})
    sent = extras.get("session_token", {}).get("string", "")
    return {"bundle": {"status": {"string": "success"}, "protocol_version": {"int": 2}, "request_id": request,
                       TEXT: {"string": TEXT},
                       "data": {"string": json.dumps({"kind": "inline", "value": {"entry": 1, TEXT: [TEXT, sent]}})}}}


def result(verb, params):
    if verb == "target.describe":
        return describe()
    if verb == "target.reset":
        return {"now_ms": params["now_ms"]}
    if verb == "provider.call":
        if MODE == "hang":
            time.sleep(10_000)
        return call(params)
    if verb == "control.user":
        return {"activity_finished": True}
    if verb == "observe.audit":
        return {"events": [{"tool": TEXT}]}
    if verb == "observe.ui":
        return {"texts": [TEXT]}
    if verb == "observe.fds":
        return {"open": 0}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        continue
    print("says", TEXT, file=sys.stderr, flush=True)
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params") or {})}
    print(json.dumps(answer), flush=True)
    if message["method"] == "target.shutdown":
        break
