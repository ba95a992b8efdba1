# SPDX-License-Identifier: Apache-2.0
"""Folded loops with any number of rounds: the kernel with parameters is the folded one as they are preset, and what is
wrong for another number of rounds is not proved."""

import re
import sys

import pytest

import spad
import spad.nki.trace as nt
from spad.nki import _trips
from test_nki_groups import FOLDED, traced

with nt.installed():
    import nki.isa as nisa
    import nki.language as nl

ALL = "proved for all trip counts"


def scale(x, ring=2, lead=0):
    """Rows in a ring of tiles; the loads of `lead` rounds come before the loop."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    count, tiles = x.shape[0] // 128, []
    for i in range(count + lead):
        if i < count:
            tiles.append(nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, i % ring * 128)))
            nisa.dma_copy(dst=tiles[i], src=x[nl.ds(i * 128, 128), :])
        if i >= lead:
            nisa.tensor_scalar(dst=tiles[i - lead], data=tiles[i - lead], op0=nl.multiply, operand0=2.0)
            nisa.dma_copy(dst=out[nl.ds((i - lead) * 128, 128), :], src=tiles[i - lead])
    return out


def trace(count=16, **options):
    return nt.trace(scale, nt.hbm((128 * count, 64), "bf16"), **options)


def events(kernel):
    """What the operations do on chip, at what cost."""
    rows = kernel.statements
    return [(rows[event["statement"]]["item"], rows[event["statement"]]["engine"],
             [(access["kind"], *(access[key] for key in ("lane", "lanes", "byte", "bytes", "moved")))
              for access in event["accesses"] if access["placed"]])
            for event in kernel.walk() if event["kind"] == "operation"]


@pytest.mark.parametrize("name", sorted(FOLDED))
def test_as_preset_it_is_the_folded_kernel(name):
    folded = traced(name)
    over = folded.over_trips()
    assert over.source != folded.source and events(over) == events(folded)
    assert over.check().counts["errors"] == folded.check().counts["errors"] == 0


def test_proved_for_every_trip_count():
    k = trace()
    assert k.check().verdict == "proved for this shape"  # what the trace says of itself
    over = k.over_trips()
    assert "param trips = 16" in over.source and "[trips] (128, 64) at 0 ring 2" in over.source
    check = over.check()
    assert (check.verdict, check.reason) == (ALL, "for all trips >= 1")
    assert "its outer loops, with any number of rounds: proved for all trips >= 1\n" in k.explain(k.check())
    for count in (3, 5, 40):  # as the kernel itself says for other shapes
        assert trace(count).check()
        same = _spad_kernel(over.source, trips=count)
        assert events(same) == events(trace(count))


def _spad_kernel(text, **defines):
    return spad.Kernel.parse(text, defines=defines)


def test_columns_and_several_rounds_apart():
    assert traced("rings").over_trips().check().reason == "for all trips >= 1"


def test_what_is_wrong_is_not_proved():
    """With a lead of two rounds a ring of two tiles is written over before it is read; of three, it is not."""
    wrong = trace(ring=2, lead=2)
    assert wrong.check().verdict == "wrong" and "any number of rounds" not in wrong.explain(wrong.check())
    assert wrong.over_trips().check().verdict == "wrong"
    right = trace(ring=3, lead=2)
    assert right.check() and right.over_trips().check().verdict != "wrong"


def test_what_stops_later_is_not_proved():
    """Sixteen places, each of which is used once: a seventeenth round has none."""
    k = nt.trace(scale, nt.hbm((128 * 16, 64), "bf16"), ring=1600)
    found = k.over_trips().check()
    assert found.verdict == "proved for this shape" and "any number of rounds" not in k.explain(k.check())


def test_straight_kernels_have_none():
    k = trace(2)
    assert k.folded is None and k.over_trips() is None and trace(fold=False).over_trips() is None


@pytest.mark.parametrize("text, expected", [
    ("0", {}), ("7", {None: 7}), ("i", {"i": 1}), ("128 * i", {"i": 128}), ("9 - i", {None: 9, "i": -1}),
    ("1 + 6 * i + j", {None: 1, "i": 6, "j": 1}), ("0 - 2 * i", {"i": -2}), ("", None), ("i * j", None), ("i % 2", None),
    ("i j", None)])
def test_sums(text, expected):
    assert _trips.affine(text) == expected
    if expected is not None:
        assert _trips.affine(_trips.written(expected)) == expected


def test_forms_that_do_not_grow():
    """Loops through two dimensions, parts across tiles, whole tensors, other names: they stay as they are."""
    text = """kernel k on trn2
tensor whole : hbm float32 (512, 64) input
tensor cross : hbm float32 (512, 64) input
tensor odd : hbm float32 (500, 64) input
tensor trips : hbm float32 (512, 64) input
tensor seen : hbm uint32 (512, 64) alias of trips
tensor t : sbuf float32 [8] (128, 64) at 0 ring 2
tensor u : sbuf float32 [3, 2] (128, 64) at 4096 ring 2
dma a reads whole writes t[0]
for i in 0..3 {
    dma a reads whole(128 * i..128 + 128 * i, ..) writes t[i]
    dma b reads cross(64 + 128 * i..192 + 128 * i, ..) writes t[2 * i]
    dma c reads odd(128 * i..128 + 128 * i, ..) writes t[i]
    dma d reads trips(128 * i..128 + 128 * i, ..) writes u[i, 0]
}
for i in 0..4 {
    for j in 0..i {
        dma e reads whole(0..128, ..) writes u[0, 1]
    }
}
"""
    made = _trips.over_trips(text)
    changed = [line for line in made.split("\n") if line not in text.split("\n")]
    assert changed == ["param trips_ = 3", "param trips_2 = 4", "tensor u : sbuf float32 [trips_, 2] (128, 64) at 4096 ring 2",
                       "for i in 0..trips_ {", "for i in 0..trips_2 {"]
    assert _trips.over_trips("kernel k on trn2\ntensor t : sbuf float32 (128, 64)\nvector a writes t\n") is None


def test_tiles_of_parts():
    tile = _trips.Trips._tile
    assert tile(["128 * i..128 + 128 * i", ".."], 0, 128) == "[i](.., ..)"
    assert tile(["130 + 128 * i..140 + 128 * i"], 0, 128) == "[1 + i](2..12)"
    assert tile(["0", "i", ".."], 1, 1) == "[i](0, 0, ..)"
    assert tile(["i..5"], 0, 1) is None and tile(["100..200"], 0, 128) is None and tile(["64 * j..64 * j"], 0, 128) is None
    assert tile(["i % 2..i"], 0, 1) is None and tile(["0..i % 2"], 0, 1) is None


def test_the_command_says_it(capsys, tmp_path, monkeypatch):
    from spad.nki import _command
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "k.py"
    file.write_text("import nki.isa as nisa\nimport nki.language as nl\n" + re.search(
        r"def scale.*?return out\n", open(__file__, encoding="utf-8").read(), re.S)[0])
    assert _command.main(["check", f"{file}:scale", "--arg", "x=bf16[1024,64]"]) == 0
    assert "any number of rounds: proved for all trips >= 1" in capsys.readouterr().out
