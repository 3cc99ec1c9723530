"""JSON Schema draft 2020-12, offline and bounded (sections 3.2 and 7.3).

`Schema(document, budget)` checks the schema itself: keyword types, patterns, and that every `$ref` and
`$dynamicRef` is a fragment that resolves in the same document. There is no code here that could fetch
anything. `Schema.accepts(value)` takes each step from a budget: references that double the work at each
level or refer to themselves end in `Undecided`, and undecided is never treated as accepted.

`format` and `content*` are annotations, as the draft has it by default.
"""

from fractions import Fraction
from urllib.parse import unquote

import limits
from patterns import Budget, BudgetSpent, Pattern, PatternError

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class SchemaError(ValueError):
    """The schema is invalid, refers outside itself, or is larger than this consumer checks."""


class Undecided(Exception):
    """The budget ended before it was known whether the value conforms."""


_ONE = ("additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema")
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_COUNT = ("maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains", "maxProperties",
          "minProperties")
_NUMBER = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf")
_TEXT = ("$comment", "title", "description", "format", "contentEncoding", "contentMediaType")
_FLAG = ("uniqueItems", "deprecated", "readOnly", "writeOnly")
_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value):
    return is_number(value) and value == int(value)


def _has_type(value, name):
    if name == "object":
        return isinstance(value, dict)
    if name == "array":
        return isinstance(value, list)
    if name == "string":
        return isinstance(value, str)
    if name == "integer":
        return _is_integer(value)
    if name == "number":
        return is_number(value)
    if name == "boolean":
        return isinstance(value, bool)
    return value is None


class _Resource:
    """A schema with an `$id` of its own, or the document: what `#` and anchors are relative to."""

    def __init__(self, root):
        self.root = root
        self.anchors = {}
        self.dynamic = {}


class Schema:
    def __init__(self, document, budget, dialect=DIALECT):
        self._document = document
        self._budget = budget
        self._dialect = dialect
        self._resources = {}       # id(subschema) -> _Resource; the document keeps the ids alive
        self._patterns = {}
        self._targets = {}         # (id(subschema), keyword) -> subschema
        self._nodes = 0
        self._chars = 0
        self._tracks = False       # whether unevaluated* is used, and annotations must be collected
        try:
            self._compile()
        except BudgetSpent:
            raise SchemaError("too much work to check") from None
        except PatternError as error:
            raise SchemaError(f"pattern: {error}") from None

    # -- checking the schema --------------------------------------------------------------------
    def _compile(self):
        root = _Resource(self._document)
        references = []
        todo = [(self._document, root)]
        while todo or references:
            while todo:
                schema, resource = todo.pop()
                self._check(schema, resource, todo, references)
            # A reference may lead to a place that no keyword leads to; then that is checked as well.
            schema, keyword, resource = references.pop() if references else (None, None, None)
            if schema is None:
                break
            target, home = self._resolve(schema[keyword], resource)
            self._targets[id(schema), keyword] = target
            if isinstance(target, dict) and id(target) not in self._resources:
                todo.append((target, home))

    def _check(self, schema, resource, todo, references):
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise SchemaError("a schema is neither an object nor a Boolean")
        if id(schema) in self._resources:
            return
        self._nodes += 1
        self._budget.spend(1 + len(schema))
        if self._nodes > limits.MAX_SCHEMA_NODES:
            raise SchemaError("too many subschemas")
        if "$id" in schema:
            if not isinstance(schema["$id"], str) or "#" in schema["$id"].removesuffix("#"):
                raise SchemaError("$id")
            if schema is not resource.root:
                resource = _Resource(schema)
        self._resources[id(schema)] = resource
        for keyword, value in schema.items():
            self._count_text(keyword)
            self._count_text(value)
            self._check_keyword(schema, keyword, value, resource, todo, references)

    def _count_text(self, value):
        if isinstance(value, str):
            self._chars += len(value)
            if self._chars > limits.MAX_SCHEMA_CHARS:
                raise SchemaError("too long")

    def _check_keyword(self, schema, keyword, value, resource, todo, references):
        if keyword in _ONE:
            todo.append((value, resource))
            self._tracks = self._tracks or keyword.startswith("unevaluated")
        elif keyword in _LIST:
            _require(isinstance(value, list) and value, keyword)
            todo.extend((item, resource) for item in value)
        elif keyword in _MAP:
            _require(isinstance(value, dict), keyword)
            for name, item in value.items():
                self._count_text(name)
                if keyword == "patternProperties":
                    self._compile_pattern(name)
                todo.append((item, resource))
        elif keyword == "pattern":
            _require(isinstance(value, str), keyword)
            self._compile_pattern(value)
        elif keyword in ("$ref", "$dynamicRef"):
            _require(isinstance(value, str), keyword)
            if not value.startswith("#"):
                # 3.2: only fragments of the same document; anything else is refused, unfetched.
                raise SchemaError(f"{keyword} leaves the document")
            references.append((schema, keyword, resource))
        elif keyword in ("$anchor", "$dynamicAnchor"):
            _require(isinstance(value, str) and _is_anchor(value), keyword)
            _require(resource.anchors.setdefault(value, schema) is schema, keyword)
            if keyword == "$dynamicAnchor":
                resource.dynamic[value] = schema
        elif keyword == "$schema":
            _require(isinstance(value, str), keyword)
            if self._dialect is not None and value.removesuffix("#") != self._dialect:
                raise SchemaError("unknown dialect")
        elif keyword == "type":
            names = value if isinstance(value, list) else [value]
            _require(names and all(isinstance(name, str) and name in _TYPES for name in names), keyword)
            _require(len(set(names)) == len(names), keyword)
        elif keyword == "enum":
            _require(isinstance(value, list), keyword)
        elif keyword in _NUMBER:
            _require(is_number(value) and (keyword != "multipleOf" or value > 0), keyword)
        elif keyword in _COUNT:
            _require(_is_integer(value) and value >= 0, keyword)
        elif keyword == "required":
            self._check_names(value, keyword)
        elif keyword == "dependentRequired":
            _require(isinstance(value, dict), keyword)
            for name, names in value.items():
                self._count_text(name)
                self._check_names(names, keyword)
        elif keyword in _TEXT:
            _require(isinstance(value, str), keyword)
        elif keyword in _FLAG:
            _require(isinstance(value, bool), keyword)
        elif keyword == "examples":
            _require(isinstance(value, list), keyword)

    def _check_names(self, value, keyword):
        _require(isinstance(value, list) and all(isinstance(name, str) for name in value), keyword)
        _require(len(set(value)) == len(value), keyword)
        self._budget.spend(len(value))
        for name in value:
            self._count_text(name)

    def _compile_pattern(self, text):
        if text not in self._patterns:
            self._patterns[text] = Pattern(text, self._budget)

    def _resolve(self, reference, resource):
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            target = resource.anchors.get(fragment)
            if target is None:
                raise SchemaError("a reference leads nowhere")
            return target, resource
        target = resource.root
        for step in fragment.split("/")[1:]:
            self._budget.spend()
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and step in target:
                target = target[step]
            elif isinstance(target, list) and step.isascii() and step.isdigit() and len(step) < 7 and int(step) < len(target):
                target = target[int(step)]
            else:
                raise SchemaError("a reference leads nowhere")
            # Below an embedded resource its own anchors count.
            resource = self._resources.get(id(target), resource) if isinstance(target, dict) else resource
        if not isinstance(target, (dict, bool)):
            raise SchemaError("a reference leads to no schema")
        return target, resource

    # -- checking a value -----------------------------------------------------------------------
    def accepts(self, value, steps=limits.VALIDATION_STEPS):
        run = _Run(self, Budget(steps))
        try:
            return run.accepts(self._document, value, 0, (), run.seen())
        except (BudgetSpent, RecursionError):
            raise Undecided() from None


def _require(condition, keyword):
    if not condition:
        raise SchemaError(f"invalid {keyword}")


def _is_anchor(text):
    return text.isascii() and (text[:1].isalpha() or text[:1] == "_") and all(c.isalnum() or c in "-_." for c in text)


class _Seen:
    """What adjacent keywords have evaluated, for unevaluatedProperties and unevaluatedItems."""

    __slots__ = ("properties", "items", "prefix")

    def __init__(self):
        self.properties = set()
        self.items = set()
        self.prefix = 0

    def merge(self, other):
        self.properties |= other.properties
        self.items |= other.items
        self.prefix = max(self.prefix, other.prefix)


class _Run:
    """One validation: the schema, the budget, and recursion that is bounded by a counter of its own."""

    def __init__(self, schema, budget):
        self._schema = schema
        self._budget = budget

    def seen(self):
        return _Seen() if self._schema._tracks else None

    def accepts(self, schema, value, depth, scope, seen):
        self._budget.spend()
        if depth > limits.MAX_SCHEMA_RECURSION:
            raise BudgetSpent()
        if isinstance(schema, bool):
            return schema
        resource = self._schema._resources[id(schema)]
        if not scope or scope[-1] is not resource:
            scope = scope + (resource,)
        self._budget.spend(len(schema))
        context = (depth + 1, scope)
        return (
            self._in_place(schema, value, context, seen)
            and self._plain(schema, value)
            and (not isinstance(value, dict) or self._object(schema, value, context, seen))
            and (not isinstance(value, list) or self._array(schema, value, context, seen))
        )

    def _apply(self, schema, value, context, seen):
        """An in-place subschema: what it evaluates counts only if it accepts."""
        inner = self.seen()
        if not self.accepts(schema, value, *context, inner):
            return False
        if seen is not None:
            self._budget.spend(len(inner.properties) + len(inner.items))
            seen.merge(inner)
        return True

    def _in_place(self, schema, value, context, seen):
        if "$ref" in schema:
            if not self._apply(self._schema._targets[id(schema), "$ref"], value, context, seen):
                return False
        if "$dynamicRef" in schema:
            if not self._apply(self._dynamic_target(schema, context[1]), value, context, seen):
                return False
        for branch in schema.get("allOf", ()):
            if not self._apply(branch, value, context, seen):
                return False
        if "anyOf" in schema:
            found = False
            for branch in schema["anyOf"]:
                if self._apply(branch, value, context, seen):
                    found = True
                    if seen is None:
                        break          # the others could only add annotations
            if not found:
                return False
        if "oneOf" in schema:
            count = 0
            for branch in schema["oneOf"]:
                if self._apply(branch, value, context, seen):
                    count += 1
                    if count > 1:
                        return False
            if count != 1:
                return False
        if "not" in schema and self._apply(schema["not"], value, context, None if seen is None else _Seen()):
            return False
        if "if" in schema:
            branch = "then" if self._apply(schema["if"], value, context, seen) else "else"
            if branch in schema and not self._apply(schema[branch], value, context, seen):
                return False
        if isinstance(value, dict):
            for name, branch in schema.get("dependentSchemas", {}).items():
                if name in value and not self._apply(branch, value, context, seen):
                    return False
        return True

    def _dynamic_target(self, schema, scope):
        target = self._schema._targets[id(schema), "$dynamicRef"]
        name = unquote(schema["$dynamicRef"][1:])
        if isinstance(target, dict) and target.get("$dynamicAnchor") == name:
            for resource in scope:
                if name in resource.dynamic:
                    return resource.dynamic[name]
        return target

    def _plain(self, schema, value):
        if "type" in schema:
            names = schema["type"]
            if isinstance(names, str):
                if not _has_type(value, names):
                    return False
            elif not any([_has_type(value, name) for name in names]):
                return False
        if "const" in schema and not self._equal(schema["const"], value):
            return False
        if "enum" in schema:
            for allowed in schema["enum"]:
                if self._equal(allowed, value):
                    break
            else:
                return False
        if isinstance(value, str):
            return self._text(schema, value)
        if is_number(value):
            return self._number(schema, value)
        return True

    def _text(self, schema, value):
        if "maxLength" in schema and len(value) > schema["maxLength"]:
            return False
        if "minLength" in schema and len(value) < schema["minLength"]:
            return False
        return "pattern" not in schema or self._matches(schema["pattern"], value)

    def _matches(self, pattern, text):
        return self._schema._patterns[pattern].search(text, self._budget)

    def _number(self, schema, value):
        if "maximum" in schema and value > schema["maximum"]:
            return False
        if "minimum" in schema and value < schema["minimum"]:
            return False
        if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
            return False
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            return False
        # In decimal, as it is written: 0.3 is a multiple of 0.1.
        return "multipleOf" not in schema or Fraction(str(value)) % Fraction(str(schema["multipleOf"])) == 0

    def _object(self, schema, value, context, seen):
        count = len(value)
        if count > schema.get("maxProperties", count) or count < schema.get("minProperties", 0):
            return False
        required = schema.get("required", ())
        self._budget.spend(len(required))
        for name in required:
            if name not in value:
                return False
        for name, names in schema.get("dependentRequired", {}).items():
            self._budget.spend(1 + len(names))
            if name in value:
                for other in names:
                    if other not in value:
                        return False
        if "propertyNames" in schema:
            for name in value:
                if not self.accepts(schema["propertyNames"], name, *context, self.seen()):
                    return False
        return self._properties(schema, value, context, seen)

    def _properties(self, schema, value, context, seen):
        properties = schema.get("properties", {})
        by_pattern = schema.get("patternProperties", {})
        evaluated = set()
        self._budget.spend(len(properties))
        for name, branch in properties.items():
            if name in value:
                if not self.accepts(branch, value[name], *context, self.seen()):
                    return False
                evaluated.add(name)
        for pattern, branch in by_pattern.items():
            for name, item in value.items():
                if self._matches(pattern, name):
                    if not self.accepts(branch, item, *context, self.seen()):
                        return False
                    evaluated.add(name)
        if "additionalProperties" in schema:
            self._budget.spend(len(value))
            for name, item in value.items():
                if name not in evaluated:
                    if not self.accepts(schema["additionalProperties"], item, *context, self.seen()):
                        return False
            evaluated.update(value)
        if seen is None:
            return True
        seen.properties |= evaluated
        if "unevaluatedProperties" in schema:
            self._budget.spend(len(value))
            for name, item in value.items():
                if name not in seen.properties:
                    if not self.accepts(schema["unevaluatedProperties"], item, *context, self.seen()):
                        return False
            seen.properties.update(value)
        return True

    def _array(self, schema, value, context, seen):
        count = len(value)
        if count > schema.get("maxItems", count) or count < schema.get("minItems", 0):
            return False
        if schema.get("uniqueItems") and not self._unique(value):
            return False
        prefix = schema.get("prefixItems", ())
        for branch, item in zip(prefix, value):
            if not self.accepts(branch, item, *context, self.seen()):
                return False
        done = min(len(prefix), count)
        if "items" in schema:
            for index in range(done, count):
                if not self.accepts(schema["items"], value[index], *context, self.seen()):
                    return False
            done = count
        contained = set()
        if "contains" in schema:
            for index in range(count):
                if self.accepts(schema["contains"], value[index], *context, self.seen()):
                    contained.add(index)
            least = schema.get("minContains", 1)
            if len(contained) < least or len(contained) > schema.get("maxContains", count):
                return False
        if seen is None:
            return True
        seen.prefix = max(seen.prefix, done)
        seen.items |= contained
        if "unevaluatedItems" in schema:
            for index in range(seen.prefix, count):
                if index not in seen.items:
                    if not self.accepts(schema["unevaluatedItems"], value[index], *context, self.seen()):
                        return False
            seen.prefix = count
        return True

    def _equal(self, left, right):
        """Equality of JSON: 1 is 1.0 and is not true; members in any order."""
        self._budget.spend()
        if isinstance(left, dict):
            if not isinstance(right, dict) or len(left) != len(right):
                return False
            for name, item in left.items():
                if name not in right or not self._equal(item, right[name]):
                    return False
            return True
        if isinstance(left, list):
            if not isinstance(right, list) or len(left) != len(right):
                return False
            for one, other in zip(left, right):
                if not self._equal(one, other):
                    return False
            return True
        if is_number(left):
            return is_number(right) and left == right
        return type(left) is type(right) and left == right

    def _unique(self, items):
        # Keys are built of texts only: the hash of a text cannot be steered by who wrote it.
        keys = set()
        for item in items:
            key = self._key(item)
            if key in keys:
                return False
            keys.add(key)
        return True

    def _key(self, value):
        self._budget.spend()
        if isinstance(value, dict):
            return ("object", frozenset([(name, self._key(item)) for name, item in value.items()]))
        if isinstance(value, list):
            return ("array", tuple([self._key(item) for item in value]))
        if is_number(value):
            return ("number", str(int(value)) if value == int(value) else repr(value))
        return (type(value).__name__, str(value))
