"""The border between the protocol and a tool's own code: what goes in is checked, and so is what comes out.

Arguments are untrusted (section 7.3), the tool's output is not trusted either (4.2), and nothing that a tool throws
gets past this module (5).
"""

import sys
from typing import NamedTuple

import strict_json
from errors import ProtocolError


class Work(NamedTuple):
    """One execution of a writing tool, and the transaction in which its effect becomes durable with its result."""

    tx: object
    request_id: str
    tool: str


def parse_arguments(tool, text):
    """The arguments, checked against input_schema.  The details say where and why, and never what was sent."""
    try:
        args = strict_json.loads(text)
    except strict_json.JsonError:
        raise ProtocolError("INVALID_ARGS", "The arguments are not valid JSON.") from None
    violation = tool.input_violation(args)
    if violation is not None:
        details = {"where": violation.where, "keyword": violation.keyword}
        raise ProtocolError("INVALID_ARGS", "The arguments do not match the tool's input schema.", details=details)
    return args


def checked_output(tool, value):
    """The value as JSON text.  What breaks output_schema is never a success (section 4.2)."""
    if tool.output_violation(value) is not None:
        print(f"{tool.name}: the output breaks its schema", file=sys.stderr)
        raise ProtocolError("INTERNAL_ERROR", "The tool returned an invalid result.")
    return strict_json.dumps(value)


def contained(tool, work, *, retryable):
    """Run a tool's code.  Whatever it throws ends here: the text of an exception never reaches a caller (section 5)."""
    try:
        return work()
    except ProtocolError:
        raise
    except Exception as error:
        print(f"{tool.name}: {type(error).__name__}", file=sys.stderr)
        raise ProtocolError("INTERNAL_ERROR", "The tool failed.", retryable=retryable) from None


def read_value(tool, args, store):
    return contained(tool, lambda: checked_output(tool, tool.behaviour.read(args, store)), retryable=False)


def apply_effect(tx, tool, args, request_id):
    """(value, error): the effect with its result, or a definite failure without any effect.

    An error that may be retried is raised instead: it is no terminal result, so nothing of this attempt remains.
    """
    tx.execute("SAVEPOINT effect")
    try:
        work = Work(tx, request_id, tool.name)
        value = contained(tool, lambda: checked_output(tool, tool.behaviour.apply(args, work)), retryable=True)
        error = None
    except ProtocolError as failure:
        if failure.retryable:
            raise
        tx.execute("ROLLBACK TO effect")
        value, error = None, failure
    tx.execute("RELEASE effect")
    return value, error
