# SPDX-License-Identifier: Apache-2.0
"""The text of a kernel of a grid: changes of it at the places of its rows, and clauses."""

import spad
from spad import _grid_text

KERNEL = """kernel k on sm_90
source 0 "k.py" 7
tensor gx : global float16 (8, 64) input
tensor a : shared float16 [3] (8, 64)
tensor b : shared float16 (8, 64)
for i in 0..4 {
    simt load reads gx writes a[(i + 2) % 3] from 0
    if i > 2 {
        simt both reads a[(i + 1) % 3](0..4, ..) spread one, gx(1, 0..64 by 2) writes b
    }
}
agent other of 32 threads {
    fence
}
"""


def test_changes_are_at_the_places_of_rows():
    edited = _grid_text.Edited(spad.Kernel.parse(KERNEL))
    load, both = (row for row in edited.statements if row["kind"] == "operation")
    assert edited.depth(both) == 8 and edited.plain(load) == "simt load reads gx writes a[(i + 2) % 3]"
    assert _grid_text.tile_number(load) == "i + 2" and _grid_text.tile_number(both) == "i"
    assert [_grid_text.access_text(access) for access in both["accesses"]] == ["a[(i + 1) % 3](0..4, ..)", "gx(1, 0..64 by 2)", "b"]
    assert _grid_text.access_text(both["accesses"][1], ("0",), ()) == "gx[0]"
    edited.replace(both, edited.with_accesses(both, {0: "b", 1: "a[0]"}), "fence")
    edited.replace(load)
    edited.add(load, "fence shared", before=True)
    edited.add(both, "fence shared")
    edited.leave_out(edited.rows.agents[1])
    text = edited.text()
    assert "    fence shared\n    if" in text and "load" not in text and "agent" not in text
    assert "        simt both reads b, a[0] writes b\n        fence\n        fence shared\n    }\n" in text
    spad.Kernel.parse(text)


def test_sharing():
    assert _grid_text.sharing([1, 1, 2, 2, 1, 1, 1, 2]) == (4, 3)
    assert _grid_text.sharing([(0, 1), (0, 2)]) == (1, 1)


def test_cached_of():
    assert [_grid_text.cached_of(width) for width in (64, 100, 128, 200, 256, 0, -64)] == [
        (3, 4), (1, 2), (1, 2), None, None, None, None]


def test_the_declaration_of_a_tensor():
    edited = _grid_text.Edited(spad.Kernel.parse(KERNEL))
    tensor = edited.tensors["gx"]
    assert _grid_text.element_bytes(tensor) == 2 and edited.is_off_chip("gx") and not edited.is_off_chip("a")
    assert _grid_text.tensor_line(tensor) == "tensor gx : global float16 (8, 64) input"
    assert _grid_text.tensor_line(tensor, (4, 8), (1, 2), True, (16, 64)) == (
        "tensor gx : global float16 [2] (16, 64) input reused 4 near 4 cached 1 of 2 pieces 16")
