#!/usr/bin/env python3
"""The Python provider of the examples with tools of its own instead of the fixture: what an app is that carries no fixture.

    python3 provider.py EXAMPLES [--loose] [--worker DIRECTORY]

EXAMPLES is the folder of the Python provider. With --loose the tools take arguments that break their input_schema.
"""

import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("examples")
parser.add_argument("--loose", action="store_true")
parser.add_argument("--worker", metavar="DIRECTORY")
options = parser.parse_args()
sys.path.insert(0, options.examples)
sys.dont_write_bytecode = True

import catalogue  # noqa: E402
import fixture_tools  # noqa: E402
import supervisor  # noqa: E402
import worker  # noqa: E402


def annotations(effect="read", confirmation="never", risk="low", destructive=False):
    return {
        "effect": effect,
        "risk": risk,
        "destructive": destructive,
        "idempotent": effect == "read",
        "open_world": False,
        "confirmation": confirmation,
        "execution": "sync",
    }


def tool(name, input_schema, output_schema, scope, marks, behaviour):
    descriptor = {
        "name": name,
        "title": name.replace("_", " "),
        "description": name.replace("_", " "),
        "input_schema": {"type": "object", **input_schema},
        "output_schema": {"type": "object", **output_schema},
        "scopes": [scope],
        "annotations": marks,
    }
    made = catalogue.Tool(descriptor, behaviour)
    if options.loose:
        made.input_violation = lambda value: None
    return made


class Search:
    def read(self, args, store):
        return {"found": [], "asked": args}


class Remember(fixture_tools.Write):
    def apply(self, args, work):
        work.tx.execute(
            "INSERT INTO ledger (request_id, tool, value) VALUES (?, ?, ?)", (work.request_id, work.tool, "note")
        )
        return {}


SEARCH = {
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 40, "pattern": "^[a-z ]+$"},
        "limit": {"type": "integer", "minimum": 1, "exclusiveMaximum": 50, "multipleOf": 2},
        "kind": {"enum": ["note", "task"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": True},
        "where": {"$ref": "#/$defs/place"},
        "order": {"anyOf": [{"const": "newest"}, {"type": "integer", "minimum": 0}]},
    },
    "required": ["text", "limit"],
    "dependentRequired": {"order": ["kind"]},
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}, "maxProperties": 1}},
}
NOTE = {"properties": {"note": {"type": "string", "minLength": 1}}, "required": ["note"], "additionalProperties": False}


def own_catalogue(changes=()):
    return catalogue.Catalogue(
        package=fixture_tools.PACKAGE,
        provider_name="Notes",
        description="An app with tools of its own",
        scopes=[
            {"name": "fixture.read", "access": "read", "sensitivity": "public", "title": "Read", "description": "Read"},
            {"name": "fixture.write", "access": "write", "sensitivity": "other", "title": "Write", "description": "Write"},
        ],
        tools=[
            tool("notes_search", SEARCH, {"required": ["found"]}, "fixture.read", annotations(), Search()),
            tool("notes_add", NOTE, {}, "fixture.write", annotations("create"), Remember()),
            tool("notes_wipe", NOTE, {}, "fixture.write", annotations("delete", "always", "high", True), Remember()),
        ],
    )


fixture_tools.catalogue = own_catalogue
describe = worker.Worker._describe
worker.Worker._describe = lambda self, params: {k: v for k, v in describe(self, params).items() if k != "fixture"}

if options.worker is not None:
    worker.main(options.worker, (2,))
else:
    loose = ["--loose"] if options.loose else []
    supervisor.Supervisor([sys.executable, __file__, options.examples, *loose, "--worker"]).run()
