# SPDX-License-Identifier: Apache-2.0
"""The examples of the manuals of SbufManager and of direct allocation, as they are printed there:
only the import lines are others. What is not Python as printed is mended where it says so."""

import warnings

import pytest

import spad
from spad import nki

IMPORTS = """\
import spad.nki as nki
import spad.nki as nl
import spad.nki as ncc
from spad.nki import SbufManager, par_dim, affine_range
"""


def run(text, **names):
    exec(compile(IMPORTS + text, "<manual>", "exec"), names)
    return names


# ---- SbufManager ------------------------------------------------------------------------------

BY_HAND = """
@nki.jit
def kernel_without_sbm(input_hbm, output_hbm):
    addr = 0

    # Heap-like allocation at end of SBUF
    heap_addr = nl.tile_size.total_available_sbuf_size - 512
    weights = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf,
                         address=(0, heap_addr))
    print(f"weights.address = {weights.address}")  # (0, 261632)

    # Outer scope
    buf1 = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf,
                      address=(0, addr))
    print(f"buf1.address = {buf1.address}")  # (0, 0)
    addr += 512 * 2  # 1024

    # Inner scope
    inner_start = addr
    buf2 = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf,
                      address=(0, addr))
    print(f"buf2.address = {buf2.address}")  # (0, 1024)
    addr += 256 * 2  # 1536
    buf3 = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf,
                      address=(0, addr))
    print(f"buf3.address = {buf3.address}")  # (0, 1536)
    # End inner scope - must manually reset
    addr = inner_start  # 1024

    # Back in outer - reuse inner's memory
    buf4 = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf,
                      address=(0, addr))
    print(f"buf4.address = {buf4.address}")  # (0, 1024)
"""

WITH_MANAGER = """
@nki.jit
def kernel_with_sbm(input_hbm, output_hbm):
    sbm = SbufManager(0, nl.tile_size.total_available_sbuf_size)

    weights = sbm.alloc_heap((128, 256), nl.bfloat16, name="weights")
    print(f"weights.address = {weights.address}")  # (0, 261632)

    sbm.open_scope(name="outer")
    buf1 = sbm.alloc_stack((128, 512), nl.bfloat16, name="buf1")
    print(f"buf1.address = {buf1.address}")  # (0, 0)

    sbm.open_scope(name="inner")
    buf2 = sbm.alloc_stack((128, 256), nl.bfloat16, name="buf2")
    print(f"buf2.address = {buf2.address}")  # (0, 1024)
    buf3 = sbm.alloc_stack((128, 256), nl.bfloat16, name="buf3")
    print(f"buf3.address = {buf3.address}")  # (0, 1536)
    sbm.close_scope()

    buf4 = sbm.alloc_stack((128, 512), nl.bfloat16, name="buf4")
    print(f"buf4.address = {buf4.address}")  # (0, 1024)
    sbm.close_scope()

    sbm.pop_heap()
"""

LAYOUT = """\
weights.address = (0, 261632)
buf1.address = (0, 0)
buf2.address = (0, 1024)
buf3.address = (0, 1536)
buf4.address = (0, 1024)
"""

MULTI_BUFFER = """
@nki.jit
def kernel_multibuffer(input_hbm, output_hbm, N):
    sbm = SbufManager(0, nl.tile_size.total_available_sbuf_size)

    # Double-buffering: 2 sections alternate
    sbm.open_scope(interleave_degree=2, name="double_buffer")

    for i in nl.affine_range(N):
        # Allocates to section 0, then 1, then 0, then 1...
        buf = sbm.alloc_stack((128, 512), nl.bfloat16)
        # Load to buf[current], compute on buf[previous]
        sbm.increment_section()

    sbm.close_scope()
"""

DEBUG_OUTPUT = """\
[SBM] Allocations:
    ▶ SCOPE 'double_buffer' [interleave=2] @ 0
    ├── (unnamed): 1024 B @ 0 (128, 512) bfloat16
    ├── ↳ section: 1/2 @ 1024
    ├── (unnamed): 1024 B @ 1024 (128, 512) bfloat16
    ├── ↻ section: 0/2 @ 0
    ├── (unnamed): 1024 B @ 0 (128, 512) bfloat16
    ├── ↳ section: 1/2 @ 1024
    └── (unnamed): 1024 B @ 1024 (128, 512) bfloat16
    ◀ END 'double_buffer' freed=2048 B
"""


@pytest.fixture
def chip_of_the_page(monkeypatch):
    """Its total_available_sbuf_size is 262144."""
    monkeypatch.setenv("SPAD_NKI_TARGET", "trn3")
    monkeypatch.setenv("SPAD_NKI_USE_RESERVED", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", ["kernel_without_sbm", "kernel_with_sbm"])
def test_both_layouts_are_the_same(name, chip_of_the_page, monkeypatch, capsys):
    monkeypatch.setenv("NKILIB_LOG_LEVEL", "WARN")
    run(BY_HAND + WITH_MANAGER)[name](None, None)
    assert capsys.readouterr().out == LAYOUT


def test_multi_buffering(chip_of_the_page, monkeypatch, capsys):
    monkeypatch.setenv("NKILIB_LOG_LEVEL", "DEBUG")
    run(MULTI_BUFFER)["kernel_multibuffer"](None, None, N=4)
    lines = [line.removeprefix("[DEBUG] [SBM] ") for line in capsys.readouterr().out.splitlines()]
    start = lines.index("[SBM] Allocations:")
    assert lines[start:-1] == DEBUG_OUTPUT.splitlines()


# ---- direct allocation ------------------------------------------------------------------------


def addresses(tensor):
    return [tile.address for tile in tensor]


def test_automatic_and_direct_buffers():
    text = """
nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), ..., buffer=ncc.sbuf.auto_alloc())
nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), ..., buffer=nl.sbuf) # alias of auto_alloc
"""
    with pytest.warns(UserWarning, match="dtype"):
        assert run(text)["nki_tensor"].address is None
    with pytest.raises(spad.ArgumentError, match="takes a function"):
        run("nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), ..., buffer=ncc.sbuf.alloc(...))")


def test_an_intermediate_tensor():
    run("""
nki_tensor = nl.ndarray((16, nl.par_dim(128), 512), dtype=nl.bfloat16, buffer=nl.sbuf)

for i_block in nl.affine_range(16):
  nki_tensor[i_block, :, :] = nl.load(...)
  _                         = nl.exp(nki_tensor[i_block, :, :])
""")  # as printed, the last line assigns to '...', which is not Python


def test_a_function_places_tiles():
    made = run("""
def simple_1d_alloc_func(idx, pdim_size, fdim_size):
  idx, = idx # unpack the tuple
  return (0, idx * fdim_size)

t = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
               buffer=ncc.sbuf.alloc(simple_1d_alloc_func))
""")
    assert addresses(made["t"]) == [(0, 0), (0, 1024), (0, 2048), (0, 3072)]


def test_a_factory_of_functions():
    made = run("""
next_addr = 0
def simple_1d_alloc_factory(total_fdim_size):
  global next_addr # not printed; without it Python has no value for the next line
  base_addr = next_addr
  next_addr += total_fdim_size

  def simple_1d_alloc_func(idx, pdim_size, fdim_size):
    # unpack the tuple
    idx, = idx

    # hard-code to partition 0, since each tile takes up 128 partitions
    start_partition = 0

    return (start_partition, base_addr + idx * fdim_size)

  return simple_1d_alloc_func

t0 = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
                buffer=ncc.sbuf.alloc(simple_1d_alloc_factory(512*2*4)))
t1 = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
                buffer=ncc.sbuf.alloc(simple_1d_alloc_factory(512*2*4)))
""")
    assert addresses(made["t0"]) == [(0, i * 1024) for i in range(4)]
    assert addresses(made["t1"]) == [(0, 4096 + i * 1024) for i in range(4)]


def test_modulo_allocation():
    made = run("""
nki_tensor = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
                        buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
""")
    assert addresses(made["nki_tensor"]) == [(0, 0), (0, 1024), (0, 0), (0, 1024)]


def test_hoisted_allocations():
    inside = """
for i in affine_range(8):
    t = nl.ndaraay((128, 512), dtype=..., buffer=ncc.sbuf.mod_alloc(base_addr=0))
    t[i] = ...
    # do something with t
"""
    outside = """
t = nl.ndaraay((8, 128, 512), dtype=...,
              buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(8,)))
for i in affine_range(8):
    t[i] = ...
    # do something with t
"""  # a bracket more than printed
    for text in (inside, outside):
        with pytest.raises(AttributeError, match="did you mean 'ndarray'"):
            run(text)
        with pytest.warns(UserWarning, match="dtype"):
            made = run(text.replace("ndaraay", "ndarray"))
    assert addresses(made["t"]) == [(0, 2048 * i) for i in range(8)]


MIXED = """
@nki.jit
def kernel(input):
  t = nl.load(input) # t is a new tensor, this will fail
  u = nl.ndarray((par_dim(128), 512), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
"""

NOT_MIXED = """
@nki.jit
def kernel(input):
  t = nl.ndarray(shape=(par_dim(128), 512), dtype=nl.bfloat16,
                 buffer=ncc.sbuf.alloc(lambda idx, pdim_size, fdim_size: (0, 0)))
  t[...] = nl.load(input)
"""


def test_common_error_1():
    with pytest.raises(nki.CompileError, match="Mixing direct allocation with automatic allocation"):
        run(MIXED)["kernel"](object())
    run(NOT_MIXED)["kernel"](object())


def test_partly_overlapping_tensors():
    made = run("""
t0 = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
                 buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
t1 = nl.ndarray((4, par_dim(128), 512), dtype=nl.bfloat16,
                 buffer=ncc.sbuf.mod_alloc(base_addr=1024, num_free_tiles=(2, )))
""")
    assert max(addresses(made["t0"]))[1] + 1024 == 2048
    assert (min(addresses(made["t1"]))[1], max(addresses(made["t1"]))[1] + 1024) == (1024, 3072)


TOO_FEW_TILES = """
@nki.jit
def kernel(result):
  t1 = nl.ndarray((8, par_dim(128), 512),
    buffer=ncc.sbuf.mod_alloc(byte_addr=0, num_free_tiles=(2, )))

  for i in nl.affine_range(8):
    t1[i] = nl.load(...)

  # End of loop: we need all eight logical tiles in t1 to be
  # alive in SBUF so that we can start the next loop.
  # Only two tiles can be alive according to our allocation above -> ERROR

  for i in nl.affine_range(8):
    result[i] = nl.exp(t1[i])
"""

ENOUGH_TILES = """
@nki.jit
def kernel(result):
  for i in nl.affine_range(4):
    t1 = nl.ndarray((2, par_dim(128), 512),
                    buffer=ncc.sbuf.mod_alloc(byte_addr=0, num_free_tiles=(2, )))
    for i in nl.affine_range(2):
      t1[i] = nl.load(...)
      result[i] = nl.exp(t1[i]) # t[i] are dead after iteration, thus no error
"""  # a full stop less than printed


@pytest.mark.filterwarnings("ignore:an ndarray without a dtype")
def test_common_error_3():
    result = nki.ndarray((8, nki.par_dim(128), 512), nki.float32, nki.shared_hbm, name="result")
    with pytest.raises(nki.CompileError, match=r"Lifetime conflict: .*tile \(0,\).*tile \(2,\)|"
                                               r"Lifetime conflict: .*tile \(0,\).*tile \(6,\)"):
        run(TOO_FEW_TILES)["kernel"](result)
    run(ENOUGH_TILES)["kernel"](result)
