# SPDX-License-Identifier: Apache-2.0
"""What the variables of a TileLang kernel body are while it is recorded: whole numbers (Index),
comparisons of them (Condition), data (Value) and parts of buffers (Place).

An index is text of the kernel language and the parallel variables in it. Its least and largest
value over all blocks and iterations are found by interval arithmetic on that text.
"""

import ast
import contextvars
import itertools
import os
import re
import sys

from .. import _spad

recorder = contextvars.ContextVar("spad.tilelang.recorder", default=None)


class Uncovered(_spad.StateError):
    """A TileLang construct that spad does not record. The message has the line of the body."""

    def __init__(self, message):
        super().__init__(message + place_text(" ({}:{})"))


def source_line():
    """(file, line) of the kernel body that runs now, or None."""
    current, frame = recorder.get(), sys._getframe(1)
    file = current.file if current is not None else None
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return (file, frame.f_lineno) if frame is not None else None


def place_text(form):
    """The line of the body in a form such as " ({}:{})"; empty where there is none."""
    place = source_line()
    return form.format(os.path.basename(place[0]), place[1]) if place is not None else ""


def need():
    """The recorder of the running kernel body."""
    current = recorder.get()
    if current is None:
        raise _spad.StateError("this is part of a kernel body: use it inside `with T.Kernel(...)` of "
                               "a function with @T.prim_func, and call its record(target)")
    return current


# ---- numbers -----------------------------------------------------------------------------------


class Index:
    """A whole number: text of the kernel language, and how often each parallel variable is in. A
    quotient or rest of a parallel variable counts as one: "p/8", "p%8"."""

    __slots__ = ("text", "parallel")

    def __init__(self, text, parallel=()):
        self.text, self.parallel = text, dict(parallel)

    def _with(self, other, sign, swap=False):
        if not isinstance(other, (int, Index)):
            return NotImplemented
        left, right = (_index(other), self) if swap else (self, _index(other))
        parallel = dict(left.parallel)
        for name, times in right.parallel.items():
            parallel[name] = parallel.get(name, 0) + times * (1 if sign == "+" else -1)
        text = right.text if left.text == "0" and sign == "+" else (
            left.text if right.text == "0" else f"({left.text} {sign} {right.text})")
        return Index(text, {k: n for k, n in parallel.items() if n})

    def __add__(self, other):
        return self._with(other, "+")

    def __radd__(self, other):
        return self._with(other, "+", True)

    def __sub__(self, other):
        return self._with(other, "-")

    def __rsub__(self, other):
        return self._with(other, "-", True)

    def __mul__(self, other):
        if not isinstance(other, (int, Index)):
            return NotImplemented
        other = _index(other)
        if self.parallel and other.parallel or (self.parallel and not other.text.isdigit()):
            raise Uncovered(f"{self!r} * {other!r} is not a sum of loop variables")
        if other.parallel:
            return other * self
        text = "0" if "0" in (self.text, other.text) else f"({self.text} * {other.text})"
        times = int(other.text) if self.parallel else 0
        return Index(text, {k: n * times for k, n in self.parallel.items() if times})

    __rmul__ = __mul__

    def _divided(self, op, other):
        alone = self.text == "0" and list(self.parallel.values()) == [1]
        if not isinstance(other, int) or (self.parallel and not alone):
            raise Uncovered(f"{self!r} {op} {other!r} is not a sum of loop variables")
        if other < 1:
            raise Uncovered(f"{self!r} {op} {other}: the right side is at least 1")
        if alone:
            return Index("0", {f"{name}{op}{other}": 1 for name in self.parallel})
        return Index(f"({self.text} {op} {other})")

    def __neg__(self):
        return 0 - self

    def __pos__(self):
        return self

    def __xor__(self, other):
        low, high = bounds(self) if not self.parallel else (0, 2)
        if other != 1 or low < 0 or high > 1:
            raise Uncovered(f"{self!r} ^ {other!r}: the other parity of 0 or 1 is covered")
        return 1 - self

    def __floordiv__(self, other):
        return self._divided("/", other)

    def __mod__(self, other):
        return self._divided("%", other)

    def _compared(self, relation, other):
        if isinstance(other, Value):
            return Value("other", other)
        return Condition([(self, relation, _index(other))])

    def __eq__(self, other):
        return self._compared("==", other)

    def __ne__(self, other):
        return self._compared("!=", other)

    def __lt__(self, other):
        return self._compared("<", other)

    def __le__(self, other):
        return self._compared("<=", other)

    def __gt__(self, other):
        return self._compared(">", other)

    def __ge__(self, other):
        return self._compared(">=", other)

    __hash__ = None

    def __bool__(self):
        raise Uncovered(f"the variable {self!r} as a truth value: compare it, as in `if {self!r} != 0`")

    def __index__(self):
        raise Uncovered(f"{self!r} where a number is needed: it is a variable of the kernel")

    def __repr__(self):
        return " + ".join([self.text, *self.parallel])


def _index(number):
    if isinstance(number, Index):
        return number
    if isinstance(number, int):
        return Index(str(number) if number >= 0 else f"(0 - {-number})")
    raise Uncovered(f"{type(number).__name__} as an index")


_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Condition:
    """Comparisons of indices that hold together: what an `if` of the kernel tests."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts

    def __and__(self, other):
        if not isinstance(other, Condition):
            return NotImplemented
        return Condition(self.parts + other.parts)

    def __or__(self, other):
        raise Uncovered("a condition with `or`: nest or repeat the `if`")

    def negated(self):
        """The opposite of one comparison."""
        if len(self.parts) != 1:
            raise Uncovered("the opposite of several comparisons: nest the `if`")
        left, relation, right = self.parts[0]
        return Condition([(left, _OPPOSITE[relation], right)])

    def masks(self):
        """Does it depend on a variable of T.Parallel?"""
        return any(left.parallel or right.parallel for left, _, right in self.parts)

    def text(self):
        """In the kernel language."""
        return " and ".join(f"{left.text} {relation} {right.text}"
                            for left, relation, right in self.parts)

    def __bool__(self):
        raise Uncovered(f"`{self.text()}` has no truth value while the body is recorded: test it with "
                        "`if` in the kernel or a T.macro, without break, continue or return on a "
                        "side of the branch, or with T.if_then_else")

    def __repr__(self):
        return self.text()


class _Interval:
    """The values that an index can have, for bounds(). Ends are inclusive."""

    __slots__ = ("low", "high")

    def __init__(self, low, high):
        self.low, self.high = low, high

    @classmethod
    def of(cls, number):
        return number if isinstance(number, cls) else cls(number, number)

    def __add__(self, other):
        other = self.of(other)
        return _Interval(self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __sub__(self, other):
        other = self.of(other)
        return _Interval(self.low - other.high, self.high - other.low)

    def __rsub__(self, other):
        return self.of(other) - self

    def __mul__(self, other):
        other = self.of(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return _Interval(min(ends), max(ends))

    __rmul__ = __mul__

    def __floordiv__(self, number):
        return _Interval(self.low // number, self.high // number)

    def __mod__(self, number):
        if self.low // number == self.high // number:
            return _Interval(self.low % number, self.high % number)
        return _Interval(0, number - 1)


def bounds(index):
    """(least, most) that an index without parallel variables can be."""
    names = {name: _Interval(0, most) for name, most in need().most.items()}
    made = _Interval.of(eval(index.text.replace("/", "//"), {"__builtins__": {}}, names))
    return made.low, made.high


class Value:
    """What an expression computes: its kind, and the places that it reads."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind, *parts):
        self.kind, self.parts = kind, parts

    def reads(self):
        """The places, in order."""
        for part in self.parts:
            if isinstance(part, Value):
                yield from part.reads()

    def _other(self, other):
        return Value("other", self, other)

    def __add__(self, other):
        return Value("sum", self, other)

    __radd__ = __add__
    __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _other
    __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = __lt__ = __le__ = __gt__ = __ge__ = _other

    __rpow__ = __rfloordiv__ = __rmod__ = __rand__ = __ror__ = __xor__ = __rxor__ = _other
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __eq__ = __ne__ = _other
    __hash__ = object.__hash__

    def __neg__(self):
        return Value("other", self)

    __invert__ = __abs__ = __neg__

    def astype(self, dtype):
        """The value as another type."""
        return Value("other", self)

    def __bool__(self):
        raise Uncovered("a branch on data of the kernel: what it does depends on values that are "
                        "not recorded; T.if_then_else is covered")


class Place(Value):
    """A part of a buffer: buffer[key]."""

    __slots__ = ("buffer", "key")

    def __init__(self, buffer, key):
        self.kind, self.parts = "place", ()
        self.buffer, self.key = buffer, key if isinstance(key, tuple) else (key,)
        if len(self.key) > len(buffer.shape):
            raise IndexError(f"{len(self.key)} indices for {len(buffer.shape)} dimensions")

    def reads(self):
        yield self

    def same(self, other):
        """Is it the same part of the same buffer?"""
        return (isinstance(other, Place) and other.buffer is self.buffer
                and repr(other.key) == repr(self.key))

    def extents(self):
        """The extents of its slices, or None: it has none."""
        shape = self.buffer.shape
        if not any(isinstance(k, slice) for k in self.key) and len(self.key) == len(shape):
            return None
        return [count for _, count in self.ranges() if count is not None]

    def ranges(self, counts=None):
        """[(first, count)] of each dimension; count None: one place. counts: extents of a region
        that begins here, for the last dimensions."""
        shape = self.buffer.shape
        key = (*self.key, *(slice(None),) * (len(shape) - len(self.key)))
        used = [base_of(name) for k in key if isinstance(k, Index) for name in k.parallel]
        if len(used) > len(set(used)):
            raise Uncovered(f"the index {list(self.key)}: a parallel variable in two dimensions is a "
                            "diagonal")
        out = []
        for axis, (k, extent) in enumerate(zip(key, shape)):
            if isinstance(k, slice):
                first = _index(0 if k.start is None else k.start)
                out.append((first, _length(first, k.stop, extent)))
                continue
            k = _index(k)
            k, count = _spread(k)
            at = axis - len(shape) + len(counts or ())
            if counts and at >= 0:
                count = counts[at]
            out.append((Index(k.text), count))
        return out


def _length(first, stop, extent):
    """The places from first up to stop: a number, whatever the loop variables are."""
    if stop is None:
        stop = extent
    if first.text.isdigit() and isinstance(stop, int):
        return stop - int(first.text)
    length = _difference(_index(stop), first)
    if length is None or first.parallel:
        raise Uncovered(f"a slice from {first!r} to {stop!r}: its length is not a number")
    return length


class _Atoms(ast.NodeTransformer):
    """Quotients and rests as names: the same text is the same name."""

    def visit_BinOp(self, node):
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            text = ast.unparse(node)
            return ast.copy_location(ast.Name("q" + text.encode().hex(), ast.Load()), node)
        return self.generic_visit(node)


def _difference(a, b):
    """a - b if it is the same number for all values of the variables, or None. Both are sums and
    products of numbers with variables, quotients and rests, so a difference that is the same where
    each of these is 0 or 1 is the same everywhere."""
    trees = [_Atoms().visit(ast.parse(x.text.replace("/", "//"), mode="eval")) for x in (a, b)]
    names = sorted({n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name)})
    codes = [compile(ast.fix_missing_locations(tree), "<index>", "eval") for tree in trees]
    found = set()
    for corner in itertools.product((0, 1), repeat=len(names)) if len(names) < 10 else ():
        values = {"__builtins__": {}, **dict(zip(names, corner))}
        found.add(eval(codes[0], values) - eval(codes[1], values))
    return found.pop() if len(found) == 1 else None


def words(text):
    """The names in the text of an index."""
    return {w for w in "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
            if not w.isdigit()}


def base_of(name):
    """The parallel variable of a quotient or rest of it."""
    return re.split("[/%]", name)[0]


def _loop_part(name):
    """[first, end) of the values of a parallel variable, or of a quotient or rest of one."""
    base, *operations = re.findall(r"[/%]\d+|^\w+", name)
    low, high = need().parallel[base]
    for operation in operations:
        by = int(operation[1:])
        if not isinstance(low, int) or not isinstance(high, int):
            raise Uncovered("a quotient or rest of a parallel variable inside a mask")
        if operation[0] == "/":
            low, high = low // by, (high - 1) // by + 1
        elif high - low >= by:
            low, high = 0, by
        elif low // by == (high - 1) // by:
            low, high = low % by, (high - 1) % by + 1
        else:
            raise Uncovered(f"the rests {name} are two pieces")
    return low, high


def _spread(index):
    """(first, count) of the places of an index over the parallel variables; count None: it has
    none of them. Masks around it cut the part of the loop."""
    if not index.parallel:
        return index, None
    (name, times), *more = index.parallel.items()
    if more or times != 1:
        raise Uncovered(f"index {index!r}: one parallel variable, once, is covered")
    low, high = _loop_part(name)
    count = high - low
    if isinstance(count, Index) and count.text.isdigit():
        count = int(count.text)
    return Index(index.text) + low, count
