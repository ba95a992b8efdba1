# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: a kernel of the kernel language from what TileLang lowered, from its objects or from a recorded tree.

_tree makes the tree, _walk walks it warp by warp, _join joins stores, _write writes the text; _calls and
_tcgen05 have the intrinsics, _sets the bytes, _page the page.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from .. import _grid_cache
from .. import _spad
from .. import core
from .. import kernel as _kernel
from .._program.command import beside, timed
from . import _conditions
from . import _data
from . import _grid
from . import _jit
from . import _join
from . import _page
from . import _sizes
from . import _tree
from . import _write
from ._calls import Unsupported as Unsupported
from ._sets import Opaque
from ._walk import Walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any
    from .._spad import _Facts, Layout, Sim, Target
    from ..core import Check
    from ._page import Page

_MOVED_MOST = 8  # buffers of a kernel whose places are tried one by one


class LoadedKernel(_kernel.Kernel):
    """A kernel that TileLang lowered. Its tensors in shared memory are where TileLang put them; `plan()` gives the
    same kernel with places that spad chose. `approximations` lists what is coarser than the program, a dict each."""

    IDLE: str = _write.IDLE

    @property
    def approximations(self) -> list[_Facts]:
        """What is approximated: {"what", "why", "agents"}."""
        return [{"what": what, "why": why, "agents": sorted(set(agents))} for (what, why), agents in self._notes.items()]

    @property
    def tree(self) -> dict[str, Any]:
        """What TileLang lowered, as lists; json.dump gives a file that load() takes."""
        return self._lowered

    @property
    def tilelang_bytes(self) -> int:
        """Bytes of dynamic shared memory that TileLang asks for, and of static buffers one after another, without mbarriers."""
        static = 0
        for name, facts in self._tree["shared"].items():
            if self._tree["buffers"][name]["scope"] == "shared":
                static = -(-static // facts["align"]) * facts["align"] + facts["bytes"]
        return self._tree["dynamic_bytes"] + static

    def plan(self) -> LoadedKernel | None:
        """The same kernel with places that spad chooses, which are proved for it, or None where no such places were found. A
        long run has too many events for an order of its tensors, so fewer rounds and the blocks at the ends of the grid are
        planned too, and the lowest layout that the check proves for the whole kernel is taken."""
        free, best = self.release(), None
        for shape in self._shapes():
            try:
                layout = free.reshape(shape).layout()
            except _spad.Error:
                continue  # a shape that the kernel cannot have
            for places in self._choices(layout) if layout.fits else ():
                made = self._placed(places)
                size = _page.shared_bytes(made.layout())
                if (best is None or size < best[0]) and made.check().verdict.startswith("proved"):
                    best = (size, made)
        if best is None or best[0] > self.tilelang_bytes:
            best = self._moved() or best
        return best[1] if best else None

    def _moved(self):
        """TileLang's places with one buffer moved to the start of another: (bytes, kernel) of the lowest that is proved, or None.
        What the planner shares is proved for all of a kernel or not shared; where data decides, less sharing can be."""
        best, at = None, {name: facts["at"] for name, facts in self._tree["shared"].items()}
        if len(at) > _MOVED_MOST or None in at.values():
            return None
        shares = [name for name in at if any(name != other and at[name] == at[other] for other in at)]
        for name in shares:
            for place in sorted(set(at.values())):
                made = self._placed({**at, name: place})
                size = _page.shared_bytes(made.layout())
                if size <= self.tilelang_bytes and (best is None or size < best[0]) and made.check().verdict.startswith("proved"):
                    best = (size, made)
        return best

    def _choices(self, layout):
        """Places of buffers that a layout suggests. All blocks of a cluster have the same: those of each block in turn, and where it
        has none, those of others."""
        found, named = _page.places_of(layout), self._writer.walk.named
        for first in range(len(found)):
            order = [first, *[block for block in range(len(found)) if block != first]]
            made = {}
            for name in self._writer.places:
                held = [found[block][named(name, block)] for block in order if named(name, block) in found[block]]
                made[name] = held[0] if held else None
            yield made

    def check(self, layout: Layout | bool | None = False, **options: Any) -> Check:
        """spad.check of this kernel, by default with TileLang's places alone: those of its mbarriers and registers are not known, and ours
        could share bytes that TileLang keeps apart."""
        return super().check(layout, **options)

    def sim(self, layout: Layout | bool | None = None, grid: bool = False, registers: int | None = None,
            reused: Mapping[str, int | tuple[int, int]] | None = None,
            cached: Mapping[str, tuple[int, int]] | None = None, target: Target | None = None, **options: Any) -> Sim:
        """spad.sim of this kernel. With grid=True it knows what the blocks of the grid share: reused {"A": 16} or {"A": (16, 8)}
        says how many blocks use the same tile at about the same time, and how many of them are neighbours; what is not
        given is found out from the places that are copied. cached {"A": (1, 2)}: the last of two tiles is in the cache.
        registers of a thread, of the compiler: they limit how many blocks a unit has. target: another chip."""
        if not grid:
            return super().sim(layout, **options)
        if self._writer.walk.blocks > 1:
            raise Unsupported(f"'{self.name}': the time of a grid is not known for clusters whose blocks share memory")
        chip = target if target is not None else self.target
        units, room = chip.data.get("units") or 1, _grid_cache.room_of(chip)
        tensor = next((e for e in chip.data["engines"] if e["name"] == "tensor"), {})

        def text_of(wave):
            shares = _grid.shares(self._tree, units, self, wave, room)
            for name in {**(reused or {}), **(cached or {})}:
                if name not in shares:
                    raise _spad.ArgumentError(
                        f"'{name}' is no tensor that is copied from memory: {', '.join(sorted(shares)) or 'none'}")
            for name, value in dict(reused or {}).items():
                both = (value, 1) if isinstance(value, int) else tuple(value)
                shares[name] = (*both, shares.get(name, (1, 1, None))[2])
            for name, value in dict(cached or {}).items():
                shares[name] = (*shares.get(name, (1, 1, None))[:2], tuple(value))
            return _grid.text_of(self, self._tree, registers, shares, tensor.get("latency_cycles"), _grid.sources_of(self))

        def sim_of(made):
            return core.sim(_kernel.Kernel.parse(made, "<kernel of a grid>", target=chip), True, **options)

        return _grid_cache.simulated(text_of, sim_of, units)

    def _shapes(self):
        """Smaller parameters, and those of the kernel itself where no smaller ones say the same."""
        params = self.params
        few = {n: min(v, 6) for n, v in params.items() if n.endswith(("_more", "_laps")) or n[-1].isdigit()}
        once = {d.name: d.less + 1 for d in self._writer.walk.known.datums.values() if d.name in params}  # one round of loops that data counts
        shapes = [few, {**few, **once}] if once else [few]
        for number, axis in enumerate("xyz"):
            extent = self._tree["grid"][number]
            if f"block_{axis}" in params and isinstance(extent, int):
                shapes += [{**few, f"block_{axis}": 0}, {**few, f"block_{axis}": extent - 1}]
        return [s for n, s in enumerate(shapes) if s not in shapes[:n]] + ([{}] if len(shapes) > 1 and not few else [])

    def _placed(self, places):
        """This kernel with other places of its buffers."""
        kept, self._writer.places = self._writer.places, places
        try:
            made = LoadedKernel.parse(self._writer.text(), self.file)
        finally:
            self._writer.places = kept
        made._lowered, made._tree, made._notes, made._writer = self._lowered, self._tree, self._notes, self._writer
        return made

    def report(self, timed: bool = True) -> Page:  # type: ignore[override]
        """One page: what TileLang planned, what spad plans, and whether either is wrong."""
        return _page.Page(self)


def compare(*kernels: LoadedKernel, names: Mapping[LoadedKernel, str] | None = None) -> str:
    """A table: verdict, bytes of TileLang and ours, and simulated time of each kernel. names: {kernel: what to call it}."""
    rows = []
    for number, kernel in enumerate(kernels):
        planned = kernel.plan()
        rows.append(((names or {}).get(kernel, f"{number}: {kernel.name}"), kernel.check().verdict, kernel.tilelang_bytes,
                     _page.shared_bytes(planned.layout()) if planned else None, timed(kernel)))
    return beside(rows, "tilelang")


def load(function: Any, target: str | None = None, block: Mapping[str, int] | None = None, name: str | None = None,
         pass_configs: Mapping[str, Any] | None = None, arguments: Mapping[str, Any] | Sequence[Any] | None = None,
         sizes: Mapping[str, int] | None = None) -> LoadedKernel:
    """A spad kernel from a prim_func of TileLang, from a function of tilelang.jit, from a kernel that it compiled, or from
    a tree or a JSON file of one. target: sm_80, sm_90 or sm_100; without one that of a compiled kernel, or sm_90. block:
    the place in the grid, {"x": 0, "y": 0}; name: which device function, where there are several. arguments: those of a
    function, by name or in their order. sizes: dynamic sizes by name, {"k": 4096}; what holds for any number of rounds
    needs none."""
    if isinstance(function, (str, os.PathLike)):
        function = _read(function)
    if isinstance(function, dict):
        trees = [function]
    else:
        if isinstance(function, (int, float, list, tuple)) or function is None:
            raise TypeError(_tree.WHAT + f", not {function!r}")
        if hasattr(function, "record"):
            raise TypeError(_tree.WHAT + "; a prim_func of spad.tilelang is recorded: function.record(target)")
        trees = _tree.of_prim_func(function, _arch(_jit.arch_of(function) if target is None else target), pass_configs, arguments)
    found = [tree for tree in trees if name is None or tree.get("name") == name]
    if len(found) != 1:
        names = ", ".join(str(tree.get("name")) for tree in trees) or "none"
        raise _spad.ArgumentError(f"there is no device function '{name}', only {names}; pass its name" if name is not None else
                                  f"one device function is loaded at a time, and there are {len(trees)} ({names}); pass its name")
    if isinstance(block, (list, tuple)):
        block = dict(zip("xyz", block))
    return _of_tree(found[0], block, dict(sizes or {}))


def _arch(target):
    """The name that TileLang has for a chip: sm_90 of "H100"."""
    try:
        name = target.name if isinstance(target, core.Target) else core.Target(str(target)).name
    except _spad.Error:
        name = None
    if name is None or not name.startswith("sm_"):
        raise _spad.ArgumentError(f"'{target}' is no GPU that TileLang lowers for and spad knows: sm_80, sm_90, sm_100, or a name such as H100")
    return name


def _read(path):
    """The tree in a JSON file."""
    content, name = core._read_bytes(path, core._TEXT_MIB)
    try:
        return json.load(content)
    except (ValueError, RecursionError) as error:
        hint = "; a function of a program is loaded as an object, or by `spad tilelang`" if name.endswith(".py") else ""
        raise _spad.ArgumentError(f"'{name}' is no JSON: {error}{hint}") from None


def _of_tree(tree, block, sizes):
    _tree.validate(tree)
    if not all(isinstance(n, int) for n in tree["threads"]):
        raise Unsupported("a block whose number of threads is not a constant")
    assumed, known = {}, _data.Known()
    body = _tree.place(json.loads(json.dumps(tree["body"])), tree.get("places", ()))  # each statement is an object of its own
    body = _conditions.with_flags(_conditions.with_parities(_conditions.with_numbers(body, tree["threads"])))
    own = {**tree, "body": _conditions.with_returns(body)}
    while True:
        walk = Walk(_sizes.with_sizes(own, {**assumed, **sizes}), block, known)
        try:
            agents = _agents(walk)
        except _sizes.NeedsSize as needed:
            assumed.update((name, _sizes.ASSUMED) for name in needed.names)
            known = _data.Known()
            continue
        if not known.learn(walk):
            break
    for name, value in assumed.items():
        walk.notes[(f"the dynamic size '{name}'", f"it decides what waits for what: {value} is assumed, pass sizes={{'{name}': N}}")] = [
            agent[0] for agent in agents]
    joins = _join.Joins(walk.shared)
    agents = [(agent, joins.body(body), registers, threads) for agent, body, registers, threads in agents]
    writer = _write.Writer(walk, agents, walk.fresh(tree["name"]))
    made = LoadedKernel.parse(writer.text(), f"<{tree['name']}>")
    made._lowered, made._tree, made._notes, made._writer = tree, walk.tree, walk.notes, writer
    return made


def _agents(walk):
    """What the warps do; statements that TileLang does not make are an error."""
    name = walk.tree["name"]
    try:
        return walk.run()
    except Opaque as why:
        raise Unsupported(f"'{name}': {why}") from None
    except (_spad.Error, _sizes.NeedsSize):
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, NameError, TypeError, ValueError) as error:
        raise Unsupported(f"'{name}' has a statement that TileLang does not make: {error!r}") from error
