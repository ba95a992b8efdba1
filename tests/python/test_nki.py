# SPDX-License-Identifier: Apache-2.0
"""spad.nki against the rules of the NKI library, and the examples of its manuals."""

import logging
import random
import sys
import types

import pytest

import spad
from nki_rules import Manager, Refused, SIZES
from spad import nki

QUIET = nki.Logger(level=nki.OFF)


class Listener:
    """A logger that keeps its lines."""

    def __init__(self):
        self.said = []

    def is_enabled_for(self, level):
        return True

    def debug(self, line):
        self.said.append(("debug", line))

    def info(self, line):
        self.said.append(("info", line))

    def error(self, line):
        self.said.append(("error", line))


def pair(behaviour, lower, upper, automatic=False):
    ours = nki.SbufManager(lower, upper, Listener(), automatic, behaviour=behaviour)
    return ours, Manager(lower, upper, behaviour == "library_later", automatic)


def step(rng, ours, rules):
    """One random operation on both; what they say has to be the same."""
    op = rng.choices(["open", "close", "next", "stack", "heap", "pop", "prefix", "align", "auto"],
                     [3, 3, 4, 10, 5, 3, 1, 1, 0.2])[0]
    if op == "open":
        degree, name = rng.choice([1, 1, 2, 3, 0, -1]), rng.choice(["", "a", "outer"])
        ours.open_scope(degree, name)
        rules.open_scope(degree, name)
    elif op == "close" and rules.scopes:
        ours.close_scope()
        rules.close_scope()
    elif op == "next" and rules.scopes:
        ours.increment_section()
        rules.increment_section()
    elif op in ("stack", "heap"):
        shape = (rng.choice([1, 32, 128]), rng.randint(0, 40), rng.randint(1, 3))
        dtype, name = rng.choice(list(SIZES)), rng.choice([None, "", "x", "weights"])
        align = rng.choice([None, None, 1, 2, 4, 32, 3])
        method = "alloc_" + op
        try:
            expected = getattr(rules, method)(shape, dtype, name, align)
        except Refused as refusal:
            with pytest.raises(AssertionError, match=str(refusal)):
                getattr(ours, method)(shape, dtype, name=name, align=align)
        else:
            made = getattr(ours, method)(shape, dtype, name=name, align=align)
            assert (made.address, made.name) == (expected.address, expected.name)
    elif op == "pop":
        try:
            rules.pop_heap()
        except Refused as refusal:
            with pytest.raises(AssertionError, match=str(refusal)):
                ours.pop_heap()
        else:
            ours.pop_heap()
    elif op == "prefix":
        rules.prefix = rng.choice(["", "L3_", "attn_"])
        ours.set_name_prefix(rules.prefix)
        assert ours.get_name_prefix() == rules.prefix
    elif op == "align" and not rules.automatic:
        rules.sp = -(-rules.sp // 32) * 32
        ours.align_stack_curr_addr()
    elif op == "auto":
        rules.automatic = not rules.automatic
        ours.set_auto_alloc(rules.automatic)
    assert ours.get_free_space() == rules.hp - rules.sp
    if not rules.automatic:
        assert (ours.get_stack_curr_addr(), ours.get_heap_curr_addr()) == (rules.sp, rules.hp)


@pytest.mark.filterwarnings("ignore:the region")
@pytest.mark.parametrize("behaviour", ["library_2026_04", "library_later"])
def test_random_sequences_follow_the_rules(behaviour, sequences):
    for seed in range(sequences):
        rng = random.Random(f"{behaviour} {seed}")
        lower = rng.choice([0, 0, 5, 100])
        ours, rules = pair(behaviour, lower, lower + rng.choice([100, 400, 3000, 212984]),
                           rng.random() < 0.2)
        try:
            for _ in range(rng.randint(1, 40)):
                step(rng, ours, rules)
            assert ours.logger.said == rules.said
            assert ours.log() == rules.tree()
            assert ours.stats_line() == rules.stats_line()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_exact_tensors_never_share_bytes(sequences):
    for seed in range(sequences):
        rng = random.Random(seed)
        ours = nki.SbufManager(0, rng.choice([100, 1000, 5000]), QUIET, behaviour="exact")
        live = []  # what must be disjoint: heap, and scopes of one section
        heap = []
        for _ in range(30):
            op = rng.choice(["open", "close", "stack", "stack", "heap", "pop"])
            if op == "open":
                ours.open_scope()
                live.append([])
            elif op == "close" and live:
                ours.close_scope()
                live.pop()
            elif op == "pop" and heap:
                before = ours.get_heap_curr_addr()
                ours.pop_heap()
                assert ours.get_heap_curr_addr() >= before
                heap.pop()
            elif op == "heap" or (op == "stack" and live):
                align = rng.choice([None, 4, 32])
                shape, dtype = (128, rng.randint(0, 60)), rng.choice(list(SIZES))
                free = ours.get_free_space()
                try:
                    made = getattr(ours, "alloc_" + op)(shape, dtype, align=align)
                except AssertionError as error:
                    assert error.facts.code == "SPAD-NO-FIT" and ours.get_free_space() == free
                    continue
                byte = made.address[1]
                assert byte % (align or SIZES[dtype]) == 0
                assert 0 <= byte and byte + made.bytes <= ours.get_total_space()
                for other in [*heap, *(t for scope in live for t in scope)]:
                    a, b = other.address[1], other.address[1] + other.bytes
                    assert byte + made.bytes <= a or b <= byte or not made.bytes or a == b
                (heap if op == "heap" else live[-1]).append(made)


def test_example_of_the_manual():
    nl = nki
    sbm = nki.SbufManager(0, nl.tile_size.total_available_sbuf_size, QUIET)
    weights = sbm.alloc_heap((128, 256), nl.bfloat16, name="weights")
    sbm.open_scope(name="outer")
    buf1 = sbm.alloc_stack((128, 512), nl.bfloat16, name="buf1", buffer=nl.sbuf)
    sbm.open_scope(name="inner")
    buf2 = sbm.alloc_stack((128, 256), nl.bfloat16, name="buf2")
    buf3 = sbm.alloc_stack((128, 256), nl.bfloat16, name="buf3")
    sbm.close_scope()
    buf4 = sbm.alloc_stack((128, 512), nl.bfloat16, name="buf4")
    sbm.close_scope()
    sbm.pop_heap()
    assert weights.address == (0, 261632)  # as the manual prints it
    assert [b.address for b in (buf1, buf2, buf3, buf4)] == [(0, 0), (0, 1024), (0, 1536), (0, 1024)]
    assert buf1.shape == (128, 512) and buf1.dtype == nl.bfloat16 and buf1.name == "buf1"


MANUAL_LOG = """\
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


def test_log_of_the_manual(capsys):
    sbm = nki.SbufManager(0, 4096, nki.Logger(level=nki.LogLevel.DEBUG))
    sbm.open_scope(interleave_degree=2, name="double_buffer")
    for _ in range(4):
        sbm.alloc_stack((128, 512), nki.bfloat16)
        sbm.increment_section()
    capsys.readouterr()
    sbm.close_scope()
    out = capsys.readouterr().out.splitlines()
    assert out[:-1] == ["[DEBUG] [SBM] " + line for line in MANUAL_LOG.splitlines()]
    assert out[-1] == (
        "[INFO] [SBM] [SBM] SB memory statistics: max_usage=2048 B (50%), free=2048 B, "
        "stack=2048 B (4 allocs), heap=0 B (0 allocs)")


DEBUG_LOG = """\
[INFO] [SBM] SBM initialized: range=[0, 300), size=300 B
[DEBUG] [SBM] SBM config: auto_alloc=False, default_stack=True, stack_start=0, heap_start=300
[DEBUG] [SBM] Heap allocation: name=w, shape=(128, 5), dtype=bfloat16, size=10 B, \
addr_range=[276, 278), partition=0, heap_depth=1, free_space=276 B
[DEBUG] [SBM] Stack allocation: name=None, shape=(128, 5), dtype=float32, size=20 B, \
addr_range=[0, 20), partition=32, align=4, scope_depth=1, free_space=256 B
[ERROR] [SBM] Stack OOM: requested=500 B, available=256 B
[DEBUG] [SBM] Allocation failure: name=big, shape=(128, 500), dtype=uint8, size=500 B, \
stack_addr=20, heap_addr=276, range=[0, 300)
[DEBUG] [SBM] [SBM] Allocations:
[DEBUG] [SBM]     [HEAP+] L0_w: 10 B @ 276 (128, 5) bfloat16
[DEBUG] [SBM]     ▶ SCOPE 'o' [interleave=1] @ 0
[DEBUG] [SBM]     └── (unnamed): 20 B @ 0 (128, 5) float32
[INFO] [SBM] [SBM] SB memory statistics: max_usage=44 B (14%), free=256 B, stack=20 B (1 allocs), \
heap=24 B (1 allocs)
[DEBUG] [SBM] [SBM] Allocations:
[DEBUG] [SBM]     └── [HEAP-] FREE L0_w: 10 B, remaining=0
[DEBUG] [SBM]     ◀ END 'o' freed=20 B
[INFO] [SBM] [SBM] SB memory statistics: max_usage=44 B (14%), free=256 B, stack=20 B (1 allocs), \
heap=24 B (1 allocs)
[ERROR] [SBM] Heap underflow: pop called on empty heap
[ERROR] [SBM] Cannot allocate in stack without an open scope
[DEBUG] [SBM] Stack state: no open scopes, stack_addr=0
[ERROR] [SBM] get_heap_curr_addr() is not supported in auto-allocation mode.
"""


def play_debug_log(**options):
    sbm = nki.SbufManager(0, 300, nki.Logger("SBM", nki.LogLevel.DEBUG), **options)
    sbm.set_name_prefix("L0_")
    sbm.alloc_heap((128, 5), "bfloat16", name="w", align=32)
    sbm.open_scope(name="o")
    sbm.alloc_stack((128, 5), "float32", base_partition=32)
    with pytest.raises(AssertionError):
        sbm.alloc((128, 500), "uint8", name="big")
    assert [t["name"] for t in sbm.heap] == ["L0_w"]
    while sbm.heap:
        sbm.pop_heap()
    sbm.close_scope()
    for call in (sbm.pop_heap, lambda: sbm.alloc_stack((1, 1), "uint8"),
                 lambda: sbm.set_auto_alloc(True) or sbm.get_heap_curr_addr()):
        with pytest.raises(AssertionError):
            call()


def test_log_of_a_manager_literally(capsys):
    play_debug_log(behaviour="library_2026_04")
    assert capsys.readouterr().out == DEBUG_LOG
    play_debug_log(behaviour="library_later")
    later = capsys.readouterr().out  # lines that were INFO, and bases that are aligned
    assert "INFO" not in later and "addr_range=[288, 288)" in later


def test_log_of_the_exact_behaviour_has_the_real_range(capsys):
    sbm = nki.SbufManager(0, 300, nki.Logger("SBM", nki.LogLevel.DEBUG), behaviour="exact")
    t = sbm.alloc_heap((128, 5), "bfloat16", align=32)
    assert t.address == (0, 288) and "addr_range=[288, 298)" in capsys.readouterr().out


def test_log_levels(monkeypatch, capsys):
    monkeypatch.setenv("NKILIB_LOG_LEVEL", "debug")
    assert nki.get_logger("SBM").level is nki.LogLevel.DEBUG
    assert nki.Logger("SBM").level is nki.LogLevel.INFO
    monkeypatch.setenv("NKILIB_LOG_LEVEL_SBM", "ERROR")
    assert nki.get_logger("SBM").level is nki.LogLevel.ERROR
    sbm = nki.SbufManager(0, 100)
    sbm.open_scope()
    sbm.close_scope()
    assert capsys.readouterr().out == ""
    with pytest.raises(AssertionError):
        sbm.alloc_heap((1, 101), "uint8")
    assert capsys.readouterr().out == "[ERROR] [SBM] Heap OOM: requested=101 B, available=100 B\n"
    monkeypatch.setenv("NKILIB_LOG_LEVEL_SBM", "loud")
    assert nki.get_logger("SBM").level is nki.LogLevel.DEBUG
    assert capsys.readouterr().err == "Warning: Invalid log level 'loud' for SBM\n"
    monkeypatch.setenv("NKILIB_LOG_LEVEL", "x")
    assert nki.get_logger("mlp").level is nki.LogLevel.INFO
    assert capsys.readouterr().err == "Warning: Invalid NKILIB_LOG_LEVEL='x'\n"


def test_loggers_of_the_standard_library(caplog):
    logger = logging.getLogger("spad.test")
    with caplog.at_level(logging.INFO, "spad.test"):
        sbm = nki.SbufManager(0, 100, logger)
        with sbm.scope():
            sbm.alloc_stack((1, 4), "uint8")
    assert [r.levelname for r in caplog.records] == ["INFO", "INFO"]
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "spad.test"):
        with nki.SbufManager(0, 100, logger).scope():
            pass
    assert caplog.messages[2] == "[SBM] Allocations:"


def test_messages_of_the_library():
    frame = ("[INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: {} - Please check the "
             "validation message and adjust kernel inputs accordingly")
    sbm = nki.SbufManager(0, 100, QUIET, behaviour="library_2026_04")
    for message, call in [
        ("Cannot allocate in stack without an open scope",
         lambda: sbm.alloc_stack((1, 1), "uint8")),
        ("Heap underflow: pop called on empty heap", sbm.pop_heap),
        ("Stack out of memory", lambda: sbm.alloc_stack((1, 101), "uint8")),
        ("alloc_stack is only supported for SBUF tensors",
         lambda: sbm.alloc_stack((1, 1), "uint8", buffer=nki.psum)),
        ("alloc_stack is only supported for SBUF tensors",
         lambda: sbm.alloc((1, 1), "uint8", buffer=nki.psum)),
        ("dtype size unknown! float64", lambda: sbm.alloc_stack((1, 1), "float64")),
        ("dtype size unknown! thing", lambda: sbm.alloc_heap((1, 1), "thing")),
    ]:
        with pytest.raises(nki.ValidationError) as caught:
            call()
        assert str(caught.value) == frame.format(message)
        assert caught.value.facts.code.startswith("SPAD-")
    with pytest.raises(IndexError):
        sbm.increment_section()
    sbm.set_auto_alloc(True)
    for name in ("get_stack_curr_addr", "get_heap_curr_addr", "align_stack_curr_addr"):
        with pytest.raises(AssertionError) as caught:
            getattr(sbm, name)()
        assert str(caught.value) == frame.format(
            name + "() is not supported in auto-allocation mode")


def test_exact_says_more():
    sbm = nki.SbufManager(0, 100, QUIET, behaviour="exact")
    sbm.open_scope()
    sbm.alloc_stack((1, 60), "uint8", name="hog")
    with pytest.raises(AssertionError, match="hog") as caught:
        sbm.alloc_stack((1, 60), "uint8")
    assert (caught.value.facts.needed, caught.value.facts.available) == (60, 40)
    with pytest.raises(spad.StateError):
        nki.SbufManager(0, 100, QUIET, behaviour="exact").close_scope()


def test_automatic_manager():
    sbm = nki.create_auto_alloc_manager(QUIET)
    assert sbm.is_auto_alloc() and sbm.get_total_space() == 262144
    sbm.open_scope()
    assert sbm.alloc((128, 10 ** 6), "float32").address is None
    assert sbm.alloc((128, 4), "float32", buffer=nki.hbm).address is None
    assert sbm.alloc_hbm((128, 4), "float32", name="out").name == "out"
    assert sbm.is_default_stack_alloc() and not sbm.is_default_heap_alloc()


def test_sizes():
    assert nki.sizeinbytes(nki.bfloat16) == 2 and nki.sizeinbytes("float8_e4m3fn_x4") == 4
    for dtype in ("bool_", "tfloat32", "float8_e8m0fnu", "nonsense"):
        with pytest.raises(AssertionError, match=f"dtype size unknown! {dtype}"):
            nki.sizeinbytes(dtype)
    assert [nki.align_to(n, 32) for n in (0, 1, 32, 33)] == [0, 32, 32, 64]
    assert nki.num_elts((2, 3, 4)) == 24 and nki.num_elts(()) == 1


def test_modular_allocator():
    cursor = nki.ModularAllocator(5)
    tiles = cursor.alloc_sbuf_tensor((128, 3), "uint8", [3, 4], [2, 3], align_to=8)
    assert [[t.address[1] for t in row] for row in tiles] == [
        [8, 11, 14, 8], [17, 20, 23, 17], [8, 11, 14, 8]]
    assert cursor.get_current_address() == 26
    assert [t.address[1] for t in cursor.alloc_sbuf_tensor((128, 3), "uint8", [2], [4])] == [26, 29]
    assert cursor.get_current_address() == 38
    one = cursor.alloc_sbuf_tensor((128, 4), "float32", base_partition=32)
    assert one.address == (32, 38) and cursor.get_current_address() == 54
    for block, tiles, text in (([2, 2], [2], r"\(2\) must match num_free_tiles length \(1\)"),
                               (None, [2], r"\(0\) must match num_free_tiles length \(1\)")):
        with pytest.raises(AssertionError, match="block_dim length " + text):
            cursor.alloc_sbuf_tensor((128, 4), "float32", block, tiles)
    with pytest.raises(AssertionError, match="dtype size unknown! thing"):
        cursor.alloc_sbuf_tensor((128, 4), "thing")
    with pytest.raises(ZeroDivisionError):
        cursor.alloc_sbuf_tensor((128, 4), "float32", [2], [0])
    cursor.set_current_address(0)
    assert cursor.get_current_address() == 0


def test_direct_allocation():
    def simple(idx, pdim_size, fdim_size):
        idx, = idx
        return (0, idx * fdim_size)

    shape = (4, nki.par_dim(128), 512)
    t = nki.ndarray(shape, nki.bfloat16, buffer=nki.sbuf.alloc(simple))
    assert [tile.address for tile in t.tiles] == [(0, 0), (0, 1024), (0, 2048), (0, 3072)]
    t = nki.ndarray(shape, nki.bfloat16,
                    buffer=nki.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)))
    assert [tile.address[1] for tile in t.tiles] == [0, 1024, 0, 1024] and t[3].address == (0, 1024)
    t = nki.ndarray((2, 8, nki.par_dim(128), 512), nki.float32,
                    buffer=nki.psum.mod_alloc(base_bank=0, num_bank_tiles=(2, 4)))
    assert t[1, 6].bank == 1 * 4 + 2
    with pytest.raises(spad.ArgumentError):
        nki.ndarray((nki.par_dim(64), 4), nki.float32, buffer=nki.sbuf.alloc(lambda i, p, f: (32, 0)))
    with pytest.raises(ZeroDivisionError):
        nki.ndarray((nki.par_dim(64), 4), nki.float32, buffer=nki.sbuf.alloc(lambda i, p, f: 1 // 0))


def test_a_kernel_is_checked_as_a_whole():
    def tensors():
        buffers = nki.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,))
        nki.ndarray((4, nki.par_dim(128), 512), nki.bfloat16, buffer=buffers, name="a")
        nki.ndarray((nki.par_dim(128), 512), nki.bfloat16, nki.sbuf.mod_alloc(base_addr=512), "b")
        nki.ndarray((nki.par_dim(128), 512), nki.bfloat16, nki.sbuf, "auto")

    with nki.kernel() as k:
        tensors()
    assert [(o["byte"], o["bytes"]) for o in k.overlaps()] == [(512, 512), (1024, 512)]
    assert [f["code"] for f in k.findings()] == ["SPAD-MIXED-PLACEMENT"]
    assert "<svg" in k.report().svg()

    @nki.force_auto_alloc
    def forced():
        with nki.kernel() as k:
            tensors()
        return k

    assert forced().overlaps() == [] and forced().findings() == []


def test_real_language_makes_the_tensors(monkeypatch):
    made = []
    language = types.ModuleType("nki.language")
    language.sbuf, language.hbm = object(), object()
    language.ndarray = lambda shape, **facts: made.append((shape, facts)) or made[-1]
    monkeypatch.setitem(sys.modules, "nki.language", language)
    class Own(nki.SbufManager):  # a subclass makes them, too
        pass

    sbm = Own(0, 1000, QUIET)
    assert isinstance(sbm, Own)
    sbm.set_name_prefix("L0_")
    sbm.open_scope()
    sbm.alloc_stack((128, 10), "bfloat16", buffer=language.sbuf, name="x")
    sbm.alloc((128, 10), "bfloat16", language.hbm)
    assert made == [
        ((128, 10), {"dtype": "bfloat16", "buffer": language.sbuf, "address": (0, 0), "name": "L0_x"}),
        ((128, 10), {"dtype": "bfloat16", "buffer": language.hbm})]


def test_behaviours_can_be_chosen():
    nki.set_behaviour("library_later")
    try:
        sbm = nki.SbufManager(0, 212984, QUIET)
        assert sbm.alloc_heap((128, 100), "uint8", align=32).address == (0, 212864)
    finally:
        nki.set_behaviour("library")
    sbm = nki.BufferManager(0, 212984, QUIET, behaviour="library_2026_04")
    assert sbm.alloc_heap((128, 100), "uint8", align=32).address == (0, 212860)
    sbm.open_scope("a name for a degree")  # the library never wraps then
    for _ in range(3):
        sbm.alloc_stack((128, 1), "uint8")
        sbm.increment_section()
    assert sbm.get_stack_curr_addr() == 3
    with pytest.raises(spad.ArgumentError):
        nki.set_behaviour("other")


def test_loops_and_kernels_without_nki():
    assert list(nki.affine_range(3)) == list(nki.sequential_range(0, 3)) == [0, 1, 2]
    assert list(nki.static_range(1, 8, 3)) == [1, 4, 7]

    @nki.jit
    def plain(n):
        return n + 1

    @nki.jit(mode="simulation")
    def with_options(n):
        return n + 2

    assert (plain(1), with_options(1), plain.__name__) == (2, 3, "plain")
    assert nki.constants.sbuf_min_align == nki.tile_size.sbuf_min_align


def test_loops_and_kernels_of_a_real_nki(monkeypatch):
    package, language = types.ModuleType("nki"), types.ModuleType("nki.language")
    language.affine_range = lambda *args, **options: ("real", args, options)
    package.jit = lambda func, **options: ("jit", func.__name__, options)
    monkeypatch.setitem(sys.modules, "nki", package)
    monkeypatch.setitem(sys.modules, "nki.language", language)
    assert nki.affine_range(8, multi_buffer=2) == ("real", (8,), {"multi_buffer": 2})
    assert list(nki.static_range(2)) == [0, 1]
    assert nki.jit(abs) == ("jit", "abs", {}) and nki.jit(mode="x")(abs) == ("jit", "abs", {"mode": "x"})


FAILURES = [  # what is done, the exception in the library's behaviours (None: passes), and in exact
    (lambda m: m.alloc_stack((128, 40000), "float32"), AssertionError, AssertionError),
    (lambda m: m.alloc_heap((128, 40000), "float32"), AssertionError, AssertionError),
    (lambda m: (m.close_scope(), m.alloc_stack((128, 4), "float32")), AssertionError, AssertionError),
    (lambda m: m.pop_heap(), AssertionError, AssertionError),
    (lambda m: m.alloc_stack((128, 4), "float32", "psum"), AssertionError, AssertionError),
    (lambda m: (m.set_auto_alloc(True), m.get_stack_curr_addr()), AssertionError, AssertionError),
    (lambda m: m.alloc_stack((128, 4), "nothing"), AssertionError, AssertionError),
    (lambda m: m.alloc_stack((128, 4), "float64"), AssertionError, None),
    (lambda m: (m.close_scope(), m.close_scope()), IndexError, spad.StateError),
    (lambda m: (m.close_scope(), m.increment_section()), IndexError, spad.StateError),
    (lambda m: [m.alloc_stack((128, 4), "float32", name="a") for _ in range(2)], None,
     spad.ArgumentError),
    (lambda m: m.alloc_stack((1280, 4), "float32"), None, spad.ArgumentError),
    (lambda m: m.alloc_stack((128, 4), "float32", base_partition=5), None, spad.ArgumentError),
    (lambda m: m.open_scope(0), None, spad.ArgumentError),
    (lambda m: nki.SbufManager(0, 1 << 30, m.logger, behaviour=m.behaviour), None,
     spad.ArgumentError),
    (lambda m: m.alloc_stack((128, -4), "float32"), spad.ArgumentError, spad.ArgumentError),
]


@pytest.mark.filterwarnings("ignore:the region")
@pytest.mark.parametrize("behaviour", ["library_2026_04", "library_later", "exact"])
@pytest.mark.parametrize("number", range(len(FAILURES)))
def test_failures_are_those_of_the_table_in_the_docs(behaviour, number):
    fail, library, exact = FAILURES[number]
    expected = exact if behaviour == "exact" else library
    manager = nki.SbufManager(0, 4096, QUIET, behaviour=behaviour)
    manager.open_scope()
    if expected is None:
        fail(manager)
        return
    with pytest.raises(expected) as caught:
        fail(manager)
    if expected is AssertionError:
        assert "[NCC_INKI016]" in str(caught.value)
