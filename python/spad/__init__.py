# SPDX-License-Identifier: Apache-2.0
"""spad decides, checks and shows where the buffers of accelerator kernels live on chip.

    import spad
    plan = spad.Plan(capacity=4096)
    plan.add_many(lower=[0, 2], upper=[3, 5], size=[1024, 2048])
    result = plan.solve()
    list(result.offsets), result.height, result.bound

Drop-ins for four Python interfaces: spad.nki, spad.tilelang, spad.ascend, spad.cubie. For compilers:
spad.plan, spad.executorch, spad.tflite, spad.tvm, spad.models.
``python -m spad`` is the command. docs/python.md has the tutorial.
"""

import sys

if "t" in sys.abiflags:  # a free-threaded Python: importing our module turns its GIL on
    from . import _free_threaded

    _free_threaded.check()

from ._spad import (
    ArgumentError,
    Error,
    FitError,
    InternalError,
    MachineError,
    StateError,
    TextError,
    TimeError,
    close_names,
    codes,
    dtype_bits,
    dtype_bytes,
    dtype_name,
    is_aligned,
    rects_overlap,
    reduce_identity,
    reduce_names,
    shape_bytes,
    spaces,
    tile_bytes,
    time_text,
    tmem_alignment,
    reorder,
    tmem_pack,
    torch_stats,
    value,
    version as __version__,
)
from .core import (
    Advice,
    Allocation,
    Allocator,
    Analysis,
    Block,
    Buffer,
    Check,
    Column,
    Component,
    Device,
    Direct,
    Fence,
    Finding,
    Frontier,
    Layout,
    Memory,
    Plan,
    PlanResult,
    Pool,
    Registry,
    Report,
    Sim,
    Stack,
    Target,
    Tensor,
    Tmem,
    Trace,
    Tune,
    Walk,
    Workspace,
    advise,
    analyse,
    check,
    check_text,
    copy,
    copy_part,
    copy_tile,
    diff,
    emit,
    frontier,
    layout,
    plan_csv,
    sim,
    targets,
    tune,
)
from ._devices import Log, Stream, devices, replay, torch_library
from ._sweep import sweep
from .graph import plan
from .kernel import Condition, Expr, Kernel

# What is imported above is public, for type checkers, too.
__all__ = [
    "__version__", "Advice", "Allocation", "Allocator", "Analysis", "ArgumentError", "Block", "Buffer",
    "Check", "Column", "Component", "Condition", "Device", "Direct", "Error", "Expr", "Fence",
    "Finding", "FitError", "Frontier", "InternalError", "Kernel", "Layout", "Log", "MachineError", "Memory",
    "Plan", "PlanResult", "Pool", "Registry", "Report", "Sim", "Stack", "StateError", "Stream",
    "Target", "Tensor", "TextError", "TimeError", "Tmem", "Trace", "Tune", "Walk", "Workspace",
    "advise", "analyse", "check", "check_text", "close_names", "codes", "copy", "copy_part", "copy_tile",
    "devices", "diff", "dtype_bits", "dtype_bytes", "dtype_name", "emit", "frontier", "is_aligned", "layout",
    "plan", "plan_csv", "rects_overlap", "reduce_identity", "reduce_names",
    "reorder", "replay", "shape_bytes", "sim", "spaces", "sweep", "targets", "tile_bytes", "time_text",
    "tmem_alignment",
    "tmem_pack", "torch_library", "torch_stats", "tune", "value",
]

_LAZY = ("nki", "tilelang", "cuda", "cute", "ascend", "cubie", "arena", "executorch", "models", "tflite", "tvm")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return import_module("." + name, __name__)
    raise AttributeError(f"module 'spad' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
