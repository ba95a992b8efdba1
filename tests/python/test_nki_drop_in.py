# SPDX-License-Identifier: Apache-2.0
"""spad.nki as a drop-in: what managers do unasked, indices of tensors, spellings of the manuals,
and what a kernel raises when it ends."""

import warnings

import pytest

import spad
from spad import nki
from spad import nki as nl

QUIET = nki.Logger(level=nki.OFF)


@pytest.fixture
def whole_trn3(monkeypatch):
    """The chip of the manager's manual: all of 262144 B of a partition are usable."""
    monkeypatch.setenv("SPAD_NKI_TARGET", "trn3")
    monkeypatch.setenv("SPAD_NKI_USE_RESERVED", "1")


# ---- managers ---------------------------------------------------------------------------------


def test_names_may_repeat_as_in_the_code_of_the_library():
    sbm = nl.SbufManager(0, 4096, QUIET, strict=False)
    with sbm.scope(2):
        for _ in range(4):
            row = sbm.alloc_stack((128, 128), nl.bfloat16, name="row")
            sbm.increment_section()
    assert row.address == (0, 256)
    for options in ({}, {"behaviour": "exact"}):
        sbm = nl.SbufManager(0, 4096, QUIET, **options)
        with sbm.scope(), pytest.raises(spad.ArgumentError, match="names are unique"):
            [sbm.alloc_stack((128, 128), nl.bfloat16, name="row") for _ in range(2)]


def test_pictures_need_no_option():
    sbm = nl.SbufManager(0, 4096, QUIET)
    sbm.alloc_heap((128, 128), nl.bfloat16, name="weights")
    assert "weights" in sbm.report().text() and "weights" in sbm._repr_html_()
    assert nl.SbufManager(0, 4096, QUIET, trace=False).trace is None


def test_a_heap_does_not_fill_its_memory():
    sbm = nl.SbufManager(0, 212984, QUIET, target="trn2")
    sbm.alloc_heap((128, 8192), nl.float32)
    with sbm.scope():
        sbm.alloc_stack((128, 4096), nl.float32)
    assert "used 49,152 of 212,984 B (23.0 %)" in sbm.report().text()
    assert "used 48 KiB of 208 KiB" in sbm.report().svg()
    with pytest.warns(UserWarning, match="passes"):
        wide = nl.SbufManager(0, 262144, QUIET, target="trn2")
    wide.alloc_heap((128, 8192), nl.float32)
    assert "used 262,144 of 212,984 B (too much)" in wide.report().text()


def test_flush_logs_prints(capsys):
    sbm = nl.SbufManager(0, 4096)
    sbm.alloc_heap((128, 128), nl.bfloat16, name="w")
    capsys.readouterr()
    sbm.flush_logs()
    assert capsys.readouterr().out == ("[SBM] Allocations:\n"
                                       "    [HEAP+] w: 256 B @ 3840 (128, 128) bfloat16\n")
    sbm.flush_logs()  # only what is new
    assert capsys.readouterr().out == ""
    silent = nl.SbufManager(0, 4096, QUIET)
    silent.alloc_heap((128, 128), nl.bfloat16, name="w")
    silent.flush_logs()
    assert capsys.readouterr().out == ""


def test_list_shapes_are_shown_as_lists():
    for behaviour in nl.BEHAVIOURS:
        sbm = nl.SbufManager(0, 4096, QUIET, behaviour=behaviour)
        with sbm.scope(name="s"):
            sbm.alloc_stack([128, 16], nl.bfloat16, name="a")
            sbm.alloc_stack((128, 16), nl.bfloat16, name="b")
        sbm.alloc_heap([128, 4, 4], nl.bfloat16, name="c")
        lines = sbm.log().splitlines()
        assert lines[2].endswith("a: 32 B @ 0 [128, 16] bfloat16")
        assert lines[3].endswith("b: 32 B @ 32 (128, 16) bfloat16")
        assert lines[5].endswith("[128, 4, 4] bfloat16")


def test_attempts_are_undone():
    for behaviour in nl.BEHAVIOURS:
        sbm = nl.SbufManager(0, 4096, QUIET, behaviour=behaviour)
        with sbm.attempt() as outcome:
            sbm.open_scope()
            sbm.alloc_stack((128, 512), nl.bfloat16, name="fits")
            sbm.alloc_heap((128, 4096), nl.bfloat16)
        assert not outcome and outcome.error.code == "SPAD-NO-FIT"
        assert sbm.get_free_space() == 4096 and sbm.depth == 0
        with sbm.attempt() as outcome:
            sbm.alloc_heap((128, 512), nl.bfloat16)
        assert outcome and sbm.get_free_space() == 3072
        with pytest.raises(ZeroDivisionError), sbm.attempt():
            1 // 0


def test_bounds_are_taken_as_given():
    with pytest.warns(UserWarning, match=r"\[0, 262144\) passes the 212984 B"):
        sbm = nl.SbufManager(0, 262144, QUIET, target="trn2")
    assert sbm.alloc_heap((128, 256), nl.bfloat16).address == (0, 261632)
    with pytest.raises(spad.ArgumentError):
        nl.SbufManager(0, 262144, QUIET, behaviour="exact", target="trn2")
    with pytest.warns(UserWarning, match="262144 B per partition that sbuf of nki_manual has"):
        nl.SbufManager(0, 262145, QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nl.SbufManager(0, 262144, QUIET)
        for behaviour in nl.BEHAVIOURS:  # as a public kernel does
            nl.SbufManager(0, 528384, QUIET, use_auto_alloc=True, behaviour=behaviour)
        trn3 = nl.SbufManager(0, 262144, QUIET, target="trn3", use_reserved=True, behaviour="exact")
    assert trn3.alloc_heap((128, 256), nl.bfloat16).address == (0, 261632)


def test_the_chip_is_chosen(monkeypatch, whole_trn3):
    assert nl.tile_size.total_available_sbuf_size == 262144
    assert nl.create_auto_alloc_manager(QUIET).get_total_space() == 262144
    monkeypatch.setenv("SPAD_NKI_USE_RESERVED", "0")
    assert nl.tile_size.total_available_sbuf_size == 245752
    try:
        nl.set_target("trn1")
        assert nl.tile_size.total_available_sbuf_size == 180224
        nl.set_target("trn1", use_reserved=True)
        assert nl.tile_size.total_available_sbuf_size == 196608
    finally:
        nl.set_target(None)
    assert nl.tile_size.total_available_sbuf_size == 245752
    monkeypatch.delenv("SPAD_NKI_TARGET")
    assert nl.tile_size.total_available_sbuf_size == 262144  # of the manuals
    try:
        nl.set_target("trn2")
        assert nl.tile_size.total_available_sbuf_size == 212984
    finally:
        nl.set_target(None)
    with pytest.raises(spad.Error):
        nl.set_target("trn9")


# ---- indices ----------------------------------------------------------------------------------


def test_an_index_names_what_it_says():
    x = nl.ndarray((2, 3, nl.par_dim(128), 512), dtype=nl.bfloat16,
                   buffer=nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, 3)))
    assert x[1].address == (0, 3072) and x[1].shape == (3, 128, 512)
    assert x[1, 0].address == (0, 3072) and x[1, 2].address == (0, 5120)
    assert x[0, 1].index == (0, 1) and x[1][2].address == (0, 5120)
    assert [t.index for t in x[1]] == [(1, 0), (1, 1), (1, 2)]
    assert [t.address[1] for t in x[0:2, 1]] == [1024, 4096] and len(x[0:2]) == 6
    assert len(x[...]) == 6 and x[...].shape == x.shape
    assert x[..., 5].address == (0, 10) and x[..., 5].shape == (2, 3, 128)
    assert [t.index[1] for t in x[1, ::2]] == [0, 2]
    assert x[1, 2, 64:128, 8:16].address == (64, 5136)
    assert x[1, 2, 64:128, 8:16].bytes == 16 and x[1, 2].bytes == 1024
    assert x[1, 2][64:128][:, 8:][0:32, 4].address == (64, 5120 + 24)


def test_a_tensor_without_block_dimensions():
    z = nl.ndarray((nl.par_dim(128), 4, 8), nl.float32, nl.sbuf.mod_alloc(base_addr=256))
    assert z[5].address == (5, 256) and z[5].shape == (4, 8)
    assert z[64:128, 2, 3:].address == (64, 256 + (2 * 8 + 3) * 4)
    assert z[()].address == z[...].address == z.address == (0, 256)
    y = nl.ndarray((2, nl.par_dim(128), 512), nl.bfloat16,
                   nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)))
    assert y[1, 64:128, :].address == (64, 1024) and y[1, 64:128, :].shape == (64, 512)
    assert nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.sbuf)[3].address is None


@pytest.mark.parametrize("index", [
    500, -1, (0, 0, 0, 0), slice(0, 200), slice(64, 64), slice(-3, None), slice(0, 128, 2),
    (..., ...), None, 1.5, "a", ([0, 1],), (0, slice(0, 9))])
def test_an_index_that_names_nothing_is_an_error(index):
    z = nl.ndarray((nl.par_dim(128), 4, 8), nl.float32, nl.sbuf.mod_alloc(base_addr=0))
    with pytest.raises(IndexError):
        z[index]
    with pytest.raises(IndexError):
        z[...][index]


# ---- spellings --------------------------------------------------------------------------------


def test_one_partition_dimension():
    with pytest.raises(spad.ArgumentError, match="one partition dimension"):
        nl.ndarray((nl.par_dim(2), nl.par_dim(128), 4), nl.float32)


def test_places_of_functions_have_the_form_of_their_memory():
    with pytest.raises(spad.ArgumentError, match=r"a place is \(start_partition, byte_addr\)"):
        nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.sbuf.alloc(lambda i, p, f: (0, 0, 0)))
    with pytest.raises(spad.ArgumentError, match=r"\(bank, start_partition, byte_addr\)"):
        nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.psum.alloc(lambda i, p, f: (0, 0)))
    with pytest.raises(spad.ArgumentError, match="takes a function"):
        nl.sbuf.alloc((0, 0))
    for place in (lambda i, p, f: 5, lambda i, p, f: None):
        with pytest.raises(spad.ArgumentError, match="a place is"):
            nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.sbuf.alloc(place))


def test_byte_addr_is_base_addr():
    for words in ({"byte_addr": 64}, {"base_addr": 64}):
        t = nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.sbuf.mod_alloc(**words))
        assert t.address == (0, 64)
    with pytest.raises(TypeError, match="give one"):
        nl.sbuf.mod_alloc(byte_addr=0, base_addr=0)
    with pytest.raises(TypeError, match="needs base_addr"):
        nl.sbuf.mod_alloc(num_free_tiles=(2,))
    assert nl.psum.mod_alloc(base_bank=1, byte_addr=0).facts["base"] == (1, 0, 0)


def test_a_missing_dtype_is_said():
    with pytest.warns(UserWarning, match="taken as float32"):
        t = nl.ndarray((nl.par_dim(128), 4), buffer=nl.sbuf)
    with pytest.warns(UserWarning, match="taken as float32"):
        nl.ndarray((nl.par_dim(128), 4), ..., buffer=nl.sbuf)
    assert t.dtype == nl.float32


def test_counts_of_tiles_tell_the_block_dimensions():
    t = nl.ndarray((8, 128, 512), nl.bfloat16, nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(8,)))
    assert (t.block, t.tile) == ((8,), (128, 512))
    assert [tile.address[1] for tile in t] == [1024 * i for i in range(8)]
    assert nl.ndarray((128, 512), nl.bfloat16, nl.sbuf.mod_alloc(base_addr=0)).block == ()
    with pytest.raises(spad.ArgumentError, match="par_dim"):
        nl.ndarray((8, 128), nl.bfloat16, nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(8, 2)))


def test_buffers_without_a_call():
    assert nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.sbuf.auto_alloc).address is None
    assert nl.ndarray((nl.par_dim(128), 4), nl.float32, nl.psum.auto_alloc).space == "psum"
    for buffer in (nl.sbuf.alloc, nl.sbuf.mod_alloc):
        with pytest.raises(spad.ArgumentError, match=r"write sbuf\.\w*alloc\(\.\.\.\)"):
            nl.ndarray((nl.par_dim(128), 4), nl.float32, buffer)
    with pytest.raises(spad.ArgumentError, match="is no buffer"):
        nl.ndarray((nl.par_dim(128), 4), nl.float32, 5)
    with pytest.raises(TypeError, match="a shape is a tuple"):
        nl.ndarray(..., nl.float32)


def test_addresses_in_psum_count_over_its_banks():
    t = nl.ndarray((128, 512), nl.float32, nl.psum, address=(0, 3 * 2048))
    assert t[...].bank == 3
    with pytest.raises(spad.ArgumentError):
        nl.ndarray((128, 512), nl.float32, nl.psum, address=(0, 1024))
    with pytest.raises(spad.ArgumentError, match="give one"):
        nl.ndarray((128, 4), nl.float32, nl.sbuf.mod_alloc(base_addr=0), address=(0, 0))


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="did you mean 'ndarray'"):
        nl.ndaraay
    with pytest.raises(AttributeError, match="docs/nki.md"):
        nl.quantum_fourier
    assert not hasattr(nl, "softmax_backward_of_all")


# ---- kernels ----------------------------------------------------------------------------------


def placed(address, name=None, blocks=4, tiles=2):
    return nl.ndarray((blocks, nl.par_dim(128), 512), dtype=nl.bfloat16, name=name,
                      buffer=nl.sbuf.mod_alloc(base_addr=address, num_free_tiles=(tiles,)))


def test_mixed_placement_is_raised():
    @nl.jit
    def mixed(other):
        placed(0, "t")
        nl.ndarray((nl.par_dim(128), 512), nl.bfloat16, other, name="forgotten")

    with pytest.raises(nl.CompileError, match="Mixing direct allocation with automatic allocation"
                                              ".*'forgotten'.*'t'") as caught:
        mixed(nl.sbuf)
    assert caught.value.code == "SPAD-MIXED-PLACEMENT" and isinstance(caught.value, spad.Error)
    mixed(nl.sbuf.mod_alloc(base_addr=8192))
    nl.force_auto_alloc(mixed)(nl.sbuf)

    @nl.jit
    def of_today():  # NKI 0.2 and later: addresses beside automatic tensors
        nl.ndarray((128, 512), nl.bfloat16, nl.sbuf, address=(0, 0))
        nl.ndarray((128, 512), nl.bfloat16, nl.sbuf)

    of_today()


def test_hidden_tensors_are_raised():
    @nl.jit
    def loads(source, right):
        t = placed(0, "t", 1, 1)
        if right:
            t[...] = nl.load(source)
        else:
            t = nl.load(source)

    with pytest.raises(nl.CompileError, match=r"nl\.load makes.*t\[\.\.\.\] = nl\.load.*"
                                              r"test_nki_drop_in\.py:\d+\)") as caught:
        loads(object(), False)
    assert caught.value.code == "SPAD-IMPLICIT-TENSOR"
    loads(object(), True)

    @nl.jit
    def normalises(function, **options):
        t, u = placed(0, "t", 1, 1), placed(1024, "u", 1, 1)
        t[0] = nl.load(...)
        u[0] = function(t[0], **options)

    for function, options in ((nl.softmax, {}), (nl.nc_transpose, {"engine": nl.tensor_engine})):
        with pytest.raises(nl.CompileError, match="APIs that introduce implicit tensors"):
            normalises(function, **options)
    normalises(nl.exp)
    normalises(nl.nc_transpose, engine=nl.vector_engine)


def test_hbm_tensors_have_to_be_returned():
    @nl.jit
    def writes(buffer, back, direct=True):
        if direct:
            placed(0)
        out = nl.ndarray((128, 512), nl.bfloat16, buffer, name="out")
        return {"all": [out]} if back else None

    text = "^Non IO HBM tensor is not supported in allocated NKI kernel: out$"
    for buffer, back in ((nl.shared_hbm, False), (nl.hbm, True), (nl.private_hbm, True)):
        with pytest.raises(nl.CompileError, match=text):
            writes(buffer, back)
        writes(buffer, back, direct=False)
    writes(nl.shared_hbm, True)


def test_bounds_are_raised():
    @nl.jit
    def far():
        return placed(1 << 20, "far")

    with pytest.raises(spad.ArgumentError, match="'far'.*262144"):
        far()


def test_lifetime_conflicts_are_raised():
    @nl.jit
    def overlap(second, late):
        t0, t1 = placed(0, "t0"), placed(second, "t1")
        out = nl.ndarray((4, nl.par_dim(128), 512), nl.bfloat16, nl.shared_hbm, name="out")
        t0[1] = nl.load(...)
        if not late:
            nl.store(out[1], t0[1])
        t1[0] = nl.load(...)
        if late:
            nl.store(out[1], value=t0[1])
        return out

    with pytest.raises(nl.CompileError, match=r"^Lifetime conflict: .*tensor 't0', tile \(1,\).*"
                                              r"tensor 't1', tile \(0,\)") as caught:
        overlap(1024, True)
    assert caught.value.code == "SPAD-LIFETIME-CONFLICT"
    overlap(1024, False)
    overlap(2048, True)

    @nl.jit
    def parts(first, second):
        a = nl.ndarray((128, 512), nl.bfloat16, nl.sbuf, address=(0, 0))
        b = nl.ndarray((64, 512), nl.bfloat16, nl.sbuf, address=(64, 0))
        a[first] = nl.load(...)
        b[...] = nl.load(...)
        a[second] = nl.exp(a[first])

    parts(slice(0, 64), slice(0, 64))
    with pytest.raises(nl.CompileError, match="Lifetime conflict"):
        parts(slice(0, 128), slice(0, 128))


def test_conflicts_in_psum_have_the_code_of_the_compiler():
    @nl.jit
    def sums(banks):
        acc = nl.ndarray((2, nl.par_dim(128), 512), nl.float32, name="acc",
                         buffer=nl.psum.mod_alloc(base_bank=0, num_bank_tiles=(banks,)))
        out = placed(0, "out", 2)
        for i in nl.affine_range(2):
            acc[i] = nl.copy(...)
        for i in nl.affine_range(2):
            out[i] = nl.copy(acc[i])

    with pytest.raises(nl.CompileError, match=r"^\[SCH713\] Violation of accumulation group "
                                              "interleaving"):
        sums(1)
    sums(2)


def test_a_kernel_that_calls_a_kernel_is_one():
    @nl.jit
    def inner():
        return nl.ndarray((nl.par_dim(128), 512), nl.bfloat16, nl.sbuf, name="inside")

    @nl.jit
    def outer():
        placed(0)
        inner()

    assert inner().address is None
    with pytest.raises(nl.CompileError, match="'inside'"):
        outer()
