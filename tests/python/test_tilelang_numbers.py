# SPDX-License-Identifier: Apache-2.0
"""Kernels as other projects write them: numbers of lanes and warps, functions that give functions, offsets that are too long to write,
and what `spad tilelang` says of mistakes."""

import functools
import inspect
import json
from pathlib import Path

import pytest

import spad
import spad.tilelang as T
from spad.tilelang import _command as command
from spad.tilelang import _jit as jit
from spad.tilelang import _sets as sets
from spad.tilelang._conditions import with_numbers, with_parities, with_returns

TREES = Path(__file__).parent / "golden" / "tilelang"
THREAD = ["+", "thread__x", ["*", 64, ["+", "thread__y", ["*", 2, "thread__z"]]]]


def changed(tree, name, other):
    """The tree with another call in place of one without arguments."""
    return json.loads(json.dumps(tree).replace(json.dumps(["call", name]), json.dumps(other)))


def test_numbers_of_lanes_and_warps_are_known():
    kernel = T.load(TREES / "numbered_sm_90.json")
    assert kernel.check().verdict == "proved for this shape" and kernel.approximations == []
    writes = [line.strip() for line in kernel.source.splitlines() if " store writes part" in line]
    assert writes == [f"simt store writes part({4 * warp}..{4 * warp + 4})" for warp in range(8)]


@pytest.mark.parametrize("name, other, codes", [
    ("get_warp_idx", ["call", "get_warp_group_idx"], {"SPAD-RACE"}),  # four warps at one place
    ("get_warp_idx", ["call", "get_warp_idx", 64], {"SPAD-RACE"}),
    ("get_lane_idx", ["call", "get_lane_idx", 64], {"SPAD-UNINITIALISED-READ"}),  # every other warp
    ("get_warp_idx", ["+", ["call", "get_warp_idx_sync"], 0], set())])
def test_another_number_is_another_place(name, other, codes):
    tree = changed(json.loads((TREES / "numbered_sm_90.json").read_text()), name, other)
    assert {f.code for f in T.load(tree).check().findings} == codes


def test_what_numbers_are():
    assert with_numbers(["do", ["call", "get_lane_idx"]], (64, 2, 2)) == ["do", ["%", THREAD, 32]]
    assert with_numbers(["call", "get_warp_idx", 0], (64, 2, 2)) == ["//", THREAD, 32]
    assert with_numbers(["call", "get_warp_idx_sync", 16], (64, 2, 2)) == ["//", THREAD, 16]
    assert with_numbers([["call", "get_warp_group_idx", 32, 2]], (64, 2, 2)) == [["//", THREAD, 64]]
    unknown = ["call", "get_lane_idx", "n"]
    assert with_numbers(unknown, (64, 2, 2)) == unknown


RETURN = ["do", ["call", "thread_return"]]


def numbered(*before, value=None):
    """The kernel with other statements before it, or another call as its last statement."""
    tree = json.loads((TREES / "numbered_sm_90.json").read_text())
    last = tree["body"][-1][2]
    assert last[-1][:2] == ["store", "Y"]
    last[-1] = last[-1] if value is None else ["do", value]
    return {**tree, "body": [*before, *tree["body"]]}


def test_a_return_is_a_condition_around_the_rest():
    assert with_returns([["a"], ["if", "c", [["b"], RETURN], [["d"]]], ["e"], ["if", "f", [RETURN], []], ["g"]]) == [
        ["a"], ["if", "c", [["b"]], [["d"], ["e"], ["if", "f", [], [["g"]]]]]]
    assert with_returns([["attr", "key", 1, [["if", "c", [RETURN], []], ["e"]]]]) == [["attr", "key", 1, [["if", "c", [], [["e"]]]]]]
    kernel = T.load(numbered(["if", ["==", "bx", 3], [RETURN], []]))
    assert kernel.check().verdict.startswith("proved")
    assert kernel.source.count("if block_x == 3 {\n    } else {") == 8
    some = T.load(numbered(["if", ["<", "tx", 32], [RETURN], []])).check()  # the others read a sum that nothing wrote
    assert not some.verdict.startswith("proved")


@pytest.mark.parametrize("where", [["for", "i", 0, 2, "serial", [["if", ["==", "bx", 3], [RETURN], []]]],
                                   ["if", ["<", "bx", 5], [["if", ["==", "bx", 3], [RETURN], []]], []]])
def test_a_return_that_is_deeper_is_refused(where):
    with pytest.raises(T.Unsupported, match="'thread_return'"):
        T.load(numbered(where))


def test_stores_by_a_call_are_to_global_memory():
    store = ["call", "stg32", ["call", "tvm_access_ptr", ["s", "float32"], "Y", "bx", 1, 2], ["load", "own", 0]]
    kernel = T.load(numbered(value=store))
    assert kernel.check().verdict == "proved for this shape" and "Y" in kernel._writer.walk.written
    store[2][3] = "part"
    with pytest.raises(T.Unsupported, match="'stg' in .*: it has a pointer to 'part' on chip"):
        T.load(numbered(value=store))


@pytest.mark.parametrize("added", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("divided", [1, 3])
def test_parities_of_a_counter_plus_a_number(added, divided):
    count = ["load", "v", 0]
    what = count if divided == 1 else ["//", count, divided]
    made = with_parities(["do", ["%", ["+", what, added], 2]])
    assert made == ["do", ["-", 1, ["%", what, 2]] if added % 2 else ["%", what, 2]]
    for v in range(12):  # the same number
        text = sets.code(sets.replace(json.loads(json.dumps(made[1]).replace(json.dumps(count), "\"v\"")), {}))
        assert eval(text, {"v_v": v}) == (v // divided + added) % 2
    for other in (["%", ["+", "k", 1], 2], ["%", ["+", count, 1], 3], ["%", ["+", ["load", "v", 1], 1], 2], ["%", ["+", count, "k"], 2]):
        assert with_parities(other) == other


def test_an_offset_that_is_too_long_to_write_is_any_part():
    assert sets.length("a * 4 + (b % 2) * 16") == 9
    tree = json.loads((TREES / "ended_sm_90.json").read_text())
    swizzle = 0
    for bit in range(12):  # of a round that stays a round
        swizzle = ["+", swizzle, ["%", ["+", ["//", "r", 1 << bit], ["%", ["//", "r", 3 << bit], 2]], 2]]
    plain, text = json.dumps(["-", 127, "tx"]), json.dumps(tree)
    assert plain in text
    made = T.load(json.loads(text.replace(plain, json.dumps(["+", ["-", 100, ["%", "tx", 64]], swizzle]))))
    row, = [row for row in made.approximations if row["what"] == "'x'"]
    assert row["why"] == "any part of it, because of an offset that is too long to write"
    assert "may reads x\n" in made.source
    assert made.check().verdict == T.load(tree).check().verdict  # all of it is there


def test_a_condition_bounds_a_place():
    kernel = T.load(TREES / "narrowed_sm_90.json")
    assert kernel.check().verdict.startswith("proved") and kernel.approximations == []
    assert "if i < 2 {" in kernel.source and "writes x(i * 512..i * 512 + 128)" in kernel.source


@pytest.mark.parametrize("condition", [["<", "i", 3], ["<", 1, "i"], ["!=", "i", 3], ["<", -1, "i"]])
def test_a_condition_that_does_not_bound_a_place(condition):
    text = (TREES / "narrowed_sm_90.json").read_text()
    assert text.count(json.dumps(["<", "i", 2])) == 1
    kernel = T.load(json.loads(text.replace(json.dumps(["<", "i", 2]), json.dumps(condition))))
    assert any("a place that a condition keeps inside of it" in row["why"] for row in kernel.approximations)


@pytest.mark.parametrize("most, sure", [(512, True), (464, True), (463, False)])
def test_bounds_decide_a_condition_of_threads_rounds_and_blocks(most, sure):
    """64 * bx + 8 * j + tx // 16 of 8 blocks, 2 rounds and 128 threads is at most 463."""
    tree = json.loads((TREES / "narrowed_sm_90.json").read_text())
    row = ["+", ["*", "bx", 64], ["+", ["*", "j", 8], ["//", "tx", 16]]]
    loop, = tree["body"]
    loop[-1][0][2] = [["for", "j", 0, 2, "unroll", [["if", ["<", row, most], loop[-1][0][2], []]]]]
    kernel = T.load(tree)
    assert (kernel.approximations == []) == sure and kernel.check().verdict.startswith("proved") == sure


def test_an_index_with_a_size_says_what_to_pass():
    tree = json.loads((TREES / "narrowed_sm_90.json").read_text())
    tree["sizes"] = ["rows"]
    tree["body"][0][-1][-1][3][2] = ["+", ["*", ["min", 1, "rows"], 128], "tx"]
    notes = {row["what"]: row["why"] for row in T.load(tree).approximations}
    assert notes["'x'"] == "any part of it, because of 'rows', which has no value in the kernel; pass sizes={'rows': N}"
    assert T.load(tree, sizes={"rows": 1}).approximations == []


@pytest.mark.parametrize("tree, wanted, found", [
    (["<", "i", 3], True, ("i", 0, 2)), (["<", "i", 3], False, ("i", 3, 9)), (["<=", 4, "i"], True, ("i", 4, 9)), (["==", "i", 5], True, ("i", 5, 5)),
    (["==", "i", 5], False, None), (["!=", "i", 5], False, ("i", 5, 5)), (["<", ["*", "i", 3], 10], True, ("i", 0, 3)),
    ([">", ["-", 10, ["*", "i", 3]], 0], True, ("i", 0, 3)), ([">=", ["-", 10, ["*", "i", 3]], 1], False, ("i", 4, 9)),
    (["<", "i", "j"], True, None), (["<", "nothing", 2], True, None), ("i", True, None)])
def test_what_a_comparison_bounds(tree, wanted, found):
    scope = sets.Scope()
    scope.bind("i", "i", 0, 9)
    scope.bind("j", "j", None, None)
    assert scope.bound_by(tree, wanted) == found
    values = range(10) if found else ()  # the same as trying them all
    for i in values:
        if eval(sets.code(tree), {"v_i": i}) == wanted:
            assert found[1] <= i <= found[2]


def test_barriers_have_names_of_their_own():
    text = (TREES / "gemm_sm_90.json").read_text()
    assert "barrier bar_0 count 256" in T.load(json.loads(text)).source
    kernel = T.load(json.loads(text.replace('"mbarrier"', '"bar_0"')))
    assert "barrier bar_0_ count 256" in kernel.source and "mbarrier bar_0[" in kernel.source
    assert kernel.check().verdict == "proved for all trip counts"


def test_a_tile_that_nothing_reads_over_another_one():
    """TileLang gives it bytes of a tile in use, where a program has done away with TileLang's barriers."""
    kernel = T.load(TREES / "dead_tile_sm_90.json")
    check = kernel.check()
    assert check.verdict == "wrong" and {f.code for f in check.findings} == {"SPAD-RACE", "SPAD-NEVER-READ"}
    assert check.findings[0].message.startswith("store (warp_0) may write 'bin' over 'dead' while store (warp_1) still writes it")
    planned = kernel.plan()
    assert planned.check().verdict == "proved for this shape" and kernel.report().data["bytes"] == {"tilelang": 2048, "spad": 3072}


# ---- functions that give functions -------------------------------------------------------------------


class PrimFunc:
    """What a function of TileLang gives, as far as load() looks at it."""


class Jit:
    def __init__(self, function):
        self.func, self.signature, self.target, self.pass_configs = function, inspect.signature(function), None, {"tl.some": 1}

    def __call__(self, *args, **options):
        raise AssertionError("it is not compiled")

    def get_tir(self, *args, **options):
        return self.func(*args, **options)


def factory():
    @functools.lru_cache
    def outer(rows, wide=2):
        def inner(block, stages=1):
            made = PrimFunc()
            made.given = (rows, wide, block, stages)
            return made
        return Jit(inner)
    return outer


def test_arguments_go_to_the_function_that_takes_them():
    made, configs = jit.prim_func_of(factory(), {"rows": 8, "block": 4, "stages": 3})
    assert made.given == (8, 2, 4, 3) and configs == {"tl.some": 1}
    both = lambda block, rows: lambda block, stages=1: Jit(lambda: (block, rows, stages))  # noqa: E731
    assert jit.prim_func_of(both, {"block": 4, "rows": 8}) == ((4, 8, 1), {"tl.some": 1})  # a name that both take is for both
    cached = functools.lru_cache(Jit(lambda block: PrimFunc()))  # around what tilelang.jit makes
    assert isinstance(jit.prim_func_of(cached, {"block": 4})[0], PrimFunc) and jit.names(cached) == ["block"]
    assert jit.names(factory()) == ["rows", "wide"]


@pytest.mark.parametrize("arguments, said", [
    ({"rows": 8, "blok": 4}, r"'inner' of tilelang.jit needs arguments, .* or --arg NAME=VALUE: block, stages \(missing a required "
                             r"argument: 'block'\); it has no 'blok'; did you mean 'block'\?"),
    ({"row": 8, "block": 4}, r"'outer' needs arguments, .*: rows, wide \(missing a required argument: 'rows'\); it has no 'row'; did you mean 'rows'\?"),
    ({"rows": 8, "block": 4, "stage": 2}, r"no function takes an argument 'stage'; did you mean 'stages'\? \(a dynamic size is one of sizes=\{...\}, -D stage=N\)"),
    ({"rows": 8, "block": 4, "zzzzzz": 2}, "no function takes an argument 'zzzzzz'; there are: rows, wide, block, stages "),
    ([8, 2, 3], r"'outer' needs arguments, .*: rows, wide \(too many positional arguments\)")])
def test_arguments_that_no_function_takes(arguments, said):
    with pytest.raises(spad.ArgumentError, match=said):
        jit.prim_func_of(factory(), arguments)


# ---- the command -------------------------------------------------------------------------------------


PROGRAM = """
def nothing(a):
    return a + 1

def broken(a):
    return undefined_name

SIZE = 3
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def said(capsys, *arguments):
    status = command.main([str(part) for part in arguments])
    return status, capsys.readouterr().err


def test_mistakes_have_messages(program, tmp_path, capsys):
    assert said(capsys, "check", f"{program}:nothin") == (2, f"spad tilelang: '{program}' has no 'nothin'; did you mean 'nothing'?\n")
    assert said(capsys, "check", tmp_path / "none.json") == (2, f"spad tilelang: '{tmp_path}/none.json': No such file or directory\n")
    status, text = said(capsys, "check", f"{program}:SIZE")
    assert status == 2 and text.startswith("spad tilelang: spad.tilelang.load takes a prim_func") and text.endswith(", not 3\n")
    status, text = said(capsys, "report", TREES / "numbered_sm_90.json", "-o", tmp_path / "no" / "page.html")
    assert (status, text) == (2, f"spad tilelang: '{tmp_path}/no/page.html': No such file or directory\n")
    with pytest.raises(SystemExit):
        command.main(["check", f"{program}:nothing", "--arg", "a=word"])
    assert "around which the shell needs quotes of its own: \"a='word'\"" in capsys.readouterr().err.replace("\n", " ")


def test_mistakes_of_a_program_have_a_place(program, capsys):
    pytest.importorskip("tilelang")
    assert said(capsys, "check", f"{program}:broken", "--arg", "a=1") == (
        2, f"spad tilelang: {program}:6: NameError: name 'undefined_name' is not defined\n")
    status, text = said(capsys, "check", f"{program}:nothing", "--arg", "a=1")
    assert status == 2 and text.endswith("; 'nothing' gives 2\n")


# ---- with TileLang -----------------------------------------------------------------------------------


def test_numbers_are_those_of_tilelang():
    pytest.importorskip("tilelang")
    from tilelang_kernels import numbered

    kernel = T.load(numbered(), target="sm_90")
    assert kernel.check().verdict == "proved for this shape" and kernel.approximations == []
