# SPDX-License-Identifier: Apache-2.0
"""Memory planning for ExecuTorch.

    from executorch.exir.passes import MemoryPlanningPass
    from spad.executorch import plan

    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(plan))

`plan` is an algorithm of a MemoryPlanningPass: alone, or in a MemoryPlanningAlgorithmSuite. A
Planner is the same with options, and keeps what it planned for a report. Nothing here imports
ExecuTorch, apart from the comparison with its greedy algorithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _spad
from .arena import Arena, Model, fault, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any
    from .core import Report

DEFAULT_MEMORY = 1  # as ExecuTorch has it: 0 is for constants
SECONDS = 5


class Place:
    """What a memory-planning algorithm gives a spec: mem_id, mem_obj_id, mem_offset."""

    __slots__ = ("mem_id", "mem_obj_id", "mem_offset")

    def __init__(self, mem_id: int, mem_offset: int) -> None:
        # One object for the whole memory: ExecuTorch's verifier wants the same number for all specs
        # that share bytes, and any two may.
        self.mem_id, self.mem_obj_id, self.mem_offset = mem_id, 0, mem_offset

    def __repr__(self):
        return f"<memory {self.mem_id}, offset {self.mem_offset}>"


class Sizes(list[int]):
    """The bytes of every memory, as a pass wants them; with spec_dict and bufsizes, as a suite does."""

    def __init__(self, bufsizes: Iterable[int], spec_dict: dict[Any, Place]) -> None:
        super().__init__(bufsizes)
        self.spec_dict = spec_dict

    @property
    def bufsizes(self) -> list[int]:
        return list(self)


class _Names:
    """Names of specs and steps from the nodes of a graph module; numbers where it has none."""

    def __init__(self, graph_module):
        self.specs, self.steps = {}, {}
        graph = getattr(graph_module, "graph", None)
        for step, node in enumerate(getattr(graph, "nodes", ()) or ()):
            name = str(getattr(node, "name", step))
            self.steps[step] = name
            meta = getattr(node, "meta", None) or {}
            specs = meta.get("spec")
            for spec in specs if isinstance(specs, (list, tuple)) else [specs]:
                known = self.specs.get(id(spec))
                if spec is not None and (known is None or known.startswith("alloc")):
                    self.specs[id(spec)] = name  # of the node that computes it, after its alloc

    def of(self, spec, number):
        return self.specs.get(id(spec), f"tensor {number}")


def _root(spec, sizes):
    """The spec in whose bytes a view is, and how far from its start."""
    offset, seen, at = 0, set(), spec
    while getattr(at, "storage_base", None) is not None:
        if id(at) in seen:
            fault("views of tensors in a cycle (storage_base)")
        seen.add(id(at))
        base = at.storage_base
        within = whole(getattr(at, "storage_base_offset", 0), "a storage_base_offset")
        if base not in sizes:
            fault("a view's storage_base is not among the tensors that are planned")
        if within + sizes[at] > sizes[base]:
            fault(f"a view of {sizes[at]} B at byte {within} ends beyond its base of {sizes[base]} B")
        offset += within
        at = base
    return at, offset


def _life(spec, name):
    life = getattr(spec, "lifetime", None)
    if not isinstance(life, (list, tuple)) or len(life) != 2 or None in life:
        fault(f"'{name}' has no lifetime: {life!r:.60}")
    first = whole(life[0], f"the first step of '{name}'")
    return first, max(first, whole(life[1], f"the last step of '{name}'"))


def _memory(spec, name):
    mem_id = getattr(spec, "mem_id", None)
    return DEFAULT_MEMORY if mem_id is None else whole(mem_id, f"the mem_id of '{name}'", 1, 255)


class _Problem:
    """The specs of one graph module as an arena for each memory."""

    def __init__(self, alignment, specs, graph_module, extra_padding, capacities):
        self.alignment = whole(alignment, "the alignment", 1)
        self.padding = whole(extra_padding, "extra_padding")
        self.names = _Names(graph_module)
        self.specs = list(dict.fromkeys(specs))
        self.reserved = [whole(size, "a size in input_mem_buffer_sizes") for size in
                         getattr(graph_module, "input_mem_buffer_sizes", None) or ()]
        self.arenas, self.capacities = {}, capacities
        sizes = {}
        for spec in self.specs:
            if hasattr(spec, "realign"):
                spec.realign(self.alignment)
            size = whole(spec.allocated_memory, "the size of a tensor")
            sizes[spec] = -(-size // self.alignment) * self.alignment
        self._group(sizes)

    def _group(self, sizes):
        """One buffer for a tensor and all views of it; its life is that of all of them."""
        roots, lives = {}, {}
        for number, spec in enumerate(self.specs):
            name = self.names.of(spec, number)
            root, offset = _root(spec, sizes)
            if offset % self.alignment:
                fault(f"'{name}' is at byte {offset} of another tensor; the alignment is "
                      f"{self.alignment}")
            roots[spec] = root, offset
            first, last = _life(spec, name)
            known = lives.get(root, (first, last))
            lives[root] = min(first, known[0]), max(last, known[1])
        self.place = {}  # root -> arena and number of its buffer
        order = sorted(((lives[root], -sizes[root], number, root)
                        for number, root in enumerate(self.specs) if root in lives),
                       key=lambda item: item[:3])
        for (first, last), size, number, root in order:
            name = self.names.of(root, number)
            arena = self._arena(_memory(root, name))
            self.place[root] = arena, arena.add(name, first, last, -size)
        self.roots = roots

    def _arena(self, mem_id):
        if mem_id not in self.arenas:
            reserved = self.reserved[mem_id] if mem_id < len(self.reserved) else 0
            capacity = self.capacities.get(mem_id)
            if capacity is not None:
                capacity = max(0, whole(capacity, f"the capacity of memory {mem_id}") - self.padding)
            self.arenas[mem_id] = Arena(f"memory {mem_id}", self.alignment, reserved, capacity,
                                        self.names.steps)
            self.arenas[mem_id].mem_id = mem_id
        return self.arenas[mem_id]

    def sizes(self):
        """The bytes of every memory, and a place for every spec."""
        count = max([1, *self.arenas, len(self.reserved) - 1]) + 1
        total = [*self.reserved, *[0] * (count - len(self.reserved))]
        offsets = {}
        for mem_id, arena in self.arenas.items():
            offsets[mem_id] = arena.offsets
            total[mem_id] = arena.height + self.padding
        places = {}
        for spec in self.specs:
            root, within = self.roots[spec]
            arena, number = self.place[root]
            places[spec] = Place(arena.mem_id, offsets[arena.mem_id][number] + within)
        return Sizes(total, places)

    def compare(self, specs, graph_module, graph_signature):
        """What ExecuTorch's greedy algorithm needs; nothing where it is not installed."""
        try:
            from executorch.exir.memory_planning import greedy
        except ImportError:
            for arena in self.arenas.values():
                needed = arena.greedy()
                if needed is not None:
                    arena.compare_with("by size", needed)
            return
        theirs = greedy(self.alignment, specs, graph_module, graph_signature, self.padding)
        for mem_id, arena in self.arenas.items():
            arena.compare_with("greedy", theirs.bufsizes[mem_id] - self.padding)
        for spec, (arena, number) in self.place.items():
            arena.buffers[number].theirs = theirs.spec_dict[spec].mem_offset


class Planner:
    """Planner(timeout=5, threads=1, seed=1, capacities=None, compare=True): `plan` with options.

    capacities: bytes of memories by mem_id; a graph that does not fit raises a spad.FitError that says
    why. compare: also run ExecuTorch's greedy algorithm, for the report. models: what was planned, one
    spad.arena.Model for every graph; text() and report() show it."""

    capacities: dict[int, int]

    __name__ = "spad"  # a suite names its algorithms

    def __init__(self, timeout: float | None = SECONDS, threads: int = 1, seed: int = 1,
                 capacities: Mapping[int, int] | None = None, compare: bool = True) -> None:
        self.timeout, self.threads, self.seed = timeout, threads, seed
        self.capacities, self.compare = dict(capacities or {}), compare
        self.models: list[Model] = []

    def __call__(self, alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any = None,
                 extra_padding: int = 0) -> Sizes:
        specs = list(specs)
        problem = _Problem(alignment, specs, graph_module, extra_padding, self.capacities)
        arenas = [problem.arenas[mem_id] for mem_id in sorted(problem.arenas)]
        for arena in arenas:
            arena.solve(self.timeout, self.seed, self.threads)
        sizes = problem.sizes()  # raises before anything is changed
        if self.compare:
            problem.compare(specs, graph_module, graph_signature)
        for spec, place in sizes.spec_dict.items():
            spec.mem_id, spec.mem_offset, spec.mem_obj_id = place.mem_id, place.mem_offset, 0
        name = type(graph_module).__name__ if graph_module is not None else "graph"
        self.models.append(Model("ExecuTorch", getattr(graph_module, "_name", None) or name, arenas))
        return sizes

    def text(self) -> str:
        """Bytes, proof and the peak of everything that was planned."""
        return "".join(model.text() for model in self.models)

    def report(self, title: str | None = None) -> Report:
        """The picture of the largest arena that was planned."""
        if not self.models:
            raise _spad.StateError("nothing has been planned yet")
        arenas = [arena for model in self.models for arena in model.arenas]
        return Model("ExecuTorch", "ExecuTorch", arenas).report(title)


def plan(alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any = None,
         extra_padding: int = 0) -> Sizes:
    """A memory-planning algorithm for MemoryPlanningPass: the fewest bytes, proved in nearly all
    cases within milliseconds."""
    return Planner(compare=False)(alignment, specs, graph_module, graph_signature, extra_padding)
