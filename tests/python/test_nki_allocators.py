# SPDX-License-Identifier: Apache-2.0
"""The allocators of spad.nki in kernels: their tensors are nl.ndarrays, which nl.jit checks. And strict managers: the
address of the library, or an error."""

import copy
import random

import pytest

import spad
from nki_rules import Manager, Refused, SIZES
from spad import nki as nl

QUIET = nl.Logger(level=nl.OFF)
BYTES_3 = ((128, 512), nl.bfloat16)


# ---- tensors of allocators are nl.ndarrays ------------------------------------------------------


def from_manager(**options):
    sbm = nl.SbufManager(0, 65536, QUIET, **options)
    sbm.open_scope()
    return sbm.alloc_stack(*BYTES_3)


TENSORS = [
    from_manager,
    lambda: from_manager(behaviour="exact"),
    lambda: from_manager(trace=False),
    lambda: from_manager(use_auto_alloc=True),
    lambda: nl.SbufManager(0, 65536, nl.Logger(level=nl.DEBUG)).alloc_heap(*BYTES_3),
    lambda: nl.SbufManager(0, 65536, QUIET, default_stack_alloc=False).alloc(*BYTES_3, nl.sbuf),
    lambda: nl.ModularAllocator().alloc_sbuf_tensor(*BYTES_3),
    lambda: nl.ModularAllocator().alloc_sbuf_tensor(*BYTES_3, block_dim=[2])[1],
]


@pytest.mark.parametrize("number", range(len(TENSORS)))
def test_tensors_of_allocators_are_ndarrays(number):
    made = TENSORS[number]()
    assert isinstance(made, nl.ndarray)
    assert (made.shape, made.dtype, made.bytes, made.lanes) == ((128, 512), nl.bfloat16, 1024, 128)
    assert made.buffer is nl.sbuf and made.space == "sbuf"
    assert made.is_placed == (made.address is not None)
    if made.is_placed:
        assert made[64:128, 8:].address == (64, made.address[1] + 16) and made[...].bytes == 1024

    @nl.jit
    def kernel(write):
        tile, out = TENSORS[number](), nl.ndarray((128, 512), nl.bfloat16, nl.shared_hbm)
        if write:
            tile[...] = nl.load(...)
        out[...] = nl.exp(tile)
        return out

    kernel(True)
    with pytest.raises(nl.CompileError, match=r"^Uninitialised read: exp reads .*test_nki_allocators.py:\d+\)$"):
        kernel(False)


def test_a_tensor_of_hbm_from_a_manager():
    made = nl.SbufManager(0, 65536, QUIET).alloc_hbm((128, 4), "float32", name="out")
    assert isinstance(made, nl.ndarray) and made.space == "hbm" and made.address is None


def scoped(sbm, late, name=None):
    """Reads a tensor before or after another one is placed over it."""
    out = nl.ndarray((128, 512), nl.bfloat16, nl.shared_hbm)
    sbm.open_scope()
    sbm.open_scope()
    a = sbm.alloc_stack((128, 512), nl.bfloat16, name=name)
    a[...] = nl.load(...)
    sbm.close_scope()
    if not late:
        out[...] = nl.exp(a)
    b = sbm.alloc_stack((128, 512), nl.bfloat16)
    b[...] = nl.load(...)
    out[...] = nl.add(a, b) if late else nl.exp(b)
    sbm.close_scope()
    return out


def test_a_tensor_whose_scope_is_closed_is_checked():
    @nl.jit
    def inside(late):
        return scoped(nl.SbufManager(0, 4096, QUIET), late, "a")

    before = nl.SbufManager(0, 4096, QUIET)  # made before the kernel runs

    @nl.jit
    def outside(late):
        return scoped(before, late)

    for kernel in (inside, outside):
        kernel(False)
        with pytest.raises(nl.CompileError, match="^Lifetime conflict: add reads .*, but bytes .* written by load"):
            kernel(True)


def test_sections_that_are_entered_again_are_checked():
    @nl.jit
    def kernel(degree, behind):
        sbm, tiles = nl.SbufManager(0, 65536, QUIET), []
        out = nl.ndarray((128, 512), nl.bfloat16, nl.shared_hbm)
        with sbm.scope(degree):
            for i in nl.affine_range(6):
                tiles.append(sbm.alloc_stack((128, 512), nl.bfloat16))
                tiles[i][...] = nl.load(...)
                if i >= behind:
                    out[...] = nl.exp(tiles[i - behind])
                sbm.increment_section()
        return out

    kernel(2, 1)
    kernel(3, 2)
    for degree, behind in ((1, 1), (2, 2), (3, 3)):
        with pytest.raises(nl.CompileError, match="Lifetime conflict"):
            kernel(degree, behind)


def test_both_manuals_in_one_kernel():
    """A manager (its manual) beside tiles of sbuf.mod_alloc (the guide to direct allocation)."""
    @nl.jit
    def kernel(base, automatic=False):
        sbm = nl.SbufManager(0, 4096, QUIET, use_auto_alloc=automatic)
        out = nl.ndarray((2, nl.par_dim(128), 512), nl.bfloat16, nl.shared_hbm)
        ring = nl.ndarray((2, nl.par_dim(128), 512), nl.bfloat16, name="ring",
                          buffer=nl.sbuf.mod_alloc(base_addr=base, num_free_tiles=(2,)))
        weights = sbm.alloc_heap((128, 512), nl.bfloat16, name="weights")  # [3072, 4096)
        weights[...] = nl.load(...)
        for i in nl.affine_range(2):
            ring[i] = nl.load(...)
            out[i] = nl.add(ring[i], weights)
        return out

    kernel(0)
    kernel(4096)
    with pytest.raises(nl.CompileError, match="Lifetime conflict: add reads tensor 'weights'.*'ring'"):
        kernel(2048)
    with pytest.raises(nl.CompileError, match="Mixing direct allocation with automatic allocation.*'weights'"):
        kernel(0, automatic=True)


def test_a_place_outside_of_the_memory_is_refused_at_its_first_use():
    @nl.jit
    def kernel():
        cursor = nl.ModularAllocator(1 << 20)
        cursor.alloc_sbuf_tensor((128, 512), nl.bfloat16)[...] = nl.load(...)

    with pytest.raises(spad.ArgumentError, match="262144"):
        kernel()


# ---- reads of what was never written ------------------------------------------------------------


def tile(mode, name="t"):
    return {"auto": lambda: nl.ndarray((128, 512), nl.bfloat16, nl.sbuf, name=name),
            "address": lambda: nl.ndarray((128, 512), nl.bfloat16, nl.sbuf, name=name, address=(0, 0)),
            "mod": lambda: nl.ndarray((nl.par_dim(128), 512), nl.bfloat16, nl.sbuf.mod_alloc(base_addr=0), name),
            "psum": lambda: nl.ndarray((128, 512), nl.float32, nl.psum, name=name)}[mode]()


@pytest.mark.parametrize("mode", ["auto", "address", "mod", "psum"])
def test_a_read_of_what_was_never_written_is_raised(mode):
    @nl.jit
    def kernel(written, read):
        t, out = tile(mode), nl.ndarray((128, 512), nl.bfloat16, nl.shared_hbm)
        if written is not None:
            t[written] = nl.load(...)
        out[...] = nl.exp(t[read])
        return out

    kernel(..., ...)
    kernel((slice(0, 64), slice(0, 8)), (slice(32, 64), slice(4, 8)))
    for written, read in ((None, ...), (slice(0, 64), ...), ((..., slice(0, 511)), ...),
                          ((..., slice(0, 256)), (..., slice(256, 512)))):
        with pytest.raises(nl.CompileError, match=r"^Uninitialised read: exp reads .*tensor 't'.*\.py:\d+\)") as caught:
            kernel(written, read)
        assert caught.value.code == "SPAD-UNINITIALISED-READ"


def test_a_read_of_a_tensor_in_hbm_that_was_never_written():
    @nl.jit
    def kernel(source, stored):
        scratch = nl.ndarray((128, 512), nl.bfloat16, nl.private_hbm, name="scratch")
        out = nl.ndarray((128, 512), nl.bfloat16, nl.shared_hbm)
        if stored:
            nl.store(scratch, nl.load(source))
        out[...] = nl.load(scratch[0:64])
        return out

    source = nl.ndarray((128, 512), nl.bfloat16, nl.shared_hbm)  # of the caller
    kernel(source, True)
    with pytest.raises(nl.CompileError, match=r"^Uninitialised read: load reads tensor 'scratch', .*\.py:\d+\)$") as caught:
        kernel(source, False)
    assert caught.value.code == "SPAD-UNINITIALISED-READ"


def test_a_tile_of_a_ring_that_was_never_written():
    @nl.jit
    def kernel(count):
        t = nl.ndarray((4, nl.par_dim(128), 8), nl.bfloat16, name="t",
                       buffer=nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(4,)))
        out = nl.ndarray((4, nl.par_dim(128), 8), nl.bfloat16, nl.shared_hbm)
        for i in range(count):
            t[i] = nl.load(...)
        for i in range(4):
            nl.store(out[i], t[i])
        return out

    kernel(4)
    with pytest.raises(nl.CompileError, match=r"^Uninitialised read: store reads tensor 't', tile \(3,\)"):
        kernel(3)


# ---- strict managers ----------------------------------------------------------------------------


def test_the_default_refuses_what_breaks_the_manual():
    sbm = nl.SbufManager(0, 4096, QUIET)
    assert sbm.strict and sbm.behaviour == "library_2026_04"
    with pytest.raises(spad.ArgumentError, match="strict=False for the library's address"):
        sbm.alloc_heap((128, 100), "uint8", align=32)
    for call in (lambda: sbm.alloc_heap((32, 4), "uint8", base_partition=33),
                 lambda: sbm.alloc_heap((1280, 4), "uint8"), lambda: sbm.open_scope(0),
                 lambda: [sbm.alloc_heap((128, 4), "uint8", name="w") for _ in range(2)]):
        with pytest.raises(spad.ArgumentError):
            call()
    with pytest.raises(TypeError):
        sbm.open_scope("a name for a degree")
    with pytest.raises(spad.ArgumentError, match="strict"):
        nl.SbufManager(0, 4096, QUIET, behaviour="exact", strict=False)
    for behaviour in ("library_2026_04", "library_later"):  # the code, fault for fault
        assert not nl.SbufManager(0, 4096, QUIET, behaviour=behaviour).strict


def test_the_default_stays_in_its_region():
    for strict in (True, False):
        sbm = nl.SbufManager(0, 100, QUIET, strict=strict)
        with sbm.scope():
            sbm.alloc_stack((128, 1), "uint8")
            if not strict:
                sbm.alloc_stack((128, 99), "uint8", align=32)
                assert sbm.get_free_space() == -31
                continue
            with pytest.raises(AssertionError, match="Stack out of memory: .* 68 of 100 B are free"):
                sbm.alloc_stack((128, 99), "uint8", align=32)
            with pytest.raises(AssertionError, match="Heap out of memory: "):
                sbm.alloc_heap((128, 99), "uint8", align=32)
            with pytest.raises(AssertionError, match="Stack out of memory - "):  # the library refuses it as well
                sbm.alloc_stack((128, 100), "uint8")
            assert sbm.get_free_space() == 99


def keeps_contract(rules, made, count, align, live):
    """Is a place that the rules give one that the manual promises?"""
    byte = made.address[1]
    if align is not None and byte % align:
        return False
    if not (rules.lower <= byte and byte + count <= rules.upper):
        return False
    return all(byte + count <= other or other + size <= byte or not count or not size for other, size in live)


@pytest.mark.parametrize("behaviour", ["library_2026_04", "library_later"])
def test_random_sequences_give_the_address_of_the_library_or_an_error(behaviour, sequences):
    accepted = refused = 0
    for seed in range(sequences):
        rng = random.Random(f"strict {behaviour} {seed}")
        upper = rng.choice([100, 400, 3000])
        rules = Manager(0, upper, behaviour == "library_later", False, logged=False)
        ours = nl.SbufManager(0, upper, QUIET, behaviour=behaviour, strict=True)
        stacks, heap = [], []
        for _ in range(30):
            op = rng.choices(["open", "close", "stack", "heap", "pop"], [3, 2, 10, 5, 2])[0]
            if op == "open":
                ours.open_scope()
                rules.open_scope()
                stacks.append([])
            elif op == "close" and stacks:
                ours.close_scope()
                rules.close_scope()
                stacks.pop()
            elif op == "pop" and heap:
                ours.pop_heap()
                rules.pop_heap()
                heap.pop()
            elif op == "heap" or op == "stack" and stacks:
                shape, dtype = (128, rng.randint(0, 60)), rng.choice(list(SIZES))
                align, count = rng.choice([None, None, 1, 4, 32, 3]), shape[1] * SIZES[dtype]
                method, before = f"alloc_{op}", copy.deepcopy(rules)
                live = [*heap, *(one for scope in stacks for one in scope)]
                try:
                    expected = getattr(rules, method)(shape, dtype, None, align)
                    good = keeps_contract(rules, expected, count, align, live) and rules.hp >= rules.sp
                except Refused:
                    good = False
                if good:
                    made = getattr(ours, method)(shape, dtype, align=align)
                    assert made.address == expected.address, seed
                    (heap if op == "heap" else stacks[-1]).append((made.address[1], count))
                    accepted += 1
                else:
                    with pytest.raises((AssertionError, spad.ArgumentError)):
                        getattr(ours, method)(shape, dtype, align=align)
                    rules = before
                    refused += 1
            assert (ours.get_stack_curr_addr(), ours.get_heap_curr_addr()) == (rules.sp, rules.hp), seed
    assert accepted > 3 * sequences and refused > sequences
