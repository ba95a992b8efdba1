# SPDX-License-Identifier: Apache-2.0
"""The recorder of traces: what it keeps from call to call gives what working a call out anew gives."""

import random
import re
import weakref
from pathlib import Path

import pytest

import spad.nki.trace as nt
from spad.nki import _access, _fast, _record, _views

HERE = Path(__file__)
FILES = [HERE.with_name("nki_groups.py"), HERE.with_name("nki_kernels.py")]
KERNELS = [(file, name) for file in FILES for name in re.findall(r"@nki.jit\ndef (\w+)", file.read_text())]

with nt.installed():
    import nki.isa as nisa
    import nki.language as nl


def text(file, name):
    kernel = nt.load(f"{file}:{name}")
    try:
        args, kwargs = nt.example(kernel)
        return nt.trace(kernel, *args, **kwargs, fold=False).source
    except Exception as error:  # kernels that are refused, and those without an example
        return str(error)


@pytest.mark.parametrize("file, name", KERNELS)
def test_calls_that_were_seen_before(file, name, monkeypatch):
    kept = text(file, name)
    monkeypatch.setattr(_fast.Fast, "record", lambda *unused: None)
    monkeypatch.setattr(_views, "ITEMS_MOST", 0)
    monkeypatch.setattr(_views.View, "_sliced", lambda *unused: None)
    assert text(file, name) == kept


def by_name(x, count):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(count):
        t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, i % 2 * 128))
        nisa.dma_copy(dst=t, src=x[i])
        nisa.activation(dst=t, op=nl.exp, data=t, scale=2.0)
        nisa.dma_copy(dst=out[i], src=t)
    return out


def by_place(x, count):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(count):
        t = nl.ndarray((128, 64), x.dtype, nl.sbuf, "t", (0, i % 2 * 128))
        nisa.dma_copy(t, x[i])
        nisa.activation(t, nl.exp, t, scale=2.0)
        nisa.dma_copy(out[i], t)
    return out


@pytest.mark.parametrize("kernel", [by_name, by_place])
def test_few_calls_are_worked_out(kernel, monkeypatch):
    """However many operations there are: one of each line, although every one begins elsewhere."""
    calls = []
    worked_out = _record.Recorder._call
    monkeypatch.setattr(_record.Recorder, "_call", lambda self, row, *given:
                        (calls.append(row.name), worked_out(self, row, *given))[1])
    k = nt.trace(kernel, nt.hbm((40, 128, 64), "bf16"), 40, fold=False)
    assert k.operations == 120 and calls == ["dma_copy", "activation", "dma_copy"]
    without_sources = [re.sub(r" from \d+$", "", line) for line in k.source.split("\n") if not line.startswith("source")]
    assert "dma dma_copy reads x(39, .., ..) writes t_40" in without_sources
    assert "scalar activation reads t_40 writes t_40" in without_sources


def test_arguments_that_are_too_many_or_given_twice():
    def many(x):
        nisa.memset(x, 0.0, None, None, 1)

    def twice(x):
        nisa.memset(x, 0.0, dst=x)

    def absent(x):
        nisa.nc_matmul(stationary=x, moving=x)

    for kernel, message in ((many, "too many positional arguments"), (twice, "given twice"), (absent, "'dst'")):
        with pytest.raises(nt.TraceError, match=message):
            nt.trace(kernel, nt.hbm((128, 64), "bf16"))


def test_the_same_part_twice_and_two_parts():
    """Which tensors of a call are the same is a part of what is kept."""
    def kernel(x):
        t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        u = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x)
        nisa.tensor_tensor(dst=u[:, 0:8], data1=t[:, 0:8], data2=t[:, 0:8], op=nl.add)
        nisa.tensor_tensor(dst=u[:, 8:16], data1=t[:, 8:16], data2=t[:, 16:24], op=nl.add)
        nisa.tensor_tensor(dst=u[:, 16:24], data1=t[:, 8:16], data2=t[:, 8:16], op=nl.add)
        nisa.tensor_tensor(dst=u[:, 24:32], data1=t[:, 8:16], data2=u[:, 16:24], op=nl.add)
        nisa.dma_copy(dst=x, src=u)

    made = nt.trace(kernel, nt.hbm((128, 64), "bf16"), fold=False).source
    assert re.findall(r"tensor_tensor (.*) from", made) == [
        "reads t(.., 0..8) writes u(.., 0..8)",
        "reads t(.., 8..16), t(.., 16..24) writes u(.., 8..16)",
        "reads t(.., 8..16) writes u(.., 16..24)",
        "reads t(.., 8..16), u(.., 16..24) writes u(.., 24..32)"]


def test_one_part_in_two_shapes():
    """Parts of two shapes that are the same bytes are one access; the next call has two."""
    def kernel(x):
        t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        u = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x)
        for first, second in ((0, 0), (8, 16), (24, 24), (32, 0)):
            nisa.tensor_tensor(dst=u[:, 0:8], data1=t[:, first:first + 8], data2=t[:, second:second + 8].expand_dim(2),
                               op=nl.add)
        nisa.dma_copy(dst=x, src=u)

    made = nt.trace(kernel, nt.hbm((128, 64), "bf16"), fold=False).source
    assert re.findall(r"tensor_tensor reads (.*) writes", made) == [
        "t(.., 0..8)", "t(.., 8..16), t(.., 16..24)", "t(.., 24..32)", "t(.., 32..40), t(.., 0..8)"]


def test_runs_as_text():
    """The short way to the text of a part gives what the long way gives."""
    rng, found = random.Random(1), 0
    for _ in range(3000):
        shape = tuple(rng.choice((1, 1, 2, 3, 8)) for _ in range(rng.randint(1, 4)))
        storage = _views.Storage("t", rng.choice(("sbuf", "hbm")), None, "bfloat16", shape)
        view = _views.View.whole(storage)
        for _ in range(rng.randint(0, 2)):
            key = []
            for count in view.shape[:rng.randint(1, view.ndim)]:
                first, end = sorted(rng.randint(0, count) for _ in range(2))
                key.append(rng.choice((slice(None), rng.randrange(count) if count else slice(None), slice(first, end),
                                       slice(first, end, 2))))
            view = view[tuple(key)]
        made = _access.run_text(view.form)
        parts, exact = _access.Accesses(lambda *unused: None, lambda name: name)._made(view, 0)
        if made is not None:
            found += 1
            assert exact and parts == [("t", made)], (shape, view.form.dims, view.form.start, made, parts)
    assert found > 1000


def test_the_short_way_of_an_index():
    """It gives the view of the long way, or leaves the index to it."""
    rng, found = random.Random(2), 0
    for _ in range(3000):
        shape = tuple(rng.choice((1, 2, 5)) for _ in range(rng.randint(1, 4)))
        view = _views.View.whole(_views.Storage("t", rng.choice(("sbuf", "hbm")), None, "bfloat16", shape))
        key = tuple(rng.choice((rng.randint(-6, 6), slice(None), slice(rng.randint(-2, 3), rng.randint(-2, 6)),
                                slice(0, None, rng.randint(-1, 3)), _views.DynamicSlice(rng.randint(-1, 3), 1)))
                    for _ in range(rng.randint(1, len(shape) + 1)))
        made = view._sliced(key)
        try:
            expected = view._taken(key)
        except IndexError:
            assert made is None
            continue
        found += 1
        assert made is expected.form
    assert found > 500
    whole = _views.View.whole(_views.Storage("t", "hbm", None, "bfloat16", (4, 4)))
    assert whole._sliced((None,)) is None and whole._sliced((slice(1.0, 2),)) is None


# ---- lines of Python ---------------------------------------------------------------------------------------------


def chains(kernel):
    """The lines of each operation of a kernel, the innermost first, counted from the kernel's own."""
    made = nt.trace(kernel, nt.hbm((128, 64), "bf16"), fold=False)
    first = kernel.__code__.co_firstlineno
    return [[line - first for _, line in made.chain(number)] for number, row in enumerate(made.source.split("\n"), 1)
            if " dma_copy " in row and not row.startswith("source")]


def test_chains_of_calls():
    def kernel(x):
        def leaf():
            nisa.dma_copy(dst=x, src=x)

        def twice():
            leaf()
            leaf()

        twice()
        for _ in range(2):
            leaf()
        twice()

    assert chains(kernel) == [[2, 5, 8], [2, 6, 8], [2, 10], [2, 10], [2, 5, 11], [2, 6, 11]]


def test_chains_of_recursion():
    def kernel(x):
        def again(depth):
            nisa.dma_copy(dst=x, src=x)
            if depth:
                again(depth - 1)
                nisa.dma_copy(dst=x, src=x)
        again(2)

    assert chains(kernel) == [[2, 6], [2, 4, 6], [2, 4, 4, 6], [5, 4, 6], [5, 6]]


def test_chains_of_generators():
    """A generator that goes on for another caller: the lines are those of the one that asked."""
    def kernel(x):
        def parts():
            while True:
                nisa.dma_copy(dst=x, src=x)
                inner()
                yield

        def inner():
            nisa.dma_copy(dst=x, src=x)

        made = parts()
        next(made)
        next(made)
        def other():
            next(made)
        other()
        next(made)

    assert chains(kernel) == [[3, 11], [8, 4, 11], [3, 12], [8, 4, 12], [3, 14, 15], [8, 4, 14, 15], [3, 16], [8, 4, 16]]


def test_nothing_of_a_kernel_is_kept():
    """When a trace has ended, what the kernel made is free without a search for cycles, also after an error."""
    class Thing:
        pass

    kept = []

    def kernel(x, fails):
        thing = Thing()
        kept.append(weakref.ref(thing))
        for i in range(64):
            nisa.dma_copy(dst=x[:, i], src=x[i])
        if fails:
            raise ValueError("half way")
        return x

    import gc
    gc.collect()
    before = sum(isinstance(made, _views.Form) for made in gc.get_objects())
    gc.disable()
    try:
        nt.trace(kernel, nt.hbm((64, 64), "bf16"), False)
        assert kept[0]() is None
        assert sum(isinstance(made, _views.Form) for made in gc.get_objects()) <= before + 1  # that of all of x
        with pytest.raises(nt.TraceError, match="half way"):
            nt.trace(kernel, nt.hbm((64, 64), "bf16"), True)
    finally:
        gc.enable()
    gc.collect()
    assert kept[1]() is None


# ---- what is refused ---------------------------------------------------------------------------------------------


def tiles(x):
    """A tile of x and one of half as many columns."""
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t, nl.ndarray((x.shape[0], x.shape[1] // 2), dtype=x.dtype, buffer=nl.sbuf)


WRONG = [
    (lambda t, half: nisa.activation(dst=half, op=nl.exp, data=t), r"activation: dst \(64, 32\) and data \(64, 64\) .* elements"),
    (lambda t, half: nisa.tensor_scalar(dst=t[0:32, :], data=t, op0=nl.add, operand0=1.0),
     r"tensor_scalar: dst \(32, 64\) and data \(64, 64\) .* partitions"),
    (lambda t, half: nisa.tensor_tensor(dst=t, data1=t, data2=half, op=nl.add), r"tensor_tensor: .* data2 \(64, 32\) .* elements"),
    (lambda t, half: nisa.tensor_tensor(dst=t, data1=t, data2=1, op=nl.add), "tensor_tensor: data2 is 1, not a tensor"),
    (lambda t, half: nisa.tensor_copy(dst=t, src=half), "tensor_copy: .* elements"),
    (lambda t, half: nisa.nc_transpose(dst=half, data=t), r"nc_transpose: the transpose of data \(64, 64\) is \(64, 64\), and dst is"),
    (lambda t, half: nisa.nc_matmul(dst=t, stationary=2, moving=t), "nc_matmul: stationary is 2, not a tensor"),
    (lambda t, half: nisa.reciprocal(dst=half, data=t), "reciprocal: .* elements"),
]


@pytest.mark.parametrize("wrong, message", WRONG, ids=range(len(WRONG)))
def test_shapes_that_an_instruction_refuses(wrong, message):
    def kernel(x):
        wrong(*tiles(x))

    with pytest.raises(nt.TraceError, match=message) as caught:
        nt.trace(kernel, nt.hbm((64, 64), "bf16"))
    assert caught.value.place[0] == __file__


def test_misuse_of_tensors_and_places():
    def attribute(x):
        x.foo()

    def iterated(x):
        list(x)

    def address(x):
        nl.ndarray((128, 4), dtype=x.dtype, buffer=nl.sbuf, address=5)

    for kernel, message in ((attribute, "'NkiTensor' object has no attribute 'foo'"),
                            (iterated, "'NkiTensor' object is not iterable"),
                            (address, r"address= is 5, not \(partition, byte\)")):
        with pytest.raises(nt.TraceError, match=message) as caught:
            nt.trace(kernel, nt.hbm((64, 64), "bf16"))
        assert caught.value.place == (__file__, kernel.__code__.co_firstlineno + 1)


def test_a_last_result_that_is_refused():
    """In the older dialect a result is recorded when it is known where it goes: the last one at the end."""
    with nt.installed():
        import neuronxcc.nki.isa as nisa_older
        import neuronxcc.nki.language as nl_older

    def last(x):
        a, b = nl_older.load(x[0:128, 0:64]), nl_older.load(x[0:64, 0:64])
        nisa_older.nc_matmul(a, b)

    def earlier(x):
        a, b = nl_older.load(x[0:128, 0:64]), nl_older.load(x[0:64, 0:64])
        nisa_older.nc_matmul(a, b)
        nl_older.store(x[0:128, 0:64], a)

    for kernel in (last, earlier):
        with pytest.raises(nt.TraceError, match="nc_matmul: .* different numbers of partitions") as caught:
            nt.trace(kernel, nt.hbm((128, 64), "bf16"))
        assert caught.value.place == (__file__, kernel.__code__.co_firstlineno + 2)


def test_a_kernel_that_ends_the_program(tmp_path):
    def ends(x):
        raise SystemExit(3)

    with pytest.raises(nt.TraceError, match=r"the kernel ends the program \(SystemExit: 3\)") as caught:
        nt.trace(ends, nt.hbm((64, 64), "bf16"))
    assert caught.value.place == (__file__, ends.__code__.co_firstlineno + 1)
    (tmp_path / "ends.py").write_text("import nki\nimport sys\nsys.exit('no device')\n")
    with pytest.raises(nt.TraceError, match=r"ends.py:3: .*no device.* \(while '.*' was loaded\)"):
        nt.load(f"{tmp_path}/ends.py:kernel")
    import sys
    assert not any(name.partition(".")[0] in ("nki", "neuronxcc") or (name.endswith("_ends") and not name.startswith("spad.")) for name in sys.modules)


def test_chips_and_arguments_that_are_no_use():
    with pytest.raises(nt.TraceError, match="'sm_90' is no NeuronCore: it has no hbm, psum, sbuf"):
        nt.trace(by_name, nt.hbm((4, 128, 64), "bf16"), 4, target="sm_90")
    with pytest.raises(nt.TraceError, match=r"missing a required argument: 'count'; it is by_name\(x, count\)"):
        nt.trace(by_name, nt.hbm((4, 128, 64), "bf16"))
    with pytest.raises(nt.TraceError, match="with these arguments it calls nothing"):
        nt.trace(by_name, nt.hbm((4, 128, 64), "bf16"), 0)


def test_arguments_of_the_command():
    import argparse

    from spad.nki import _command

    def argument(text):
        name, value = _command.argument(text)
        return name, [(part.shape, part.dtype) if isinstance(part, nt.Hbm) else part for part in value] \
            if isinstance(value, (tuple, list)) else value

    assert argument("n=3") == ("n", 3) and argument("mode=fast") == ("mode", "fast")
    assert argument("pair=(1, 2)") == ("pair", [1, 2]) and argument("at=x[i]y") == ("at", "x[i]y")
    assert argument("pair=(bf16[128,64], None, [f32[4], 'a'])")[1][:2] == [((128, 64), "bfloat16"), None]
    name, value = _command.argument("kv=[bf16[8,4], bf16[8]]")
    assert isinstance(value, list) and [part.shape for part in value] == [(8, 4), (8,)]
    for text in ("x=bf16[-3,64]", "x=bf16[a,64]", "x=bf16[0]", "x=(bf16[4], bf17[4])", "=3", "x"):
        with pytest.raises(argparse.ArgumentTypeError, match="no tensor|no argument"):
            _command.argument(text)


def test_a_file_that_cannot_be_written(tmp_path, capsys):
    from spad.nki import _command
    (tmp_path / "k.py").write_text("import nki\nimport nki.isa as nisa\n@nki.jit\ndef copy(x):\n    nisa.dma_copy(dst=x, src=x)\n")
    for command, name in (("text", "none/k.spad"), ("report", "none/k.html")):
        status = _command.main([command, f"{tmp_path}/k.py:copy", "--arg", "x=bf16[128,64]", "-o", f"{tmp_path}/{name}"])
        assert status == 2
        assert f"'{tmp_path}/{name}' cannot be written: No such file" in capsys.readouterr().err
    assert _command.main(["text", f"{tmp_path}/k.py:copy", "--arg", "x=bf16[128,64]", "-o", f"{tmp_path}/k.spad"]) == 0
    assert (tmp_path / "k.spad").read_text().startswith("kernel copy on trn2\n")
