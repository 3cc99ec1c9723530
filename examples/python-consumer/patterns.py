"""ECMA-262 regular expressions (the `pattern` keyword) that cannot hang the process.

Python's `re` may need exponential time for a pattern like `(a+)+$`, holds the interpreter meanwhile and
differs from ECMA-262 (`$`, `\\d`, `\\w`). Here a pattern becomes a small program that is run with an explicit
stack; a state (instruction, position, captures) is never visited twice, so time is at most program × text,
and each step is taken from a budget. What is not understood is refused, never guessed.
"""

import unicodedata

import limits


class PatternError(ValueError):
    """The pattern is invalid, not supported, or too large to run safely."""


class BudgetSpent(Exception):
    """The budget ended before there was an answer; the caller must not assume any."""


class Budget:
    """Steps that may still be taken; shared by everything that one check does."""

    def __init__(self, steps):
        self.left = steps

    def spend(self, steps=1):
        self.left -= steps
        if self.left < 0:
            raise BudgetSpent()


# -- sets of characters -------------------------------------------------------------------------
_LINE_ENDS = "\n\r\u2028\u2029"
_SPACES = "\t\n\v\f\r \u00a0\ufeff\u2028\u2029"
_CATEGORY_NAMES = {
    "Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Mark": "M", "Number": "N",
    "Decimal_Number": "Nd", "Punctuation": "P", "Symbol": "S", "Separator": "Z", "Space_Separator": "Zs", "Other": "C",
}
_CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co Cn".split()
)


def _is_digit(c):
    return "0" <= c <= "9"


def _is_word(c):
    return "a" <= c <= "z" or "A" <= c <= "Z" or "0" <= c <= "9" or c == "_"


def _is_space(c):
    return c in _SPACES or unicodedata.category(c) == "Zs"


def _not(test):
    return lambda c: not test(c)


def _exactly(literal):
    return lambda c: c == literal


_CLASSES = {
    "d": _is_digit, "D": _not(_is_digit), "w": _is_word, "W": _not(_is_word), "s": _is_space, "S": _not(_is_space),
}


def _category(name, negated):
    key, _, value = name.rpartition("=")
    if key not in ("", "General_Category", "gc"):
        raise PatternError("unsupported property")
    value = _CATEGORY_NAMES.get(value, value)
    if key == "" and value == "Any":
        return lambda c: not negated
    if key == "" and value == "ASCII":
        return lambda c: (c <= "\x7f") != negated
    if value not in _CATEGORIES:
        raise PatternError("unsupported property")
    return lambda c: unicodedata.category(c).startswith(value) != negated


def _union(tests, negated):
    def test(c):
        for one in tests:
            if one(c):
                return not negated
        return negated

    return test


def _range(first, last):
    return lambda c: first <= c <= last


# -- parsing ------------------------------------------------------------------------------------
# A node is a tuple: ("char", test) ("cat", [nodes]) ("alt", [nodes]) ("repeat", node, least, most or None, greedy)
# ("group", number, node) ("look", node, negated, behind) ("back", number) ("start",) ("end",) ("word", negated)
_MAX_GROUPS_DEEP = 40
_SYNTAX = set("^$\\.*+?()[]{}|/")


class _Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.groups = 0
        self.names = {}
        self.references = []
        self.deep = 0

    def parse(self):
        node = self.alternatives()
        if self.at < len(self.text):
            raise PatternError("unbalanced )")
        for reference in self.references:
            number = self.names.get(reference) if isinstance(reference, str) else reference
            if number is None or number > self.groups:
                raise PatternError("no such group")
        return node

    def peek(self, literal):
        return self.text.startswith(literal, self.at)

    def take(self, literal):
        if self.peek(literal):
            self.at += len(literal)
            return True
        return False

    def next(self):
        if self.at >= len(self.text):
            raise PatternError("ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def alternatives(self):
        self.deep += 1
        if self.deep > _MAX_GROUPS_DEEP:
            raise PatternError("nested too deeply")
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        self.deep -= 1
        return branches[0] if len(branches) == 1 else ("alt", branches)

    def sequence(self):
        items = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            items.append(self.term())
        return ("cat", items)

    def term(self):
        c = self.next()
        if c == "^":
            return ("start",)
        if c == "$":
            return ("end",)
        if c == "(":
            return self.group()
        if c in "*+?":
            raise PatternError("nothing to repeat")
        if c == ".":
            return self.quantified(("char", lambda c: c not in _LINE_ENDS))
        if c == "[":
            return self.quantified(("char", self.char_class()))
        if c == "\\":
            return self.escape()
        if c == "{":
            self.at -= 1
            if self.counts() is not None:
                raise PatternError("nothing to repeat")
            self.at += 1
        return self.quantified(("char", _exactly(c)))

    def group(self):
        if self.take("?:"):
            node = self.alternatives()
        elif self.take("?=") or self.take("?!"):
            return self.look(self.text[self.at - 1] == "!", False)
        elif self.take("?<=") or self.take("?<!"):
            return self.look(self.text[self.at - 1] == "!", True)
        else:
            name = None
            if self.take("?<"):
                name = self.name()
            elif self.peek("?"):
                raise PatternError("unsupported group")
            self.groups += 1
            number = self.groups
            if name is not None:
                if name in self.names:
                    raise PatternError("group name used twice")
                self.names[name] = number
            node = ("group", number, self.alternatives())
        if not self.take(")"):
            raise PatternError("missing )")
        return self.quantified(node)

    def look(self, negated, behind):
        node = self.alternatives()
        if not self.take(")"):
            raise PatternError("missing )")
        return ("look", node, negated, behind)

    def name(self):
        end = self.text.find(">", self.at)
        name = self.text[self.at:end] if end > 0 else ""
        if not name.isidentifier():
            raise PatternError("bad group name")
        self.at = end + 1
        return name

    def quantified(self, node):
        least, most = 1, 1
        if self.take("*"):
            least, most = 0, None
        elif self.take("+"):
            least, most = 1, None
        elif self.take("?"):
            least, most = 0, 1
        elif self.peek("{"):
            counts = self.counts()
            if counts is None:
                return node
            least, most = counts
        else:
            return node
        greedy = not self.take("?")
        return ("repeat", node, least, most, greedy)

    def counts(self):
        """{n}, {n,} or {n,m} at this place; None (and nothing read) when it is a literal brace."""
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1:end].partition(",") if end > 0 else ("", "", "")
        if not _digits(low) or (high and not _digits(high)):
            return None
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if most is not None and most < least:
            raise PatternError("numbers out of order")
        self.at = end + 1
        return least, most

    def escape(self):
        c = self.next()
        if c in "bB":
            return ("word", c == "B")
        if c in "123456789":
            digits = c
            while self.at < len(self.text) and self.text[self.at] in "0123456789" and len(digits) < 3:
                digits += self.next()
            self.references.append(int(digits))
            return self.quantified(("back", int(digits)))
        if c == "k" and self.take("<"):
            name = self.name()
            self.references.append(name)
            return self.quantified(("back", name))
        test = self.class_escape(c)
        return self.quantified(("char", test if test is not None else _exactly(self.char_escape(c))))

    def class_escape(self, c):
        if c in _CLASSES:
            return _CLASSES[c]
        if c in "pP":
            end = self.text.find("}", self.at)
            if not self.take("{") or end < 0:
                raise PatternError("bad property")
            name = self.text[self.at:end]
            self.at = end + 1
            return _category(name, c == "P")
        return None

    def char_escape(self, c):
        plain = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}.get(c)
        if plain is not None:
            return plain
        if c == "0":
            if self.at < len(self.text) and self.text[self.at] in "0123456789":
                raise PatternError("octal escape")
            return "\0"
        if c == "c":
            letter = self.next()
            if not (letter.isascii() and letter.isalpha()):
                raise PatternError("bad control escape")
            return chr(ord(letter) % 32)
        if c == "x":
            return chr(self.hexadecimal(2))
        if c == "u":
            return self.unicode_escape()
        if c in _SYNTAX or not (c.isalnum() or c == "_"):
            return c
        raise PatternError("unknown escape")

    def unicode_escape(self):
        if self.take("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at:end] if end > 0 else ""
            if not 0 < len(digits) <= 6 or any(d not in "0123456789abcdefABCDEF" for d in digits):
                raise PatternError("bad escape")
            self.at = end + 1
            code = int(digits, 16)
            if code > 0x10FFFF:
                raise PatternError("bad escape")
            return chr(code)
        code = self.hexadecimal(4)
        if 0xD800 <= code <= 0xDBFF and self.peek("\\u"):
            before = self.at
            self.at += 2
            low = self.hexadecimal(4) if not self.peek("{") else 0
            if 0xDC00 <= low <= 0xDFFF:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            self.at = before
        return chr(code)

    def hexadecimal(self, length):
        digits = self.text[self.at:self.at + length]
        if len(digits) < length or any(d not in "0123456789abcdefABCDEF" for d in digits):
            raise PatternError("bad escape")
        self.at += length
        return int(digits, 16)

    def char_class(self):
        negated = self.take("^")
        tests = []
        while not self.take("]"):
            first = self.class_atom()
            if self.peek("-") and not self.peek("-]") and self.at + 1 < len(self.text):
                self.at += 1
                last = self.class_atom()
                if isinstance(first, str) and isinstance(last, str):
                    if last < first:
                        raise PatternError("range out of order")
                    tests.append(_range(first, last))
                    continue
                # `[\w-x]`: the hyphen stands for itself.
                for atom in (first, "-", last):
                    tests.append(_exactly(atom) if isinstance(atom, str) else atom)
                continue
            tests.append(_exactly(first) if isinstance(first, str) else first)
        return _union(tests, negated)

    def class_atom(self):
        c = self.next()
        if c != "\\":
            return c
        c = self.next()
        if c == "b":
            return "\b"
        return self.class_escape(c) or self.char_escape(c)


def _digits(text):
    return text.isascii() and text.isdigit() and len(text) <= 6


# -- the program --------------------------------------------------------------------------------
_CHAR, _SPLIT, _JUMP, _SAVE, _START, _END, _WORD, _LOOK, _BACK, _MATCH = range(10)


class _Compiler:
    def __init__(self, budget, names, captures):
        self.budget = budget
        self.names = names
        self.captures = captures       # whether any back reference needs them
        self.size = 0

    def program(self, node):
        code = []
        self.emit(node, code)
        self.add(code, (_MATCH,))
        return code

    def add(self, code, instruction):
        self.size += 1
        if self.size > limits.MAX_PATTERN_PROGRAM:
            raise PatternError("too large")
        self.budget.spend()
        code.append(instruction)

    def emit(self, node, code):
        kind = node[0]
        if kind == "char":
            self.add(code, (_CHAR, node[1]))
        elif kind == "cat":
            for item in node[1]:
                self.emit(item, code)
        elif kind == "alt":
            self.emit_alternatives(node[1], code)
        elif kind == "repeat":
            self.emit_repeat(node, code)
        elif kind == "group":
            if self.captures:
                self.add(code, (_SAVE, 2 * node[1]))
            self.emit(node[2], code)
            if self.captures:
                self.add(code, (_SAVE, 2 * node[1] + 1))
        elif kind == "look":
            self.add(code, (_LOOK, self.program(node[1]), node[2], node[3]))
        elif kind == "back":
            number = self.names[node[1]] if isinstance(node[1], str) else node[1]
            self.add(code, (_BACK, number))
        else:
            self.add(code, {"start": (_START,), "end": (_END,)}.get(kind) or (_WORD, node[1]))

    def emit_alternatives(self, branches, code):
        leave = []
        for branch in branches[:-1]:
            split = len(code)
            self.add(code, None)
            self.emit(branch, code)
            leave.append(len(code))
            self.add(code, None)
            code[split] = (_SPLIT, split + 1, len(code))
        self.emit(branches[-1], code)
        for place in leave:
            code[place] = (_JUMP, len(code))

    def emit_repeat(self, node, code):
        _, item, least, most, greedy = node
        for _ in range(least):
            before = self.size
            self.emit(item, code)
            if self.size == before:
                # An empty item: once is as good as a million times, and costs nothing to count.
                break
        if most is None:
            split = len(code)
            self.add(code, None)
            self.emit(item, code)
            self.add(code, (_JUMP, split))
            code[split] = self.split(split + 1, len(code), greedy)
            return
        skips = []
        for _ in range(most - least):
            skips.append(len(code))
            self.add(code, None)
            self.emit(item, code)
        for place in skips:
            code[place] = self.split(place + 1, len(code), greedy)

    @staticmethod
    def split(again, done, greedy):
        return (_SPLIT, again, done) if greedy else (_SPLIT, done, again)


def _has_reference(node):
    if isinstance(node, tuple):
        return node[0] == "back" or any(_has_reference(part) for part in node[1:])
    return isinstance(node, list) and any(_has_reference(part) for part in node)


class Pattern:
    """A compiled pattern; `search` is unanchored, as JSON Schema wants it."""

    def __init__(self, text, budget):
        if len(text) > limits.MAX_PATTERN_CHARS:
            raise PatternError("too long")
        budget.spend(len(text))
        parser = _Parser(text)
        node = parser.parse()
        compiler = _Compiler(budget, parser.names, _has_reference(node))
        self._program = compiler.program(node)
        self._captures = (-1,) * (2 * parser.groups + 2) if compiler.captures else ()

    def search(self, text, budget):
        visited = set()
        for start in range(len(text) + 1):
            if _run(self._program, text, start, self._captures, budget, visited, None) is not None:
                return True
        return False


def _run(program, text, position, captures, budget, visited, end):
    """The captures of the first match from `position` (ending at `end` if given), or None."""
    length = len(text)
    stack = [(0, position, captures)]
    left = budget.left
    while stack:
        pc, position, captures = stack.pop()
        while True:
            left -= 1
            if left < 0:
                budget.left = left
                raise BudgetSpent()
            instruction = program[pc]
            kind = instruction[0]
            if kind == _CHAR:
                if position >= length or not instruction[1](text[position]):
                    break
                position += 1
                pc += 1
            elif kind == _SPLIT:
                # Every loop passes a split, so remembering states here is enough to end.
                state = (pc, position, captures) if captures else pc * (length + 1) + position
                if state in visited:
                    break
                if len(visited) >= limits.MAX_PATTERN_STATES:
                    raise BudgetSpent()
                visited.add(state)
                stack.append((instruction[2], position, captures))
                pc = instruction[1]
            elif kind == _JUMP:
                pc = instruction[1]
            elif kind == _SAVE:
                slot = instruction[1]
                captures = captures[:slot] + (position,) + captures[slot + 1:]
                left -= len(captures)
                pc += 1
            elif kind == _MATCH:
                if end is not None and position != end:
                    break
                budget.left = left
                return captures
            elif kind == _BACK:
                first, last = captures[2 * instruction[1]], captures[2 * instruction[1] + 1]
                # A group that took no part matches the empty text.
                wanted = text[first:last] if 0 <= first <= last else ""
                left -= len(wanted)
                if not text.startswith(wanted, position):
                    break
                position += len(wanted)
                pc += 1
            elif kind == _LOOK:
                budget.left = left
                found = _look(instruction, text, position, captures, budget)
                left = budget.left
                if (found is not None) == instruction[2]:
                    break
                captures = found if found is not None else captures
                pc += 1
            else:
                if kind == _START:
                    holds = position == 0
                elif kind == _END:
                    holds = position == length
                else:
                    before = position > 0 and _is_word(text[position - 1])
                    after = position < length and _is_word(text[position])
                    holds = (before != after) != instruction[1]
                if not holds:
                    break
                pc += 1
    budget.left = left
    return None


def _look(instruction, text, position, captures, budget):
    _, program, _, behind = instruction
    if not behind:
        return _run(program, text, position, captures, budget, set(), None)
    visited = set()
    for start in range(position, -1, -1):
        found = _run(program, text, start, captures, budget, visited, position)
        if found is not None:
            return found
    return None
