# SPDX-License-Identifier: Apache-2.0
"""The stubs have the names and parameters of the modules. Where there is mypy, its stubtest compares
them in full, and mypy --strict accepts them and programs that use them."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import types
from collections import ChainMap
from functools import cache
from pathlib import Path

import pytest

import spad
import spad.triton

HOME = Path(spad.__file__).parent
STUBS = {".".join(("spad", *path.relative_to(HOME).with_suffix("").parts)).removesuffix(".__init__"): path
         for path in sorted(HOME.rglob("*.pyi"))}

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
# takes any keyword, and its stub lists those that have a meaning; is made by enum
OTHER = {"spad.ascend.Buffer.__dlpack__", "spad.nki.LogLevel.__new__"}


def declared(body):
    """The nodes of the names that a stub, or a class in it, declares."""
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


@cache
def code_of(module):
    """The names that a module in Python gives itself, and the attributes that it sets; otherwise None."""
    path = Path(getattr(sys.modules[module], "__file__", ""))
    tree = path.suffix == ".py" and ast.parse(path.read_text())
    return tree and (declared(tree.body), {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and
                                           isinstance(node.ctx, ast.Store)})


@cache
def declared_in(kind):
    """What the stub of a class declares; nothing if there is none."""
    stub = STUBS.get({"spad": "spad._spad"}.get(kind.__module__, kind.__module__))  # the public name of what is in C
    node = declared(ast.parse(stub.read_text()).body).get(kind.__name__) if stub else None
    return declared(node.body) if node else {}


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
    """Where a stub differs from the module, or one of its classes."""
    own, bases = declared(body), owner.__mro__[1:] if isinstance(owner, type) else ()
    known = ChainMap(own, *map(declared_in, bases))
    code = [code_of(kind.__module__) for kind in (owner, *bases[:-1])] if bases else [code_of(where)]
    for name, value in vars(owner).items():
        is_ours = bases or not code[0] or name in code[0][0] or getattr(value, "__module__", where) == where
        is_private = name.startswith("_") and not (bases and name.endswith("__"))
        if is_ours and not is_private and not inspect.ismodule(value) and name not in UNSAID and name not in known:
            yield f"{where}.{name} is not in the stub"
    for name in dict.fromkeys([*own, *(name for name in vars(owner) if name in known)]):
        if not hasattr(owner, name):
            is_set = bases and not all(part and name not in part[1] for part in code)
            if not is_set and not name.startswith("_"):
                yield f"{where}.{name} is in the stub only"
        elif isinstance(known[name], ast.ClassDef):
            yield from differences(f"{where}.{name}", getattr(owner, name), known[name].body)
        elif not agrees(known[name], owner, name):
            yield f"{where}.{name} differs from the stub: {' '.join(ast.unparse(known[name]).split())}"


def compared(module, text):
    found = differences(module, importlib.import_module(module), ast.parse(text).body)
    return "\n".join(line for line in found if not re.match("|".join([*OTHER, *ALLOWED.split()]), line))


@pytest.mark.parametrize("module", STUBS)
def test_stubs_have_the_names_and_parameters(module):
    assert compared(module, STUBS[module].read_text()) == ""


@pytest.mark.parametrize("module, old, new, message", [
    ("spad._tilelang_load", "    IDLE: str\n", "", "LoadedKernel.IDLE is not in the stub"),
    ("spad.triton", "    registers: int |", "    registres: int |", "TritonKernel.registres is in the stub only"),
    # which is a function of another class: plan = Kernel.layout
    ("spad.nki.trace", "threads: int = 1,\n             progress: Callable[[_spad._Facts], Any] | None = None) -> Layout",
     "threads: int = 1)", "Traced.plan differs from the stub: def plan(self, timeout: float | None=None, "
     "seed: int=0, threads: int=1): ..."),
])
def test_a_stub_that_differs_is_found(module, old, new, message):
    text = STUBS[module].read_text()
    assert text.count(old) == 1
    assert compared(module, text.replace(old, new)) == f"{module}.{message}"


def test_the_stub_of_a_triton_kernel_has_all_facts(root):
    info = declared(ast.parse(STUBS["spad.triton"].read_text()).body)["_Info"]
    kernel = spad.triton.load(root / "tests" / "ttgir" / "softmax_sm80_s3_v39.ttgir", placed=False)
    assert declared(info.body).keys() == kernel.info.keys()


# ---- mypy -----------------------------------------------------------------------------------------------

CONFIG = """\
[mypy]
strict = True
[mypy-{private}]
ignore_errors = True
[mypy-numba.*,cubie.*,numba_cuda_mlir.*,executorch.*,flatbuffers.*,onnx.*,pandas.*,torch.*,triton.*,tvm.*,dask.*]
ignore_missing_imports = True
"""


def private_modules():
    """Modules without stubs, which are not for users."""
    files = [path for path in HOME.rglob("*.py") if not path.with_suffix(".pyi").exists() and path != Path(spad.__file__)]
    return [".".join(("spad", *path.relative_to(HOME).with_suffix("").parts)) for path in sorted(files)]


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs a tool of mypy; its exit status and what it printed."""
    pytest.importorskip("mypy", reason="there is no mypy")
    folder = tmp_path_factory.mktemp("types")
    (folder / "mypy.ini").write_text(CONFIG.format(private=",".join(private_modules())), encoding="ascii")
    # what has no stub would be compared with itself
    private = "".join(f"{re.escape(name)}(\\..*)?\n" for name in private_modules())
    (folder / "allowed").write_text(ALLOWED + private, encoding="ascii")
    home = str(HOME.parent)
    environment = dict(os.environ)
    if Path(home).name != "site-packages":  # mypy finds an installed package, and refuses its folder there
        environment.update(PYTHONPATH=home, MYPYPATH=home)

    def run(*command):
        done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=500)
        return done.returncode, done.stdout[-4000:] + done.stderr[-2000:]

    return run


# The private modules are left out: what mypy says of them is ignored.
def test_stubs_are_strict(mypy):
    status, output = mypy("mypy", "--config-file", "mypy.ini", "-mspad", *(f"-m{module}" for module in STUBS))
    assert status == 0, output


def test_stubs_are_those_of_the_modules(mypy):
    modules = [module for module in STUBS if module.rpartition(".")[0] not in STUBS]  # it looks into packages itself
    status, output = mypy("mypy.stubtest", *modules, "--mypy-config-file", "mypy.ini", "--concise",
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
