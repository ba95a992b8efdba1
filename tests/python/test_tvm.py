# SPDX-License-Identifier: Apache-2.0
"""spad.tvm: lives in a sequence of stand-ins for Relax's objects, and, where it is installed, TVM itself,
in which a function gives the same bytes with our plan and with TVM's."""

from types import SimpleNamespace

import pytest

import spad
from spad import tvm as spad_tvm


class Var:
    def __init__(self, name):
        self.name = name


class Kernel:
    def __init__(self, name):
        self.name_hint = name


class Call:
    def __init__(self, op, *args):
        self.op, self.args = op, args


def free(expression):
    if isinstance(expression, Var):
        return [expression]
    return [var for part in getattr(expression, "args", ()) for var in free(part)]


RELAX = SimpleNamespace(Call=Call, Var=Var, analysis=SimpleNamespace(free_vars=free))


def extents(*numbers):
    return SimpleNamespace(values=[SimpleNamespace(value=n) for n in numbers])


def operator(name):
    return SimpleNamespace(name="relax.memory." + name)


def sequence(rows, body):
    bindings = [SimpleNamespace(var=var, value=value) for var, value in rows]
    return SimpleNamespace(blocks=[SimpleNamespace(bindings=bindings)], body=body)


def recorded():
    """Three tensors in two storages, as TVM 0.27 plans matmul, relu, view and add."""
    s, t, a, b, c, view, out = (Var(n) for n in ("s", "t", "a", "b", "c", "view", "out"))
    float32 = SimpleNamespace(value="float32")
    f = Kernel("f")

    def tensor(storage, *shape):
        return Call(operator("alloc_tensor"), storage, 0, extents(*shape), float32)

    rows = [(s, Call(operator("alloc_storage"), extents(4096), 0, "global")), (a, tensor(s, 8, 64)),
            (Var("_"), Call(f, a)), (t, Call(operator("alloc_storage"), extents(1024), 0, "global")),
            (b, tensor(t, 4, 64)), (Var("_"), Call(f, a, b)), (view, Call(SimpleNamespace(name="relax.reshape"), b)),
            (c, tensor(s, 16, 64)), (Var("_"), Call(f, view, c)), (out, c)]
    return sequence(rows, out), f


def test_lives_of_a_recorded_sequence():
    found, kernel = recorded()
    block = spad_tvm._Block(RELAX, Kernel, found, 64)
    lives = {var.name: (first, last, size) for var, (_, first, last, size) in block.tensors.items()}
    # b lives as long as the view of it, c is the result
    assert lives == {"a": (2, 6, 2048), "b": (5, 9, 1024), "c": (8, 11, 4096)}
    assert block.kernels == {kernel} and block.others == set()
    (key, storages), = block.groups().items()
    arena, members = block.arena("main", set(storages))
    assert key == ("0", "global") and [m.name for m in members] == ["a", "b", "c"]
    assert arena.their_bytes == 5120 and arena.height == 5120 and arena.proved


def test_others_that_read_a_tensor_are_named():
    found, _ = recorded()
    found.blocks[0].bindings[2].value.op = SimpleNamespace(name="relax.call_packed")
    assert spad_tvm._Block(RELAX, Kernel, found, 64).others == {"relax.call_packed"}
    found.blocks[0].bindings[2].value = Call(Kernel("g"), found.blocks[0].bindings[0].var)
    assert spad_tvm._Block(RELAX, Kernel, found, 64).others == {"a storage that a branch uses"}


@pytest.mark.parametrize("name, bits", [("float32", 32), ("float16", 16), ("bool", 8), ("int8", 8), ("uint4", 4),
                                        ("float8_e4m3fn", 8), ("float32x4", 128), ("int64", 64)])
def test_types(name, bits):
    assert spad_tvm._dtype_bits(name) == bits


def test_wrong_values():
    with pytest.raises(spad.ArgumentError, match="type 'handle'"):
        spad_tvm._dtype_bits("handle")
    with pytest.raises(spad.ArgumentError, match="an extent"):
        spad_tvm._shape(RELAX, extents(4, -1))
    with pytest.raises(spad.ArgumentError, match="alignment"):
        spad_tvm.Planner(alignment=0)


# ---- TVM itself ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tvm():
    module = pytest.importorskip("tvm", reason="there is no TVM")
    if not hasattr(module, "tirx"):
        pytest.skip(f"TVM {module.__version__} is older than 0.27")
    return module


def network(tvm, width):
    """Layers that grow and shrink, with one value that is used twice."""
    nn = __import__("tvm.relax.frontend.nn", fromlist=["nn"])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(16, width), nn.Linear(width, 24), nn.Linear(24, 40)

        def forward(self, x):
            y = nn.op.relu(self.a(x))
            z = nn.op.relu(self.b(y))
            return nn.op.add(self.c(z), self.c(nn.op.reshape(nn.op.sigmoid(nn.op.reshape(z, (24, 8))), (8, 24))))

    module, _ = Net().export_tvm({"forward": {"x": nn.spec.Tensor((8, 16), "float32")}})
    return module, [(8, 16), (width, 16), (width,), (24, width), (24,), (40, 24), (40,)]


def storage_bytes(module):
    return [int(n) for n in __import__("re").findall(r"alloc_storage\(R\.shape\(\[(\d+)\]\)", module.script())]


@pytest.mark.parametrize("width", [48, 200])
def test_the_same_bytes_with_fewer_bytes(tvm, width):
    import numpy

    module, shapes = network(tvm, width)
    values = numpy.random.default_rng(1)
    inputs = [tvm.runtime.tensor(values.standard_normal(s).astype("float32")) for s in shapes]
    planner, outputs = spad_tvm.Planner(), []
    for pipeline in ("default_build", spad_tvm.pipeline(planner)):
        executable = tvm.compile(module, target="llvm", relax_pipeline=pipeline)
        machine = tvm.relax.VirtualMachine(executable, tvm.cpu())
        outputs.append(machine["forward"](*inputs).numpy().tobytes())
    assert outputs[0] == outputs[1]
    arena = planner.models[0].arenas[0]
    assert arena.proved and arena.height < arena.their_bytes and planner.models[0].notes == []
    assert "TVM" in planner.text()


def test_the_storage_is_one(tvm):
    names = ("LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")
    passes = [getattr(tvm.relax.transform, name)() for name in names]
    module = tvm.transform.Sequential(passes)(network(tvm, 48)[0])
    before = storage_bytes(tvm.relax.transform.StaticPlanBlockMemory()(module))
    planner = spad_tvm.Planner()
    after = storage_bytes(spad_tvm.plan_memory(planner)(module))
    arena = planner.models[0].arenas[0]
    assert sum(before) == arena.their_bytes and after == [arena.height]
