# SPDX-License-Identifier: Apache-2.0
"""Every method and function of the C part with arguments that make no sense: whatever happens is
an exception. Run under a sanitizer, this finds what is read or freed wrongly."""

import random

import pytest

import spad
from spad import _spad

KERNEL = """kernel k on trn2
tensor x : sbuf bf16 [4] (128, 64) ring 2
for i in 0..4 { vector a writes x[i]
vector b reads x[i] }
"""


def things():
    kernel = _spad.Kernel.parse(KERNEL)
    layout = _spad.layout(kernel)
    plan = spad.Plan(capacity=1000)
    plan.add_many([0, 1], [2, 3], [10, 20])
    stack = spad.Stack("trn2", trace=True)
    stack.open_scope(2)
    block = spad.Block("sm_90")
    block.alloc("shared.dyn", (4,), "uint8")
    direct = spad.Direct("trn2")
    direct.declare("sbuf", (128, 4), "uint8")
    device = spad.Device()
    buffer = device.alloc((4, 4), "float32")
    trace = spad.Trace("trn2")
    report = spad.Report("trn2")
    memory = device.memory().limit(1 << 20).log()
    log = spad.Log.parse("Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x10,64,0x0\n")
    stream = spad.Stream(device)
    component = spad.Registry().add("loop")
    component.register("state", 8)
    return [memory, memory.pool(), memory.alloc(10), log, stream.record(), component,
            component.registry, component.allocator("state"), _spad.walk(kernel, "all", layout),
            spad.Tmem("sm_100"), stream,
            spad.Target("trn2"), trace, stack, plan, plan.solve(), kernel, layout,
            _spad.analyse(kernel), _spad.analyse(kernel)._check, _spad.sim(kernel, layout),
            _spad.tune(kernel), _spad.advise(kernel), report, block, direct,
            device, buffer, buffer.alias((2,)), spad.Workspace(device, 256),
            spad.Pool(device.alloc((4096,), "uint8"), 64)]


class Untrue:
    """Refuses everything that is asked of an object."""

    def __bool__(self):
        raise ValueError("neither")

    __index__ = __len__ = __str__ = __repr__ = __hash__ = __bool__


def values(rng, objects):
    simple = [None, True, 0, -1, 1, 7, 2 ** 31, 2 ** 63 - 1, -2 ** 63, 2 ** 80, 0.5, float("nan"), "",
              "x", "sbuf", "trn2", "uint8", "text", "\0", "é" * 70, "\ud800", b"", b"x" * 200, (), (1,),
              (128, 4), (1,) * 20, (-1, 2), ("a", None), [], [1, 2], [None], {}, {"N": 1}, {1: 2},
              slice(1), object(), Untrue(), len, lambda *a: (0, 0), lambda *a: 1 // 0, memoryview(b"abcd")]
    return rng.choice(simple) if rng.random() < 0.8 else rng.choice(objects)


def calls(objects):
    for thing in objects:
        for name in dir(thing):
            # replaying and solving what came in by accident could take long
            if name.startswith("__") and name not in ("__getitem__", "__len__", "__repr__"):
                continue
            if name not in ("solve", "explain", "_outermost_closed"):
                yield thing, name
    for name in dir(_spad):
        if not name.startswith("_"):
            yield _spad, name


@pytest.mark.parametrize("seed", range(20))
def test_nothing_but_exceptions(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    objects = things()
    tried = 0
    for thing, name in list(calls(objects)):
        for _ in range(6):
            try:
                found = getattr(thing, name)
                if callable(found):
                    tried += 1
                    given = [values(rng, objects) for _ in range(rng.randint(0, 6))]
                    found(*given)
            except (Exception, SystemError) as error:
                assert not isinstance(error, SystemError), (name, error)
    assert tried > 500
