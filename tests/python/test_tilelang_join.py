# SPDX-License-Identifier: Apache-2.0
"""Stores of a lowered TileLang kernel that fill the gaps of each other become one, and every check stays the same."""

import pytest

import spad.tilelang as T
from spad.tilelang import _join as join
from spad.tilelang._sets import Sum
from spad.tilelang._write import Access, Op
from test_tilelang_load import SYNC, kernel_tree

SHARED = {"packed": {"bytes": 256, "at": 0}, "x": {"bytes": 1024, "at": 1024}, "y": {"bytes": 1024, "at": 4096}, "free": {"bytes": 64, "at": None}}


def runs(first, step, size, count):
    return [(first + at * step, first + at * step + size) for at in range(count)]


def store(write, *reads, const=0, terms=None, name="x", source=None, **more):
    op = Op("simt", "store")
    op.writes = [Access(name, Sum(const, {"i * 64": 1} if terms is None else terms), write, **more)]
    op.reads, op.source = [Access(buffer, Sum(), part) for buffer, part in reads], source
    return op


def joined(*items):
    return join.Joins(SHARED).body(list(items))


def parts(op):
    return op.name, [(a.buffer, a.runs) for a in op.reads], [(a.buffer, a.offset.const, a.runs) for a in op.writes]


PACKED = ("packed", [(0, 32)])


def test_halves_of_a_row():
    low, high = store(runs(0, 4, 2, 16), PACKED, source=3), store(runs(2, 4, 2, 16), PACKED, source=4)
    (made,) = joined(low, high)
    assert parts(made) == ("store", [PACKED], [("x", 0, [(0, 64)])]) and made.source == 3
    assert low.writes[0].runs == runs(0, 4, 2, 16)  # the walk keeps what it has
    (moved,) = joined(low, store(runs(0, 4, 2, 16), PACKED, const=2))  # the same bytes, written differently
    assert parts(moved)[2] == [("x", 0, [(0, 64)])]


def test_quarters_and_blocks():
    quarters = [store(runs(at, 4, 1, 8), PACKED) for at in range(4)]
    assert [parts(op)[2] for op in joined(*quarters)] == [[("x", 0, [(0, 32)])]]
    ((_, head, inner, other),) = joined(("block", "for i in 0..4", quarters, [*quarters[:2], "sync"]))
    assert head == "for i in 0..4" and len(inner) == 1 and other[1:] == ["sync"] and parts(other[0])[2] == [("x", 0, runs(0, 4, 2, 8))]


def test_reads_of_the_second_store_stay():
    own = ("packed", [(32, 64)])
    first, second = joined(store(runs(0, 4, 2, 8), PACKED), store(runs(2, 4, 2, 8), own, source=7))
    assert parts(first) == ("store", [PACKED], [("x", 0, [(0, 32)])])
    assert parts(second) == ("load", [own], []) and second.source == 7
    # the first store writes these bytes: that the second one reads them is not left out
    reads_x = ("x", [(512, 520)])
    assert len(joined(store(runs(0, 4, 2, 8), reads_x), store(runs(2, 4, 2, 8), reads_x))) == 2


@pytest.mark.parametrize("second", [
    store(runs(2, 4, 2, 8), ("x", [(0, 4)])),  # it reads what the first one wrote
    store(runs(2, 4, 2, 8), ("packed", [(0, 4)]), name="y"), store(runs(2, 4, 2, 8), terms={"i * 32": 1}),  # other bytes
    store(runs(2, 4, 2, 8), tile=1), store(runs(2, 4, 2, 8), block=1), store(runs(2, 4, 2, 8), may=True),
    store(runs(128, 4, 2, 8)), store(runs(0, 4, 2, 8)), store(runs(1, 4, 2, 8)), store([]), "sync", ("block", "if c", [], None)])
def test_what_is_not_joined(second):
    first = store(runs(0, 4, 2, 8), PACKED)
    assert joined(first, second)[0] is first and len(joined(first, second)) == 2


def test_bytes_that_buffers_share():
    """TileLang has placed what the second store reads where it writes: the order of both is kept, and reported if it is wrong."""
    shared = {**SHARED, "packed": {"bytes": 256, "at": 1100}}
    ops = store(runs(0, 4, 2, 8), PACKED), store(runs(2, 4, 2, 8), PACKED)
    assert len(join.Joins(shared).body(list(ops))) == 2
    free = ("free", [(0, 8)])
    assert len(joined(store(runs(0, 4, 2, 8), free), store(runs(2, 4, 2, 8), free))) == 1  # an allocation of its own


def test_engines_and_updates():
    plain = store(runs(0, 4, 2, 8))
    for change in (("engine", "tma"), ("name", "stmatrix"), ("tail", " in stores"), ("may", True), ("updates", plain.writes), ("adds", plain.writes)):
        other = store(runs(2, 4, 2, 8))
        setattr(other, *change)
        assert len(joined(plain, other)) == 2


def unpacked(*middle, at=256):
    """Two numbers of each element of p: s[2 * tx] and s[2 * tx + 1], and then another thread reads them."""
    half = lambda odd: ["store", "s", ["+", ["*", "tx", 2], odd], ["load", "p", "tx"]]
    tree = kernel_tree([["store", "p", "tx", ["f"]], half(0), half(1), *middle, ["store", "g", "tx", ["load", "s", ["-", 127, "tx"]]]])
    tree["buffers"]["p"] = dict(tree["buffers"]["s"])
    tree["shared"] = {"p": {"bytes": 256, "dtype": "float32", "align": 16, "at": 0}, "s": {"bytes": 512, "dtype": "float32", "align": 16, "at": at}}
    return tree


@pytest.mark.parametrize("tree, verdict", [
    (unpacked(SYNC), "proved for this shape"), (unpacked(), "wrong"),  # a race where the barrier is missing
    (unpacked(SYNC, at=0), "wrong")], ids=["right", "race", "same_bytes"])
def test_checks_stay_the_same(tree, verdict, monkeypatch):
    made = T.load(tree)
    monkeypatch.setattr(join.Joins, "_joined", lambda *ops: None)
    plain = T.load(tree)
    assert made.check().verdict == plain.check().verdict == verdict
    assert {f.code for f in made.check().findings} == {f.code for f in plain.check().findings}
    assert (made.text() == plain.text()) == (tree["shared"]["s"]["at"] == 0)
    if verdict.startswith("proved"):
        assert made.plan().check().verdict == plain.plan().check().verdict == verdict
        assert made.plan().layout().spaces == plain.plan().layout().spaces
