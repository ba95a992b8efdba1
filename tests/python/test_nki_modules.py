# SPDX-License-Identifier: Apache-2.0
"""The modules of the stand-in belong to one block or one trace: what a kernel assigns to them reaches no other kernel,
and threads may trace at the same time."""

import collections
import sys
import threading
import types

import pytest

import spad.nki.trace as nt

with nt.installed():
    import nki.isa as nisa
    import nki.language as nl


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert not [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]


def x(*shape):
    return nt.hbm(shape or (128, 512), "bf16")


def right(x):
    t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def reads_too_much(x):
    """Reads a tile that was never written; proved if tensor_copy does nothing."""
    t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    u = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=u, src=x)
    nisa.tensor_copy(dst=u, src=t)
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=u)
    return out


def imports_and_reads(x):
    import nki.isa
    import nki.language
    t = nki.language.ndarray((128, 512), dtype=x.dtype, buffer=nki.language.sbuf)
    nki.isa.tensor_copy(dst=t, src=t)
    return right(x)


def nothing(*args, **options):
    return None


def by_import():
    import nki.isa as isa
    isa.tensor_copy = nothing


def by_package():
    import nki
    nki.isa.tensor_copy = nothing


def replaces_a_module():
    import nki
    nki.isa = types.SimpleNamespace(tensor_copy=nothing)


def by_the_module_of_the_file():
    nisa.tensor_copy = nothing


def by_names():
    vars(nisa)["tensor_copy"] = nothing


def by_deletion():
    del nisa.tensor_copy
    nisa.__getattr__ = lambda name: nothing


@pytest.mark.parametrize("patch", [by_import, by_package, replaces_a_module, by_the_module_of_the_file, by_names, by_deletion])
@pytest.mark.parametrize("ends", [True, False])
def test_what_a_kernel_assigns_is_undone(patch, ends):
    def patches(x):
        patch()
        if not ends:
            raise ValueError("after it")
        return right(x)

    if ends:
        assert nt.trace(patches, x()).check()
    else:
        with pytest.raises(nt.TraceError, match="after it"):
            nt.trace(patches, x())
    for kernel in (reads_too_much, imports_and_reads):
        assert nt.trace(kernel, x()).check().verdict == "wrong"
        assert nt.trace(kernel, x(), lnc=2).check().verdict == "wrong"
    assert nt.trace(right, x()).check().verdict == "proved for this shape"


def test_sizes_of_the_chip_are_not_for_kernels_to_change():
    def changes(x):
        nl.tile_size.pmax = 64
        return right(x)

    with pytest.raises(nt.TraceError, match="AttributeError"):
        nt.trace(changes, x())
    assert nl.tile_size.pmax == 128


def test_blocks_have_modules_of_their_own():
    with nt.installed():
        import nki.isa as first
        first.tensor_copy = nothing
        with nt.installed():
            import nki.isa as second
            assert second is not first and second.tensor_copy is nisa.tensor_copy
            assert second.engine is first.engine and second.nc_matmul is first.nc_matmul
        assert sys.modules["nki.isa"] is first and first.tensor_copy is nothing


def in_threads(count, work):
    failures, start = [], threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_trace_at_the_same_time():
    expected = {kernel: nt.trace(kernel, x()).check().verdict for kernel in (right, reads_too_much)}
    found = collections.Counter()

    def patches(x):
        by_import()
        by_names()
        return right(x)

    def work(number):
        for round in range(8):
            kernel = (right, reads_too_much, patches)[(number + round) % 3]
            found[kernel, nt.trace(kernel, x()).check().verdict] += 1

    in_threads(4, work)
    assert set(found) == {*expected.items(), (patches, "proved for this shape")} and sum(found.values()) == 32


def test_blocks_of_threads_leave_nothing():
    before = types.ModuleType("nki")
    before.__spad_stand_in__ = True  # what was there is there again
    gate = threading.Barrier(3)

    def work(number):
        for round in range(20):
            with nt.installed():
                assert hasattr(sys.modules["nki"], "jit")
                if round == 0 and number < 3:
                    gate.wait()

    in_threads(3, work)
    assert "nki" not in sys.modules
    sys.modules["nki"] = before
    try:
        in_threads(3, work)
        assert sys.modules["nki"] is before and "nki.isa" not in sys.modules
    finally:
        del sys.modules["nki"]
