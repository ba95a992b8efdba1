# SPDX-License-Identifier: Apache-2.0
"""Public functions in Python have types, and the stub of the module in C has its names and parameters. Where there is mypy,
its stubtest compares the stub in full, and mypy --strict accepts it and programs that use the package."""

import ast
import builtins
import inspect
import os
import re
import subprocess
import sys
import types
from collections import ChainMap
from pathlib import Path

import pytest

import spad
import spad.triton

HOME = Path(spad.__file__).parent
STUB = (HOME / "_spad.pyi").read_text()
PUBLIC = [path for path in sorted(HOME.rglob("*.py"))
          if not any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(HOME).parts)]

# CPython shows the buffer protocol as methods from 3.12 on.
ALLOWED = """\
spad\\._spad\\..*\\.__buffer__
spad\\._spad\\..*\\.__release_buffer__
"""

# ---- names and parameters -----------------------------------------------------------------------------

class Plain:
    part: int


# what a class has for the interpreter or pickle, or with the parameters that it has in object
UNSAID = {*vars(Plain), "__slots__", "__slotnames__", "__repr__", "__str__", "__dir__"}


def declared(body):
    """The nodes of the names that the stub, or a class in it, declares."""
    names = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.setdefault(node.name, node)  # what reads a property comes before what sets it
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            places = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            meant = names.get(getattr(node.value, "id", None), node)  # another name of a function
            names.update((name.id, meant) for place in places for name in ast.walk(place) if isinstance(name, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            names.update((name.name, node) for name in node.names if name.name == name.asname)
    return names


DECLARED = declared(ast.parse(STUB).body)


def declared_in(kind):
    """What the stub of a class declares; nothing if it has none."""
    node = DECLARED.get(kind.__name__)
    return declared(node.body) if isinstance(node, ast.ClassDef) else {}


def parameters(function, defaults):
    """Those but self. A default that a stub leaves open ("...") is that of `defaults`."""
    found = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    return [(p.name, p.kind, defaults.get(p.name, ...) if p.default is ... else p.default) for p in found]


def agrees(node, owner, name):
    """True if a name of a module or class is what the node of its stub declares."""
    value, static = getattr(owner, name), inspect.getattr_static(owner, name)
    if isinstance(node, ast.AnnAssign):
        return not inspect.isroutine(static)
    if not isinstance(node, ast.FunctionDef):
        return True
    if any(getattr(part, "id", "").endswith("property") for part in node.decorator_list):
        return not callable(value)
    if isinstance(static, types.WrapperDescriptorType):  # an operator in C: its parameters have no names
        return True
    if not callable(value):
        return False
    made = {}
    exec(f"from __future__ import annotations\ndef stub({ast.unparse(node.args)}): ...", made)
    found = parameters(owner if name == "__new__" else value, {})
    return parameters(made["stub"], {name: value for name, _, value in found if value is not inspect._empty}) == found


def differences(where, owner, body):
    """Where the stub differs from the module, or one of its classes."""
    own, bases = declared(body), owner.__mro__[1:] if isinstance(owner, type) else ()
    known = ChainMap(own, *map(declared_in, bases))
    for name, value in vars(owner).items():
        is_private = name.startswith("_") and not (bases and name.endswith("__"))
        if not is_private and not inspect.ismodule(value) and name not in UNSAID and name not in known:
            yield f"{where}.{name} is not in the stub"
    for name in dict.fromkeys([*own, *(name for name in vars(owner) if name in known)]):
        if not hasattr(owner, name):
            if not name.startswith("_") and not issubclass(owner, BaseException):  # which get theirs when they are raised
                yield f"{where}.{name} is in the stub only"
        elif isinstance(known[name], ast.ClassDef):
            yield from differences(f"{where}.{name}", getattr(owner, name), known[name].body)
        elif not agrees(known[name], owner, name):
            yield f"{where}.{name} differs from the stub: {' '.join(ast.unparse(known[name]).split())}"


def compared(text):
    found = differences("spad._spad", spad._spad, ast.parse(text).body)
    return "\n".join(line for line in found if not re.match("|".join(ALLOWED.split()), line))


def test_the_stub_has_the_names_and_parameters():
    assert compared(STUB) == ""


@pytest.mark.parametrize("old, new, message", [
    ("    def hoist(self, tensor: str, tiles: int, /) -> Kernel: ...\n", "", "Kernel.hoist is not in the stub"),
    ("    def is_implicit(self) -> bool", "    def implicit(self) -> bool", "Kernel.is_implicit is not in the stub\n"
     "spad._spad.Kernel.implicit is in the stub only"),
    ("def hoist(self, tensor: str, tiles: int, /)", "def hoist(self, tensor: str, tiles: int = 2, /)",
     "Kernel.hoist differs from the stub: def hoist(self, tensor: str, tiles: int=2, /) -> Kernel: ..."),
])
def test_a_stub_that_differs_is_found(old, new, message):
    assert STUB.count(old) == 1
    assert compared(STUB.replace(old, new)) == f"spad._spad.{message}"


def arguments(node):
    found = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    return [*found, *(argument for argument in (node.args.vararg, node.args.kwarg) if argument)]


def untyped(body, where=""):
    """Public functions and methods of a module that lack a type."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from untyped(node.body, f"{where}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or where and node.name == "__init__"):
            named = [argument for argument in arguments(node) if argument.arg not in ("self", "cls")]
            if node.returns is None or any(argument.annotation is None for argument in named):
                yield f"{where}{node.name}"


def test_public_functions_have_types():
    assert {path: missing for path in PUBLIC if (missing := list(untyped(ast.parse(path.read_text()).body)))} == {}
    assert list(untyped(ast.parse("class A:\n    def f(self, x: int): ...\ndef g(a) -> int: ...").body)) == ["A.f", "g"]


def test_names_of_types_are_known():
    for path in sorted(HOME.rglob("*.py")):
        tree = ast.parse(path.read_text())
        types = [node.annotation for node in ast.walk(tree) if isinstance(node, (ast.arg, ast.AnnAssign))]
        types += [node.returns for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        used = {name.id for kind in types if kind for name in ast.walk(kind) if isinstance(name, ast.Name)}
        bound = {name.asname or name.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
                 for name in node.names}
        bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        assert used <= bound | vars(builtins).keys(), path


def test_the_type_of_the_facts_of_a_triton_kernel_has_all_of_them(root):
    tree = ast.parse((HOME / "triton" / "__init__.py").read_text())
    (info,) = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "_Info")
    kernel = spad.triton.load(root / "tests" / "ttgir" / "softmax_sm80_s3_v39.ttgir", placed=False)
    assert declared(info.body).keys() == kernel.info.keys()


# ---- mypy -----------------------------------------------------------------------------------------------

# What functions in Python do is tested by running them; their types are for programs that use them.
CONFIG = """\
[mypy]
strict = True
[mypy-spad.*]
ignore_errors = True
[mypy-spad,spad._spad]
ignore_errors = False
[mypy-numba.*,cubie.*,numba_cuda_mlir.*,executorch.*,flatbuffers.*,onnx.*,pandas.*,torch.*,triton.*,tvm.*,dask.*]
ignore_missing_imports = True
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs a tool of mypy; its exit status and what it printed."""
    pytest.importorskip("mypy", reason="there is no mypy")
    folder = tmp_path_factory.mktemp("types")
    (folder / "mypy.ini").write_text(CONFIG, encoding="ascii")
    (folder / "allowed").write_text(ALLOWED, encoding="ascii")
    home = str(HOME.parent)
    environment = dict(os.environ)
    if Path(home).name != "site-packages":  # mypy finds an installed package, and refuses its folder there
        environment.update(PYTHONPATH=home, MYPYPATH=home)

    def run(*command):
        done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=500)
        return done.returncode, done.stdout[-4000:] + done.stderr[-2000:]

    return run


def test_the_stub_is_strict(mypy):
    status, output = mypy("mypy", "--config-file", "mypy.ini", "-mspad", "-mspad._spad")
    assert status == 0, output


def test_the_stub_is_that_of_the_module(mypy):
    status, output = mypy("mypy.stubtest", "spad._spad", "--mypy-config-file", "mypy.ini", "--concise",
                          "--ignore-disjoint-bases", "--ignore-unused-allowlist", "--allowlist", "allowed")
    assert status == 0, output


def test_a_typed_program_is_accepted(mypy, root):
    status, output = mypy("mypy", "--config-file", "mypy.ini", str(root / "tests/python/typed_use.py"))
    assert status == 0, output


ARRAYS = """
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


def test_arrays_are_accepted_and_mistakes_are_not(mypy, tmp_path):
    pytest.importorskip("numpy")
    for text, expected in ((ARRAYS, "Success"), (WRONG, "Found 3 errors")):
        (tmp_path / "use.py").write_text(text)
        status, output = mypy("mypy", "--config-file", "mypy.ini", "--python-version", "3.11", str(tmp_path / "use.py"))
        assert expected in output


def test_the_typed_program_runs():
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import typed_use
    finally:
        del sys.path[0]
    used, total = typed_use.manager()
    assert used == total and typed_use.direct(None) == ((0, 1024), 1)
    assert typed_use.memory() > 1 and typed_use.block() and typed_use.registry() == 256
