# SPDX-License-Identifier: Apache-2.0
"""docs/seeds.md: every test, C function and Python name of its tables exists. And the snippets of
the manuals that no other test runs, as they are printed: only the import line is another one.
(SbufManager and direct allocation: test_nki_snippets.py.)"""

import ctypes
import importlib
import inspect
import re
import warnings

import pytest

import spad
import spad.ascend
import spad.nki as nl
import spad.tilelang
from spad import cubie

# ---- the page -----------------------------------------------------------------------------------


def rows(root):
    """(line, cells) of the rows of the tables of the page that have four columns."""
    lines = (root / "docs/seeds.md").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] != "feature":
            yield number, cells


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_the_table_is_complete(root):
    found = list(rows(root))
    assert len(found) >= 110
    for number, cells in found:
        assert all(names(cell) for cell in cells[1:]), f"docs/seeds.md:{number}: an empty cell"
        assert "partly" not in re.sub(r"`[^`]*`", "", " ".join(cells)), number


def c_fault(name, headers, words, symbols):
    """What is wrong with a name of C, or None."""
    if "." in name:  # a field
        owner, field = name.split(".")
        body = re.search(rf"typedef struct {owner} {{(.*?)}} {owner};", headers, re.S)
        return None if body and re.search(rf"\b{field}\b", body[1]) else "no such field"
    if name not in words:
        return "not in a header"
    is_function = re.search(rf"\b{name}\(", headers) and name.startswith("spad_")
    return "not exported" if is_function and name not in symbols else None


def test_every_c_name_exists(root):
    symbols = set()
    for file in ("spad.txt", "spad_device.txt"):
        symbols |= set((root / "tests/symbols" / file).read_text(encoding="ascii").split())
    headers = "".join(path.read_text(encoding="utf-8")
                      for path in (root / "include/spad").rglob("*.h"))
    words = set(re.findall(r"\bspad_\w+|\bSPAD_\w+", headers))
    faults = [(number, name, c_fault(name, headers, words, symbols))
              for number, cells in rows(root) for name in names(cells[1])]
    assert [fault for fault in faults if fault[2]] == []


def python_fault(name):
    """What is wrong with a Python name, or None."""
    path = name.split("(")[0].split(".")
    drop_in = path[1] in ("nki", "ascend", "tilelang", "cubie")
    thing = importlib.import_module(".".join(path[:2])) if drop_in else spad
    for part in path[2 if drop_in else 1:]:
        if not hasattr(thing, part):
            return f"no {part}"
        thing = getattr(thing, part)
    for keyword in re.findall(r"(\w+)=", name):
        try:
            parameters = inspect.signature(thing).parameters
        except ValueError:  # a method of the extension: its description has them
            if not re.search(rf"\b{keyword}\b", thing.__doc__ or ""):
                return f"no argument {keyword}"
            continue
        if keyword not in parameters and not any(
                p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values()):
            return f"no argument {keyword}"
    return None


def test_every_python_name_exists(root):
    faults = [(number, name, python_fault(name))
              for number, cells in rows(root) for name in names(cells[2])]
    assert [fault for fault in faults if fault[2]] == []


def test_every_test_exists(root):
    files = {}
    for path in [*(root / "tests").rglob("test_*.c"), *(root / "tests/python").glob("test_*.py")]:
        files[path.name] = path.read_text(encoding="utf-8")
    page = (root / "docs/seeds.md").read_text(encoding="utf-8")
    faults = []
    for name in set(re.findall(r"`(test_\w+\.\w+:\w+)`", page)):
        file, _, test = name.partition(":")
        form = rf"^def {test}\(" if file.endswith(".py") else rf"cmocka_unit_test\w*\(\s*{test}\b|\bTEST\({test}\)"
        if file not in files or not re.search(form, files[file], re.M):
            faults.append(name)
    assert faults == []
    for number, cells in rows(root):
        assert all(re.fullmatch(r"test_\w+\.\w+:\w+", name) for name in names(cells[3])), number


# ---- what is printed wrongly --------------------------------------------------------------------

NKI = """\
import spad.nki as nki
import spad.nki as nl
import spad.nki as ncc
from spad.nki import par_dim, affine_range
"""

PRINTED = {
    "an ellipsis is assigned": ("""
nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), dtype=nl.bfloat16, buffer=nl.sbuf)

for i_block in nl.affine_range(16):
  nki_tensor[i_block, :, :] = nl.load(...)
  ...                       = nl.exp(nki_tensor[i_block, :, :])
""", SyntaxError, "cannot assign to ellipsis"),
    "no global": ("""
next_addr = 0
def simple_1d_alloc_factory(total_fdim_size):
  base_addr = next_addr
  next_addr += total_fdim_size

  def simple_1d_alloc_func(idx, pdim_size, fdim_size):
    idx, = idx
    start_partition = 0
    return (start_partition, base_addr + idx * fdim_size)

  return simple_1d_alloc_func

t0 = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
                buffer=ncc.sbuf.alloc(simple_1d_alloc_factory(512*2*4)))
""", UnboundLocalError, "next_addr"),
    "ndaraay": ("""
for i in affine_range(8):
    t = nl.ndaraay((128, 512), dtype=..., buffer=ncc.sbuf.mod_alloc(base_addr=0))
    t[i] = ...
""", AttributeError, "spad.nki has no 'ndaraay'; did you mean 'ndarray'?"),
    "a bracket is missing": ("""
t = nl.ndaraay((8, 128, 512), dtype=...,
              buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(8,))
for i in affine_range(8):
    t[i] = ...
""", SyntaxError, r"'\(' was never closed|invalid syntax"),
    "a full stop": ("""
for i in nl.affine_range(4):
  t1 = nl.ndarray((2, par_dim(128), 512),
                  buffer=ncc.sbuf.mod_alloc(byte_addr=0, num_free_tiles=(2, )))
  for i in nl.affine_range(2):
    t1[i] = nl.load(...).
    result[i] = nl.exp(t1[i])
""", SyntaxError, "invalid syntax"),
    "alloc of dots": ("""
nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), ..., buffer=ncc.sbuf.alloc(...))
""", spad.ArgumentError, r"sbuf.alloc takes a function of \(idx, pdim_size, fdim_size\), not Ellipsis"),
    "mod_alloc of dots": ("""
nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), ..., buffer=ncc.sbuf.mod_alloc(...))
""", spad.ArgumentError, r"write mod_alloc\(base_addr=0, num_free_tiles=\(2,\)\)"),
    "a shape of dots": ("""
t = nl.ndarray(shape=..., buffer=ncc.sbuf.alloc(lambda idx, pdim_size, fdim_size: (0, 0)))
""", TypeError, "a shape is a tuple such as"),
    "an empty with": ("""
import spad.ascend as T

@T.prim_func
def auto_release():
    with T.allocate(dtype="float16", scope="shared") as temp_buf:
        # ...
    # ...
    return
""", IndentationError, "expected an indented block after 'with' statement"),
}


@pytest.mark.parametrize("printed", PRINTED)
def test_what_is_printed_wrongly_is_answered(printed, root):
    text, error, message = PRINTED[printed]
    with pytest.raises(error, match=message):
        exec(compile(NKI + text, "<printed>", "exec"), {})
    page = (root / "docs/seeds.md").read_text(encoding="utf-8")
    assert error.__name__ in page


# ---- direct allocation: what has no snippet of its own --------------------------------------------


def test_the_modules_of_nki_have_their_names():
    import spad.nki.language as language
    assert language is nl and nl.compiler is nl and nl.isa is nl
    assert nl.language.constants.sbuf_min_align == 1
    assert importlib.import_module("spad.nki.isa").tensor_engine == nl.tensor_engine


@pytest.mark.parametrize("pdim, starts", [(128, (0,)), (65, (0,)), (64, (0, 64)), (33, (0, 64)),
                                          (32, (0, 32, 64, 96)), (1, (0, 32, 64, 96))])
def test_start_partitions_follow_the_isa(pdim, starts):
    for start in range(0, 128, 16):
        def declare():
            return nl.ndarray((nl.par_dim(pdim), 512), dtype=nl.bfloat16,
                              buffer=nl.sbuf.alloc(lambda idx, pdim_size, fdim_size: (start, 0)))
        if start in starts:
            assert declare().address == (start, 0)
        else:
            with pytest.raises(spad.ArgumentError, match=f"cannot start at lane {start}"):
                declare()


def test_byte_addresses_end_before_the_reserve_of_the_compiler():
    nl.set_target("trn1")  # NeuronCore-v2
    try:
        def declare(at):
            return nl.ndarray((nl.par_dim(128), 4), dtype=nl.int8, buffer=nl.sbuf.mod_alloc(base_addr=at))
        assert declare((192 - 16) * 1024 - 4).address == (0, 180220)
        for at in ((192 - 16) * 1024 - 3, (192 - 16) * 1024, -1):
            with pytest.raises(spad.ArgumentError, match="outside"):
                declare(at)
    finally:
        nl.set_target(None)


def test_a_function_is_called_once_for_every_tile():
    seen = []

    def place(idx, pdim_size, fdim_size):
        seen.append((tuple(idx), pdim_size, fdim_size))
        return 0, idx[0] * fdim_size

    tiles = nl.ndarray((4, nl.par_dim(128), 512), dtype=nl.bfloat16, buffer=nl.sbuf.alloc(place))
    assert [tile.address for tile in tiles] == [(0, 1024 * i) for i in range(4)]
    assert seen == [((i,), 128, 1024) for i in range(4)]


def test_loops_fill_and_read_every_tile():
    """A tensor with block dims that a loop fills and another one reads; a tile that was not filled is missed."""
    assert list(nl.affine_range(4)) == [0, 1, 2, 3]

    @nl.jit
    def kernel(filled):
        t = nl.ndarray((4, nl.par_dim(128), 512), dtype=nl.bfloat16, buffer=nl.sbuf)
        for i in nl.affine_range(filled):
            t[i] = nl.load(...)
        for i in nl.affine_range(4):
            nl.store(..., nl.exp(t[i]))

    kernel(4)
    with pytest.raises(nl.CompileError, match=r"Uninitialised read.*tile \(3,\)"):
        kernel(3)


def test_modulo_along_the_partitions():
    tiles = nl.ndarray((8, nl.par_dim(32), 512), dtype=nl.bfloat16,
                       buffer=nl.sbuf.mod_alloc(0, 0, (4,), (1,)))  # in the order of the manual
    assert [t.address for t in tiles] == [(32 * (i % 4), 0) for i in range(8)]
    with pytest.raises(spad.ArgumentError, match="lanes"):
        nl.ndarray((8, nl.par_dim(128), 512), dtype=nl.bfloat16,
                   buffer=nl.sbuf.mod_alloc(base_addr=0, num_par_tiles=(2,)))


def test_psum_tiles_start_at_their_bank():
    made = nl.ndarray((4, nl.par_dim(128), 512), dtype=nl.float32,
                      buffer=nl.psum.mod_alloc(base_bank=1, base_addr=0, start_partition=0,
                                               num_bank_tiles=(2,)))
    assert made.bank == 1 and [t.bank for t in made] == [1, 2, 1, 2] and made.address == (0, 0)
    placed = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32,
                        buffer=nl.psum.alloc(lambda idx, pdim_size, fdim_size: (7, 0, 0)))
    assert placed.bank == 7
    for wrong in ({"base_addr": 1024}, {"start_partition": 64}, {"base_partition": 64}):
        with pytest.raises(spad.ArgumentError, match="starts at byte 0 and lane 0"):
            nl.ndarray((nl.par_dim(64), 256), dtype=nl.float32,
                       buffer=nl.psum.mod_alloc(base_bank=0, **wrong))
    with pytest.raises(spad.ArgumentError, match="2048 B"):
        nl.ndarray((nl.par_dim(128), 513), dtype=nl.float32, buffer=nl.psum.mod_alloc(base_bank=0))
    with pytest.raises(TypeError, match="needs base_bank"):
        nl.psum.mod_alloc(base_addr=0)
    with pytest.raises(TypeError, match="start_partition is another word"):
        nl.psum.mod_alloc(0, base_partition=0, start_partition=0)


@pytest.mark.parametrize("order", [lambda f: nl.force_auto_alloc(nl.jit(f)),
                                   lambda f: nl.jit(nl.force_auto_alloc(f))])
def test_force_auto_alloc_on_either_side_of_jit(order):
    seen = []

    @order
    def kernel(a):
        t = nl.ndarray((8, nl.par_dim(128), 512), dtype=nl.bfloat16,
                       buffer=nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)))
        for i in nl.affine_range(8):
            t[i] = nl.load(a)
        for i in nl.affine_range(8):
            nl.store(a, nl.exp(t[i]))  # a conflict if it were placed
        seen.append(t.address)

    kernel(None)
    assert seen == [None]


def kernel_text(ring):
    return f"""kernel rows on trn2
param N = 64
tensor x : sbuf bf16 [N] (128, 512) ring {ring}
tensor y : sbuf bf16 [N] (128, 512) ring {ring}
tensor out : hbm bf16 [N] (128, 512) output
for i in 0..N parallel {{
    dma load writes x[i]
    scalar exp reads x[i] writes y[i]
    dma store reads y[i] writes out[i]
}}
"""


def test_two_physical_tiles_overlap_and_one_does_not():
    one, two = (spad.Kernel.parse(kernel_text(ring)).sim().makespan for ring in (1, 2))
    assert two < 0.8 * one
    tuned = spad.Kernel.parse(kernel_text(1)).tune()  # decides how many each tensor has
    assert tuned.makespan < 0.8 * tuned.written == 0.8 * one
    assert all(row["slots"] >= 2 for row in tuned.chosen.tensors if row["name"] in ("x", "y"))


def test_hoisting_saves_time():
    inside = spad.Kernel.parse("kernel k on trn2\nfor i in 0..8 {\n    tensor t : sbuf bf16 (128, 512)\n"
                               "    dma load writes t cost 100 ns\n    scalar exp reads t cost 100 ns\n}\n")
    assert [inside.sim().makespan, inside.hoist("t", 2).sim().makespan] == [1600000, 900000]  # picoseconds


def codes(text):
    return {finding.code for finding in spad.check(text).findings}


def test_a_tensor_that_serialises_its_loop_is_reported():
    text = """kernel k on trn2
tensor in  : hbm bf16 [8] (128, 512) input
tensor out : hbm bf16 [8] (128, 512) output
tensor y   : sbuf bf16 [8] (128, 512) mod base 8192 free 2
{}
for i in 0..8 parallel {{
    {}
    dma load reads in[i] writes {}
    scalar exp reads {} writes y[i]
    dma store reads y[i] writes out[i]
}}
"""
    assert "SPAD-SERIAL-TENSOR" in codes(text.format("", "tensor t : sbuf bf16 (128, 512) mod base 0", "t", "t"))
    assert "SPAD-SERIAL-TENSOR" not in codes(text.format("tensor t : sbuf bf16 [8] (128, 512) mod base 0 free 8", "", "t[i]", "t[i]"))


def test_groups_that_collide_in_a_bank_are_found():
    text = """kernel k on trn2
tensor a : sbuf bf16 (128, 128) at 0 input
tensor o : sbuf f32 [2] (128, 256) at 4096 output
tensor p : psum f32 (128, 256) at 0
tensor q : psum f32 (128, 256) at {}
tensor m reads a writes p
tensor m reads a writes q
tensor m reads a updates p
vector e reads p writes o[0]
vector e reads q writes o[1]
"""
    assert "SPAD-SHARED-BANK" in codes(text.format(1024)) and "SPAD-SHARED-BANK" not in codes(text.format(2048))


def test_engines_that_nothing_orders_race():
    text = """kernel k on trn2
tensor x : sbuf bf16 (128, 64)
counter c
agent a { vector fill writes x SIGNAL }
agent b { WAIT scalar use reads x }
"""
    assert "SPAD-RACE" in codes(text.replace("SIGNAL", "").replace("WAIT", ""))
    assert "SPAD-RACE" not in codes(text.replace("SIGNAL", "; signal c").replace("WAIT", "take c;"))


# ---- tilelang.language.allocate -------------------------------------------------------------------

SIGNATURES = {"alloc_shared": {"shape": None, "dtype": None, "scope": "shared.dyn"},
              "alloc_local": {"shape": None, "dtype": None, "scope": "local"},
              "alloc_fragment": {"shape": None, "dtype": None, "scope": "local.fragment"},
              "alloc_barrier": {"arrive_count": None}, "alloc_tmem": {"shape": None, "dtype": None},
              "alloc_reducer": {"shape": None, "dtype": None, "op": "sum", "replication": None}}


@pytest.mark.parametrize("name", SIGNATURES)
def test_allocations_have_the_arguments_of_tilelang(name):
    parameters = inspect.signature(getattr(spad.tilelang, name)).parameters
    assert [*parameters][:len(SIGNATURES[name])] == [*SIGNATURES[name]]
    for argument, default in SIGNATURES[name].items():
        assert default is None or parameters[argument].default == default


def test_allocations_return_buffers_of_their_scope():
    T = spad.tilelang
    with T.block("sm_100") as block:
        made = [T.alloc_shared((128, 64), "float16"), T.alloc_local([8], "float32"),
                T.alloc_fragment(shape=(64, 64), dtype="float32", scope="local.fragment"),
                T.alloc_var("int32", scope="local.var"), T.alloc_barrier(arrive_count=128),
                T.alloc_tmem((128, 64), "float32"), T.alloc_tmem(num_cols=32),
                T.alloc_reducer((64,), "float32", op="max", replication="none")]
        T.free(made[5]), T.free(made[6])
        T.fill(made[7], T.min_value("float32"))
        with T.Parallel():
            T.reducer_update(made[7], "max")
        T.finalize_reducer(made[7])
    assert [b.scope for b in made] == [
        "shared.dyn", "local", "local.fragment", "local.var", "shared.barrier", "shared.tmem",
        "shared.tmem", "local.reducer"]
    assert (made[5].columns, made[6].columns) == (64, 32)
    # the word for the address of each allocation of tensor memory is in shared memory
    assert block.sums["static_bytes"] == 8 + 2 * 4
    for wrong in ({}, {"shape": (128, 32), "num_cols": 32}):
        with T.block("sm_100"), pytest.raises(TypeError, match="num_cols"):
            T.alloc_tmem(**wrong)


def test_tensor_memory_is_512_columns_of_128_lanes():
    tmem = spad.Tmem("sm_100")
    assert [tmem.alloc(256), tmem.alloc(256)] == [0, 256]
    with pytest.raises(spad.FitError, match="0 of 512 are free"):
        tmem.alloc(32)
    with spad.tilelang.block("sm_100"), pytest.raises(ValueError, match="128 x 512"):
        spad.tilelang.alloc_tmem((256, 32), "float32")


def test_the_warp_that_allocates_tensor_memory_frees_it():
    tmem = spad.Tmem("sm_100")
    first = tmem.alloc(256, warp=1)
    with pytest.raises(spad.Error, match="warp"):
        tmem.free(first, 256, warp=2)
    with pytest.raises(spad.Error):
        tmem.finish()  # must be freed
    tmem.free(first, 256, warp=1)
    tmem.finish()


def test_only_matrix_units_and_threads_reach_tensor_memory():
    text = """kernel k on sm_100
tensor g : global f32 (128, 64) input
tensor s : shared bf16 (128, 64)
tensor t : tmem f32 (128, 64)
{}
"""
    spad.Kernel.parse(text.format("simt load writes s\ntensor mma reads s updates t\nsimt get reads t"))
    with pytest.raises(spad.TextError, match="tmem"):
        spad.Kernel.parse(text.format("copy load reads g writes t"))


def test_reducers_follow_their_rules():
    T = spad.tilelang
    with T.block("sm_90"):
        total = T.alloc_reducer((8,), "float32")  # op="sum"
        with pytest.raises(spad.ArgumentError, match="filled with 0"):
            T.fill(total, 1)
        with pytest.raises(spad.StateError, match="before it is initialised"), T.Parallel():
            T.reducer_update(total, "sum")
        T.fill(total, 0)
        with pytest.raises(spad.ArgumentError, match="for sum"), T.Parallel():
            T.reducer_update(total, "max")
        with T.Parallel():
            T.reducer_update(total, "sum")
        T.finalize_reducer(total)
        with pytest.raises(spad.Error, match="after finalize"), T.Parallel():
            T.reducer_update(total, "sum")
        for wrong in ({"op": "prod"}, {"replication": "some"}):
            with pytest.raises(spad.ArgumentError):
                T.alloc_reducer((8,), "float32", **wrong)


# ---- memory of TileLang-Ascend ------------------------------------------------------------------

ASCEND = {
    "example_alloc": """
@T.prim_func
def example_alloc(shape, dtype="float16"):
    buf = T.alloc_buffer(
        shape,
        dtype,
        scope="global"
    )
    return buf
""",
    "allocate_example": """
@T.prim_func
def allocate_example():
    with T.allocate(dtype="float32", scope="shared") as buf:
        T.evaluate(buf[0].assign(1.0))
    return
""",
    "manual_release": """
@T.prim_func
def manual_release(buf):
    T.free(buf)
    return
""",
    "use_pool_example": """
pool = T.memory_pool(
    max_size=1024 * 1024,
    block_size=4096,
    scope="shared"
)

@T.prim_func
def use_pool_example():
    buf = pool.allocate(shape=(256, 256), dtype="float16")

    # ...

    pool.free(buf)
    return
""",
    "buffer_reuse": """
@T.prim_func
def buffer_reuse(buf_a, buf_b):
    buf_alias = T.buffer_alias(buf_a, shape=(64, 64))

    T.evaluate(buf_alias[0, 0].assign(buf_b[0, 0]))
    return
""",
    "workspace_reuse": """
@T.prim_func
def workspace_reuse(workspace_size):
    T.workspace(workspace_size)

    with T.allocate(dtype="float32", scope="shared") as ws:
        compute_stage1(ws)

        compute_stage2(ws)
    return
""",
    "static_allocation": """
@T.prim_func
def static_allocation():
    buf = T.alloc_buffer((128, 128), "float16", scope="global")
    return buf
""",
    "dynamic_allocation": """
@T.prim_func
def dynamic_allocation(n: T.int32):
    buf = T.alloc_buffer((n, 128), "float16", scope="global")
    return buf
""",
    "auto_allocation": """
@T.prim_func
def auto_allocation():
    buf = T.alloc_buffer("auto", "float16")
    return buf
""",
    "aligned_allocation": """
@T.prim_func
def aligned_allocation():
    buf = T.alloc_buffer(
        (128, 128),
        "float16",
        scope="global",
        alignment=256
    )
    return buf
""",
    "check_alignment": """
@T.prim_func
def check_alignment(buf):
    addr = T.address_of(buf)

    is_aligned = T.is_aligned(addr, alignment=256)
    return is_aligned
""",
    "copy_example": """
@T.prim_func
def copy_example(src, dst):
    T.copy(src, dst)
    return
""",
    "async_copy_example": """
@T.prim_func
def async_copy_example(src, dst):
    with T.stream("compute"):
        T.copy(src, dst)
    return
""",
    "cross_device_copy": """
@T.prim_func
def cross_device_copy(cpu_buf, npu_buf):
    T.copy(cpu_buf, npu_buf, src_scope="cpu", dst_scope="npu")
    return
""",
    "reuse_buffers": """
@T.prim_func
def reuse_buffers():
    buf = T.alloc_buffer((256, 256), "float16", scope="shared")

    with T.evaluate(buf[0, 0].assign(1.0)):
        stage1_result = compute_stage1(buf)

    with T.evaluate(buf[0, 0].assign(2.0)):
        stage2_result = compute_stage2(buf)

    return stage1_result, stage2_result
""",
    "preallocate": """
@T.prim_func
def preallocate():
    workspace = T.alloc_buffer((1 << 20), "float32", scope="shared")

    warmup_workspace(workspace)
    return
""",
    "tiled_access": """
@T.prim_func
def tiled_access(input_buf, output_buf):
    for i in T.serial(0, 128, tile_i=32):
        for j in T.serial(0, 128, tile_j=32):
            tile = input_buf[i:i+32, j:j+32]
            process_tile(tile, output_buf[i:i+32, j:j+32])
    return
""",
    "safe_allocation": """
@T.prim_func
def safe_allocation():
    try:
        buf = T.alloc_buffer((1024, 1024), "float16")
    except T.MemoryError as e:
        buf = T.alloc_buffer((512, 512), "float16")
    return buf
""",
    "check_memory": """
@T.prim_func
def check_memory():
    stats = T.memory_stats()
    return stats
""",
    "compute": """
def compute():
    T.free(T.alloc_buffer((4,), "int8", name="inside"))
    return 1

with T.memory_trace(enabled=True):
    result = compute()
""",
}


@pytest.fixture
def manual():
    """The snippets of the Ascend manual, run one after the other in one module."""
    T = spad.ascend
    T.use()
    seen = []
    module = {"compute_stage1": lambda ws: seen.append(float(ws[0, 0] if len(ws.shape) == 2 else ws[0]))
              or len(seen),
              "compute_stage2": lambda ws: seen.append(T.address_of(ws)) or len(seen),
              "warmup_workspace": lambda ws: ws.assign(0),
              "process_tile": lambda tile, out: T.copy(tile, out), "seen": seen}
    for text in ASCEND.values():
        exec(compile("import spad.ascend as T\n" + text, "<manual>", "exec"), module)
    yield module
    T.use()


def test_buffers_of_the_ascend_manual(manual):
    T = spad.ascend
    assert manual["example_alloc"]((128, 128)).nbytes == 32768
    assert manual["example_alloc"]([4, 4], "int8").dtype == "int8"
    manual["allocate_example"]()
    assert T.memory_stats("shared").live_blocks == 1  # the pool
    buf = T.alloc_buffer((4,), "int8")
    manual["manual_release"](buf)
    with pytest.raises(spad.StateError):
        buf[0].value
    assert manual["static_allocation"]().shape == (128, 128)
    assert manual["dynamic_allocation"](77).shape == (77, 128)
    auto = manual["auto_allocation"]()
    T.copy(manual["static_allocation"](), auto)
    assert auto.shape == (128, 128)
    assert manual["check_alignment"](manual["aligned_allocation"]()) is True
    manual["preallocate"]()
    assert manual["safe_allocation"]().shape == (1024, 1024)


def test_pools_and_sharing_of_the_ascend_manual(manual):
    T = spad.ascend
    manual["use_pool_example"]()
    assert manual["pool"].stats().allocated_bytes == 0 and manual["pool"].stats().peak_bytes == 131072
    a, b = T.alloc_buffer((128, 128), "float16"), T.alloc_buffer((4, 4), "float16").assign(3.0)
    manual["buffer_reuse"](a, b)
    assert a[0, 0] == 3.0
    manual["workspace_reuse"](65536)
    assert manual["reuse_buffers"]() == (len(manual["seen"]) - 1, len(manual["seen"]))
    assert manual["seen"][-2] == 1.0


def test_copies_of_the_ascend_manual(manual):
    T = spad.ascend
    src, dst = T.alloc_buffer((128, 128), "float16").assign(1.5), T.alloc_buffer((128, 128), "float16")
    for name in ("copy_example", "async_copy_example", "cross_device_copy", "tiled_access"):
        dst.assign(0.0)
        manual[name](src, dst)
        assert dst[127, 127] == 1.5 and dst[0, 0] == 1.5, name


def test_buffers_begin_at_multiples_of_their_alignment():
    T = spad.ascend
    made = [T.alloc_buffer((size,), "int8", alignment=alignment) for size in (100, 7, 300)
            for alignment in (256, 4096)]
    assert all(T.address_of(buffer) % alignment == 0 for buffer, alignment in zip(made, (256, 4096) * 3))


def test_watching_memory_as_the_ascend_manual_does(manual):
    stats = manual["check_memory"]()
    assert {"allocated_bytes", "peak_bytes", "freed_bytes"} <= set(stats)
    assert stats.peak_bytes >= stats.allocated_bytes >= 0 and manual["result"] == 1


def test_memory_that_runs_out_is_a_memory_error():
    T = spad.ascend
    T.use("host", target="910b")
    try:
        with pytest.raises(T.MemoryError) as caught:
            T.alloc_buffer((1024, 1024), "float16", scope="shared")
        assert isinstance(caught.value, MemoryError) and caught.value.needed == 2 << 20
        assert T.alloc_buffer((256, 256), "float16", scope="shared").nbytes == 131072
    finally:
        T.use()


# ---- CuBIE's registry -----------------------------------------------------------------------------

REGISTER = """
class Component:
    precision, n_states, n_stages = "float32", 3, 4

    def build(self):
        buffer_registry.register(
            name="stage_k",
            parent=self,
            size=self.n_states * self.n_stages,
            location="shared",
            precision=self.precision,
        )

component = Component()
component.build()
"""


def test_components_register_in_build():
    module = {}
    cubie.buffer_registry.reset()
    try:
        exec("from spad.cubie import buffer_registry\n" + REGISTER, module)
        registry, component = cubie.buffer_registry, module["component"]
        assert registry.shared_buffer_size(component) == 12  # elements, as CuBIE's code has it
        assert registry.shared_buffer_bytes(component) == 48  # and bytes, as its manual says
        assert registry.local_buffer_bytes(component) == 0
        assert registry.persistent_local_buffer_bytes(component) == 0
    finally:
        cubie.buffer_registry.reset()


def test_allocators_take_a_base_pointer_and_a_thread():
    if cubie.has_compiler():
        pytest.skip("allocators are device functions here")

    class Component:
        precision = "float32"

    registry, component = cubie.BufferRegistry(), Component()
    registry.register("a", component, 2, "shared")
    registry.register("b", component, 3, "shared")
    registry.register("kept", component, 2, "local", persistent=True)
    registry.register("step", component, 2, "local")
    memory = (ctypes.c_float * 20)(*range(20))
    b = registry.get_allocator("b", component)
    part = b(memory, 2)
    assert list(part) == [12.0, 13.0, 14.0] and len(part) == 3
    part[0] = 99.0
    assert memory[12] == 99.0  # the same bytes
    kept = registry.get_allocator("kept", component)
    assert list(kept(memory, 0)) == [0.0, 1.0] and list(kept(memory, 3)) == [6.0, 7.0]
    assert len(registry.get_allocator("step", component)(memory, 3)) == 2
    with pytest.raises(IndexError, match=r"\[22, 25\) are outside shared memory of 20"):
        b(memory, 4)
    with pytest.raises(TypeError, match="pass the array that holds it"):
        b(ctypes.addressof(memory), 2)  # an address has no length


# ---- the manager ----------------------------------------------------------------------------------


def test_every_method_of_the_manager():
    quiet = nl.Logger("SBM", nl.LogLevel.OFF)
    sbm = nl.SbufManager(1024, 9216, logger=quiet, use_auto_alloc=False, default_stack_alloc=False)
    assert (sbm.get_total_space(), sbm.get_free_space(), sbm.get_used_space()) == (8192, 8192, 0)
    assert sbm.is_default_stack_alloc() is False
    heap = sbm.alloc((128, 512), nl.bfloat16, buffer=nl.sbuf, name="w", base_partition=0, align=64)
    assert heap.address == (0, 8192) and sbm.get_heap_curr_addr() == 8192
    sbm.set_name_prefix("layer_")
    assert sbm.get_name_prefix() == "layer_"
    sbm.open_scope(interleave_degree=2, name="rows")
    first = sbm.alloc_stack((64, 100), nl.int8, name="x", base_partition=64)
    assert first.address == (64, 1024) and first.name == "layer_x"
    sbm.align_stack_curr_addr()
    assert sbm.get_stack_curr_addr() == 1152  # 1124 up to a multiple of 32
    sbm.align_stack_curr_addr(align=256)
    assert sbm.get_stack_curr_addr() == 1280
    sbm.increment_section()
    second = sbm.alloc_stack((128, 100), nl.int8)
    sbm.increment_section()
    third = sbm.alloc_stack((128, 50), nl.int8)
    assert second.address[1] > first.address[1] and third.address[1] == first.address[1]
    assert sbm.get_used_space() + sbm.get_free_space() == sbm.get_total_space()
    sbm.close_scope()
    assert sbm.get_stack_curr_addr() == 1024
    sbm.pop_heap()
    assert sbm.get_used_space() == 0 and sbm.flush_logs() is None
    with pytest.raises(AssertionError, match="SBUF"):
        sbm.alloc_heap((128, 4), nl.int8, buffer=nl.psum)


def test_automatic_managers_give_no_addresses():
    quiet = nl.Logger("SBM", nl.LogLevel.OFF)
    for sbm in (nl.create_auto_alloc_manager(logger=quiet),
                nl.SbufManager(0, 4096, quiet, use_auto_alloc=True)):
        sbm.open_scope()
        assert sbm.is_auto_alloc() and sbm.alloc_stack((128, 512), nl.bfloat16).address is None
        for refused in (sbm.get_stack_curr_addr, sbm.get_heap_curr_addr, sbm.align_stack_curr_addr):
            with pytest.raises(AssertionError, match="not supported in auto-allocation mode"):
                refused()
        sbm.close_scope()


@pytest.mark.filterwarnings("error")
def test_signatures_of_the_manager():
    wanted = {"open_scope": ["interleave_degree", "name"], "close_scope": [], "increment_section": [],
              "alloc_stack": ["shape", "dtype", "buffer", "name", "base_partition", "align"],
              "alloc_heap": ["shape", "dtype", "buffer", "name", "base_partition", "align"],
              "alloc": ["shape", "dtype", "buffer", "name", "base_partition", "align"],
              "pop_heap": [], "align_stack_curr_addr": ["align"], "set_name_prefix": ["prefix"]}
    sbm = nl.SbufManager(sb_lower_bound=0, sb_upper_bound=4096, logger=nl.Logger("S", nl.LogLevel.OFF))
    sbm.open_scope(interleave_degree=1, name="")
    for method in ("alloc_stack", "alloc_heap", "alloc"):
        given = dict(zip(wanted[method], ((128, 4), nl.int8, nl.sbuf, None, 0, None)))
        getattr(sbm, method)(**given)
    sbm.set_name_prefix(prefix="p")
    sbm.align_stack_curr_addr(align=32)
    with warnings.catch_warnings():
        for method in wanted:
            assert callable(getattr(sbm, method))
