# SPDX-License-Identifier: Apache-2.0
"""What help, completion and type checkers see: signatures, names, stubs, and values that print."""

import ast
import inspect
import subprocess
import sys

import pytest

import spad
from spad import _spad

CLASSES = {name: kind for name, kind in vars(_spad).items() if isinstance(kind, type)}


def builtins():
    """Every function, method and class of the C part that can be called, with its name in the stub."""
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


def stubs(root):
    """The signatures of the stub file, by class and name."""
    found = {}
    tree = ast.parse((root / "python" / "spad" / "_spad.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[None, node.name] = node.args
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    found[node.name, item.name] = item.args
    return found


def shown(arguments):
    """Names, kinds and defaults of a stub, as inspect shows them."""
    places = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(places) - len(arguments.defaults)) + arguments.defaults
    kinds = [inspect.Parameter.POSITIONAL_ONLY] * len(arguments.posonlyargs) + \
            [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(arguments.args)
    return [(place.arg, kind, "" if value is None else ast.unparse(value))
            for place, kind, value in zip(places, kinds, defaults)]


def test_every_builtin_has_the_signature_of_its_stub(root):
    known, count = stubs(root), 0
    for owner, name, item in builtins():
        signature = inspect.signature(item)
        found = [(p.name, p.kind, "" if p.default is p.empty else
                  "..." if p.default is ... else repr(p.default)) for p in signature.parameters.values()]
        expected = shown(known[owner, name])
        if expected and expected[0][0] in ("self", "cls"):
            expected.pop(0)
        if found and found[0][0] == "self":
            found.pop(0)
        assert found == expected, (owner, name)
        assert name == "__new__" or inspect.getdoc(item), (owner, name)
        count += 1
    assert count > 230


def test_every_public_name_has_a_signature():
    imported = {name for name in vars(spad) if not name.startswith("_")} - {"sys", "core", "graph", "kernel"}
    drop_ins = {"nki", "tilelang", "ascend", "cubie", "arena", "executorch", "models", "tflite", "triton", "tvm"}
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


# ---- types --------------------------------------------------------------------------------------------

USE = """
import numpy as np
import numpy.typing as npt
import spad

ints: npt.NDArray[np.int64] = np.arange(3)
floats: npt.NDArray[np.float32] = np.zeros(3, np.float32)
plan = spad.Plan(capacity=100)
plan.add_many(ints, ints + 1, ints, names=["a", None, "c"])
plan.add_many([0], range(1, 2), (n for n in [1]), offset=[None])
result = plan.solve(interrupt="best")
first: int = result.offsets[0]
rest: list[int] = result.offsets[1:].tolist()
buffer = spad.Device("host").alloc((3,), "float32")
buffer.write(floats)
buffer.write(b"abc")
log = spad.Log.load("x", device=1)
made: spad.Plan = log.plan()
path: str = spad.torch_library()
"""

WRONG = """
import spad
spad.Plan().solve(interrupt="never")
spad.Plan().add_many(["a"], [1], [1])
spad.Log.load("x").plan(capacity="many")
"""


def mypy(*arguments):
    pytest.importorskip("mypy", reason="there is no mypy")
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)


def test_mypy_accepts_arrays(tmp_path):
    pytest.importorskip("numpy")
    (tmp_path / "use.py").write_text(USE)
    done = mypy("mypy", "--strict", "--python-version", "3.11", "--cache-dir", str(tmp_path / "cache"),
                str(tmp_path / "use.py"))
    assert done.returncode == 0, done.stdout
    (tmp_path / "wrong.py").write_text(WRONG)
    done = mypy("mypy", "--strict", "--python-version", "3.11", "--cache-dir", str(tmp_path / "cache"),
                str(tmp_path / "wrong.py"))
    assert "Found 3 errors" in done.stdout


def test_stubs_are_what_there_is(root, tmp_path):
    stubs = [f"spad.{file.stem}" for file in sorted((root / "python" / "spad").glob("*.pyi"))]
    done = mypy("mypy", "--strict", "--cache-dir", str(tmp_path), "-mspad",
                *(f"-m{name}" for name in stubs))
    assert done.returncode == 0, done.stdout
    done = mypy("mypy.stubtest", *stubs, "--ignore-disjoint-bases", "--ignore-unused-allowlist",
                "--allowlist", str(root / "tests" / "python" / "stubtest.txt"))
    assert done.returncode == 0, done.stdout
