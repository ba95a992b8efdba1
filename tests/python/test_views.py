# SPDX-License-Identifier: Apache-2.0
"""Values that are bytes of others: reshapes, slices and inputs of concatenations, checked by running
programs in the memory of their plan and by trying all plans of small ones."""

import random
import types

import pytest

import spad
from spad import arena
from spad.models._onnx_views import Node, views_of
from spad._views import PARTS_MOST, WORK_MOST, Views

# ---- programs -----------------------------------------------------------------------------------


class Program:
    """A random program: makers, element-wise nodes, reshapes, slices and concatenations, on values of a
    few bytes. values: the bytes that each value must have."""

    def __init__(self, draw, nodes, most=4, in_place=True):
        self.draw, self.nodes, self.values = draw, [], {}
        self.inputs = ["i"] if draw.random() < 0.3 else []
        for name in self.inputs:
            self._value(name, draw.randrange(1, most + 1))
        for number in range(nodes):
            self._node(f"v{number}", most, in_place)
        names = list(self.values)
        self.outputs = list(dict.fromkeys(draw.choices(names[-3:], k=draw.randrange(1, 3))))
        self.sizes = {name: len(value) for name, value in self.values.items()}

    def _value(self, name, size):
        self.values[name] = bytes(self.draw.randrange(256) for _ in range(size))

    def _node(self, name, most, in_place):
        draw, known = self.draw, list(self.values)
        kind = draw.choice(("make", "each", "view", "concat", "concat", "split")) if known else "make"
        one = draw.choice(known) if known else None
        if kind == "view":
            self.values[name] = self.values[one]
            self.nodes.append((kind, [one], [name], None, [(name, one, 0)]))
        elif kind == "split" and len(self.values[one]) > 1:
            at = draw.randrange(1, len(self.values[one]))
            names, value = [name, name + "b"], self.values[one]
            self.values[names[0]], self.values[names[1]] = value[:at], value[at:]
            self.nodes.append((kind, [one], names, None, [(names[0], one, 0), (names[1], one, at)]))
        elif kind == "concat":
            self._concat(name, draw.choices(known, k=draw.randrange(1, 4)))
        elif kind == "each":
            self._value(name, len(self.values[one]))
            self.nodes.append((kind, [one, draw.choice(known)], [name], [one] if in_place else None, None))
        else:
            self._value(name, draw.randrange(1, most + 1))
            self.nodes.append(("make", draw.sample(known, min(len(known), draw.randrange(2))), [name], None, None))

    def _concat(self, name, parts):
        views, at = [], 0
        for part in parts:
            views.append((part, name, at))
            at += len(self.values[part])
        self.values[name] = b"".join(self.values[part] for part in parts)
        self.nodes.append(("concat", parts, [name], None, views))

    def plan(self, **more):
        return spad.plan(self.nodes, self.sizes, inputs=self.inputs, outputs=self.outputs, **more)

    def lives(self):
        lives = {name: [0, 0] for name in self.inputs}
        for step, (_, inputs, outputs, *_) in enumerate(self.nodes):
            for name in inputs:
                lives[name][1] = step
            for name in outputs:
                lives[name] = [step, step]
        for name in self.outputs:
            lives[name][1] = len(self.nodes) - 1
        return lives


def run(program, places):
    """Runs a program in the memory of a plan. Every read must see what was written."""
    values, lives = program.values, program.lives()
    memory = bytearray(max((places[n] + len(v) for n, v in values.items()), default=0))

    def get(name):
        return bytes(memory[places[name]:places[name] + len(values[name])])

    def put(name, value, at=0):
        memory[places[name] + at:places[name] + at + len(value)] = value

    for name in program.inputs:
        put(name, values[name])
    for step, (kind, inputs, outputs, in_place, views) in enumerate(program.nodes):
        assert all(get(name) == values[name] for name in inputs)
        if kind in ("make", "each"):
            for i, byte in enumerate(values[outputs[0]]):
                if in_place:  # the element that is replaced is read just before
                    assert get(in_place[0])[i] == values[in_place[0]][i]
                put(outputs[0], bytes([byte]), i)
            assert all(get(name) == values[name] for name in inputs if name not in (in_place or ()))
        for part, whole, at in views or ():
            source, target = (part, whole) if part in inputs else (whole, part)
            skip, shift = (0, at) if part in inputs else (at, 0)
            if places[source] + skip != places[target] + shift:  # a copy
                put(target, values[source][skip:skip + len(values[part])], shift)
        for name, (first, last) in lives.items():
            if first < step < last or step in (first, last) and (last > step or name in outputs):
                if first <= step:
                    assert get(name) == values[name], (step, name)
    for name in program.outputs:
        assert get(name) == values[name]


def contents(program):
    """For every byte of a value, the value that was computed there and the byte of it."""
    found = {name: [(name, i) for i in range(len(value))] for name, value in program.values.items()}
    for kind, inputs, outputs, _, views in program.nodes:
        for part, whole, at in views or ():
            if part in outputs:
                found[part] = found[whole][at:at + len(program.values[part])]
        if kind == "concat":
            found[outputs[0]] = sum((found[name] for name in inputs), [])
    return found


def joins_callers(program):
    """Is a value that the caller gives or gets, or one in another shape, in a concatenation?"""
    shape_of = {name: name for name in program.values}
    for kind, inputs, outputs, _, views in program.nodes:
        for name in outputs if views and kind != "concat" else ():
            shape_of[name] = shape_of[inputs[0]]
    joined = {shape_of[name] for kind, inputs, *_ in program.nodes if kind == "concat" for name in inputs}
    return any(shape_of[name] in joined for name in (*program.inputs, *program.outputs))


class Rules:
    """Which values may share bytes: those that are not alive together; those that hold the same in the bytes
    they share; an output in the place of its input. What the caller gives or gets shares no byte with
    another such value."""

    def __init__(self, program):
        self.program, self.lives, self.held = program, program.lives(), contents(program)
        self.owned = {*program.inputs, *program.outputs}
        self.pairs = {(outputs[0], taken[0]) for _, _, outputs, taken, _ in program.nodes
                      if taken and taken[0] not in program.outputs}
        self.known = {}

    def allow(self, a, b, distance):
        """May b begin `distance` bytes after a?"""
        (a0, a1), (b0, b1) = self.lives[a], self.lives[b]
        shared = [i for i in range(len(self.held[a])) if 0 <= i - distance < len(self.held[b])]
        if a0 > b1 or b0 > a1 or not shared:
            return True
        if distance == 0 and ((a, b) in self.pairs and b1 == a0 or (b, a) in self.pairs and a1 == b0):
            return True
        return not {a, b} <= self.owned and all(self.held[a][i] == self.held[b][i - distance] for i in shared)

    def remembered(self, a, b, distance, views):
        key = a, b, distance
        if key not in self.known:
            self.known[key] = self.allow(*key)
        if not self.known[key] or views is None:
            return self.known[key]
        (a0, a1), (b0, b1) = self.lives[a], self.lives[b]
        apart = distance >= len(self.held[a]) or -distance >= len(self.held[b]) or a0 > b1 or b0 > a1
        return apart or distance == 0 and ((a, b) in self.pairs and b1 == a0 or (b, a) in self.pairs and a1 == b0)

    def fits(self, height, views, at):
        """Can all values that are not yet `at` a place be placed below height? views: part -> (whole, byte), and
        no others; None: any."""
        given, views = views, views or {}
        sizes = self.program.sizes
        name = next((n for n in sorted(sizes, key=lambda n: (-sizes[n], n)) if n not in at and n not in views), None)
        if name is None:
            return True
        parts = {name: 0, **{part: byte for part, (whole, byte) in views.items() if whole == name}}
        for offset in range(height - sizes[name] + 1):
            if all(self.remembered(other, part, offset + byte - there, given)
                   for part, byte in parts.items() for other, there in at.items()):
                if self.fits(height, given, {**at, **{part: offset + byte for part, byte in parts.items()}}):
                    return True
        return False

    def lowest(self, views, most):
        least = max(self.program.sizes.values())
        return next((height for height in range(least, most + 1) if self.fits(height, views, {})), None)


def test_random_programs_run_in_their_plans(sequences):
    draw, viewed = random.Random(11), 0
    for _ in range(sequences):
        program = Program(draw, draw.randrange(1, 12), 6)
        planned = program.plan()
        run(program, planned.places)
        viewed += len(planned.kept_views)
        plain = program.plan(views=False)
        assert planned.height <= plain.height and not plain.kept_views
        if planned.views:
            assert planned.without_views == plain.height
    assert viewed > sequences


def test_plans_of_small_programs_against_all_plans(sequences):
    """Every plan keeps the rules, and is the lowest with its views and without views. With all choices of
    views tried, few are lower: where concatenations overlap in parts, or have a value twice."""
    draw, higher, compared = random.Random(5), 0, 0
    for _ in range(sequences):
        program = Program(draw, draw.randrange(1, 6), 3)
        planned, rules = program.plan(), Rules(program)
        places = list(planned.places.items())
        assert all(rules.allow(a, b, to - at) for a, at in places for b, to in places if a != b)
        names = [buffer.name for buffer in planned.buffers]
        views = {names[part]: (names[whole], at) for part, whole, at in planned.views}
        plain = program.plan(views=False).height
        assert plain == rules.lowest({}, plain)
        assert planned.proved and planned.height == min(plain, rules.lowest(views, plain + 8) or plain)
        if not joins_callers(program):
            compared += 1
            higher += rules.lowest(None, planned.height) < planned.height
    assert compared * 3 > sequences and higher * 12 < compared


# ---- the rules by hand --------------------------------------------------------------------------


def test_views_of_a_graph():
    """A concatenation of which the inputs are written in place, and a slice of it."""
    nodes = [("a", [], ["a"]), ("b", [], ["b"]), {"name": "join", "inputs": ["a", "b"], "outputs": ["c"],
                                                  "views": [("a", "c", 0), ("b", "c", 64)]},
             ("cut", ["c"], ["d"], None, [("d", "c", 32)]), ("end", ["d"], ["y"])]
    sizes = {"a": 64, "b": 64, "c": 128, "d": 32, "y": 16}
    found = spad.plan(nodes, sizes, outputs=["y"])
    assert found.height == 128 and found.without_views == 256 and len(found.kept_views) == 3
    assert found.places["b"] - found.places["a"] == 64 and found.places["d"] - found.places["c"] == 32
    assert "3 buffers are bytes of another one: 160 B are not copied" in found.text()
    facts = found.facts()
    assert facts["views"] == 3 and facts["without_views"] == 256
    assert spad.plan(nodes, sizes, outputs=["y"], views=False).height == 256
    # a place that is no multiple of the alignment stays a copy
    assert len(spad.plan(nodes, sizes, outputs=["y"], alignment=64).kept_views) == 2
    # an output is not part of a concatenation
    assert len(spad.plan(nodes, sizes, outputs=["a", "y"]).kept_views) == 2


def test_an_output_of_the_program_is_not_replaced():
    """It is alive after the last node, which therefore may not take its place."""
    found = spad.plan([("f", [], ["a"]), ("g", ["a"], ["y"], ["a"])], {"a": 8, "y": 8}, outputs=["a", "y"])
    assert found.height == 16 and sorted(found.places.values()) == [0, 8]


@pytest.mark.parametrize("views, words", [
    ([("a", "y")], "a view is"), (5, "a list of values"), (["ayz"], "a view is"), ([("a", "a", 0)], "an input and an output"),
    ([("y", "a", -1)], "has to be from 0"), ([("y", "a", 1)], "not within"), ([("y", "q", 0)], "an input and an output")])
def test_wrong_views(views, words):
    with pytest.raises(spad.ArgumentError, match=words):
        spad.plan([("f", [], ["a"]), ("g", ["a"], ["y"], None, views)], {"a": 8, "y": 8}, outputs=["y"])


def test_views_of_an_arena():
    a = arena.Arena("m", alignment=8)
    a.add("whole", 0, 2, 24)
    a.add("part", 1, 4, 8)
    a.add("other", 3, 5, 16)
    for words in ((1, 0, 4), (1, 0, 24), (0, 1, 0), (1, 1, 0), (1, 7, 0), (1, 0, -8)):
        with pytest.raises(spad.ArgumentError):
            a.view(*words)
    a.view(1, 0, 16)
    assert a.offsets == [0, 16, 0] and a.height == 24 and a.without_views == 32 and a.verdict() == "optimal with these views"
    assert a.csv().splitlines()[2] == "part,1,5,8,8,whole@16,,16"
    a.capacity = 16
    assert not a.fits and a.without_views is None
    a.capacity = None
    # a part that stays where it is can cost more than a copy
    worse = arena.Arena("m")
    worse.add("whole", 0, 0, 3)
    worse.add("part", 0, 1, 1)
    worse.add("next", 1, 1, 3)
    worse.view(1, 0, 1)
    assert worse.height == 4 and worse.without_views == 4 and len(worse.kept_views) in (0, 1)


def test_views_that_cost_bytes_are_left_out():
    """The middle of a large value that lives on cuts the memory in two."""
    a = arena.Arena("m")
    a.add("whole", 0, 0, 9)
    a.add("part", 0, 2, 1)
    a.add("next", 1, 2, 9)
    a.view(1, 0, 4)
    assert a.height == 10 and a.without_views == 10 and a.kept_views == []
    assert "with views they need more" in a.text() and a.verdict() == "optimal without these views"
    assert a.facts()["views"] == 0 and "slice" not in a.csv()


def test_contents_have_a_limit():
    """Concatenations of concatenations of one value have twice the ranges each time."""
    views = Views()
    views.add(0, 0, 99, 1)
    for step in range(1, 40):
        views.add(step, step, step + 1, 1 << step)
        views.concatenation(step, [(step - 1, 0), (step - 1, 1 << step - 1)])
        assert len(views.values[step].content) <= PARTS_MOST
    assert len(views.slices()) >= 10
    many = Views()
    many.add("x", 0, 1, 1 << 20)
    for i in range(1 << 12):
        many.add(i, 1, 2, 16)
        many.view(i, "x", 16 * i)
    assert 1 << 10 < len(many.slices()) < 1 << 12 and many.work < 1 << 12 < WORK_MOST  # the rest is copied


# ---- the nodes of ONNX, without the package ------------------------------------------------------


class Attribute:
    def __init__(self, name, value):
        self.name, self.i, self.ints = name, value, value if isinstance(value, list) else []

    def HasField(self, name):
        return name == "i" and isinstance(self.i, int)


def onnx_views(kind, inputs, outputs, shapes, constants=None, **attributes):
    """What the rules say about a node. constants: the numbers of those that are known."""

    class Known(Node):
        def numbers(self, index):
            name = self.node.input[index] if index < len(self.node.input) else None
            return (constants or {}).get(name)

    node = types.SimpleNamespace(op_type=kind, input=inputs, output=outputs,
                                 attribute=[Attribute(*item) for item in attributes.items()])
    return views_of(Known(None, node, shapes.get, None))


def test_which_onnx_values_are_views():
    x, rows = {"x": [1, 6, 4]}, {"x": [6, 4]}
    for kind in ("Reshape", "Flatten", "Identity", "Squeeze", "Unsqueeze", "Expand", "Dropout"):
        assert onnx_views(kind, ["x"], ["y"], {**x, "y": [24]}) == [("y", "x", 0)]
    assert onnx_views("Reshape", ["x"], ["y"], x) == onnx_views("Expand", ["x"], ["y"], {**x, "y": [2, 6, 4]}) == []
    drop = {**x, "y": [1, 6, 4]}
    assert onnx_views("Dropout", ["x", "", "t"], ["y"], drop) == []  # it may be training
    assert len(onnx_views("Dropout", ["x", "", "t"], ["y"], drop, {"t": [0]})) == 1
    assert len(onnx_views("Transpose", ["x"], ["y"], {**x, "y": [6, 1, 4]}, perm=[1, 0, 2])) == 1
    assert onnx_views("Transpose", ["x"], ["y"], {**x, "y": [1, 4, 6]}, perm=[0, 2, 1]) == []
    assert onnx_views("Transpose", ["x"], ["y"], {**x, "y": [4, 6, 1]}) == []
    assert onnx_views("Relu", ["x"], ["y"], drop) == onnx_views("Reshape", [], [], {}) == []
    for axis in (1, -2):
        assert onnx_views("Split", ["x"], ["a", "b"], {**x, "a": [1, 2, 4], "b": [1, 4, 4]}, axis=axis) == \
            [("a", "x", 0), ("b", "x", 8)]
        assert onnx_views("Concat", ["a", "b"], ["x"], {**x, "a": [1, 2, 4], "b": [1, 4, 4]}, axis=axis) == \
            [("a", "x", 0), ("b", "x", 8)]
    assert onnx_views("Split", ["x"], ["a", "b"], {**x, "a": [1, 6, 2], "b": [1, 6, 2]}, axis=2) == []  # not in one piece
    assert onnx_views("Split", ["x"], ["a", "b"], {**x, "a": [1, 2, 4], "b": [1, 2, 4]}, axis=1) == []  # not all of it
    assert onnx_views("Concat", ["a", "b"], ["x"], {**x, "a": [1, 2, 4], "b": [1, 2, 4]}, axis=1) == []
    assert onnx_views("Concat", ["a", "b"], ["x"], {**x, "a": [1, 2, 4]}, axis=1) == []
    assert onnx_views("Concat", ["a"], ["x"], {**x, "a": [6, 4]}, axis=9) == []
    assert onnx_views("Gather", ["x", "i"], ["y"], {**rows, "y": [4]}, {"i": [-2]}) == [("y", "x", 16)]
    for index in ([6], [0, 1], None):
        assert onnx_views("Gather", ["x", "i"], ["y"], {**rows, "y": [4]}, {"i": index}) == []
    assert onnx_views("Gather", ["x", "i"], ["y"], {**rows, "y": [6]}, {"i": [1]}, axis=1) == []


def test_which_onnx_slices_are_views():
    x = {"x": [6, 4], "y": [2, 4], "z": [6, 2], "e": [1, 2]}

    def cut(result, starts, ends, axes=None, steps=None):
        names = ["x", "s", "e0", "a" if axes else "", "t" if steps else ""]
        return onnx_views("Slice", names, [result], x, {"s": starts, "e0": ends, "a": axes, "t": steps})

    assert cut("y", [1], [3]) == cut("y", [-5], [-3], [-2], [1]) == [("y", "x", 4)]
    assert cut("y", [4], [1 << 60], [0]) == [("y", "x", 16)]
    assert cut("z", [0], [2], [1]) == []  # two of every row
    assert cut("e", [3, 1], [4, 3], [0, 1]) == [("e", "x", 13)]  # of one row
    assert cut("y", [0], [4], [0], [2]) == cut("y", [0], [3]) == cut("y", [0], [2], [5]) == cut("y", [0, 1], [2]) == []
    assert onnx_views("Slice", ["x", "s", "e0"], ["y"], x) == []  # not known
    assert onnx_views("Slice", ["x"], ["y"], x, starts=[1], ends=[3]) == [("y", "x", 4)]  # before version 10
    assert onnx_views("Slice", ["x"], ["y"], x, starts=[1], ends=[3], axes=[1]) == []
