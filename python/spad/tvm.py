# SPDX-License-Identifier: Apache-2.0
"""Memory planning for TVM's Relax [0.27]: a pass in place of StaticPlanBlockMemory.

    import spad.tvm
    executable = tvm.compile(module, target, relax_pipeline=spad.tvm.pipeline())

TVM's own pass lets tensors share whole storages. This one runs it, because it knows which tensors can
be planned, and then gives all of them offsets in one storage for each device and scope. Kernels that
TVM compiles want tensors that begin where their storage does, so those that get others are compiled
for any offset. A function in which something else reads a planned tensor (a library, a builtin) stays
as TVM planned it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .arena import Arena, Model, fault, whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

ALIGNMENT = 64  # TVM's kAllocAlignment
SECONDS = 5
VIEWS = ("relax.reshape", "relax.memory.view")  # operators whose result is where their argument is
HEAD = re.compile(r"^def \w+\(.*?\)(?: -> [^\n]*)?:\n", re.M | re.S)
BUFFER = re.compile(r'(T\.Buffer\((?:\((?:[^()]|\([^()]*\))*\)|\w+), "[^"]+")')


def _movable(tvm, function):
    """The same kernel for buffers at any offset; None: it cannot be made."""
    text = function.script()
    head = HEAD.search(text)
    if head is None or "metadata" in text:
        return None
    changed = BUFFER.sub(r"\1, offset_factor=1", head[0])
    try:
        made = tvm.script.from_source(text[:head.start()] + changed + text[head.end():])
    except Exception:  # a text that TVM cannot read back
        return None
    fine = len(made.params) == len(function.params) and all(
        isinstance(p.ty.elem_offset, tvm.ir.Var) for p in made.params if hasattr(p.ty, "elem_offset"))
    return made.with_attrs(function.attrs) if fine and function.attrs else made if fine else None


class _Block:
    """One sequence of bindings: its storages, the tensors in them, and their lives."""

    def __init__(self, relax, kind, sequence, alignment):
        self.relax, self.kind, self.alignment = relax, kind, alignment
        self.storages, self.tensors, self.roots = {}, {}, {}
        self.kernels, self.others = set(), set()  # who reads or writes planned tensors
        step = 0
        for block in sequence.blocks:
            for binding in block.bindings:
                step += 1
                self._binding(binding, step)
        self._use(sequence.body, step + 1)

    def _op(self, value):
        if isinstance(value, self.relax.Call) and hasattr(value.op, "name"):
            return value.op.name
        return None

    def _binding(self, binding, step):
        value, var = binding.value, binding.var
        name = self._op(value)
        if name == "relax.memory.alloc_storage":
            self.storages[var] = value
            return
        if name == "relax.memory.alloc_tensor" and value.args[0] in self.storages:
            self.tensors[var] = [value, step, step, _bytes(self.relax, value)]
            self.roots[var] = {var}
            return
        found = self._use(value, step)
        if found:  # the result may be the tensor, or have it
            self.roots[var] = found
            self._user(value)

    def _user(self, value):
        """Who gets a planned tensor: kernels can take offsets, names and views only pass them on."""
        if isinstance(value, self.relax.Call) and isinstance(value.op, self.kind):
            self.kernels.add(value.op)
        elif isinstance(value, self.relax.Call) and self._op(value) not in VIEWS:
            self.others.add(str(getattr(value.op, "name", value.op)))
        elif not isinstance(value, (self.relax.Call, self.relax.Var)):
            self.others.add(type(value).__name__)

    def _use(self, expression, step):
        """The tensors that an expression reads live until this step."""
        found = set()
        for var in self.relax.analysis.free_vars(expression):
            found |= self.roots.get(var, set())
            if var in self.storages:
                self.others.add("a storage that a branch uses")
        for var in found:
            self.tensors[var][2] = step
        return found

    def groups(self):
        """Device and scope, with the storages and tensors of each."""
        found = {}
        for var, call in self.storages.items():
            key = tuple(str(argument) for argument in call.args[1:3])
            found.setdefault(key, []).append(var)
        return found

    def arena(self, name, storages):
        arena = Arena(name, self.alignment)
        members = []
        for var, (call, first, last, size) in self.tensors.items():
            if call.args[0] in storages:
                members.append(var)
                arena.add(var.name, first, last, size)
        arena.compare_with("TVM", sum(_storage_bytes(self.storages[s]) for s in storages))
        return arena, members


def _shape(relax, expression):
    extents = [getattr(extent, "value", None) for extent in expression.values]
    return [whole(extent, "an extent of a planned tensor") for extent in extents]


def _bytes(relax, call):
    bits = _dtype_bits(str(call.args[3].value))
    for extent in _shape(relax, call.args[2]):
        bits *= extent
    return -(-bits // 8)


def _dtype_bits(name):
    word, _, lanes = name.partition("x")
    digits = "".join(c for c in word.split("_")[0] if c.isdigit())
    if word.startswith("float8") or word.startswith("e4m3") or word.startswith("e5m2"):
        digits = "8"
    return (8 if word == "bool" else int(digits) if digits else fault(f"a tensor of type '{name}'")) * int(lanes or 1)


def _storage_bytes(call):
    return sum(whole(extent.value, "the size of a storage") for extent in call.args[0].values)


class _Rewrite:
    """The same sequence with one storage for each group."""

    def __init__(self, tvm, sequence, alignment, name, timeout):
        self.tvm, self.relax = tvm, tvm.relax
        self.sequence, self.block = sequence, _Block(tvm.relax, tvm.ir.GlobalVar, sequence, alignment)
        self.shown, self.arenas, self.first, self.places = [], [], {}, {}
        for number, (key, storages) in enumerate(self.block.groups().items()):
            arena, members = self.block.arena(f"{name} {number}" if number else name, set(storages))
            arena.solve(timeout)
            self.shown.append(arena)
            if not members or arena.height >= arena.their_bytes:
                continue  # theirs is as good
            self.arenas.append(arena)
            model = self.block.storages[storages[0]]
            fresh = self.relax.Var("arena", storages[0].ty)
            self.first[storages[0]] = fresh, self._storage(model, arena.height)
            for storage in storages[1:]:
                self.first[storage] = None
            for var, offset in zip(members, arena.offsets):
                self.places[var] = fresh, offset

    def _storage(self, call, size):
        args = [self.relax.ShapeExpr([size]), *call.args[1:]]
        return self.relax.Call(call.op, args, call.attrs)

    def result(self):
        builder = self.relax.BlockBuilder()
        blocks = []
        for block in self.sequence.blocks:
            bindings = [self._new(builder, binding) for binding in block.bindings]
            blocks.append(self.relax.BindingBlock([b for b in bindings if b is not None]))
        return self.relax.SeqExpr(blocks, self.sequence.body)

    def _new(self, builder, binding):
        relax = self.relax
        if binding.var in self.first:
            made = self.first[binding.var]
            return made and relax.VarBinding(made[0], builder.normalize(made[1]))
        if binding.var in self.places:
            storage, offset = self.places[binding.var]
            call = binding.value
            args = [storage, type(call.args[1])("int64", offset), *call.args[2:]]
            return relax.VarBinding(binding.var, builder.normalize(relax.Call(call.op, args, call.attrs)))
        return binding


class Planner:
    """Planner(timeout=5, alignment=64): replaces the storages of a Relax module. models has what was
    planned; text() shows it."""

    alignment: int
    models: list[Model]

    def __init__(self, timeout: float | None = SECONDS, alignment: int = ALIGNMENT) -> None:
        self.timeout, self.alignment, self.models = timeout, whole(alignment, "the alignment", 1), []

    def __call__(self, module: Any) -> Any:
        """The module with fewer bytes; it has been through StaticPlanBlockMemory."""
        import tvm

        arenas, notes = [], []
        for variable, function in list(module.functions.items()):
            if isinstance(function, tvm.relax.Function) and isinstance(function.body, tvm.relax.SeqExpr):
                work = _Rewrite(tvm, function.body, self.alignment, variable.name_hint, self.timeout)
                arenas += work.shown
                module = self._replace(tvm, module, variable, function, work, notes)
        self.models.append(Model("TVM", "module", arenas, notes))
        return module

    def _replace(self, tvm, module, variable, function, work, notes):
        """The module with the planned function, and kernels that take its offsets."""
        if not work.arenas:
            return module
        made = {}
        for kernel in work.block.kernels:
            found = module[kernel]
            made[kernel] = _movable(tvm, found) if isinstance(found, tvm.tirx.PrimFunc) else None
        stuck = sorted(work.block.others) + sorted(k.name_hint for k, f in made.items() if f is None)
        if stuck:
            notes.append(f"{variable.name_hint} stays as TVM planned it, because of {', '.join(stuck[:4])}")
            return module
        changed = tvm.IRModule(dict(module.functions.items()), attrs=module.attrs)
        for kernel, found in made.items():
            changed.update_func(kernel, found)
        changed.update_func(variable, tvm.relax.Function(function.params, work.result(), function.ret_ty,
                                                         function.is_pure, function.attrs))
        return changed

    def text(self) -> str:
        return "".join(model.text() for model in self.models)


def plan_memory(planner: Planner | None = None) -> Any:
    """A pass in place of relax.transform.StaticPlanBlockMemory."""
    import tvm

    planner = planner or Planner()

    @tvm.transform.module_pass(opt_level=0, name="spad.plan_memory")
    def run(module, context):
        return planner(tvm.relax.transform.StaticPlanBlockMemory()(module))

    return run


def pipeline(planner: Planner | None = None, passes: Sequence[Any] | None = None) -> Any:
    """A relax_pipeline for tvm.compile: TVM's own for building, with plan_memory. passes: others before
    memory is planned; the last of them has to leave call_tir rewritten."""
    import tvm
    from tvm.relax import backend, transform

    before = passes or [backend.DispatchSampling(), backend.DispatchSortScan(), transform.LegalizeOps(),
                        transform.RewriteDataflowReshape(), transform.ToNonDataflow(),
                        transform.RemovePurityChecking(), transform.CallTIRRewrite()]
    after = [transform.RewriteCUDAGraph(), transform.LowerAllocTensor(), transform.KillAfterLastUse(),
             transform.LowerRuntimeBuiltin(), transform.ComputePrimValue(), transform.VMShapeLower(),
             transform.AttachGlobalSymbol()]
    return tvm.transform.Sequential([*before, plan_memory(planner), *after])
