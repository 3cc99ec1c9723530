"""A small JSON Schema validator (draft 2020-12, the dialect of section 3.2).

`compile_schema` turns a schema into a function from a value to None or the `Violation` that was found first.  The
assertions and applicators in common use are there; `$ref` resolves inside the same document only, as section 3.2
demands, and "format" is the annotation that it is by default.  A keyword of the standard that constrains values and is
not implemented makes compiling fail: a schema that is half checked would be worse than one that is refused.
"""

import re
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import unquote


class SchemaError(ValueError):
    """The schema is not one that this validator can apply in full."""


class Violation(NamedTuple):
    """Where a value breaks its schema, as the names and indexes that lead there, and by which keyword.

    It never holds the value itself.
    """

    where: tuple
    keyword: str


_NOT_IMPLEMENTED = frozenset(
    "unevaluatedProperties unevaluatedItems $dynamicRef $recursiveRef additionalItems dependencies".split()
)


def compile_schema(schema):
    return _Compiler(schema).compile(schema)


# --- the JSON data model ----------------------------------------------------------------------------------------------


def _is_number(value):
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _is_integer(value):
    """1.0 is an integer to JSON Schema; a Decimal is never expanded, for 1e999999999 is one as well."""
    if isinstance(value, bool):
        return False
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return exponent >= 0 or not any(digits[exponent:])
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


_TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def equal(left, right):
    """Equality of JSON values: numbers by value, and true is not 1, as Python would have it."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if _is_number(left) and _is_number(right):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[name]) for name, value in left.items())
    return type(left) is type(right) and left == right


def _hashable(value):
    """Two JSON values are equal exactly if these are.  Python's numbers hash by value, over all of their types."""
    if isinstance(value, dict):
        return "object", frozenset((name, _hashable(member)) for name, member in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_hashable, value))
    return type(value).__name__ if value is None or isinstance(value, (bool, str)) else "number", value


# --- compiling --------------------------------------------------------------------------------------------------------


class _Compiler:
    def __init__(self, document):
        self.document = document
        self.by_reference = {}

    def compile(self, schema):
        if schema is True:
            return lambda value, at=(): None
        if schema is False:
            return lambda value, at=(): Violation(at, "false")
        if not isinstance(schema, dict):
            raise SchemaError("a schema is an object or a boolean")
        checks = []
        for keyword, operand in schema.items():
            if keyword in _NOT_IMPLEMENTED:
                raise SchemaError(f"keyword {keyword!r} is not supported")
            build = getattr(self, "kw_" + keyword.replace("$", "dollar_"), None)
            if build is not None:  # anything else is an annotation, or part of another keyword
                checks.append(build(operand, schema))

        def check_all(value, at=()):
            for check in checks:
                violation = check(value, at)
                if violation is not None:
                    return violation
            return None

        return check_all

    def _map(self, schemas):
        return {name: self.compile(schema) for name, schema in schemas.items()}

    def _each(self, schemas):
        return [self.compile(schema) for schema in schemas]

    # references

    def kw_dollar_ref(self, reference, _):
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise SchemaError("a $ref resolves inside its own document")
        if reference not in self.by_reference:
            # Entered before the target is compiled, so that a schema may refer to itself.
            cell = self.by_reference[reference] = [None]
            cell[0] = self.compile(self._resolve(unquote(reference[1:])))
        cell = self.by_reference[reference]
        return lambda value, at: cell[0](value, at)

    def _resolve(self, fragment):
        if fragment and not fragment.startswith("/"):
            found = _find_anchor(self.document, fragment)
            if found is None:
                raise SchemaError("a $ref leads nowhere")
            return found
        node = self.document
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                node = node[int(step)] if isinstance(node, list) else node[step]
            except (KeyError, IndexError, ValueError, TypeError):
                raise SchemaError("a $ref leads nowhere") from None
        return node

    # any value

    def kw_type(self, names, _):
        names = [names] if isinstance(names, str) else names
        if not all(name in _TYPES for name in names):
            raise SchemaError("an unknown type")
        tests = [_TYPES[name] for name in names]
        return lambda value, at: None if any(test(value) for test in tests) else Violation(at, "type")

    def kw_enum(self, values, _):
        return lambda value, at: None if any(equal(value, one) for one in values) else Violation(at, "enum")

    def kw_const(self, constant, _):
        return lambda value, at: None if equal(value, constant) else Violation(at, "const")

    # numbers

    def _number(self, keyword, holds):
        return lambda value, at: Violation(at, keyword) if _is_number(value) and not holds(value) else None

    def kw_minimum(self, limit, _):
        return self._number("minimum", lambda value: value >= limit)

    def kw_maximum(self, limit, _):
        return self._number("maximum", lambda value: value <= limit)

    def kw_exclusiveMinimum(self, limit, _):
        return self._number("exclusiveMinimum", lambda value: value > limit)

    def kw_exclusiveMaximum(self, limit, _):
        return self._number("exclusiveMaximum", lambda value: value < limit)

    def kw_multipleOf(self, factor, _):
        # In decimal, so that 0.3 is a multiple of 0.1, as it is for whoever wrote the schema.
        step = Decimal(str(factor))

        def holds(value):
            try:
                return Decimal(str(value)) % step == 0
            except ArithmeticError:  # beyond the precision of the context: it cannot be told
                return False

        return self._number("multipleOf", holds)

    # strings; Python counts code points, as JSON Schema does

    def _string(self, keyword, holds):
        return lambda value, at: Violation(at, keyword) if isinstance(value, str) and not holds(value) else None

    def kw_minLength(self, limit, _):
        return self._string("minLength", lambda value: len(value) >= limit)

    def kw_maxLength(self, limit, _):
        return self._string("maxLength", lambda value: len(value) <= limit)

    def kw_pattern(self, pattern, _):
        return self._string("pattern", _regex(pattern).search)

    # arrays

    def _array(self, keyword, holds):
        return lambda value, at: Violation(at, keyword) if isinstance(value, list) and not holds(value) else None

    def kw_minItems(self, limit, _):
        return self._array("minItems", lambda value: len(value) >= limit)

    def kw_maxItems(self, limit, _):
        return self._array("maxItems", lambda value: len(value) <= limit)

    def kw_uniqueItems(self, wanted, _):
        def unique(items):
            return len(set(map(_hashable, items))) == len(items)

        return self._array("uniqueItems", unique if wanted else lambda value: True)

    def kw_prefixItems(self, schemas, _):
        checks = self._each(schemas)

        def check(value, at):
            if isinstance(value, list):
                for index, (item, check_item) in enumerate(zip(value, checks)):
                    violation = check_item(item, (*at, index))
                    if violation is not None:
                        return violation
            return None

        return check

    def kw_items(self, schema, siblings):
        check_item = self.compile(schema)
        start = len(siblings.get("prefixItems", ()))

        def check(value, at):
            if isinstance(value, list):
                for index in range(start, len(value)):
                    violation = check_item(value[index], (*at, index))
                    if violation is not None:
                        return violation
            return None

        return check

    def kw_contains(self, schema, siblings):
        check_item = self.compile(schema)
        least, most = siblings.get("minContains", 1), siblings.get("maxContains", float("inf"))

        def holds(items):
            return least <= sum(check_item(item, ()) is None for item in items) <= most

        return self._array("contains", holds)

    # objects

    def _object(self, keyword, holds):
        return lambda value, at: Violation(at, keyword) if isinstance(value, dict) and not holds(value) else None

    def kw_required(self, names, _):
        return self._object("required", lambda value: all(name in value for name in names))

    def kw_minProperties(self, limit, _):
        return self._object("minProperties", lambda value: len(value) >= limit)

    def kw_maxProperties(self, limit, _):
        return self._object("maxProperties", lambda value: len(value) <= limit)

    def kw_dependentRequired(self, dependencies, _):
        def holds(value):
            return all(name in value for key, names in dependencies.items() if key in value for name in names)

        return self._object("dependentRequired", holds)

    def kw_dependentSchemas(self, schemas, _):
        checks = self._map(schemas)

        def check(value, at):
            if isinstance(value, dict):
                for name, check_whole in checks.items():
                    violation = check_whole(value, at) if name in value else None
                    if violation is not None:
                        return violation
            return None

        return check

    def kw_propertyNames(self, schema, _):
        check_name = self.compile(schema)
        return self._object("propertyNames", lambda value: all(check_name(name, ()) is None for name in value))

    def kw_properties(self, schemas, _):
        checks = self._map(schemas)

        def check(value, at):
            if isinstance(value, dict):
                for name, check_member in checks.items():
                    if name in value:
                        violation = check_member(value[name], (*at, name))
                        if violation is not None:
                            return violation
            return None

        return check

    def kw_patternProperties(self, schemas, _):
        checks = [(_regex(pattern), self.compile(schema)) for pattern, schema in schemas.items()]

        def check(value, at):
            if isinstance(value, dict):
                for name, member in value.items():
                    for pattern, check_member in checks:
                        violation = check_member(member, (*at, name)) if pattern.search(name) else None
                        if violation is not None:
                            return violation
            return None

        return check

    def kw_additionalProperties(self, schema, siblings):
        check_member = self.compile(schema)
        named = frozenset(siblings.get("properties", ()))
        patterns = [_regex(pattern) for pattern in siblings.get("patternProperties", ())]

        def check(value, at):
            if isinstance(value, dict):
                for name, member in value.items():
                    if name in named or any(pattern.search(name) for pattern in patterns):
                        continue
                    violation = check_member(member, (*at, name))
                    if violation is not None:
                        return violation._replace(keyword="additionalProperties") if schema is False else violation
            return None

        return check

    # combinations

    def kw_allOf(self, schemas, _):
        checks = self._each(schemas)

        def check(value, at):
            for check_one in checks:
                violation = check_one(value, at)
                if violation is not None:
                    return violation
            return None

        return check

    def kw_anyOf(self, schemas, _):
        checks = self._each(schemas)
        return lambda value, at: None if any(c(value, at) is None for c in checks) else Violation(at, "anyOf")

    def kw_oneOf(self, schemas, _):
        checks = self._each(schemas)
        return lambda value, at: None if sum(c(value, at) is None for c in checks) == 1 else Violation(at, "oneOf")

    def kw_not(self, schema, _):
        check_it = self.compile(schema)
        return lambda value, at: Violation(at, "not") if check_it(value, at) is None else None

    def kw_if(self, schema, siblings):
        condition = self.compile(schema)
        then, otherwise = self.compile(siblings.get("then", True)), self.compile(siblings.get("else", True))
        return lambda value, at: (then if condition(value, at) is None else otherwise)(value, at)


def _regex(pattern):
    try:
        return re.compile(pattern)
    except re.error:
        raise SchemaError("a pattern is not a regular expression") from None


def _find_anchor(node, name):
    if isinstance(node, dict):
        if node.get("$anchor") == name:
            return node
        node = node.values()
    elif not isinstance(node, list):
        return None
    for child in node:
        found = _find_anchor(child, name)
        if found is not None:
            return found
    return None
