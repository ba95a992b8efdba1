# SPDX-License-Identifier: Apache-2.0
"""Traces of kernels in the older dialect, neuronxcc.nki: results and slots, index tiles, masks, blocks, and
direct allocation with its mistakes, in the order of the guide to direct allocation."""

import json
import linecache
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import spad
import spad.nki.trace as nt
from spad.nki import _index, _neuronxcc_isa

FILE = Path(__file__).with_name("nki_older.py")


@pytest.fixture(autouse=True)
def nothing_left():
    """No test leaves a module of nki in the process."""
    yield
    assert not [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]


def x(*shape, dtype="bf16"):
    return nt.hbm(shape, dtype)


def traced(name, *args, **options):
    return nt.trace(nt.load(f"{FILE}:{name}"), *args, **{"fold": False, **options})


def code(kernel):
    """The lines of a kernel without the lines of Python that they come from."""
    return [re.sub(r" from \d+$", "", line) for line in kernel.source.strip().split("\n")
            if not line.startswith(("source ", "compiler "))]


def operations(kernel):
    return [line for line in code(kernel)[1:] if not line.startswith("tensor ") or " : " not in line]


PROVED = "proved for this shape"


# ---- results, index tiles, masks -------------------------------------------------------------------------


def test_rows_literally():
    k = traced("rows", x(200, 512, dtype="f32"))
    assert operations(k)[5:] == [
        "dma load reads x(128..200, ..) writes t_2(0..72, ..)",
        "scalar exp reads t_2(0..72, ..) writes e_2(0..72, ..)",
        "vector reduce_sum reads e_2(0..72, ..) writes total_2(0..72, 0)",
        "vector divide reads e_2(0..72, ..), total_2(0..72, 0) writes share_2(0..72, ..)",
        "dma store reads share_2(0..72, ..) writes out(128..200, ..)",
    ]
    assert k.check().verdict == PROVED and k.notes == []


def test_slots_blocks_and_sums():
    k = traced("matmul", x(256, 128), x(256, 512))
    assert operations(k) == [
        "dma load reads lhsT(0..128, ..) writes a_0",
        "dma load reads rhs(0..128, ..) writes b_0",
        "tensor nc_matmul reads a_0, b_0 writes acc",
        "dma load reads lhsT(128..256, ..) writes a_1",
        "dma load reads rhs(128..256, ..) writes b_1",
        "tensor nc_matmul reads a_1, b_1 updates acc",
        "vector copy reads acc writes t",
        "dma store reads t writes result",
    ]
    assert k.check().verdict == PROVED and k.sim().makespan > 0 and k.plan().fits


def test_zeros_that_are_no_sum_are_written():
    def kernel(out):
        import neuronxcc.nki.isa as nisa
        import neuronxcc.nki.language as nl
        a = nl.zeros((nl.par_dim(128), 128), dtype=nl.float32, buffer=nl.psum)
        b = nl.zeros((nl.par_dim(128), 128), dtype=nl.float32, buffer=nl.psum)
        t = nl.load(out)
        b[:, 0:64] += nisa.nc_matmul(t, t[:, 0:64])
        nl.store(out, value=nl.add(a, b))

    text = operations(nt.trace(kernel, x(128, 128)))
    assert [line for line in text if "memset" in line] == ["vector memset writes b", "vector memset writes a"]
    assert "tensor nc_matmul reads t, t(.., 0..64) writes b(.., 0..64)" in text


@pytest.mark.parametrize("name, args", [
    ("functions", (x(128, 128, dtype="f32"), x(128, dtype="f32"))),
    ("instructions", (x(128, 512, dtype="f32"),)),
    ("pooled", (x(64, 6, 8, dtype="f32"),)),
    ("placed", (x(256, 512),)),
    ("counted", (x(256, 1024),)),
])
def test_kernels_are_proved(name, args):
    k = traced(name, *args)
    check = k.check()
    assert check.verdict == PROVED and k.notes == [], k.explain(check)
    assert k.sim().makespan > 0


def test_what_has_no_numbers_is_traced():
    k = traced("not_computed", x(128, 128, dtype="f32"), x(128, 8, dtype="uint32"), x(1, 1, dtype="int32"))
    text = "\n".join(operations(k))
    for word in ("dma atomic_rmw reads t", "gpsimd gather_flattened", "gpsimd local_gather", "vector random_seed",
                 "gpsimd sequence_bounds", "vector dropout"):
        assert word in text, word


def test_a_view_with_more_dimensions():
    assert "vector reduce_sum reads t writes t_2" in operations(traced("pooled", x(64, 6, 8)))


def test_a_result_that_is_used_again_is_a_tensor():
    text = operations(traced("used_twice", x(128, 64)))
    assert text[1:] == ["scalar exp reads r writes r_2", "vector copy reads r_2 writes t",
                        "scalar square reads t writes t", "vector add reads r_2, t writes t_2",
                        "dma store reads t_2 writes out"]


def test_a_sum_that_is_used_again_is_a_tensor():
    text = operations(traced("sum_used_twice", x(128, 128)))
    assert text[1:5] == ["tensor nc_matmul reads t writes r", "vector memset writes acc",
                         "vector add reads r updates acc", "vector add reads acc, r writes t_2"]


def test_an_index_that_the_device_knows():
    k = traced("gathered", x(1000, 64), x(128, 1, dtype="int32"))
    assert "dma load reads at_t may reads table moves 16384 writes t" in operations(k)
    assert k.notes == [] and k.check().verdict == PROVED


def test_a_grid_of_programs():
    k = traced("launch", x(256, 512), x(256, 512))
    assert k.operations == 16 and [t["name"] for t in k.tensors].count("c") == 1
    assert k.check().verdict == PROVED
    assert nt.trace(nt.load(f"{FILE}:add")[2, 2], x(256, 512), x(256, 512)).operations == 16
    with pytest.raises(nt.TraceError, match="programs"):
        nt.trace(nt.load(f"{FILE}:add")[100, 100], x(256, 512), x(256, 512))


def test_a_grid_on_two_cores():
    k = traced("launch_on_cores", x(512, 512), x(512, 512), lnc=2)
    text = code(k)
    first, second = (text.index(f"agent core_{core} {{") for core in (0, 1))
    loads = [[line for line in part if " load " in line and "reads a(" in line]
             for part in (text[first:second], text[second:])]
    assert [len(part) for part in loads] == [4, 4] and "a(0..128, 0..256)" in loads[0][0]
    assert "a(128..256, 0..256)" in loads[1][0] and [t["name"] for t in k.tensors].count("c") == 1
    assert k.check().verdict == PROVED
    with pytest.raises(nt.TraceError, match="says which programs each has"):
        traced("launch", x(256, 512), x(256, 512), lnc=2)


def test_index_tiles():
    i, j = _index.mgrid[0:4, 2:8]
    assert (2 * i + j - 1).limits() == (1, 12) and (5 - i).limits() == (2, 5) and i.shape == (4, 6)
    grid = _index.mgrid[0:4, 0:8]
    assert grid.p is grid[0] and grid.x is grid[1] and len(grid) == 2
    with pytest.raises(AttributeError):
        grid.y
    p = _index.arange(2, 6)[:, None]
    assert p.shape == (4, 1) and (p + _index.arange(3)[None, :]).shape == (4, 3)
    assert ((p < 4) & (p >= 3)).spans((4, 3)) == ([(1, 2), (0, 3)], True)
    assert (p > 100).spans((4, 3)) == ([(0, 0), (0, 0)], True)
    assert (p == 4).spans((4, 1))[0][0] == (2, 3)
    assert (p >= _index.arange(3)[None, :]).spans((4, 3)) == ([(0, 4), (0, 3)], True)
    assert (p <= _index.arange(3)[None, :]).spans((4, 3))[1] is False
    assert ((p < 4) & True).spans((4, 1)) == (p < 4).spans((4, 1))
    assert ((p < 4) & False).spans((4, 1))[0] == [(0, 0), (0, 0)]
    for wrong in (lambda: p % 2, lambda: p * p, lambda: bool(p < 2), lambda: p[1:], lambda: p != 2,
                  lambda: _index.arange(3)[:, None] + _index.arange(4)[:, None], lambda: _index.arange(0),
                  lambda: (p < 2) & 3, lambda: (p < 4).spans((4,))):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_masks_that_are_no_box_are_noted():
    def kernel(a, out):
        import neuronxcc.nki.language as nl
        i, j = nl.mgrid[0:128, 0:128]
        t = nl.zeros((nl.par_dim(128), 128), dtype=a.dtype)
        t[i, j] = nl.load(a[i, j], mask=(i >= j))
        nl.store(out, value=t)

    k = nt.trace(kernel, x(128, 128), x(128, 128))
    assert ["mask is no box" in text for _, text in k.notes] == [True]


def test_masks_that_python_knows():
    k = traced("masked_by_python", x(256, 512), rows=128)
    assert sum("dma load" in line for line in code(k)) == 1 and k.check().verdict == "proved for this shape"
    assert traced("masked_by_python", x(256, 512), rows=256).check()


@pytest.mark.parametrize("name, text, where", [
    ("unknown", "neuronxcc.nki.language.load_faster is not known", "load_faster"),
    ("unknown_parameter", "nki.isa.tensor_copy got an unexpected keyword argument 'colour'", "colour"),
    ("outside", "an index tile from 1 to 512 in dimension 1 of 'x', which has 512", "i_f + 1"),
    ("not_affine", "not affine", "// 2"),
    ("along_blocks", "an index tile along a block dimension of 't_0'", "nl.arange(4)"),
    ("several_blocks", "an operation writes one tile", "t[...] = nl.load(x.reshape"),
    ("other_shape", r"the result of nki.language.load is \(128, 512\)", "t[...] = nl.load(x)"),
    ("no_mask", "mask= is 3", "mask=3"),
    ("collective", "nki.language.all_reduce is not modelled", "all_reduce"),
])
def test_errors_name_the_line_of_the_user(name, text, where):
    with pytest.raises(nt.TraceError, match=text) as caught:
        traced(name, x(128, 512))
    assert where in FILE.read_text().split("\n")[caught.value.place[1] - 1]


@pytest.mark.parametrize("statement, text", [
    ("t += 1", "add to one of them"),
    ("t[7]", "block 7 of 't_0', which has 4"),
    ("t['a']", "an index of 't_0' is 'a'"),
    ("t[0] = 'a'", "'a' is assigned to a part of 't_0'"),
    ("t[0:2] = t[0:3]", "is assigned to"),
    ("t[0] = u[:, 0:8]", "is assigned to a part of"),
    ("u[...] = nl.exp(t)", "has block dimensions"),
    ("nl.add(u, u[:, 0:8])", r"operands of \(128, 512\) and \(128, 8\)"),
    ("nl.exp(3)", "none of the arguments is a tensor"),
    ("nl.exp()", "missing a required argument"),
    ("nl.sum(u, axis=0)", "along the partitions"),
    ("nl.store(x, value=u[:, 0:8])", "different numbers of elements"),
    ("nl.exp(nl.load(...))", "of the manual stands for its arguments"),
    ("nl.shared_constant(3)", "without a shape"),
    ("u[nl.arange(8)[None, :], nl.arange(128)[:, None]]", "along the first dimension of an index"),
    ("u[nl.arange(8)[:, None], nl.arange(4)[:, None]]", "of different grids"),
    ("u[nl.arange(8)[:, None], 0, 0]", "3 indices"),
    ("u[nl.arange(8)[:, None], ::-1]", "the step -1"),
    ("nisa.iota(3, dtype=nl.int32)", "not an index tile"),
    ("nisa.affine_select(3, u, 0.0)", "not a comparison of index tiles"),
    ("nisa.max8(u)", "too many positional arguments"),
    ("nl.finfo(nl.int32)", "finfo of int32"),
    ("u.assert_shape((1, 1))", "has not the shape"),
])
def test_mistakes_are_named(statement, text):
    with pytest.raises(nt.TraceError, match=text):
        snippet("""
t = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16, buffer=nl.sbuf)
u = nl.zeros((par_dim(128), 512), dtype=nl.bfloat16)
""" + statement)


def test_other_assignments():
    k = snippet("""
t = nl.ndarray((4, par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)
u = nl.ndarray((4, par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)
assert len(t) == 4 and repr(t) == "<tensor 't_0' bfloat16[4, 128, 512]>" and isinstance(t, nl.ndarray)
t[...] = x[0:4]
u[...] = t
u[0] = ...
u[1] = t[1]
u[2:4] = nl.load(...)
t[0, :, 0:8] = 1.0
r = nl.exp(t[0])
assert repr(r).startswith("<result of nki.language.exp") and r.ndim == 2 and isinstance(r, nl.ndarray)
nl.store(out[0:4], value=u)
nl.store(..., value=t[0])
nl.store(out[4], value=r)
out[5] = nl.exp(r)
""")
    text = operations(k)
    assert text.count("dma copy reads x(0, .., ..) writes t_0") == 1 and "vector assign writes u_0" in text
    assert "vector copy reads t_1 writes u_1" in text and "vector assign writes u_2" in text
    assert "dma store reads u_3 writes out(3, .., ..)" in text and "dma store reads t_0" in text
    assert any(line.startswith("dma copy reads t_") and line.endswith("writes out(5, .., ..)") for line in text)


def test_types():
    with nt.installed():
        import neuronxcc.nki.language as nl
    assert nl.bfloat16 == "bfloat16" and "bf16" == nl.bfloat16 and nl.float32 != "float16"
    assert nl.bfloat16.itemsize == 2 and str(nl.int8) == "int8" and hash(nl.int8) == hash("int8")
    assert nl.finfo(nl.float16).max == 65504.0 and nl.float32(3) == 3 and nl.float32 != 3
    numpy = pytest.importorskip("numpy")
    assert numpy.dtype(nl.bfloat16).itemsize == 2 and numpy.dtype(nl.float32) == numpy.float32
    assert nl.float32 == numpy.float32


# ---- direct allocation ------------------------------------------------------------------------------------


def places(kernel, prefix):
    return [int(line.partition(" at ")[2].split()[0]) for line in code(kernel)
            if re.match(rf"tensor {prefix}(_\d+)? :", line)]


def faults(kernel):
    return sorted({finding.code for finding in kernel.check() if finding.severity == "error"})


def test_rings_are_where_the_program_puts_them():
    k = traced("placed", x(512, 512), tiles=4, banks=2)
    assert places(k, "t") == [0, 1024, 2048, 3072] and places(k, "p") == [0, 2048, 0, 2048]
    assert places(k, "r") == [8192, 9216, 8192, 9216]
    assert k.check().verdict == PROVED


@pytest.mark.parametrize("tiles", [1, 2, 3, 4])
def test_too_few_tiles_are_a_lifetime_conflict(tiles):
    k = traced("placed", x(512, 512), tiles=tiles)
    assert faults(k) == ([] if tiles == 4 else ["SPAD-LIFETIME-CONFLICT"])


def test_forced_automatic_placement_is_right():
    with nt.installed():
        import neuronxcc.nki.compiler as ncc
    kernel = ncc.force_auto_alloc(nt.load(f"{FILE}:placed"))
    k = nt.trace(kernel, x(512, 512), tiles=2)
    assert k.check().verdict == PROVED and not any(" at " in line for line in code(k))


def test_a_loop_body_places_its_tensors_once():
    k = traced("counted", x(256, 1024))
    assert places(k, "t") == [0] * 4 and places(k, "u") == [1024] * 4


HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim, affine_range
"""


def snippet(text, *args, returns="out", **names):
    """A trace of a snippet as the body of a kernel, which also stores something."""
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    source = (HEAD + "\ndef kernel(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
              + lines + f"    return {returns}\n")
    names["__name__"] = "snippet"
    linecache.cache["<snippet>"] = len(source), None, source.splitlines(keepends=True), "<snippet>"
    with nt.installed():
        exec(compile(source, "<snippet>", "exec"), names)
    return nt.trace(names["kernel"], x(8, 128, 512), fold=False)


def test_a_function_places_tiles():
    k = snippet("""
def one_after_another(idx, pdim_size, fdim_size):
    block, = idx
    return (0, block * fdim_size)

t = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.alloc(one_after_another))
for i in nl.affine_range(4):
    t[i] = nl.load(x[i])
    nl.store(out[i], value=t[i])
""")
    assert places(k, "t") == [0, 1024, 2048, 3072] and faults(k) == []


def test_functions_from_a_factory():
    k = snippet("""
cursor = [0]
def region(size):
    first = cursor[0]
    cursor[0] += size
    return lambda idx, pdim_size, fdim_size: (0, first + idx[0] * fdim_size)

a = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.alloc(region(4 * 1024)))
b = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.alloc(region(4 * 1024)))
for i in nl.affine_range(4):
    a[i] = nl.load(x[i])
    b[i] = nl.exp(a[i])
    nl.store(out[i], value=b[i])
""")
    assert places(k, "b") == [4096, 5120, 6144, 7168] and faults(k) == []


def test_modulo_allocation():
    k = snippet("""
t = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
for i in nl.affine_range(4):
    t[i] = nl.load(x[i])
    nl.store(out[i], value=t[i])
""")
    assert places(k, "t") == [0, 1024, 0, 1024] and faults(k) == []


HOISTED = """
t = nl.ndarray((8, 128, 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(8,)))
for i in affine_range(8):
    t[i] = nl.load(x[i])
    nl.store(out[i], value=t[i])
"""
INSIDE = """
for i in affine_range(8):
    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    t[...] = nl.load(x[i])
    nl.store(out[i], value=t)
"""


def test_a_tensor_outside_of_the_loop_overlaps():
    hoisted, inside = snippet(HOISTED), snippet(INSIDE)
    assert faults(hoisted) == faults(inside) == []
    assert places(hoisted, "t") == [1024 * i for i in range(8)] and places(inside, "t") == [0] * 8
    assert hoisted.sim().makespan < inside.sim().makespan


MIXED = """
t = nl.load(x[0])
u = nl.ndarray((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
u[...] = nl.exp(t)
nl.store(out[0], value=u)
"""
NOT_MIXED = MIXED.replace("t = nl.load(x[0])", """\
t = nl.ndarray((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.alloc(lambda idx, p, f: (0, 1024)))
t[...] = nl.load(x[0])""")


def test_automatic_tensors_beside_placed_ones():
    k = snippet(MIXED)
    assert faults(k) == ["SPAD-IMPLICIT-TENSOR"]
    check = k.check()
    finding, = [finding for finding in check if finding.severity == "error"]
    assert (finding.file, finding.line) == ("<snippet>", 9) and "nki.language.load" in finding.message
    assert check.verdict == "wrong" and not check and "<snippet>:9: error: " in check.text()
    assert "<snippet>" in k.explain(check) and '"SPAD-IMPLICIT-TENSOR"' in check.json()
    assert "nki.language.load" in check.reason
    assert faults(snippet(NOT_MIXED)) == []
    automatic = NOT_MIXED.replace("ncc.sbuf.alloc(lambda idx, p, f: (0, 1024))", "nl.sbuf")
    assert faults(snippet(automatic)) == ["SPAD-MIXED-PLACEMENT"]
    assert faults(snippet(automatic.replace("mod_alloc(base_addr=0)", "auto_alloc()"))) == []


@pytest.mark.parametrize("call", [
    "nisa.nc_transpose(t[:, 0:128], engine=nisa.tensor_engine)",
    "nl.softmax(t[:, 0:128], axis=1)",
    "nl.matmul(t[:, 0:128], t[:, 0:128])",
    "nisa.activation(op=nl.exp, data=t[:, 0:128])",
])
def test_operations_with_tensors_of_their_own(call):
    text = f"""
t = nl.ndarray((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
p = nl.ndarray((par_dim(128), 128), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=0))
t[...] = nl.load(x[0])
p[...] = {call}
t[:, 0:128] = nl.copy(p)
nl.store(out[0], value=t)
"""
    assert faults(snippet(text)) == ["SPAD-IMPLICIT-TENSOR"]
    if "nc_transpose" in call:
        on_vector = text.replace("t[:, 0:128], engine=nisa.tensor_engine", "t[0:32, 0:32], engine=nisa.vector_engine"
                                 ).replace("p[...]", "p[0:32, 0:32]").replace("= nl.copy(p)", "= nl.copy(t[:, 0:128])")
        assert faults(snippet(on_vector)) == []


def test_an_initial_value_of_a_placed_tensor():
    assert faults(snippet("""
t = nl.zeros((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
nl.store(out[0], value=t)
""")) == ["SPAD-IMPLICIT-TENSOR"]


OVERLAPPING = """
a = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
b = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.mod_alloc(base_addr=1024, num_free_tiles=(2, )))
for i in nl.affine_range(2):
    for j in nl.affine_range(2):
        a[2 * i + j] = nl.load(x[2 * i + j])
        b[2 * i + j] = nl.load(x[2 * i + j + 4])
    for j in nl.affine_range(2):
        nl.store(out[2 * i + j], value=a[2 * i + j])
        nl.store(out[2 * i + j + 4], value=b[2 * i + j])
"""


def test_tensors_that_overlap():
    k = snippet(OVERLAPPING)
    assert faults(k) == ["SPAD-LIFETIME-CONFLICT"] and "<snippet>" in k.explain(k.check())
    assert faults(snippet(OVERLAPPING.replace("base_addr=1024", "base_addr=2048"))) == []


TOO_FEW = """
t = nl.ndarray((8, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.mod_alloc(byte_addr=0, num_free_tiles=(2, )))
r = nl.ndarray((8, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.mod_alloc(base_addr=65536, num_free_tiles=(2, )))
for i in nl.affine_range(8):
    t[i] = nl.load(...)
for i in nl.affine_range(8):
    r[i] = nl.exp(t[i])
    nl.store(out[i], value=r[i])
"""
ENOUGH = """
r = nl.ndarray((8, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.mod_alloc(base_addr=65536, num_free_tiles=(2, )))
for j in nl.affine_range(4):
    t = nl.ndarray((2, par_dim(128), 512), dtype=nl.bfloat16,
                   buffer=ncc.sbuf.mod_alloc(byte_addr=0, num_free_tiles=(2, )))
    for i in nl.affine_range(2):
        t[i] = nl.load(...)
        r[2 * j + i] = nl.exp(t[i])
        nl.store(out[2 * j + i], value=r[2 * j + i])
"""


def test_tiles_that_are_all_alive():
    assert faults(snippet(TOO_FEW)) == ["SPAD-LIFETIME-CONFLICT"]
    assert faults(snippet(TOO_FEW.replace("num_free_tiles=(2, )", "num_free_tiles=(8, )", 1))) == []
    assert faults(snippet(ENOUGH)) == []


def test_sums_that_share_a_bank():
    text = """
t = nl.ndarray((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
p = nl.ndarray((2, par_dim(128), 512), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(1,)))
t[...] = nl.load(x[0])
for k in nl.affine_range(2):
    for i in nl.affine_range(2):
        p[i] += nisa.nc_matmul(t[:, 0:128], t)
for i in nl.affine_range(2):
    t[...] = nl.copy(p[i])
    nl.store(out[i], value=t)
"""
    assert faults(snippet(text))
    assert faults(snippet(text.replace("num_bank_tiles=(1,)", "num_bank_tiles=(2,)"))) == []


@pytest.mark.parametrize("buffer, shape, found", [
    ("ncc.psum.mod_alloc(base_bank=0, base_addr=1024)", (128, 64), "SPAD-BANK"),
    ("ncc.psum.mod_alloc(base_bank=0, start_partition=64)", (64, 64), "SPAD-BANK"),
    ("ncc.psum.mod_alloc(base_bank=0)", (128, 513), "SPAD-BOUNDS"),
    ("ncc.psum.mod_alloc(base_bank=8)", (128, 64), "SPAD-BOUNDS"),
    ("ncc.sbuf.mod_alloc(base_addr=300000)", (128, 64), "SPAD-BOUNDS"),
    ("ncc.sbuf.alloc(lambda idx, p, f: (16, 0))", (32, 64), "SPAD-LANES"),
    ("ncc.sbuf.alloc(lambda idx, p, f: (32, 0))", (64, 64), "SPAD-LANES"),
    ("ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, 2))", (2, 128, 64), "SPAD-SHAPE"),
])
def test_rules_of_the_memories(buffer, shape, found):
    *block, p, f = shape
    shown = ", ".join([*map(str, block), f"par_dim({p})", str(f)])
    k = snippet(f"""
t = nl.ndarray(({shown}), dtype=nl.float32, buffer={buffer})
t[...] = 0.0
nl.store(out[0], value=0.0)
""")
    assert found in faults(k)
    assert any(finding.line == 9 and finding.file == "<snippet>" for finding in k.check() if finding.code == found)


def test_tensors_in_hbm_that_are_not_returned():
    text = """
h = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)
t = nl.ndarray((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
t[...] = nl.load(x[0])
nl.store(h, value=t)
nl.store(out[0], value=t)
"""
    assert faults(snippet(text)) == ["SPAD-OFF-CHIP-NOT-OUTPUT"]
    assert faults(snippet(text, returns="(out, h)")) == []
    assert faults(snippet(text.replace("nl.shared_hbm", "nl.hbm"), returns="(out, h)")) == ["SPAD-OFF-CHIP-NOT-OUTPUT"]
    assert faults(snippet(text.replace("ncc.sbuf.mod_alloc(base_addr=0)", "nl.sbuf"))) == []


def test_counts_without_blocks_are_noted():
    k = snippet("""
t = nl.ndarray((par_dim(128), 4, 128), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(4,)))
t[...] = nl.load(x[0])
nl.store(out[0], value=t)
""")
    assert "no effect" in k.notes[0][1] and faults(k) == []


def command(*words):
    return subprocess.run([sys.executable, "-m", "spad", "nki", *map(str, words)], capture_output=True, text=True,
                          timeout=120)


def test_the_command():
    arguments = ("--arg", "x=bf16[512,512]", "--arg", "tiles=2")
    done = command("check", f"{FILE}:placed", *arguments)
    assert done.returncode == 1 and "SPAD-LIFETIME-CONFLICT" in done.stdout and f"{FILE}:" in done.stdout
    assert command("check", f"{FILE}:counted", "--arg", "x=bf16[256,1024]").returncode == 0
    done = command("plan", f"{FILE}:mixed", "--arg", "x=bf16[128,512]")
    line = next(at for at, text in enumerate(FILE.read_text().split("\n"), 1) if "a tensor of the compiler" in text)
    assert f"{FILE}:{line}: error: " in done.stderr and "[SPAD-IMPLICIT-TENSOR]" in done.stderr and "sbuf" in done.stdout
    assert command("check", f"{FILE}:mixed", "--arg", "x=bf16[128,512]").returncode == 1
    done = command("text", f"{FILE}:launch_on_cores", "--arg", "a=bf16[512,512]", "--arg", "b=bf16[512,512]", "--lnc", 2)
    assert done.returncode == 0 and "agent core_1 {" in done.stdout, done.stderr


# ---- the guide itself, where it is at hand -------------------------------------------------------------------

MENDED = (  # what is no Python as printed
    ("  ...                       = nl.exp", "  _ = nl.exp"),
    ("nl.load(...).\n", "nl.load(...)\n"),
    ("num_free_tiles=(8,))\nfor", "num_free_tiles=(8,)))\nfor"),
    ("nl.ndaraay", "nl.ndarray"),
    ("  base_addr = next_addr\n", "  global next_addr\n  base_addr = next_addr\n"),
)
REFUSED = {"sbuf.alloc(...)": "takes a function"}  # dots in the place of arguments


def blocks(path):
    """The code blocks of a page."""
    made = []
    for part in re.split(r"^\.\. code-block::.*$", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        lines = []
        for line in part.strip("\n").split("\n"):
            if line.strip() and not line.startswith("  "):
                break
            lines.append(line)
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        made.append("\n".join(line[indent:] for line in lines) + "\n")
    return made


@pytest.mark.skipif(not os.environ.get("SPAD_NKI_GUIDE"),
                    reason="SPAD_NKI_GUIDE does not name the guide to direct allocation (.rst)")
def test_the_snippets_of_the_guide():
    path = Path(os.environ["SPAD_NKI_GUIDE"])
    ran = 0
    for text in blocks(path):
        if "buffer=" not in text:
            continue  # a picture in words
        for wrong, right in MENDED:
            text = text.replace(wrong, right)

        def kernel(input, result):
            import neuronxcc.nki.language as nl
            names = {"input": input, "result": result, "__name__": "guide"}
            exec(compile(HEAD + text, "<guide>", "exec"), names)
            nl.store(result[0], value=0.0)
            return result

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused = next((why for part, why in REFUSED.items() if part in text), None)
            if refused is not None:
                with pytest.raises(nt.TraceError, match=refused):
                    nt.trace(kernel, x(128, 512), x(8, 128, 512, dtype="f32"))
                continue
            k = nt.trace(kernel, x(128, 512), x(8, 128, 512, dtype="f32"))
        if "# Lifetime conflict #" in text:
            assert "SPAD-LIFETIME-CONFLICT" in faults(k)
        ran += 1
    assert ran >= 7


def test_modules_of_the_older_package():
    with nt.installed():
        import neuronxcc.nki as nki
        from neuronxcc.nki import compiler, isa, language
    assert nki.compiler is compiler and nki.isa is isa and nki.language is language
    assert all(getattr(isa, row.split("|")[0].strip()) for row in _neuronxcc_isa._ROWS.strip().split("\n"))
    with pytest.raises(spad.StateError, match="only in a trace"):
        language.ndarray((128, 4), language.float32)


def test_a_page_has_the_errors_of_the_trace():
    """What the compiler refuses is among the findings of the page, at a line of the kernel and with that of Python."""
    with nt.installed():
        import neuronxcc.nki.compiler as ncc
        import neuronxcc.nki.language as nl

        def mixed(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            t = nl.load(x)
            u = nl.ndarray((nl.par_dim(128), 512), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
            u[...] = nl.exp(t)
            nl.store(out, value=u)
            return out

    k = nt.trace(mixed, nt.hbm((128, 512), "bf16"))
    faults = k.check().own
    made = json.loads(k.report().write("json"))
    shown = [finding for finding in made["findings"] if finding["code"] == "SPAD-IMPLICIT-TENSOR"]
    assert faults and len(shown) == sum(fault.code == "SPAD-IMPLICIT-TENSOR" for fault in faults)
    line = mixed.__code__.co_firstlineno + 2
    assert shown[0]["severity"] == "error" and f"test_nki_older.py:{line})" in shown[0]["message"]
    assert k.place(shown[0]["line"]) == (__file__, line)
    page = k.report().write("html")
    assert "SPAD-IMPLICIT-TENSOR" in page and "NKI refuses the placement of tensors" in page
    with pytest.raises(ValueError, match="no code"):
        k.report().add_finding("SPAD-NOTHING", "x")
    with pytest.raises(ValueError, match="no severity"):
        k.report().add_finding("SPAD-GRANULE", "x", "worse")
    k.faults.append((None, "SPAD-BANK", "no such bank"))
    assert "no such bank [SPAD-BANK]" in k.report().write("html")
    long = k.report()
    long.add_finding("SPAD-GRANULE", "\u00e9" * 5000, "advice", "\u00e9" * 500)
    assert "\u00e9" * 20 in long.write("html")
