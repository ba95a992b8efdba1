# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton: what its compiler decided about memory on chip, checked and shown.

    import spad.triton as st
    k = st.load(matmul, {"a": "*fp16:16", "K": "i32:16", "BK": "constexpr"}, {"BK": 64},
                target="H100", num_stages=4, num_warps=8, sizes={"K": 4096})
    k.check(); k.sim(); k.report().save("a.html"); print(st.compare(k3, k4))

load() also takes a kernel that Triton has compiled, TTGIR as text, and the path of a .ttgir file; only
the first needs Triton, and nothing needs a GPU. docs/triton.md has versions and limits.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
import tempfile
from typing import TYPE_CHECKING

from .. import _spad
from .._program import lines
from .._program.command import beside, timed
from .. import core
from ..kernel import Kernel
from . import _function
from . import _grid
from . import _membar
from . import _scratch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self, TypedDict
    from .._spad import Layout, Sim, Target
    from ..core import Report

    class _Info(TypedDict):
        shared_bytes: int
        tensor_columns: int
        warps: int
        placed: bool
        barriers: bool
        unrolled: bool
        reason: str
        assumed: str
        blocks: int
        scratch: str
        approximated: str
        skipped: str
        together: bool


class Unplaced(Exception):
    """Triton's passes that give addresses could not be run; the message says why."""


def capability(target: str | int) -> int:
    """80 of "A100", "sm_80", "cuda:80" or 80."""
    word = str(target).strip().lower()
    number = re.fullmatch(r"(?:sm_?|cuda:)?(\d+)a?", word)
    try:
        name = _spad.Target(f"sm_{number[1]}" if number else word).name
    except _spad.Error:
        name = ""
    if not name.startswith("sm_"):  # what ptxas says of an unknown chip names none
        names = [known for known in _spad.target_names() if known.startswith("sm_")]
        raise ValueError(f"unknown chip '{target}'; known chips: {', '.join(names)}, or a product such as H100")
    return int(name[3:])


def _triton():
    try:
        return importlib.import_module("triton")
    except ImportError as error:
        raise ImportError("compiling a kernel needs the package triton: pip install triton. TTGIR that was "
                          "printed elsewhere needs nothing: load(text)") from error


def _source(function):
    """The class that compiles it: functions of Gluon have one of their own."""
    if getattr(function, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource
        return GluonASTSource
    from triton.compiler import ASTSource
    return ASTSource


def compile(function: Any, signature: Mapping[str, str], constexprs: Mapping[str, Any] | None = None,
            target: str | int = "H100", **options: Any) -> str:
    """TTGIR of a @triton.jit or @gluon.jit function, by the Triton that is installed. A type is 'i32', 'fp32',
    '*fp16', 'tensordesc<fp16[128, 64]>'; with ':16' it is a multiple of 16. A descriptor of Gluon is
    ("fp16", [128, 64], layout). config: which configuration of @triton.autotune, from 0 on. Other options are those
    of Triton. Nothing is cached."""
    return _compiled(function, signature, constexprs, target, options).asm["ttgir"]


def _compiled(function, signature, constexprs, target, options):
    triton = _triton()
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDAOptions

    wrapped = _function.Unwrapped(function)
    tuned, chosen = wrapped.config(options.pop("config", None))
    chosen |= {name: value for name, value in options.items() if value is not None}
    _function.check_options(chosen, CUDAOptions.__dataclass_fields__)
    types, constants, attributes = _function.signature(wrapped, signature, {**tuned, **dict(constexprs or {})})
    source = _source(wrapped.function)(wrapped.function, types, constexprs=constants, attrs=attributes)
    chip = capability(target)
    try:
        return triton.compile(source, target=GPUTarget("cuda", chip, 32), options=chosen)
    except Exception as error:  # Python shows the notes of an error below its text
        name = getattr(wrapped.function, "__name__", "the kernel")
        error.__notes__ = [*getattr(error, "__notes__", []), f"Triton {triton.__version__} failed to compile '{name}' for sm_{chip}"]
        raise


def _add(passes, name, manager, *arguments):
    """Adds a pass where this Triton has it, with as many arguments as it takes."""
    function = getattr(passes, name, None)
    if function is None:
        return False
    for count in range(len(arguments), -1, -1):
        try:
            function(manager, *arguments[:count])
            return True
        except TypeError:
            continue
    raise Unplaced(f"this Triton's {name} takes other arguments")


def _need(passes, name, manager, *arguments):
    """Adds a pass that there is no answer without."""
    if not _add(passes, name, manager, *arguments):
        raise Unplaced(f"this Triton has no pass '{name}'")


class _Passes:
    """Triton's own passes for addresses, on copies of a text for one chip."""

    def __init__(self, target):
        try:
            _triton()
            from triton._C.libtriton import ir, nvidia, passes
            from triton.backends.compiler import GPUTarget
            from triton.backends.nvidia.compiler import CUDABackend
        except ImportError as error:
            raise Unplaced(str(error)) from error
        self.ir, self.nvidia, self.passes = ir, nvidia, passes
        self.chip = capability(target)
        self.backend = CUDABackend(GPUTarget("cuda", self.chip, 32))

    def _module(self, text):
        context = self.ir.context()
        self.ir.load_dialects(context)
        self.backend.load_dialects(context)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernel.ttgir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            module = self.ir.parse_mlir_module(path, context)
        module.context = context
        return module

    def _add_addresses(self, manager):
        _add(self.passes.ttgpuir, "add_combine_tensor_select_and_if", manager)
        _add(self.passes.ttgpuir, "add_allocate_warp_groups", manager, False)
        _need(self.nvidia.passes.ttgpuir, "add_allocate_shared_memory_nv", manager, self.chip, 86)

    def _add_barriers(self, manager):
        _add(self.nvidia.passes.ttnvgpuir, "add_allocate_tensor_memory", manager)
        _add(self.nvidia.passes.ttnvgpuir, "add_proxy_fence_insertion", manager, self.chip)
        _add(self.nvidia.passes.ttnvgpuir, "add_tmem_barrier_insertion", manager)
        return _add(self.nvidia.passes.ttgpuir, "add_membar", manager, self.chip, 86)

    def _add_conversion(self, manager):
        _need(self.passes.convert, "add_scf_to_cf", manager)
        _add(self.passes.ttgpuir, "add_allocate_global_scratch_memory", manager)
        _need(self.nvidia.passes.ttgpuir, "add_to_llvmir", manager, self.chip, 86)

    def _after(self, text, add, what, located=False):
        """The text after passes, and what add(manager) gave. located: the location of each operation is its line."""
        try:
            module = self._module(text)
            if located:
                with tempfile.TemporaryDirectory() as folder:
                    module.create_location_snapshot(os.path.join(folder, "kernel.ttgir"))
            manager = self.ir.pass_manager(module.context)
            added = add(manager)
            try:
                manager.run(module, "spad")
            except TypeError:
                manager.run(module)
        except (AttributeError, RuntimeError, TypeError) as error:
            raise Unplaced(f"Triton's {what} failed: {error}") from error
        return module.str() if hasattr(module, "str") else str(module), added

    def run(self, text, barriers=True):
        """The text after the passes; those for shared memory only without barriers."""
        def add(manager):
            self._add_addresses(manager)
            return barriers and self._add_barriers(manager)

        text, complete = self._after(text, add, "passes for addresses")
        return _marked(text) if complete else text

    def convert(self, text):
        """What the conversion to LLVM makes of a text that these passes gave addresses, with its lines as locations."""
        return self._after(text, self._add_conversion, "conversion to LLVM", located=True)[0]


def _marked(text):
    """Says that all barriers are there, also where there was nothing to add: then it is checked that none is missing."""
    return text.replace("module attributes {", "module attributes {spad.barriers, ", 1)


def place(ttgir: str, target: str | int) -> str:
    """The same TTGIR after Triton's own passes for addresses, fences and barriers, run on a copy.
    Unplaced where they cannot be run."""
    passes = _Passes(target)
    text = _scratch.sized(passes.run(ttgir), lambda text: passes.run(text, barriers=False))
    if "spad.barriers" in text:
        return text
    try:  # of a Triton that has no pass for barriers alone
        return _marked(_spad.Kernel.ttgir_barriers(text, _membar.meetings(passes.convert(text))))
    except (Unplaced, _membar.Unclear, _spad.ArgumentError):
        return text


def _compiler_of(kernel):
    """"Triton 3.6.0" for a compiled kernel of a @triton.jit function; None for Gluon, whose users write copies and fences
    themselves, and where that is not known."""
    if type(getattr(kernel, "src", None)).__name__ != "ASTSource":
        return None
    version = getattr(sys.modules.get("triton"), "__version__", "").partition("+")[0]
    return f"Triton {version}".rstrip()


def _named(text, compiler):
    """The text with the compiler that made it, whose known faults are then reported as its own."""
    if compiler is None or "spad.compiler" in text:
        return text
    return text.replace("module attributes {", f'module attributes {{spad.compiler = "{compiler}", ', 1)


class TritonKernel(Kernel):
    """A Kernel with what Triton decided: ttgir, info, registers of a thread where it was compiled here (else
    None), and bytes as {"triton": ..., "spad": ...}. options: stages, warps, target and constants that it was compiled with,
    {} where that is not known."""

    ttgir: str
    info: _Info
    unplaced: str | None
    sizes: dict[str, int]
    registers: int | None
    options: dict[str, Any]

    @classmethod
    def read(cls, text: str, file: str = "<ttgir>", sizes: Mapping[str, int] | None = None,
             target: Target | str | None = None) -> Self:
        """A kernel from TTGIR."""
        try:
            made, info = _spad.Kernel.read_ttgir(text, file, sizes, None, target)
        except _spad.TextError as error:
            source = _spad.Kernel.ttgir_source(text, error.line) if error.line else None
            if source is not None:  # the text is one that the user may never have seen
                error.args = (f"{error.args[0]} (at {os.path.basename(source[0])}:{source[1]})",)
            raise
        lines.read(made, file)
        kernel = cls._of(made)
        kernel.ttgir, kernel.info, kernel.unplaced = text, info, None
        kernel.sizes, kernel.registers, kernel.options = dict(sizes or {}), None, {}
        return kernel

    def sim(self, layout: Layout | bool | None = None, grid: int | tuple[int, ...] = 0, registers: int | None = None,
            reused: Mapping[str, int | tuple[int, int]] | None = None,
            cached: Mapping[str, tuple[int, int]] | None = None, target: Target | None = None, **options: Any) -> Sim:
        """spad.sim of this kernel. With a grid, the time of all its blocks: registers of a thread are those of the
        machine code, unless given; reused {"a_ptr": 16} or {"a_ptr": (16, 8)} says how many blocks use the same tile
        at about the same time, and how many of them are neighbours, {"b_ptr": 1} that none do: what is not given is
        found out from the arithmetic of the pointers. cached {"a_ptr": (1, 2)}: the last of two tiles is in the cache.
        target: another chip, as spad.Target.load("h200.chip")."""
        if not grid:
            return super().sim(layout, **options)
        if self.info["together"]:
            raise _spad.ArgumentError(f"'{self.name}': the time of a grid is not known for clusters whose blocks share memory")
        chip = target if target is not None else self.target
        blocks = grid if isinstance(grid, int) else math.prod(grid)
        if "tt.get_num_programs" in self.ttgir and "num_programs" not in self.sizes:
            programs = {"num_programs": grid if isinstance(grid, int) else grid[0]}  # a loop over rows depends on it
            launched = TritonKernel.read(self.ttgir, self.file, {**self.sizes, **programs})
            launched.registers = self.registers
            return launched.sim(layout, grid, registers, reused, cached, target, **options)
        units = chip.data.get("units") or 1
        tiles = _spad.Kernel.ttgir_tiles(self.ttgir, min(blocks, units), self.sizes)
        shares = {tile["name"]: (tile["reused"], tile["near"]) for tile in tiles}
        moves = {tile["name"]: tile["step"] for tile in tiles}
        for name, value in dict(reused or {}).items():
            shares[name] = (value, 1) if isinstance(value, int) else tuple(value)
        made = _grid.text_of(self, self.info["warps"], registers or self.registers, shares, dict(cached or {}), moves)
        kernel = Kernel.parse(made, "<kernel of a grid>", target=chip)
        return core.sim(kernel, True, grid=blocks, **options)  # the bytes of a block are those of its places

    def _free(self):
        """The same kernel without Triton's addresses."""
        free = self.ttgir.replace("allocation.offset", "spad.offset").replace("ttg.shared =", "spad.shared =")
        made = TritonKernel.read(free, self.file, self.sizes)
        made.options = self.options
        return made

    def plan(self) -> TritonKernel | None:
        """The same kernel with places that spad chooses, which are proved for it: those of its layout(). None where no
        such places were found."""
        free = self._free()
        layout = free.layout()
        return free if layout.fits and free.check(layout).verdict.startswith("proved") else None

    def report(self, timed: bool = True) -> Report:
        """As of a Kernel; the title also has the number of stages, where it is known."""
        shown = {**self.params, "stages": self.options.get("stages")}
        facts = ", ".join(f"{name} = {value}" for name, value in shown.items() if value is not None)
        return core.analyse(self, () if timed else ("sim",)).report(f"{self.name} ({facts})" if self.options else None)

    @property
    def bytes(self) -> dict[str, int | None]:
        """Bytes of shared memory: Triton's own (None without its passes) and those of our layout."""
        layout = self._free().layout()
        ours = max((row["height"] for row in layout.spaces if row["space"] == "shared"), default=0)
        theirs = self.info["shared_bytes"]
        return {"triton": theirs if theirs >= 0 else None, "spad": ours}


def load(kernel: Any, signature: Mapping[str, str] | None = None, constexprs: Mapping[str, Any] | None = None,
         target: str | int | None = None, num_stages: int | None = None, num_warps: int | None = None,
         sizes: Mapping[str, int] | None = None, placed: bool = True, **options: Any) -> TritonKernel:
    """A TritonKernel of a @triton.jit function with its signature, of a compiled kernel, of TTGIR or of
    the path of a .ttgir file. sizes: values of integer arguments, for what cannot stay symbolic, and of variables
    that the kernel loads. config: which configuration of @triton.autotune.
    placed: with the addresses, fences and barriers of Triton's own passes where they can be run;
    k.unplaced says why not."""
    file, text = "<ttgir>", None
    target = "H100" if target is None else target
    if hasattr(kernel, "asm"):
        text = kernel.asm["ttgir"]
    elif isinstance(kernel, os.PathLike) or (isinstance(kernel, str) and "\n" not in kernel):
        if not os.fspath(kernel):
            raise ValueError("'' is no TTGIR, and no path of a file")
        text, file = core._read(kernel, core._TEXT_MIB)
    elif isinstance(kernel, str):
        text = kernel
    elif not callable(kernel) and not hasattr(kernel, "fn"):
        raise TypeError(f"{kernel!r:.60} is no function of Triton, no compiled kernel, and no TTGIR as a text or a path")
    elif signature is None:
        raise TypeError("a function needs its signature: load(function, {'a': '*fp16', 'K': 'i32'}, {'BK': 64})")
    else:
        kernel = _compiled(kernel, signature, constexprs, target,
                           {"num_stages": num_stages, "num_warps": num_warps, **options})
        text = kernel.asm["ttgir"]
    why = None
    if placed and "allocation.offset" not in text:
        chip = re.search(r'ttg\.target = "cuda:(\d+)"', text)
        try:
            text = place(text, int(chip[1]) if chip else target)
        except Unplaced as error:
            why = str(error)
    made = TritonKernel.read(_named(text, _compiler_of(kernel)), file, sizes)
    made.unplaced = why
    made.options = _options(kernel, {**({"config": options["config"]} if options.get("config") is not None else {}), **dict(constexprs or {})})
    if isinstance(getattr(kernel, "asm", None), dict):
        made.registers = _grid.registers_of(kernel.asm.get("cubin", b""))
    return made


def _options(compiled, constants):
    """What a kernel was compiled with; {} for a text."""
    metadata = getattr(compiled, "metadata", None)
    names = {"stages": "num_stages", "warps": "num_warps", "target": "target"}
    found = {name: getattr(metadata, field) for name, field in names.items() if hasattr(metadata, field)}
    if "target" in found:
        found["target"] = f"sm_{getattr(found['target'], 'arch', found['target'])}"
    return {**found, **constants} if found else {}


def _labels(kernels):
    """What differs in how they were compiled, or their numbers and names where that does not tell them apart."""
    keys = dict.fromkeys(key for kernel in kernels for key in kernel.options)
    differ = [key for key in keys if len({str(kernel.options.get(key)) for kernel in kernels}) > 1]
    labels = [", ".join(f"{key} = {kernel.options.get(key)}" for key in differ) for kernel in kernels]
    if len({kernel.name for kernel in kernels}) == 1 and len(set(labels)) == len(labels) > 1:
        return labels
    return [f"{number}: {kernel.name}" for number, kernel in enumerate(kernels)]


def compare(*kernels: TritonKernel) -> str:
    """A table: verdict, bytes of Triton and ours, and simulated time of each kernel. Kernels of one function are named
    by what differs: stages = 3."""
    for kernel in kernels:
        if not isinstance(kernel, TritonKernel):
            raise TypeError(f"compare takes what load gave, one after another: compare(k3, k4), not {kernel!r:.60}")
    rows = []
    for label, kernel in zip(_labels(kernels), kernels):
        rows.append((label, kernel.check().verdict, kernel.bytes["triton"], kernel.bytes["spad"], timed(kernel)))
    return beside(rows, "triton")
