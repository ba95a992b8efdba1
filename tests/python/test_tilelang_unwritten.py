# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: registers that a kernel reads before it writes them."""

import json
import os

import pytest

import spad
import spad.tilelang as T
from spad.tilelang._tree import bodies
from test_tilelang_load import SYNC, _installed, kernel_tree
from tilelang_kernels import TREES

UNWRITTEN = "SPAD-UNINITIALISED-READ"
LOADED = [path for path in sorted(TREES.glob("*.json")) if path.stem != "handed_out_sm_100"]  # which is refused
SAVED = ["store", "g", "tx", ["load", "r", 0]]


def errors(kernel):
    return {f.code for f in kernel.check().findings if f.severity == "error"}


def small(*body, elements=4, **more):
    tree = kernel_tree([["store", "s", "tx", ["f"]], SYNC, *body], **more)
    tree["buffers"]["r"] = {"dtype": "float32", "scope": "local", "alloc": True, "bits": 32, "elements": elements}
    return T.load(tree)


# ---- recorded kernels ------------------------------------------------------------------------------


def fills(statement, buffer):
    """Whether a statement gives a buffer in registers its first values."""
    if statement[0] == "store":
        return statement[1] == buffer
    return (statement[0] == "do" and statement[1][:1] == ["call"] and statement[1][1] in ("ptx_ldmatrix", "tcgen05_ld")
            and any(a[:2] == ["call", "tvm_access_ptr"] and a[3] == buffer and a[6] == 2 for a in statement[1][2:] if isinstance(a, list)))


def without(body, buffer):
    """Statements without those that fill a buffer."""
    return [[s[0], *[without(part, buffer) if any(part is inner for inner in bodies(s)) else part for part in s[1:]]]
            for s in body if not fills(s, buffer)]


def registers(tree):
    """Buffers in registers that hold more than the positions of rings."""
    return [name for name, facts in tree["buffers"].items() if facts["scope"] in ("local", "local.fragment")
            and facts.get("elements") and "phase_cnt" not in name and not name.startswith("mask")]


@pytest.mark.parametrize("path", LOADED, ids=lambda path: path.stem)
def test_each_buffer_that_nothing_fills(path):
    tree = json.loads(path.read_text())
    whole = T.load(tree).check().verdict
    for buffer in registers(tree)[:None if os.environ.get("SPAD_THOROUGH") else 3]:
        kernel = T.load({**tree, "body": without(tree["body"], buffer)})
        check = kernel.check()
        assert not check.verdict.startswith("proved"), (buffer, check.text())
        if whole.startswith("proved"):
            assert UNWRITTEN in {f.code for f in check.findings}, (buffer, check.text())
            assert any(f"'{buffer}" in f.message for f in check.findings if f.code == UNWRITTEN)


@pytest.mark.parametrize("path", LOADED, ids=lambda path: path.stem)
def test_kernels_that_fill_their_registers(path):
    text = T.load(path).text()
    assert "assume" not in text and all(line.endswith(" input") for line in text.split("\n") if " : registers " in line)


# ---- what is decided -------------------------------------------------------------------------------


def test_elements_count():
    """Three of four elements are filled, and the fourth one is read."""
    fill = ["for", "i", 0, 3, "unroll", [["store", "r", "i", ["f"]]]]
    assert errors(small(fill, ["for", "i", 0, 3, "unroll", [["store", "g", "i", ["load", "r", "i"]]]])) == set()
    kernel = small(fill, ["for", "i", 0, 4, "unroll", [["store", "g", "i", ["load", "r", "i"]]]])
    assert errors(kernel) == {UNWRITTEN} and "bytes [12, 16)" in kernel.check().text()


def test_a_loop_that_reads_what_it_wrote_in_the_round_before():
    step = ["for", "i", 1, 3, "serial", [["store", "r", "i", ["+", ["load", "r", ["-", "i", 1]], ["f"]]]]]
    assert errors(small(["store", "r", 0, ["f"]], step)) == set()
    assert errors(small(step)) == {UNWRITTEN}


def test_a_condition_of_the_first_round():
    """A value of the round before is used from the second round on."""
    def kernel(first):
        return small(["for", "k", 0, 8, "serial", [
            SYNC, ["if", [">", "k", first], [["store", "g", "tx", ["load", "r", 0]]], []], ["store", "r", 0, ["f"]]]])

    assert errors(kernel(0)) == set() and kernel(0).check().verdict == "proved for all trip counts"
    assert errors(kernel(-1)) == {UNWRITTEN}


def test_a_condition_on_data():
    """Written under a condition and read under the same one: nobody knows, and the reason says so."""
    has = ["<", ["load", "g", "bx"], 3]
    written, read = ["if", has, [["store", "r", 0, ["f"]]], []], ["if", has, [SAVED], []]
    kernel = small(written, read)
    assert errors(kernel) == set() and kernel.check().verdict.startswith("proved")
    assert kernel.check().reason.startswith("assuming that 'r' in registers is written before it is read")
    assert errors(small(read)) == {UNWRITTEN}
    assert "assume" not in small(["store", "r", 0, ["f"]], written, read).text()


def test_a_condition_on_the_block():
    """Decided for the block that is walked; of the others it is an assumption."""
    of_block = [["if", ["==", "bx", block], [["store", "r", 0, ["f"]]], []] for block in (0, 1)]
    assert errors(small(of_block[1], SAVED)) == {UNWRITTEN}
    kernel = small(of_block[0], SAVED)
    assert errors(kernel) == set() and kernel.check().reason.startswith("assuming that 'r' in registers is written")


def test_a_condition_on_data_in_a_loop():
    """Rounds that data chooses: the first of them that is done reads what none has written."""
    sums = ["store", "r", 0, ["+", ["load", "r", 0], ["f"]]]
    chosen = ["for", "k", 0, 8, "serial", [["if", ["<", ["load", "g", "k"], 3], [sums], []]]]
    assert errors(small(chosen)) == {UNWRITTEN}
    assert errors(small(["store", "r", 0, ["f"]], chosen, SAVED)) == set()
    begun = ["if", ["==", ["load", "g", "k"], 3], [["store", "r", 0, ["f"]]], []]
    assert "assuming that 'r'" in small(["for", "k", 0, 8, "serial", [begun, chosen[5][0]]]).check().reason


def test_a_loop_of_any_number_of_rounds():
    rounds = ["for", "k", 0, ["load", "g", "bx"], "serial", [["store", "r", 0, ["f"]], SAVED]]
    assert "assume" not in small(rounds).text() and errors(small(rounds)) == set()
    assert "assuming that 'r'" in small(rounds, SAVED).check().reason


def test_threads_that_fill_and_threads_that_read():
    fill = ["if", ["<", "tx", 32], [["store", "r", 0, ["f"]]], []]
    kernel = small(fill, ["if", ["<", "tx", 32], [SAVED], []])
    assert errors(kernel) == set() and "assume" not in kernel.text()
    other = small(fill, ["if", [">=", "tx", 32], [SAVED], []])
    assert errors(other) == {UNWRITTEN} and "r[1]" in other.check().text() and "r[0]" not in other.check().text()


def test_a_product_that_starts_its_sum():
    """wgmma that does not go on with what is there needs nothing in its accumulator."""
    tree = json.loads((TREES / "gemm_sm_90.json").read_text())
    bare = json.dumps(without(tree["body"], "acc"))
    flag = '"acc", 0, 1, 1, 1]'
    assert flag in bare
    first = '"acc", 0, ["select", ["<", 0, "ki"], 1, ["select", ["==", "ko_1", 0], 0, 1]], 1, 1]'
    kernel = T.load({**tree, "body": json.loads(bare.replace(flag, first))})
    assert errors(kernel) == set() and "assume" not in kernel.text()
    assert UNWRITTEN in errors(T.load({**tree, "body": json.loads(bare)}))


def test_variables_start_at_zero():
    """TileLang gives variables of alloc_var the value 0."""
    kernel = small(["store", "g", "tx", ["load", "one", 0]], buffers={
        **kernel_tree([])["buffers"], "one": {"dtype": "int32", "scope": "local.var", "alloc": True, "bits": 32, "elements": 1}})
    assert errors(kernel) == set()


def test_huge_buffers_and_loops_end():
    body = ["for", "i", 0, 1 << 40, "serial", [["store", "g", "i", ["load", "r", ["ramp", "i", 3, 1 << 39]]]]]
    kernel = small(["store", "r", 0, ["f"]], body, elements=1 << 39)
    assert "assuming that 'r'" in kernel.check().reason or kernel.check().verdict == "unknown"
    assert errors(small(body)) == {UNWRITTEN}


# ---- lines of the program --------------------------------------------------------------------------


def test_lines_of_a_tree():
    """A tree may say which line each statement is from; a finding shows it."""
    body = [["store", "s", "tx", ["f"]], SYNC, SAVED]
    tree = kernel_tree(body, sources=[["dir/mine.py", 12, "g[tx] = r[0]"]], places=[-1, -1, 0])
    tree["buffers"]["r"] = {"dtype": "float32", "scope": "local", "alloc": True, "bits": 32, "elements": 4}
    assert "mine.py:12: error: " in T.load(json.loads(json.dumps(tree))).check().text()
    for wrong in ({"places": [-1, -1, 1]}, {"places": 3}, {"sources": [["x", 0, ""]]}, {"sources": [["x", 1]]}, {"first": {"r": 4}}):
        with pytest.raises(spad.Error, match="no tree of a TileLang kernel"):
            T.load({**tree, **wrong})


def cleared(clear):
    """A product whose accumulator is filled, or not."""
    import tilelang.language as TL

    @TL.prim_func
    def main(A: TL.Tensor((256, 256), "float16"), B: TL.Tensor((256, 256), "float16"), C: TL.Tensor((256, 256), "float16")):
        with TL.Kernel(4, 4, threads=128) as (bx, by):
            a = TL.alloc_shared((64, 32), "float16")
            b = TL.alloc_shared((32, 64), "float16")
            acc = TL.alloc_fragment((64, 64), "float32")
            if clear == 1:
                TL.clear(acc)
            for k in TL.Pipelined(8, num_stages=3):
                TL.copy(A[by * 64, k * 32], a)
                TL.copy(B[k * 32, bx * 64], b)
                if clear == 2:
                    TL.gemm(a, b, acc, clear_accum=k == 0)
                else:
                    TL.gemm(a, b, acc)  # the line
            TL.copy(acc, C[by * 64, bx * 64])

    return main


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
@pytest.mark.parametrize("arch", ("sm_80", "sm_90", "sm_100"))
def test_an_accumulator_that_is_not_cleared(arch):
    kernel = T.load(cleared(0), target=arch)
    with open(__file__, encoding="utf-8") as file:
        line = 1 + next(n for n, text in enumerate(file) if "# the line" in text and "acc)" in text)
    assert errors(kernel) == {UNWRITTEN}
    assert f"at {os.path.basename(__file__)}:{line}" in kernel.check().text()
    assert errors(T.load(json.loads(json.dumps(kernel.tree)))) == {UNWRITTEN}
    for clear in (1, 2):
        right = T.load(cleared(clear), target=arch)
        assert right.check().verdict == "proved for all trip counts", right.check().text()
        assert right.check().reason.startswith("for all")
        assert right.sim(grid=True).makespan > 0
