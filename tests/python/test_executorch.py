# SPDX-License-Identifier: Apache-2.0
"""spad.executorch: with stand-ins for ExecuTorch's objects, a recorded case, and, where it is
installed, ExecuTorch itself: the programs run in its runtime and agree with PyTorch."""

import json
import random
from types import SimpleNamespace

import pytest

import spad
from spad.executorch import Planner, plan


class Spec:
    """What a memory-planning algorithm sees of a TensorSpec."""

    def __init__(self, first, last, size, mem_id=None, base=None, at=0):
        self.lifetime, self.size, self.mem_id = [first, last], size, mem_id
        self.storage_base, self.storage_base_offset = base, at
        self.mem_offset = self.mem_obj_id = None
        self.alignment = 1

    def realign(self, alignment):
        self.alignment = alignment

    @property
    def allocated_memory(self):
        return -(-self.size // self.alignment) * self.alignment


def check(specs, sizes, padding=0, reserved=()):
    """No two specs that live at once share bytes, apart from a view and what it is a view of."""

    def roots(spec):
        while spec is not None:
            yield spec
            spec = spec.storage_base

    for i, a in enumerate(specs):
        start = reserved[a.mem_id] if a.mem_id < len(reserved) else 0
        assert start <= a.mem_offset and a.mem_offset % a.alignment == 0
        assert a.mem_offset + a.allocated_memory + padding <= sizes[a.mem_id]
        if a.storage_base is not None:
            assert a.mem_offset == a.storage_base.mem_offset + a.storage_base_offset
            assert a.mem_id == a.storage_base.mem_id
        for b in specs[:i]:
            apart = a.lifetime[1] < b.lifetime[0] or b.lifetime[1] < a.lifetime[0]
            shares = a.mem_id == b.mem_id and a.mem_offset < b.mem_offset + b.allocated_memory and \
                b.mem_offset < a.mem_offset + a.allocated_memory
            related = set(map(id, roots(a))) & set(map(id, roots(b)))
            assert apart or not shares or related
            assert not shares or a.mem_obj_id == b.mem_obj_id


def test_the_result_is_for_a_pass_and_for_a_suite():
    specs = [Spec(0, 2, 100), Spec(1, 3, 200), Spec(3, 4, 90)]
    sizes = plan(16, specs, None, None, 0)
    assert isinstance(sizes, list) and sizes == [0, 320] and sizes[1:] == [320]
    assert sizes.bufsizes == [0, 320] and list(sizes.spec_dict) == specs
    assert all(sizes.spec_dict[s].mem_offset == s.mem_offset and s.mem_id == 1 for s in specs)
    check(specs, sizes)


def test_no_specs():
    assert plan(16, [], None) == [0, 0]
    assert plan(16, set(), SimpleNamespace(input_mem_buffer_sizes=[0, 64])) == [0, 64]
    specs = [Spec(0, 1, 0)]
    assert plan(16, specs, None) == [0, 0] and specs[0].mem_offset == 0


def test_several_memories_reservations_and_padding():
    specs = [Spec(0, 3, 64), Spec(1, 2, 64, mem_id=3), Spec(2, 3, 32), Spec(2, 2, 16, mem_id=3)]
    module = SimpleNamespace(input_mem_buffer_sizes=[0, 40, 8])
    sizes = plan(16, specs, module, None, 64)
    # what a submodule has in memory 2 is kept, too
    assert sizes == [0, 48 + 96 + 64, 8, 80 + 64]
    check(specs, sizes, 64, [0, 40, 8])


def test_views_are_where_their_base_is():
    base = Spec(0, 1, 256)
    part = Spec(4, 5, 64, base=base, at=128)
    inner = Spec(6, 9, 16, base=part, at=16)
    other = Spec(7, 8, 256)
    specs = [inner, other, part, base]
    sizes = plan(16, specs, None)
    assert sizes == [0, 512]  # the base is alive as long as the view of its view
    check(specs, sizes)
    assert inner.mem_offset == base.mem_offset + 144


@pytest.mark.parametrize("specs, words", [
    ([Spec(None, None, 8)], "has no lifetime"),
    ([Spec(0, 1, -80)], "size of a tensor is"),
    ([Spec(0, 1, 1 << 63)], "2^63"),
    ([Spec(0, 1 << 70, 8)], "2^70"),
    ([Spec(0, 1, 8, mem_id=0)], "mem_id"),
    ([Spec(0, 1, 8, mem_id="1")], "mem_id"),
    ([Spec(0, 1, 8, base=Spec(0, 1, 8))], "not among the tensors"),
])
def test_wrong_specs(specs, words):
    with pytest.raises(spad.ArgumentError, match="(?s)" + words.replace("^", r"\^")):
        plan(16, specs, None)
    assert all(s.mem_offset is None for s in specs)


def test_wrong_views():
    a, b = Spec(0, 1, 32), Spec(0, 1, 32)
    a.storage_base, b.storage_base = b, a
    with pytest.raises(spad.ArgumentError, match="cycle"):
        plan(16, [a, b], None)
    base = Spec(0, 1, 64)
    for at, size, words in ((48, 32, "ends beyond"), (8, 16, "alignment"), (-16, 16, "from 0")):
        with pytest.raises(spad.ArgumentError, match=words):
            plan(16, [base, Spec(0, 1, size, base=base, at=at)], None)


def test_a_capacity_that_is_too_small_says_why_and_changes_nothing():
    specs = [Spec(0, 2, 64), Spec(1, 3, 64)]
    with pytest.raises(spad.FitError, match="memory 1"):
        Planner(capacities={1: 100})(16, specs, None)
    assert all(s.mem_offset is None for s in specs)
    assert Planner(capacities={1: 128})(16, specs, None) == [0, 128]


def recorded(root):
    data = json.loads((root / "tests/python/golden/executorch_blocks.json").read_text())
    nodes = [SimpleNamespace(name=name, meta={}) for name in data["steps"]]
    specs = []
    for name, first, last, size in data["specs"]:
        specs.append(Spec(first, last, size))
        nodes[data["steps"].index(name)].meta.setdefault("spec", []).append(specs[-1])
    return data, specs, SimpleNamespace(graph=SimpleNamespace(nodes=nodes))


def test_a_recorded_network(root):
    data, specs, module = recorded(root)
    planner = Planner()
    sizes = planner(data["alignment"], specs, module, None, data["extra_padding"])
    check(specs, sizes)
    assert sizes == [0, 98304] and data["greedy"] == 114688
    arena = planner.models[0].arenas[0]
    assert arena.proved and arena.height == arena.bound == 98304
    shown = planner.text()
    assert "the live peak is 98,304 B, at step 53" in shown and "aten_add_tensor, steps 53 to 56" in shown
    assert "optimal" in shown and planner.report().svg().startswith("<svg")
    # the same from a set, whose order is another in every run
    again = [Spec(first, last, size) for _, first, last, size in data["specs"]]
    assert plan(data["alignment"], set(again), None) == sizes


def test_nothing_planned_yet():
    with pytest.raises(spad.StateError):
        Planner().report()


def test_random_specs():
    chance = random.Random(20)
    for _ in range(300):
        specs = []
        for _ in range(chance.randrange(1, 12)):
            first = chance.randrange(12)
            specs.append(Spec(first, first + chance.randrange(6), chance.randrange(1, 200),
                              chance.choice((None, None, 1, 2))))
            if chance.random() < 0.3 and specs[-1].size > 64:
                specs.append(Spec(first, first + 8, 32, base=specs[-1], at=32))
        chance.shuffle(specs)
        reserved = [0, chance.choice((0, 48))]
        padding = chance.choice((0, 64))
        sizes = plan(16, specs, SimpleNamespace(input_mem_buffer_sizes=reserved), None, padding)
        check(specs, sizes, padding, reserved)


# ---- ExecuTorch itself --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def et():
    pytest.importorskip("executorch.exir", reason="there is no ExecuTorch")
    import torch
    from executorch.exir import ExecutorchBackendConfig, memory_planning, to_edge
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.runtime import Runtime

    def build(module, inputs, algorithm, edge=to_edge, planning=MemoryPlanningPass, **options):
        planning = planning(memory_planning_algo=algorithm, **options)
        program = edge(torch.export.export(module, inputs))
        return program.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))

    def run(module, inputs, algorithm, **options):
        """The bytes of every memory, after the program has given the answer of PyTorch."""
        made = build(module, inputs, algorithm, **options)
        found = Runtime.get().load_program(made.buffer).load_method("forward").execute(inputs)
        wanted = module(*inputs)
        for a, b in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
        return list(made.executorch_program.execution_plan[0].non_const_buffer_sizes)

    torch.manual_seed(0)
    return SimpleNamespace(torch=torch, nn=torch.nn, run=run, planning=memory_planning,
                           Pass=MemoryPlanningPass)


@pytest.fixture(scope="module")
def network(et):
    torch, nn = et.torch, et.nn

    class Block(nn.Module):
        def __init__(self, inside, middle, stride):
            super().__init__()
            outside = 4 * middle
            self.a = nn.Conv2d(inside, middle, 1)
            self.b = nn.Conv2d(middle, middle, 3, padding=1, stride=stride)
            self.c = nn.Conv2d(middle, outside, 1)
            same = inside == outside and stride == 1
            self.d = nn.Identity() if same else nn.Conv2d(inside, outside, 1, stride=stride)

        def forward(self, x):
            y = self.c(torch.relu(self.b(torch.relu(self.a(x)))))
            return torch.relu(y + self.d(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.ReLU(), nn.MaxPool2d(2))
            self.body = nn.Sequential(Block(8, 8, 1), Block(32, 8, 1), Block(32, 16, 2), Block(64, 16, 1))
            self.tail = nn.Linear(64, 4)

        def forward(self, x):
            return self.tail(self.body(self.head(x)).mean(dim=(2, 3)))

    return Net().eval(), (torch.randn(1, 3, 64, 64),)


def test_alone_and_in_suites(et, network):
    suite, greedy = et.planning.MemoryPlanningAlgorithmSuite, et.planning.greedy
    before = et.run(*network, suite())
    planner = Planner()
    assert et.run(*network, planner) == et.run(*network, plan) == [0, 98304]
    assert et.run(*network, suite([greedy, plan])) == et.run(*network, suite([plan, greedy])) == [0, 98304]
    arena = planner.models[0].arenas[0]
    assert before == [0, arena.their_bytes] == [0, 114688] and arena.proved
    assert "greedy" in planner.text() and "-14.3 %" in planner.text()
    assert arena.their_result().height == 114688  # their plan is a right one for our lifetimes


def test_their_verifier_agrees(et, network, monkeypatch):
    import logging

    monkeypatch.setattr(logging.getLogger(), "level", logging.DEBUG)
    logging.getLogger()._cache.clear()
    assert et.run(*network, plan) == [0, 98304]


def test_control_flow_keeps_the_bytes_of_submodules(et):
    class Cond(et.nn.Module):
        def forward(self, x):
            y = x * 2
            z = et.torch.cond(x.sum() > 0, lambda a: et.torch.relu(a) + a,
                              lambda a: et.torch.sin(a) - a * 3, [y])
            return et.torch.cat([z, x], 0) + 1

    for sign in (1, -1):
        assert et.run(Cond(), (sign * et.torch.rand(4, 16),), plan) == [0, 1808]


def test_inputs_and_outputs_of_the_user(et, network):
    sizes = et.run(*network, plan, alloc_graph_input=False)
    assert sizes[1] <= 98304


def test_two_memories(et, network):
    class Split(et.Pass):
        """Puts every second tensor into memory 2."""

        def _set_alloc_node_spec(self, module):
            super()._set_alloc_node_spec(module)
            specs = {id(s): s for node in module.graph.nodes for s in
                     et.planning.get_node_tensor_specs(node) if not s.const}
            for number, spec in enumerate(specs.values()):
                spec.mem_id = 1 + number % 2

    planner = Planner()
    sizes = et.run(*network, planner, planning=Split)
    arenas = planner.models[0].arenas
    assert len(sizes) == 3 and [a.height for a in arenas] == sizes[1:]
    assert all(a.height <= a.their_bytes and a.proved for a in arenas)


def test_views_in_the_runtime(et, network):
    class InPlace(et.Pass):
        """Every relu writes into its input, which nothing else reads."""

        def _set_alloc_node_spec(self, module):
            for node in module.graph.nodes:
                if "relu" in str(node.target) and len(node.args[0].users) == 1:
                    node.meta["_share_alloc_with_arg_idx"] = 0
                    found.append(node)
            super()._set_alloc_node_spec(module)

    found, planner = [], Planner()
    sizes = et.run(*network, planner, planning=InPlace)
    arena = planner.models[0].arenas[0]
    assert len(found) > 5 and sizes == [0, arena.height] and arena.proved
    assert len(arena) + len(found) == 38 and arena.height <= arena.their_bytes


def test_xnnpack_padding(et, network):
    partition = pytest.importorskip("executorch.backends.xnnpack.partition.xnnpack_partitioner")
    from executorch.exir import to_edge_transform_and_lower

    def lower(program):
        return to_edge_transform_and_lower(program, partitioner=[partition.XnnpackPartitioner()])

    suite = et.planning.MemoryPlanningAlgorithmSuite()
    assert et.run(*network, plan, edge=lower)[1] <= et.run(*network, suite, edge=lower)[1]
