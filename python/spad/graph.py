# SPDX-License-Identifier: Apache-2.0
"""spad.plan(graph): offsets for the values of a program in plain Python: nodes, sizes, outputs.

A value lives from the node that writes it to the last one that reads it; inputs live from the first
node on, outputs to the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._spad import reorder as reorder_graph
from ._views import Views
from .arena import Arena, fault, whole

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from typing import Any

FIELDS = ("name", "inputs", "outputs", "in_place", "views")


class _Node:
    """One node: name, what it reads, what it writes, which inputs an output may take over, and which of
    its values are bytes of another one."""

    def __init__(self, node, step):
        if isinstance(node, dict):
            unknown = sorted(str(key) for key in set(node) - set(FIELDS))
            if unknown:
                fault(f"node {step} has '{unknown[0]}'; a node has {', '.join(FIELDS)}")
            parts = [node.get(field) for field in FIELDS]
        elif isinstance(node, (tuple, list)) and 3 <= len(node) <= 5:
            parts = [*node, None, None][:5]
        else:
            fault(f"node {step} has to be (name, inputs, outputs) or a dict, not {node!r:.60}")
        self.name = str(step if parts[0] is None else parts[0])
        self.inputs, self.outputs, self.in_place, views = (self._values(part, step) for part in parts[1:])
        for value in self.in_place:
            if value not in self.inputs:
                fault(f"node '{self.name}': '{value}' is in in_place, and not an input")
        self.views = [self._view(view) for view in views]

    def _view(self, view):
        if not isinstance(view, (tuple, list)) or len(view) != 3:
            fault(f"node '{self.name}': a view is (part, whole, byte), not {view!r:.60}")
        part, other, at = view
        if not (part in self.outputs and other in self.inputs or part in self.inputs and other in self.outputs):
            fault(f"node '{self.name}': a view has an input and an output of the node, not '{part}' and '{other}'")
        return part, other, whole(at, f"the place of '{part}' in '{other}'")

    def _values(self, part, step):
        if part is None:
            return []
        if isinstance(part, str) or not hasattr(part, "__iter__"):
            fault(f"node {step}: a list of values is needed, not {part!r:.60}")
        return list(part)


class _Lives:
    """First and last step of every value, in the order in which they appear."""

    def __init__(self, nodes, inputs, outputs, constants):
        self.nodes, self.constants, self.lives = nodes, set(constants), {}
        self.writer = {}
        for step, node in enumerate(nodes):
            for value in node.outputs:
                if value in self.writer:
                    fault(f"'{value}' is written by '{self.writer[value].name}' and by '{node.name}'")
                self.writer[value] = node
        for value in inputs:
            if value in self.writer:
                fault(f"'{value}' is an input, and '{self.writer[value].name}' writes it")
            self.lives[value] = [0, 0]
        for step, node in enumerate(nodes):
            for value in node.inputs:
                self._read(value, step, f"'{node.name}'")
            for value in node.outputs:
                self.lives[value] = [step, step]
        for value in outputs:
            self._read(value, max(0, len(nodes) - 1), "the end")

    def _read(self, value, step, who):
        if value in self.constants:
            return
        if value not in self.lives:
            later = self.writer.get(value)
            if later is None:
                fault(f"{who} reads '{value}', which is neither an input nor a constant, and nothing writes it")
            fault(f"{who} reads '{value}' before '{later.name}' writes it: a cycle, or a wrong order")
        self.lives[value][1] = step


def _reordered(nodes, sizes, inputs, outputs, constants, alignment, timeout):
    """The nodes in the order with the lowest peak, and what spad.reorder says about it."""
    constants, outputs = set(constants), set(outputs)
    writer = {value: step for step, node in enumerate(nodes) for value in node.outputs}
    readers = {}
    for step, node in enumerate(nodes):
        for value in node.inputs:
            if value not in constants:
                readers.setdefault(value, []).append(step)
    tensors = []
    for value in [*inputs, *writer]:
        size = (sizes or {}).get(value)
        if not isinstance(size, int):
            fault(f"there is no size for '{value}'")
        tensors.append((-(-size // alignment) * alignment, writer.get(value), readers.get(value, ()),
                        value in outputs))
    facts = reorder_graph([0] * len(nodes), tensors, timeout=timeout)
    return [nodes[step] for step in facts["order"]], facts


def _add_views(arena, nodes, numbers, owned):
    """The views of the nodes that are possible together."""
    views = Views(arena.alignment)
    for value, number in numbers.items():
        buffer = arena.buffers[number]
        if buffer.size:
            views.add(value, buffer.first, buffer.last, buffer.size, value in owned)
    for node in nodes:
        joined = {}  # the inputs that are bytes of an output
        for part, other, at in node.views:
            if part not in views.values or other not in views.values:
                continue
            if at + views.values[part].size > views.values[other].size:
                fault(f"node '{node.name}': '{part}' at byte {at} is not within '{other}'")
            if part in node.outputs:
                views.view(part, other, at)
            else:
                joined.setdefault(other, []).append((part, at))
        for other, parts in joined.items():
            views.concatenation(other, parts)
    for part, other, at in views.slices():
        arena.view(numbers[part], numbers[other], at)


def plan(graph: Iterable[Sequence[Any] | Mapping[str, Any]] | Mapping[str, Any], sizes: Mapping[Any, int] | None = None,
         inputs: Iterable[Hashable] = (), outputs: Iterable[Hashable] = (), constants: Iterable[Hashable] = (),
         alignment: int = 1, capacity: int | None = None, timeout: float | None = 5, seed: int = 1, threads: int = 1,
         reorder: bool = False, views: bool = True) -> Arena:
    """Offsets for the values of a graph; returns a solved spad.arena.Arena.

    graph: nodes in the order in which they run, each (name, inputs, outputs), (name, inputs, outputs,
    in_place), (name, inputs, outputs, in_place, views) or a dict with these names; or a dict with nodes, sizes,
    inputs, outputs, constants. Values are any names. in_place: inputs whose bytes an output may take if they
    die there. views: (part, whole, byte) for an output that is bytes of an input (a reshape, a slice), and for
    an input that is bytes of an output (a concatenation); they are used where they are possible together, and
    views=False uses none. sizes: the bytes of every value that is not a constant. reorder: the nodes, given in
    any order, are put into the one with the fewest bytes alive at once; arena.reordered has order, peak, before,
    bound, verdict (spad.reorder)."""
    if isinstance(graph, dict):
        inputs, outputs = graph.get("inputs", inputs), graph.get("outputs", outputs)
        constants, sizes = graph.get("constants", constants), graph.get("sizes", sizes)
        graph = graph.get("nodes", ())
    nodes = [_Node(node, step) for step, node in enumerate(graph)]
    inputs, outputs = list(inputs), list(outputs)
    facts = None
    if reorder:
        nodes, facts = _reordered(nodes, sizes, inputs, outputs, constants, alignment, timeout)
    found = _Lives(nodes, inputs, outputs, constants)
    arena = Arena("graph", alignment, capacity=capacity, steps=[node.name for node in nodes])
    arena.reordered = facts
    numbers = {}
    for value, (first, last) in found.lives.items():
        if sizes is None or value not in sizes:
            fault(f"there is no size for '{value}'")
        numbers[value] = arena.add(value, first, last, sizes[value])
    kept = set(outputs)  # alive after the last node, so that it does not end where an output of that begins
    for node in nodes:
        for value in node.in_place:
            for output in node.outputs if value in numbers and value not in kept else ():
                arena.in_place(numbers[output], numbers[value])
    if views:
        _add_views(arena, nodes, numbers, {*inputs, *outputs})
    arena.solve(timeout, seed, threads)
    return arena
