# SPDX-License-Identifier: Apache-2.0
"""Traces of NKI kernels: what is recorded, what is said about it, and what is refused."""

import itertools
import json
import os
import random
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import nki_public
import spad
import spad.nki.trace as nt
from spad.nki import _access, _command, _isa, _stand_in
from spad.nki._views import Storage, View

FILE = Path(__file__).with_name("nki_kernels.py")


@pytest.fixture(autouse=True)
def nothing_left():
    """No test leaves a module of nki in the process."""
    before = list(sys.path)
    yield
    assert not [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]
    assert sys.path == before


def traced(name, *args, **options):
    return nt.trace(nt.load(f"{FILE}:{name}"), *args, **options)


def x(*shape, dtype="bf16"):
    return nt.hbm(shape, dtype)


def line_of(text, after="@nki.jit"):
    """The number of the first line of the kernels that has this text."""
    return next(at for at, line in enumerate(FILE.read_text().split("\n"), 1) if text in line)


def code(kernel):
    """The lines of a kernel without the lines of Python that they come from."""
    return [re.sub(r" from \d+$", "", line) for line in kernel.source.strip().split("\n")
            if not line.startswith(("source ", "compiler "))]


# ---- what is recorded ----------------------------------------------------------------------------------


def test_matmul_literally():
    k = traced("matmul", x(256, 128), x(256, 512))
    assert code(k) == [
        "kernel matmul on trn2",
        "tensor lhsT : hbm bfloat16 (256, 128) input",
        "tensor rhs : hbm bfloat16 (256, 512) input",
        "tensor out : hbm bfloat16 (128, 512) output",
        "tensor acc : psum float32 (128, 512)",
        "tensor a : sbuf bfloat16 (128, 128)",
        "tensor b : sbuf bfloat16 (128, 512)",
        "dma dma_copy reads lhsT(0..128, ..) writes a",
        "dma dma_copy reads rhs(0..128, ..) writes b",
        "tensor nc_matmul reads a, b writes acc",
        "tensor a_2 : sbuf bfloat16 (128, 128)",
        "tensor b_2 : sbuf bfloat16 (128, 512)",
        "dma dma_copy reads lhsT(128..256, ..) writes a_2",
        "dma dma_copy reads rhs(128..256, ..) writes b_2",
        "tensor nc_matmul reads a_2, b_2 updates acc",
        "tensor res : sbuf bfloat16 (128, 512)",
        "vector tensor_copy reads acc writes res",
        "dma dma_copy reads res writes out",
    ]
    assert isinstance(k, spad.Kernel) and k.operations == 8 and k.notes == []
    assert k.check().verdict == "proved for this shape"
    assert k.sim().makespan > 0 and "sbuf" in k.plan().text() and k.tune() is not None
    assert "<svg" in k.report().svg()


def test_every_line_has_its_place_in_the_source():
    k = traced("matmul", x(256, 128), x(256, 512))
    lines = k.source.split("\n")
    copy = next(at for at, line in enumerate(lines, 1) if line.startswith("vector tensor_copy"))
    assert k.place(copy) == (str(FILE), line_of("nisa.tensor_copy(dst=res, src=acc)"))
    source = k.sources[k.statements[-2]["source"]]
    assert (source["file"], source["line"]) == k.place(copy) and source["code"] == "nisa.tensor_copy(dst=res, src=acc)"
    first = next(at for at, line in enumerate(lines, 1) if line.startswith("tensor lhsT"))
    assert k.place(first) == (str(FILE), line_of("def matmul") - 1)  # an argument: the kernel itself
    assert k.place(1) is None and k.place(10 ** 6) is None


def test_calls_that_lead_to_a_line_are_known():
    k = traced("through_calls", x(128, 64))
    copies = [at for at, line in enumerate(k.source.split("\n"), 1) if " tensor_copy " in line]
    helper, outer = line_of("nisa.tensor_copy(dst=to, src=what)"), line_of("copied(t, u)")
    assert k.chain(copies[0]) == [(str(FILE), helper), (str(FILE), outer)]
    assert k.chain(copies[1]) == [(str(FILE), helper), (str(FILE), outer + 1)]
    assert k.check()
    k = traced("through_calls", x(128, 64), late=True)
    finding = next(finding for finding in k.check() if finding.severity == "error")
    assert finding.place == f"nki_kernels.py:{helper}, called at nki_kernels.py:{outer}"
    page = k.report().html()
    assert "nisa.tensor_copy(dst=to, src=what)" in page  # what a click on the operation shows


@pytest.mark.parametrize("name, args", [
    ("attention", (x(128, 128), x(128, 512), x(512, 128))),
    ("layernorm", (x(256, 1024), x(1024, dtype="f32"))),
    ("language", (x(128, 256),)),
    ("direct", (x(512, 512),)),
    ("managed", (x(512, 512),)),
    ("views", (x(128, 512), x(128, 256))),
    ("gather", (x(1000, 64), x(128, 1, dtype="int32"))),
    ("dynamic", (x(8, 128, 64), x(1, 1, dtype="int32"))),
    ("random", (x(64, 64, dtype="f32"), x(64, 8, dtype="uint32"), x(64, 1, dtype="int32"))),
])
def test_kernels_are_proved_and_timed(name, args):
    k = traced(name, *args)
    check = k.check()
    assert check.verdict == "proved for this shape", k.explain(check)
    assert k.check(layout=True).verdict == "proved for this shape"
    assert k.sim().makespan > 0


def test_engines_are_those_of_the_call_or_the_documented_default():
    text = "\n".join(code(traced("attention", x(128, 128), x(128, 512), x(512, 128), fold=False)))
    assert "scalar activation_reduce reads scores, top writes p, total cost 576 cycles" in text
    assert "vector reciprocal reads total writes total cost 64 cycles" in text
    assert "tensor nc_transpose reads p(.., 0..128) writes turned" in text
    assert "scalar tensor_copy reads turned writes pT" in text
    assert text.count("updates result") == 3 and text.count("writes result") == 1


@pytest.mark.parametrize("target, size", [("trn1", 180224), ("trn2", 212984), ("trn3", 245752)])
def test_the_chip_is_that_of_the_trace(target, size):
    seen = []

    def kernel(a):
        import nki.isa as nisa
        import nki.language as nl
        seen.append((nl.tile_size.total_available_sbuf_size, nisa.get_nc_version() >= nisa.nc_version.gen3))
        nl.store(a, nl.load(a))

    assert nt.trace(kernel, x(128, 8), target=target).target.name == target
    assert seen == [(size, target != "trn1")]


def test_an_argument_that_is_written_is_an_output():
    k = traced("views", x(128, 512), x(128, 256))
    assert "tensor y : hbm bfloat16 (128, 256) persistent" in code(k)


def test_arguments_in_lists_and_by_name():
    def kernel(parts, out, factor=1):
        import nki.isa as nisa
        import nki.language as nl
        assert factor == 3 and parts["more"][0].dtype == nl.float32
        t = nl.load(parts["more"][0])
        nisa.dma_copy(dst=out, src=t)
        return {"result": out}

    k = nt.trace(kernel, {"more": [x(128, 4, dtype="f32")]}, factor=3, out=x(128, 4, dtype="f32"))
    assert [t["name"] for t in k.tensors] == ["parts_more_0", "out", "t"]


# ---- allocation ------------------------------------------------------------------------------------------


def places(kernel, prefix):
    return [line.partition(" at ")[2] for line in code(kernel) if line.startswith(f"tensor {prefix}")]


def test_addresses_are_those_of_the_program():
    k = traced("direct", x(512, 512), fold=False)
    assert places(k, "tiles") == ["1024", "2048", "3072", "4096"]
    assert places(k, "acc") == ["2048"]


def far(a, byte, lane=0, engine="vector"):
    import nki.isa as nisa
    import nki.language as nl
    t = nl.ndarray((32, 64), dtype=a.dtype, buffer=nl.sbuf, address=(lane, byte))
    p = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.psum)
    nisa.dma_copy(dst=t, src=a)
    nisa.tensor_copy(dst=p, src=t, engine=nisa.engine[engine])
    nisa.tensor_copy(dst=t, src=p)
    nisa.dma_copy(dst=a, src=t)


def test_places_and_engines_that_the_chip_refuses():
    k = nt.trace(far, x(32, 64), 300000)
    assert [finding.code for finding in k.check(layout=False) if finding.severity == "error"] == ["SPAD-OUT-OF-SPACE"]
    for options, text, line in (({"byte": 0, "lane": 16}, "cannot start at lane 16", 4),
                                ({"byte": 0, "engine": "gpsimd"}, "'gpsimd' of trn2 cannot write to 'psum'", 7),
                                ({"byte": 2**70}, "does not fit 64 bits", 3 + 1)):
        with pytest.raises(nt.TraceError, match=text) as caught:
            nt.trace(far, x(32, 64), **options)
        place = __file__, far.__code__.co_firstlineno + line - 1
        assert caught.value.place == place and str(caught.value).startswith(f"{place[0]}:{place[1]}: ")


def test_a_ring_that_is_too_small_is_reported_with_the_source_lines():
    k = traced("direct", x(512, 512), ring=2)
    check = k.check()
    assert check.verdict == "wrong"
    text = k.explain(check)
    assert f"{FILE}:{line_of('nisa.tensor_copy(dst=acc, src=tiles[i])')}" in text
    assert f"{FILE}:{line_of('nisa.dma_copy(dst=tiles[i]')}" in text


@pytest.mark.parametrize("ring", [1, 2, 3, 4, 5])
def test_lowering_a_ring_is_reported_and_nothing_else_is(ring):
    assert bool(traced("direct", x(512, 512), ring=ring).check()) == (ring >= 4)


def test_a_manager_and_automatic_tensors():
    assert places(traced("managed", x(512, 512)), "row") == ["0 ring 2"]  # four tiles in a loop
    k = traced("managed", x(512, 512), fold=False)
    assert places(k, "row") == ["0", "1024", "0", "1024"]
    assert places(k, "sums") == [""]
    lane, byte = k.plan().place("sums")
    assert lane == 0 and byte >= 2048  # all rows are below it


# ---- views -----------------------------------------------------------------------------------------------


def elements(view):
    """The bytes of a view, one by one: (lane, byte)."""
    size = view.itemsize
    lanes = ([view.lane + view.dims[0][0] * k for k in range(view.dims[0][1])] if view.is_on_chip
             else [0])
    dims = view.free_dims()
    found = set()
    for index in itertools.product(*(range(count) for _, count in dims)):
        at = view.start + sum(k * stride for k, (stride, _) in zip(index, dims))
        found.update((lane, at * size + byte) for lane in lanes for byte in range(size))
    return found


class Reader:
    """Reads accesses back: the bytes of a text, with the aliases that were declared for it."""

    def __init__(self, storage):
        self.storage = storage
        self.shapes = {storage.name: (storage.shape, storage.dtype, 0)}
        self.count = 0
        self.accesses = _access.Accesses(self.declare, self.fresh)

    def fresh(self, name):
        self.count += 1
        return f"{name}{self.count}"

    def declare(self, storage, name, text):
        found = re.fullmatch(r"(\w+) (\w+) \(([\d, ]+)\) alias of (\w+)(?: \+ (\d+))?", text)
        assert found[4] == self.storage.name == storage.name
        shape = tuple(map(int, found[3].split(",")))
        first = int(found[5] or 0)
        on_chip = self.storage.is_on_chip
        row = spad.dtype_bytes(found[2])
        for count in shape[1:] if on_chip else shape:
            row *= count
        assert first + row <= self.storage.row_bytes(), text
        self.shapes[name] = (shape, found[2], first)

    def bytes(self, text):
        name, ranges = text
        shape, dtype, first = self.shapes[name]
        parts = ranges.strip("()").split(", ") if ranges else [".."] * len(shape)
        assert len(parts) == len(shape), text
        spans = []
        for part, extent in zip(parts, shape):
            part, _, step = part.partition(" by ")
            low, dots, high = part.partition("..")
            spans.append(range(extent) if part == ".." else
                         range(int(low), int(high) if dots else int(low) + 1, int(step or 1)))
            assert 0 <= spans[-1].start < spans[-1].stop <= extent, text
        on_chip = self.storage.is_on_chip
        lanes, spans = (spans[0], spans[1:]) if on_chip else ([0], spans)
        inner = shape[1:] if on_chip else shape
        size, found = spad.dtype_bytes(dtype), set()
        for index in itertools.product(*spans):
            at = 0
            for k, extent in zip(index, inner):
                at = at * extent + k
            found.update((lane, first + at * size + byte) for lane in lanes for byte in range(size))
        return found


def random_view(rng, storage):
    view = View.whole(storage)
    for _ in range(rng.randrange(5)):
        kind = rng.choice(["slice", "permute", "reshape", "index", "view", "ap", "broadcast", "any"])
        dim = rng.randrange(view.ndim)
        count = view.shape[dim]
        try:
            if kind == "slice":
                low = rng.randrange(count)
                view = view.slice(dim, low, rng.randint(low + 1, count), rng.choice([1, 1, 2, 3]))
            elif kind == "permute":
                first = [0] if view.is_on_chip else []
                rest = list(range(len(first), view.ndim))
                rng.shuffle(rest)
                view = view.permute(tuple(first + rest))
            elif kind == "reshape":
                view = view.reshape((view.shape[0], -1))
            elif kind == "index":
                view = view[(slice(None),) * dim + (rng.randrange(count),)]
            elif kind == "view":
                view = view.view(rng.choice(["uint8", "float32", "bfloat16"]))
            elif kind == "broadcast":
                view = view.expand_dim(view.ndim).broadcast(view.ndim, 3)
            elif kind == "any" and dim:
                view = view._any_of(dim, rng.randint(1, count), None)
            elif kind == "ap" and not view.reach:
                rows = view.dims[0][1] if view.is_on_chip else 1
                pattern = [[view._row() if view.is_on_chip else 1, rows]]
                pattern += [[rng.randint(1, 9), rng.randint(1, 4)] for _ in range(rng.randint(1, 3))]
                made = view.ap(pattern)
                made.must_fit()
                view = made
        except (ValueError, IndexError):
            continue
    return view


@pytest.mark.parametrize("seed", range(8))
def test_accesses_are_exact_or_enclose(seed):
    """Random views: the accesses have exactly their bytes where that is claimed, and at least them."""
    rng = random.Random(seed)
    inexact = 0
    for _ in range(150):
        shape = tuple(rng.choice([1, 2, 3, 4, 6, 8]) for _ in range(rng.randint(2, 4)))
        space = rng.choice(["sbuf", "hbm"])
        storage = Storage("s", space, None, rng.choice(["bfloat16", "float32", "uint8"]), shape)
        view = random_view(rng, storage)
        if not view.size:
            continue
        reader = Reader(storage)
        texts, exact = reader.accesses.of(view, rng.random() < 0.7)
        found = set().union(*(reader.bytes(text) for text in texts))
        wanted = elements(view)
        assert wanted <= found, (view.dims, texts)
        assert not exact or wanted == found, (view.dims, view.start, texts)
        inexact += not exact
    assert inexact < 30


def test_shapes_follow_the_reference():
    storage = Storage("t", "sbuf", None, "float32", (128, 4, 6))
    t = View.whole(storage)
    assert t[0].shape == (1, 4, 6) and t[:, 2].shape == (128, 6) and t[..., 0].shape == (128, 4)
    assert t[:, 0, 0].shape == (128, 1) and t[:, :, 0:6:2].shape == (128, 4, 3) and t[:, -1].start == 18
    assert t[:, None].shape == (128, 1, 4, 6)
    assert t.reshape((128, 24)).shape == (128, 24) and t.reshape((128, 2, -1)).shape == (128, 2, 12)
    assert t.view("uint8").shape == (128, 4, 24) and t.view("int32").shape == t.shape
    assert t.flatten_dims(1, 2).shape == (128, 24) and t.reshape_dim(2, (3, -1)).shape == (128, 4, 3, 2)
    turned = t.rearrange(("p", "a", ("b", "c")), ("p", "c", "a", "b"), {"b": 3})
    assert turned.shape == (128, 2, 4, 3) and turned.strides == (24, 1, 6, 2)
    assert t.rearrange(("p", "a", ("b", "c")), ("p", ("a", "b"), "c"), {"b": 3}).dims[1:] == ((2, 12), (1, 2))
    assert t.get_pattern() == [[24, 128], [6, 4], [1, 6]] and t.offset == 0
    part = t[64:128, 1:3]
    assert part.offset == 64 * 24 + 6 and part.strides == (24, 6, 1) and not part[:, :, 0:3].is_contiguous()
    h = View.whole(Storage("h", "hbm", None, "float32", (4, 128, 64)))
    assert h[1].shape == (128, 64) and h[1, 2, 3].shape == (1,) and h[1].offset == 128 * 64
    assert h.permute((1, 0, 2)).shape == (128, 4, 64)
    for wrong in (lambda: t.permute((1, 0, 2)), lambda: t.reshape((64, 48)), lambda: t[:, 4],
                  lambda: t[:, 0:5], lambda: t[0, 0, 0, 0], lambda: h.permute((1, 0, 2)).reshape((512, 64)),
                  lambda: t.broadcast(1, 8), lambda: t.ap([[24, 128], [1, 25]]).must_fit(),
                  lambda: t.ap([[23, 128], [1, 4]]).must_fit()):
        with pytest.raises((ValueError, IndexError)):
            wrong()


def test_an_index_of_the_device_may_be_anywhere():
    k = traced("gather", x(1000, 64), x(128, 1, dtype="int32"))
    assert "dma dma_copy reads i may reads table moves 16384 writes t" in code(k)
    assert k.notes == [] and k.check().verdict == "proved for this shape"
    k = traced("dynamic", x(8, 128, 64), x(1, 1, dtype="int32"))
    assert any("recorded once" in note for _, note in k.notes)


# ---- the table -------------------------------------------------------------------------------------------


def test_every_instruction_can_be_called():
    """Each row of the table is recorded with the tensors that it names, in the way that it says."""
    def kernel(name, out):
        import nki.isa as nisa
        import nki.language as nl
        row = _isa.INSTRUCTIONS[name]
        given = {}
        for parameter in row.signature.parameters:
            if parameter in (*row.reads, *row.writes, *row.updates, *row.sums):
                space = nl.psum if parameter in row.sums else nl.sbuf
                given[parameter] = nl.ndarray((64, 64), dtype=nl.float32, buffer=space, name=parameter)
                nisa.memset(dst=given[parameter], value=0)
        for parameter, facts in row.signature.parameters.items():
            if parameter not in given and facts.default is facts.empty:
                given[parameter] = nisa.register_alloc() if name.startswith("register") else 1
        if name == "nc_transpose":
            given["dst"] = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum, name="dst_p")
        getattr(nisa, name)(**given)
        nl.store(out, nl.load(out))

    for name, row in _isa.INSTRUCTIONS.items():
        if name in ("core_barrier", "sendrecv", "register_move"):
            continue
        k = nt.trace(kernel, name, x(64, 64, dtype="f32"))
        found = [line for line in code(k) if f" {name} " in line]
        found = found[-1] if name == "memset" else found[0]
        assert found.split()[0] in row.engines, found
        for parameter in (*row.reads, *row.writes, *row.updates, *row.sums):
            assert re.search(rf"\b{parameter}(_t|_p)?\b", found), (parameter, found)


def test_partitions_that_an_instruction_leaves_alone():
    """Engines access lanes without a step: the part of 8 lanes is recorded as what holds it, with a note."""
    def kernel(out):
        import nki.isa as nisa
        import nki.language as nl
        src = nl.zeros((128, 8), dtype=nl.int32)
        dst = nl.ndarray((128, 9), dtype=nl.int32, buffer=nl.sbuf)
        nisa.nonzero_with_count(dst=dst, src=src)
        nisa.dma_copy(dst=out, src=dst[0:128:16, :])

    k = nt.trace(kernel, x(8, 9, dtype="int32"))
    assert any("nonzero_with_count reads src(0..113, ..) writes dst(0..113, ..)" in line for line in code(k))
    assert any("dma dma_copy reads dst(0, ..), dst(16, ..), dst(32, ..)" in line for line in code(k))
    assert [note for _, note in k.notes if "'dst'" in note and "counts as written" in note]
    assert k.check().verdict == "proved for this shape"


def mixed(a, out, slots=2):
    """A tensor that is written and updated under three names, in a ring of its own addresses."""
    import nki.isa as nisa
    import nki.language as nl
    tiles = [nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf, address=(0, i % slots * 256))
             for i in range(2)]
    mask = nl.zeros((128, 32), dtype=nl.uint8)
    for t in tiles:
        nisa.memset(dst=t, value=0)
        nisa.dma_copy(dst=t[:, 0:64:2], src=a[:, 0:32])
        nisa.tensor_copy_predicated(dst=t[:, 1:64:2], src=1.0, predicate=mask)
        nisa.memset(dst=t.view(nl.uint16)[:, 0:4], value=1)
    for i, t in enumerate(tiles):
        nisa.dma_copy(dst=out[i], src=t)
    nisa.dma_copy(dst=out[0, :, 0:64:2], src=tiles[1][:, 1:64:2])
    nisa.dma_copy(dst=out.reshape((2, 8192))[1, 0:8192:4], src=tiles[1][:, 0:16])
    return out


def test_names_for_the_same_bytes_are_one_tensor():
    k = nt.trace(mixed, x(128, 32, dtype="f32"), x(2, 128, 64, dtype="f32"))
    check = k.check()
    assert check.verdict == "proved for this shape" and k.notes == [], k.explain(check)
    check = nt.trace(mixed, x(128, 32, dtype="f32"), x(2, 128, 64, dtype="f32"), slots=1).check()
    assert check.verdict == "wrong"
    assert {finding.code for finding in check if finding.severity == "error"} == {"SPAD-LIFETIME-CONFLICT"}


def test_arguments_of_instructions():
    row = _isa.INSTRUCTIONS["tensor_tensor"]
    assert row.bind((1, 2), {"data2": 3, "op": 4}) == {
        "dst": 1, "data1": 2, "data2": 3, "op": 4, "engine": None, "name": None}
    for args, kwargs in (((), {}), ((1,), {"dst": 2, "data1": 1, "data2": 1, "op": 1}), ((1,) * 7, {}),
                         ((1, 2, 3, 4), {"colour": 1}), ((1, 2, 3), {"colour": 1})):
        with pytest.raises(TypeError, match="nki.isa.tensor_tensor"):
            row.bind(args, kwargs)


def test_sums_in_psum():
    def kernel(a, out):
        import nki.isa as nisa
        import nki.language as nl
        t = nl.load(a)
        acc = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.psum)
        r = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
        for half in (0, 1):
            for _ in range(2):
                nisa.nc_matmul(dst=acc[:, half * 128:half * 128 + 128], stationary=t, moving=t)
        nisa.tensor_copy(dst=r, src=acc[:, 0:128])
        nisa.nc_matmul(dst=acc[:, 0:128], stationary=t, moving=t)    # starts again: it was read
        nisa.nc_matmul(dst=acc[:, 128:256], stationary=t, moving=t)  # still the same sum
        nisa.nc_matmul(dst=acc[:, 128:256], stationary=t, moving=t, accumulate=False)
        nisa.nc_matmul(dst=acc[:, 128:256], stationary=t, moving=t, accumulate=True)
        nisa.tensor_copy(dst=r, src=acc[:, 128:256])
        nisa.dma_copy(dst=out, src=r)

    k = nt.trace(kernel, x(128, 128), x(128, 128, dtype="f32"))
    words = [line.split()[-2 if "(" not in line else -3] for line in code(k) if "nc_matmul" in line]
    assert words == ["writes", "updates", "writes", "updates", "writes", "updates", "writes", "updates"]


# ---- the stand-in ----------------------------------------------------------------------------------------


def test_the_stand_in_is_there_inside_the_block_only():
    with pytest.raises(ImportError):
        import nki  # noqa: F401
    with nt.installed():
        import nki
        import nki.language as nl
        assert nki.language is nl and nl.bfloat16 == "bfloat16"
        with nt.installed():
            import nki.isa as inner
            assert inner is not nki.isa
        assert sys.modules["nki"] is nki
    assert "nki" not in sys.modules
    with pytest.raises(spad.StateError, match="only in a trace"):
        nl.ndarray((128, 4), nl.float32)


def test_classes_of_kernels():
    import dataclasses
    with nt.installed():
        import nki.language as nl

        class Plain(nl.NKIObject):
            a: int
            b: int = 2

        @dataclasses.dataclass
        class Data(nl.NKIObject):
            a: int
            b: int = 2
            c = None

    assert (Plain(a=1).a, Plain(1, 3).b) == (1, 3)
    made = Data(b=5, c=7)
    assert (made.b, made.c, hasattr(made, "a")) == (5, 7, False)
    with pytest.raises(TypeError):
        Data(colour=1)
    with pytest.raises(TypeError):
        Plain(1, 2, 3)


def test_a_real_nki_is_left_alone(monkeypatch):
    real, part = types.ModuleType("nki"), types.ModuleType("nki.language")
    sys.modules["nki"], sys.modules["nki.language"] = real, part
    try:
        with pytest.raises(spad.StateError, match="a real nki is loaded"):
            nt.load(f"{FILE}:matmul")
        with pytest.raises(spad.StateError, match="a real nki is loaded"):
            nt.trace(lambda a: None, x(128, 4))
        kernel = nt.load(f"{FILE}:language", replace_nki=True)
        assert nt.trace(kernel, x(128, 256), replace_nki=True).check()
        assert sys.modules["nki"] is real and sys.modules["nki.language"] is part
        assert "nki.isa" not in sys.modules
    finally:
        del sys.modules["nki"], sys.modules["nki.language"]


# ---- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, options, text, where", [
    ("raises", {}, "AssertionError: seven columns", "seven columns"),
    ("wrong_shapes", {}, r"dst \(128, 8\) and src \(128, 256\)", "nisa.dma_copy(dst=t, src=x)"),
    ("unknown", {}, "nki.isa.tensor_frobnicate is not known", "tensor_frobnicate"),
    ("unknown_parameter", {}, "nki.isa.tensor_copy: got an unexpected keyword argument 'colour'", "colour"),
    ("recursive", {}, "calls itself without an end", "return recursive"),
    ("leaves", {}, "of 't', which has 256 elements", "t.shape[1] + 1"),
    ("branches", {}, "known on the device only", "if nisa.register_alloc"),
    ("many", {"operations_most": 1000}, "more than 1000 operations", "nisa.memset(dst=t, value=0)"),
    ("collective", {}, "nki.collectives.all_reduce is not modelled", "ncc.all_reduce"),
    ("wrong_engine", {}, "does not run on the engine 'tensor'", "nisa.engine.tensor"),
])
def test_errors_name_the_line_of_the_user(name, options, text, where):
    with pytest.raises(nt.TraceError, match=text) as caught:
        traced(name, x(128, 256), **options)
    assert caught.value.place[0] == str(FILE)
    lines = FILE.read_text().split("\n")
    assert where in lines[caught.value.place[1] - 1]
    assert str(caught.value).startswith(f"{FILE}:{caught.value.place[1]}: ")


def test_a_trace_that_fails_leaves_the_collector_as_it_was():
    import gc
    assert gc.isenabled()
    with pytest.raises(nt.TraceError, match="more than 50 operations"):
        traced("many", x(128, 64), operations_most=50)
    assert gc.isenabled()
    gc.disable()
    try:
        with pytest.raises(nt.TraceError):
            traced("raises", x(128, 64))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_loops_are_found_again():
    k = traced("direct", x(2048, 512), ring=4)
    assert k.operations == 16 and k.folded == (4, 2)
    assert k.summary().startswith(f"{k.operations} operations, folded into {k.folded[0]} statement")
    assert k.summary() in k.explain(k.check())
    assert traced("matmul", x(256, 128), x(256, 512)).summary() == "8 operations, without loops"
    straight = traced("direct", x(2048, 512), ring=4, fold=False)
    assert straight.folded is None and len(straight.source) > len(k.source)
    assert straight.check().verdict == k.check().verdict


def test_a_verdict_says_that_it_holds_with_notes():
    k = traced("dynamic", x(8, 128, 64), x(1, 1, dtype="int32"))
    assert "with 1 note of the trace" in k.explain(k.check())
    k = traced("matmul", x(256, 128), x(256, 512))
    assert "of the trace" not in k.explain(k.check())


def test_what_an_instruction_may_skip_is_noted():
    def kernel(a, out):
        import nki.isa as nisa
        import nki.language as nl
        t = nl.ndarray((128, 8), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=a, oob_mode=nisa.oob_mode.skip)
        nisa.dma_copy(dst=out, src=t, oob_mode=nisa.oob_mode.error)

    notes = nt.trace(kernel, x(128, 8), x(128, 8)).notes
    assert len(notes) == 1 and "may skip" in notes[0][1]


def test_other_errors():
    with pytest.raises(nt.TraceError, match="has no operations"):
        traced("empty", x(128, 256))
    with pytest.raises(nt.TraceError, match="cannot be called with these arguments: missing"):
        traced("matmul", x(128, 256))
    with pytest.raises(nt.TraceError, match="a trace has one core, or two"):
        traced("matmul", x(128, 256), x(128, 256), lnc=3)
    with pytest.raises(nt.TraceError, match="has no 'nothing'; it has Config, appended, attention, "):
        nt.load(f"{FILE}:nothing")
    with pytest.raises(nt.TraceError, match="no file '/nowhere/x.py'"):
        nt.load("/nowhere/x.py:k")
    with pytest.raises(nt.TraceError, match="'x.py' is not FILE.py:KERNEL or package.module:KERNEL"):
        nt.load("x.py")
    with pytest.raises(spad.Error):
        nt.hbm((128, 0), "bf16")
    with pytest.raises(spad.Error):
        nt.hbm((128, 4), "bf17")
    with pytest.raises(nt.TraceError, match="a kernel is a function"):
        nt.load(f"{FILE}:P")
    with pytest.raises(spad.Error, match="only in a trace"):
        nt.load(f"{FILE}:matmul")(None, None)
    with pytest.raises(spad.Error) as caught:
        traced("unreachable", x(128, 256))
    assert caught.value.place == (str(FILE), line_of("nisa.nc_matmul(dst=nl.ndarray((128, 128)"))


def test_a_file_that_cannot_be_imported(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import nki\nimport nki.language as nl\nraise ValueError('half way')\n")
    with pytest.raises(nt.TraceError, match=f"{broken}:3: ValueError: half way"):
        nt.load(f"{broken}:k")
    assert not [name for name in sys.modules if "broken" in name]
    broken.write_text("import neuronxcc.nki.tongue as nl\n")
    with pytest.raises(nt.TraceError, match="No module named 'neuronxcc.nki.tongue'"):
        nt.load(f"{broken}:k")


def test_a_file_in_a_package(tmp_path):
    package = tmp_path / "spad_trace_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("WIDTH = 64\n")
    (package / "k.py").write_text("import nki.language as nl\nfrom .sizes import WIDTH\n"
                                  "def k(a):\n    nl.store(a[:, 0:WIDTH], nl.load(a[:, 0:WIDTH]))\n")
    try:
        assert nt.trace(nt.load(f"{package / 'k.py'}:k"), x(128, 128)).check()
    finally:
        for name in [name for name in sys.modules if name.startswith("spad_trace_package")]:
            del sys.modules[name]


# ---- the command -----------------------------------------------------------------------------------------


def run(*words):
    return subprocess.run([sys.executable, "-m", "spad", "nki", *map(str, words)], capture_output=True,
                          text=True, timeout=120)


def test_the_command_in_c_runs_python():
    command = Path(spad.__file__).with_name("spad")
    home = str(Path(spad.__file__).parents[1])
    done = subprocess.run([command, "nki", "check", f"{FILE}:matmul"], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "SPAD_PYTHON": sys.executable, "PYTHONPATH": home})
    assert done.returncode == 0 and "proved for this shape" in done.stdout, done.stderr


def test_command():
    arguments = ("--arg", "lhsT=bf16[256,128]", "--arg", "rhs=bf16[256, 512]")
    done = run("check", f"{FILE}:matmul", *arguments)
    assert done.returncode == 0 and "proved for this shape" in done.stdout, done.stderr
    done = run("check", f"{FILE}:direct", "--arg", "x=bf16[512,512]", "--arg", "ring=2")
    assert done.returncode == 1 and f"{FILE}:{line_of('nisa.tensor_copy(dst=acc, src=tiles[i])')}" in done.stdout
    done = run("check", f"{FILE}:raises", "--arg", "x=bf16[128,128]")
    assert done.returncode == 2 and "seven columns" in done.stderr and "Traceback" not in done.stderr


def command(capsys, *words):
    """(exit status, standard output, standard error) of the command in this process."""
    path = list(sys.path)
    status = _command.main([*map(str, words)])
    sys.path[:] = path
    made = capsys.readouterr()
    return status, made.out, made.err


def test_other_words_of_the_command(capsys, tmp_path):
    arguments = ("--arg", "lhsT=bf16[256,128]", "--arg", "rhs=bf16[256, 512]")
    assert "makespan" in command(capsys, "sim", f"{FILE}:matmul", *arguments)[1]
    assert "fits; provably the smallest layout" in command(capsys, "plan", f"{FILE}:matmul")[1]  # spad_example()
    assert command(capsys, "text", f"{FILE}:matmul", "--target", "trn3")[1].startswith("kernel matmul on trn3")
    page = tmp_path / "a.html"
    assert command(capsys, "report", f"{FILE}:direct", "-o", page)[0] == 0 and "nki_kernels.py" in page.read_text()
    with pytest.raises(SystemExit, match="2"):
        command(capsys, "check", f"{FILE}:matmul", "--arg", "lhsT")
    assert command(capsys, "report", f"{FILE}:matmul")[0] == 2
    assert json.loads(command(capsys, "plan", f"{FILE}:matmul", "--json")[1])["fits"] is True
    assert "recorded once" in command(capsys, "text", f"{FILE}:dynamic", "--arg", "x=bf16[8,128,64]",
                                      "--arg", "count=int32[1,1]")[2]


def test_plans_for_time_or_bytes(capsys):
    kernel = f"{FILE}:direct"
    made = {}
    for goal in ("time", "bytes"):
        status, out, _ = command(capsys, "plan", kernel, "--for", goal, "--release")
        assert status == 0 and "layouts of direct on trn2" in out
        status, out, _ = command(capsys, "plan", kernel, "--for", goal, "--release", "--json")
        made[goal] = sum(space["used"] for space in json.loads(out)["spaces"] if space["space"] in ("sbuf", "psum"))
    as_it_is = json.loads(command(capsys, "plan", kernel, "--json")[1])
    assert made["bytes"] <= made["time"] < sum(space["used"] for space in as_it_is["spaces"])
    for words, message in ((("sim", kernel, "--for", "time"), "option of plan"),
                           (("plan", kernel, "--release"), "--release is for"),
                           (("emit", kernel, "--json"), "no form as JSON")):
        status, out, err = command(capsys, *words)
        assert status == 2 and message in err and not out


# ---- public kernels --------------------------------------------------------------------------------------

@pytest.mark.skipif(not any(os.environ.get(f"SPAD_NKI_{name}") for name in ("LIBRARY", "SAMPLES", "SAMPLES_2025")),
                    reason="SPAD_NKI_LIBRARY, SPAD_NKI_SAMPLES and SPAD_NKI_SAMPLES_2025 name no checkout")
@pytest.mark.parametrize("where, shape, made", list(nki_public.cases()))
def test_public_kernels(where, shape, made):
    row = nki_public.measure(where, made)
    name = str(where).rpartition(":")[2]
    if "failure" in row:
        assert name in nki_public.DOES_NOT_PARSE, row["failure"]
    else:
        assert row["operations"] > 0 and row["verdict"]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("nkilib_src", "nki_samples")]:
        del sys.modules[name]


def test_modules_are_complete():
    assert set(_stand_in.modules()) >= {"nki", "nki.language", "nki.isa", "nki.isa.constants", "nki.typing"}
