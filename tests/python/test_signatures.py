# SPDX-License-Identifier: Apache-2.0
"""What help and completion see: signatures, names, and values that print. test_types.py compares the
signatures of the module in C with its stub."""

import inspect

import pytest

import spad
from spad import _spad

CLASSES = {name: kind for name, kind in vars(_spad).items() if isinstance(kind, type)}


def builtins():
    """Every function, method and class of the C part that can be called, with its owner and name."""
    for name, item in vars(_spad).items():
        if inspect.isbuiltin(item):
            yield None, name, item
    for owner, kind in CLASSES.items():
        if "__new__" in vars(kind):
            yield owner, "__new__", kind
        for name, item in vars(kind).items():
            if not name.startswith("_") and (inspect.ismethoddescriptor(item) or
                                             isinstance(item, classmethod) or inspect.isbuiltin(item)):
                yield owner, name, getattr(kind, name)


def test_every_builtin_has_a_signature_and_a_text():
    count = 0
    for owner, name, item in builtins():
        assert inspect.signature(item) is not None, (owner, name)
        assert name == "__new__" or inspect.getdoc(item), (owner, name)
        count += 1
    assert count > 230


def test_every_public_name_has_a_signature():
    imported = {name for name in vars(spad) if name.isidentifier() and not name.startswith("_")} - {"sys", "core", "graph", "kernel"}
    drop_ins = {"nki", "tilelang", "ascend", "cubie", "cuda", "arena", "executorch", "models", "tflite", "triton", "tvm",
                "cute", "pytest_plugin"}
    assert {*spad.__all__, *drop_ins} == imported | drop_ins | {"__version__"}
    for name in spad.__dir__():
        item = getattr(spad, name)
        if callable(item) and not name.startswith("_"):
            assert inspect.signature(item) is not None
            assert "--" not in (inspect.getdoc(item) or "")
    assert str(inspect.signature(spad.FitError)) == "(*args)"
    assert str(inspect.signature(spad.Device)).startswith("(name='host', target=None")


def test_engines_are_in_dir():
    k = spad.Kernel("trn2", "k")
    assert {"dma", "vector", "scalar", "tensor", "loop", "when"} <= set(dir(k))
    assert list(inspect.signature(k.dma).parameters)[:3] == ["name", "reads", "writes"]
    assert "dma" not in dir(spad.Kernel("host", "k")) and "cpu" in dir(spad.Kernel("host", "k"))


def test_numbers_and_times_print_as_what_they_are():
    plan = spad.Plan(capacity=4096)
    plan.add_many([0, 0, 0], [2, 2, 2], [64, 128, 256], names=["a", "b", None])
    result = plan.solve()
    numbers = list(result.offsets)
    assert repr(result.offsets) == repr(numbers) == str(result.offsets) and result.offsets == numbers
    assert result.offsets[-1] == numbers[-1] and result.offsets[1:] == numbers[1:]
    assert result.offsets[::-2] == numbers[::-2] and list(memoryview(result.offsets[::-1])) == numbers[::-1]
    assert result.offsets != [1] and result.offsets == tuple(numbers) and result.lanes == [0, 0, 0]
    assert result.offsets[5:].tolist() == [] and len(result.offsets) == 3 and 9 not in result.offsets
    with pytest.raises(IndexError):
        result.offsets[3]
    with pytest.raises(TypeError):
        hash(result.offsets)
    plan.add_many(range(100), range(1, 101), [1] * 100)
    text = repr(plan.solve().offsets)
    assert text.count(",") == 16 and "..." in text and text.endswith("(103 numbers)")
    kernel = spad.Kernel.parse("""kernel k on trn2
tensor h : hbm bf16 [8] (128, 512) input
tensor x : sbuf bf16 [8] (128, 512) ring 1
for i in 0..8 { dma load reads h[i] writes x[i]
  vector use reads x[i] }
""")
    html = kernel.tune()._repr_html_()
    assert " us" in html and " ps" not in html and "<th>time</th>" in html
    with spad.Device().memory().alloc(64) as block:
        assert f"at {block.address:#x}" in repr(block)


def test_names_of_columns():
    plan = spad.Plan(capacity=100)
    plan.add_many([0, 1, 2], [3, 3, 3], [1, 2, 3], names=("x", None, "z"))
    assert [plan[i]["name"] for i in range(3)] == ["x", None, "z"]
    with pytest.raises(spad.ArgumentError, match="names has 1 names and lower has 2 numbers"):
        plan.add_many([0, 1], [3, 3], [1, 2], names=["q"])
    with pytest.raises(TypeError, match="a str is needed, not int"):
        plan.add_many([0], [3], [1], names=[5])
    assert len(plan) == 3
    with pytest.raises(spad.Error, match="x"):
        plan.add_many([0], [3], [1], names=["x"])
