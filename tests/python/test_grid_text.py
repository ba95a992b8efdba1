# SPDX-License-Identifier: Apache-2.0
"""What spad.tilelang and spad.triton both make of the text of a kernel of a grid."""

from spad import _grid_text


def test_the_loop_of_a_line():
    text = "for i in 0..4 {\n  a\n  if i < 2 {\n    for j in 0..2 {\n      b\n    }\n    c\n  }\n}\nagent w {\n  d\n}\n}"
    inner = {line.strip(): loop for line, loop in _grid_text.with_loops(text.split("\n")) if line.strip() in "abcd"}
    assert inner == {"a": "i", "b": "j", "c": "i", "d": None}  # a condition is in the loop around it


def test_blocks_that_share_a_place():
    assert _grid_text.sharing([1, 1, 2, 2, 1, 1, 1, 2]) == (4, 3)
    assert _grid_text.sharing([(0, 1), (0, 2)]) == (1, 1)


def test_tiles_of_a_line_of_memory():
    assert [_grid_text.cached_of(width) for width in (64, 100, 128, 200, 256, 0, -64)] == [
        (3, 4), (1, 2), (1, 2), None, None, None, None]


def test_the_line_of_a_tensor():
    assert _grid_text.tensor_line("a", "u8", "64", "input") == "tensor a : global u8 (64) input"
    assert _grid_text.tensor_line("a", "u8", "64", "input", (4, 8), (1, 2), True) == (
        "tensor a : global u8 [2] (64) input reused 4 near 4 cached 1 of 2 pieces 16")
