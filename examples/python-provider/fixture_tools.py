"""The tools of the fixture: what an app would bring, as opposed to what the protocol demands.

The descriptors are data (`fixture-tools.json`); here are the behaviours behind them.  A reading tool has

    read(args, store) -> value

and a writing tool has

    check(args)         the business rules (section 7.3): raises ProtocolError before anything is asked or reserved
    needs_user(args)    whether this call is riskier than the annotations say (section 3.4)
    describe(args)      what the user is shown: object, action, parameters, consequences (section 7.2)
    held(args)          whether a background execution waits for an outside event first
    apply(args, work)   the effect, inside the transaction of `work` (see `tool_code.Work`) -> value

`args` have passed the input_schema.  Every one of these may raise ProtocolError, or fail in any other way.
"""

import functools
import json
import os
import unicodedata

from catalogue import ALL_CAPABILITIES, Catalogue, Tool
from errors import ProtocolError

PACKAGE = "org.example.cetp.pythonprovider"
AUTHORITY = f"{PACKAGE}.clawseed.tools"
UID = 10042
DEFAULT_SCOPES = ("fixture.read", "fixture.write", "fixture.admin")

# An amount has to be shown to the user and written to the books; JSON's integers are wider than any of that.
LARGEST_AMOUNT = 10**15
ESCALATION_THRESHOLD = 1000

_SCOPE_TEXTS = {
    "fixture.read": ("Read the fixture", "Read values, texts and the list of effects"),
    "fixture.write": ("Write to the ledger", "Append entries to the ledger and change them"),
    "fixture.admin": ("Transfer amounts", "Make transfers, each of which is confirmed in the app"),
    "fixture.secret": ("Read the secret", "Read what is kept from everyone by default"),
}


def _append(work, value):
    cursor = work.tx.execute(
        "INSERT INTO ledger (request_id, tool, value) VALUES (?, ?, ?)", (work.request_id, work.tool, value)
    )
    return {"entry": cursor.lastrowid}


def _refused(message):
    return ProtocolError("INVALID_ARGS", message)


def _check_text(*texts):
    """A lone surrogate passes as a JSON string, but it is no text that could be stored or shown."""
    for text in texts:
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise _refused("A text is not valid Unicode.")


def _check_amount(amount):
    if not -LARGEST_AMOUNT <= amount <= LARGEST_AMOUNT:
        raise _refused("The amount is out of range.")


def _visible(text):
    """What an agent wrote, as the user shall see it: nothing invisible, and nothing that turns the line around."""
    return "".join(
        f"\\u{{{ord(character):x}}}" if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") else character
        for character in text
    )


# --- reading ----------------------------------------------------------------------------------------------------------


class Echo:
    def read(self, args, store):
        return {"value": args["value"]}


class Blob:
    def read(self, args, store):
        return {"blob": {"ascii": "x", "cjk": "测"}[args["fill"]] * int(args["length"])}


class Ledger:
    def read(self, args, store):
        rows = store.rows("SELECT request_id, tool, value FROM ledger ORDER BY entry")
        return {"entries": [dict(row) for row in rows]}


class BadOutput:
    def read(self, args, store):
        return {"count": "three"}


class Crash:
    def read(self, args, store):
        raise RuntimeError("canary-5d1e at com.example.Fixture(Fixture.kt:7) /data/user/0/secret.db")


class Secret:
    def read(self, args, store):
        return {"secret": "the fixture's secret"}


class Busy:
    def read(self, args, store):
        raise ProtocolError("RATE_LIMITED", "The service is busy; try again in a moment.", retry_after_ms=250)


# --- writing ----------------------------------------------------------------------------------------------------------


class Write:
    def check(self, args):
        pass

    def needs_user(self, args):
        return False

    def describe(self, args):
        return []

    def held(self, args):
        return False


class Append(Write):
    def check(self, args):
        _check_text(args["value"])
        if args["value"].startswith("forbidden"):
            raise _refused("This text may not be entered.")

    def describe(self, args):
        return [f"Text: {_visible(args['value'])}"]

    def apply(self, args, work):
        return _append(work, args["value"])


class Set(Write):
    def check(self, args):
        _check_text(args["key"], args["value"])

    def describe(self, args):
        return [f"Key: {_visible(args['key'])}", f"Value: {_visible(args['value'])}"]

    def apply(self, args, work):
        return _append(work, f"{args['key']}={args['value']}")


class Transfer(Write):
    """Its `confirmed` argument means nothing: only the user does, in the provider's own UI (section 4.3)."""

    def check(self, args):
        _check_text(args["to"])
        _check_amount(args["amount"])

    def describe(self, args):
        return [f"Transfer to: {_visible(args['to'])}", f"Amount: {int(args['amount'])}"]

    def apply(self, args, work):
        return _append(work, f"{args['to']}:{int(args['amount'])}")


class Escalate(Write):
    def check(self, args):
        _check_amount(args["amount"])

    def needs_user(self, args):
        return args["amount"] > ESCALATION_THRESHOLD

    def describe(self, args):
        return [f"New amount: {int(args['amount'])}"]

    def apply(self, args, work):
        return _append(work, str(int(args["amount"])))


class Job(Write):
    def check(self, args):
        _check_text(args["value"])

    def held(self, args):
        return args["hold"]

    def describe(self, args):
        return [f"Text: {_visible(args['value'])}"]

    def apply(self, args, work):
        if args.get("fail"):
            raise ProtocolError("CONFLICT", "The job could not be done.")
        value = _append(work, args["value"])
        if "length" in args:
            value["blob"] = "x" * int(args["length"])
        return value


class Hidden(Write):
    def apply(self, args, work):
        return _append(work, "hidden")


_BEHAVIOURS = {
    "fixture_echo": Echo,
    "fixture_added": Echo,
    "fixture_blob": Blob,
    "fixture_ledger": Ledger,
    "fixture_append": Append,
    "fixture_set": Set,
    "fixture_transfer": Transfer,
    "fixture_escalate": Escalate,
    "fixture_job": Job,
    "fixture_bad_output": BadOutput,
    "fixture_crash": Crash,
    "fixture_secret": Secret,
    "fixture_busy": Busy,
    "fixture_hidden": Hidden,
}

# --- the catalogue ----------------------------------------------------------------------------------------------------

CHANGES = ("add_tool", "change_schema", "raise_risk", "drop_capability")


@functools.lru_cache(maxsize=16)
def catalogue(changes=()):
    """The catalogue after these changes: what another version of the app, or another configuration, would offer."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixture-tools.json")
    with open(path, encoding="utf-8") as file:
        fixture = json.load(file)
    tools = {tool["name"]: tool for tool in fixture["tools"]}
    capabilities = list(ALL_CAPABILITIES)
    for change in changes:
        if change == "add_tool":
            tools["fixture_added"] = {**tools["fixture_echo"], "name": "fixture_added"}
        elif change == "change_schema":
            echo = tools["fixture_echo"]
            tools["fixture_echo"] = {**echo, "input_schema": {**echo["input_schema"], "title": "What to return"}}
        elif change == "raise_risk":
            append = tools["fixture_append"]
            annotations = {**append["annotations"], "risk": "high", "confirmation": "always"}
            tools["fixture_append"] = {**append, "annotations": annotations}
        elif change == "drop_capability":
            del capabilities[-1:]
    scopes = [
        {**scope, "title": _SCOPE_TEXTS[scope["name"]][0], "description": _SCOPE_TEXTS[scope["name"]][1]}
        for scope in fixture["scopes"]
    ]
    return Catalogue(
        package=PACKAGE,
        provider_name="CETP fixture (Python)",
        description="Tools for testing: an echo, texts of any length, and a ledger of effects",
        scopes=scopes,
        tools=[
            Tool(descriptor, _BEHAVIOURS[name](), visible=name != "fixture_hidden")
            for name, descriptor in tools.items()
        ],
        capabilities=capabilities,
    )
