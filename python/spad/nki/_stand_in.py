# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the modules nki, nki.language, nki.isa and what is around them.

Functions and classes are made once. Each installed() block has modules of its own with them, which are in sys.modules
for as long as the block lasts. Their instructions and tensors go to the Recorder of the trace that runs.

A kernel may assign to an attribute of a module. That must not reach other kernels: a trace imports new modules, and
unchanged_modules() undoes what it has assigned in those that the kernel imported before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING

from .. import _spad
from ._chip import chip, chosen_target
from ._composites import Composites
from ._constants import constant_of, numbers_of
from ._isa import INSTRUCTIONS
from ._record import Instruction, TraceError, current, recording, _views
from ._views import DynamicSlice, Register, View

if TYPE_CHECKING:
    from collections.abc import Iterator

# ---- nki.language --------------------------------------------------------------------------------

_DTYPES = ("int8 int16 int32 uint8 uint16 uint32 float16 float32 bfloat16 tfloat32 float8_e4m3 "
           "float8_e4m3fn float8_e5m2 float8_e5m2_x4 float8_e4m3fn_x4 float8_e8m0fnu "
           "float4_e2m1fn_x4").split()
_UNARY = ("abs square invert logical_not exp log sqrt rsqrt tanh sigmoid relu gelu gelu_apprx_sigmoid "
          "gelu_apprx_tanh gelu_dx gelu_apprx_sigmoid_dx silu silu_dx softplus mish erf erf_dx reciprocal "
          "copy sin cos tan arctan ceil floor trunc negative sign prelu").split()
_ON_VECTOR = frozenset("abs invert logical_not reciprocal copy ceil floor trunc negative".split())
_BINARY = ("add subtract multiply divide maximum minimum abs_max abs_min power equal not_equal less "
           "less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift "
           "logical_and logical_or logical_xor fmod mod average bypass").split()
_REDUCTIONS = "sum max min mean prod all".split()


class MemoryRegion(enum.Enum):
    """Memories of nki.language."""

    sbuf, psum, hbm, private_hbm, shared_hbm = "sbuf", "psum", "hbm", "private_hbm", "shared_hbm"

    def __init__(self, value):
        self.space = value if value in ("sbuf", "psum") else "hbm"

    __hash__ = object.__hash__  # members are compared by what they are; that of Enum is a call of Python


class _ObjectKind(type):
    """Classes of kernels that are also a @dataclass: a field without an annotation can be given by name
    all the same, and a field that is not given and has no default is absent."""

    def __call__(cls, *args, **kwargs):
        fields = cls.__dict__.get("__dataclass_fields__")
        if fields is None or cls.__init__.__code__.co_filename != "<string>":  # an __init__ of its own
            return super().__call__(*args, **kwargs)
        late = {name: kwargs.pop(name) for name in list(kwargs)
                if name not in fields and hasattr(cls, name)}
        absent = [name for name, field in list(fields.items())[len(args):] if field.init
                  and name not in kwargs and field.default is field.default_factory is dataclasses.MISSING]
        made = super().__call__(*args, **kwargs, **dict.fromkeys(absent))
        for name in absent:
            object.__delattr__(made, name)
        for name, value in late.items():
            object.__setattr__(made, name, value)
        return made


class NKIObject(metaclass=_ObjectKind):
    """Base of the classes of kernels: fields are the annotations of the class, given by name or in
    order."""

    def __init__(self, *args, **kwargs):
        fields = [name for kind in reversed(type(self).__mro__)
                  for name in kind.__dict__.get("__annotations__", {})]
        if len(args) > len(fields):
            raise TypeError(f"{type(self).__name__} has {len(fields)} fields, not {len(args)}")
        for name, value in zip(fields, args):
            setattr(self, name, value)
        for name, value in kwargs.items():
            setattr(self, name, value)


class _TensorKind(type):
    def __call__(cls, shape, dtype, buffer=MemoryRegion.sbuf, name="", address=None):
        recorder = recording()
        return (current("nki.language.ndarray") if recorder is None else recorder).tensor(shape, dtype, buffer, name,
                                                                                         address)

    def __instancecheck__(cls, made):
        return isinstance(made, View)


class ndarray(metaclass=_TensorKind):
    """nl.ndarray(shape, dtype, buffer, name, address): a new tensor. Also the type in annotations."""


def _chip():
    """The chip of the trace; while modules are imported, the one of spad.nki.set_target(), or trn2."""
    recorder = recording()
    return recorder.chip if recorder is not None else chip(chosen_target() or "trn2")


class TileSize:
    """nl.tile_size of the chip of the trace. A kernel cannot change it."""

    __slots__ = ()
    pmax = 128
    psum_fmax = psum_bank_fmax = bn_stats_fmax = gemm_moving_fmax = 512
    psum_bank_fmax_bytes = 2048
    gemm_stationary_fmax = 128
    psum_min_align = 4
    sbuf_min_align = 1
    psum_num_banks = 8

    @property
    def total_available_sbuf_size(self):
        return _chip().usable("sbuf")

    sbuf_fmax_bytes = total_available_sbuf_size
    sbuf_fmax = property(lambda self: self.total_available_sbuf_size // 4)
    sbuf_size_bytes = property(lambda self: 128 * _chip().spaces["sbuf"]["bytes"])


def _loop(start, stop=None, step=1):
    if isinstance(start, Register) or isinstance(stop, Register):
        return _dynamic_range(start, stop, step)
    return range(start, stop, step) if stop is not None else range(start)


def _dynamic_range(start, stop=None, step=1):
    """The body once, with an index that is known on the device only; where numbers are computed, as often as they
    say."""
    if not any(isinstance(end, Register) for end in (start, stop)):
        yield from range(start, stop, step) if stop is not None else range(0, start, step)
        return
    recorder, what = current("nki.language.dynamic_range"), "the index of a dynamic loop"
    if recorder.values is None:
        recorder.note("a loop whose count is known on the device only: its body is recorded once")
        yield Register(what)
        return
    ends = [recorder.values.register(end) for end in ((0, start) if stop is None else (start, stop))]
    recorder.note("a loop whose count is known on the device only: recorded as often as these numbers say")
    for index in range(*ends, step):
        yield Register(what, index)


def _fori_loop(lower, upper, body_fun, step=1):
    for index in _dynamic_range(lower, upper, step):
        body_fun(index)


def _while_loop(init, body_fun):
    recorder = current("nki.language.while_loop")
    recorder.no_values("nki.language.while_loop")
    recorder.note("a loop whose count is known on the device only: its body is recorded once")
    body_fun(init)


def _result(recorder, shape, dtype, buffer=MemoryRegion.sbuf, name=""):
    return recorder.tensor(shape, dtype, buffer, name)


def _operands(name, args):
    views = [arg for arg in args if isinstance(arg, View)]
    if not views:
        raise TypeError(f"nki.language.{name}: none of the arguments is a tensor")
    return views


def _pointwise(name, count):
    def function(*args, dtype=None):
        recorder = current(f"nki.language.{name}")
        if len(args) != count:
            raise TypeError(f"nki.language.{name} takes {count} arguments, not {len(args)}")
        views = _operands(name, args)
        ndim = max(view.ndim for view in views)
        shape = tuple(max(view.shape[dim] if dim < view.ndim else 1 for view in views)
                      for dim in range(ndim))
        out = _result(recorder, shape, dtype or views[0].dtype)
        engine = "scalar" if count == 1 and name not in _ON_VECTOR else "vector"
        recorder.operation(engine, name, views, [out])
        if recorder.values is not None:
            recorder.values.elementwise(name, out, args)
        return out

    function.__name__ = function.__qualname__ = name
    return function


def _reduction(name):
    def function(x, axis, dtype=None, keepdims=False):
        recorder = current(f"nki.language.{name}")
        _operands(name, [x])
        axes = {dim % x.ndim for dim in (axis if isinstance(axis, (tuple, list)) else (axis,))}
        if 0 in axes:
            raise ValueError(f"nki.language.{name} along the partitions is not modelled")
        shape = [1 if dim in axes else count for dim, count in enumerate(x.shape)]
        kept = shape if keepdims or len(shape) - len(axes) < 2 else \
            [count for dim, count in enumerate(shape) if dim not in axes]
        out = _result(recorder, kept, dtype or x.dtype)
        recorder.operation("vector", f"reduce_{name}", [x], [out])
        if recorder.values is not None:
            recorder.values.reduce(name, out, x, axes)
        return out

    function.__name__ = function.__qualname__ = name
    return function


def _load(src, dtype=None):
    recorder = current("nki.language.load")
    out = _result(recorder, src.shape if src.ndim > 1 else (1, *src.shape), dtype or src.dtype)
    _moved(recorder, "load", out, src)
    return out


def _moved(recorder, name, dst, src):
    """A copy by DMA."""
    recorder.operation("dma", name, [src], [dst], cost="moved")
    if recorder.values is not None:
        recorder.values.put(dst, recorder.values.get(src).reshape(dst.shape))


def _store(dst, value):
    recorder = current("nki.language.store")
    if dst.size != value.size:
        raise ValueError(f"nki.language.store: dst {dst.shape} and value {value.shape} have different "
                         f"numbers of elements")
    _moved(recorder, "store", dst, value)


def _full(shape, fill_value, dtype, buffer=MemoryRegion.sbuf, name=""):
    recorder = current("nki.language.full")
    out = _result(recorder, shape, dtype, buffer, name)
    recorder.operation("dma" if out.storage.space == "hbm" else "vector", "memset", [], [out])
    if recorder.values is not None:
        recorder.values.fill(out, fill_value)
    return out


def _zeros(shape, dtype, buffer=MemoryRegion.sbuf, name=""):
    return _full(shape, 0, dtype, buffer, name)


def _ones(shape, dtype, buffer=MemoryRegion.sbuf, name=""):
    return _full(shape, 1, dtype, buffer, name)


def _empty_like(x, dtype=None, buffer=None, name=""):
    return _result(current("nki.language.empty_like"), x.shape, dtype or x.dtype, buffer or x.buffer, name)


def _zeros_like(x, dtype=None, buffer=None, name=""):
    return _full(x.shape, 0, dtype or x.dtype, buffer or x.buffer, name)


def _shared_constant(constant, dtype=None):
    recorder = current("nki.language.shared_constant")
    shape, kind = constant_of(constant, dtype)
    made = recorder.tensor(shape, str(kind), MemoryRegion.shared_hbm, "constant", is_input=True)
    if recorder.values is not None:
        recorder.values.put(made, numbers_of(constant))
    return made


def _identity(n, dtype="uint8", dst=None):
    recorder = current("nki.language.shared_identity_matrix")
    key = (n, str(dtype))
    if key not in recorder.constants:
        recorder.constants[key] = recorder.tensor((n, n), dtype, MemoryRegion.shared_hbm, "identity",
                                                  is_input=True)
        if recorder.values is not None:
            recorder.values.identity(recorder.constants[key])
    made = dst if dst is not None else _result(recorder, (n, n), dtype, name="identity_sb")
    _moved(recorder, "load", made, recorder.constants[key])
    return made


def _program_id(axis=0):
    return current("nki.language.program_id").programs.program_id(axis)


def _num_programs(axes=0):
    return current("nki.language.num_programs").programs.num_programs(axes)


def _program_ndim():
    grid = current("nki.language.program_ndim").programs.grid
    return 0 if grid == (1,) else len(grid)


def _device_print(print_prefix, tensor):
    current("nki.language.device_print").note("device_print is not modelled")


def _language():
    made = _module("nki.language")
    for name in _DTYPES:
        setattr(made, name, name)
    made.bool_ = made.bool = "bool"
    made.DType = made.dtype = str
    for region in MemoryRegion:
        setattr(made, region.name, region)
    for name in _UNARY:
        setattr(made, name, _pointwise(name, 1))
    for name in _BINARY:
        setattr(made, name, _pointwise(name, 2))
    for name in _REDUCTIONS:
        setattr(made, name, _reduction(name))
    made.where = _pointwise("where", 3)
    made.broadcast_to = lambda x, shape, dtype=None: x.broadcast_to(shape)
    made.expand_dims = lambda x, axis: x.expand_dim(axis)
    for name, value in (("load", _load), ("store", _store), ("full", _full), ("zeros", _zeros),
                        ("ones", _ones), ("empty_like", _empty_like), ("zeros_like", _zeros_like),
                        ("shared_constant", _shared_constant), ("shared_identity_matrix", _identity),
                        ("program_id", _program_id), ("num_programs", _num_programs),
                        ("program_ndim", _program_ndim), ("device_print", _device_print),
                        ("ds", DynamicSlice), ("ndarray", ndarray), ("NkiTensor", ndarray),
                        ("tensor", ndarray), ("NKIObject", NKIObject), ("MemoryRegion", MemoryRegion),
                        ("tile_size", TileSize()), ("par_dim", lambda count: count),
                        ("fori_loop", _fori_loop), ("while_loop", _while_loop),
                        ("dynamic_range", _dynamic_range), ("no_reorder", contextlib.nullcontext)):
        setattr(made, name, value)
    for name in ("affine_range", "sequential_range", "static_range", "range"):
        setattr(made, name, _loop)
    for name, function in Composites(vars(made), MemoryRegion.sbuf, MemoryRegion.psum).functions().items():
        setattr(made, name, function)
    for name, spaces in (("is_hbm", ("hbm",)), ("is_sbuf", ("sbuf",)), ("is_psum", ("psum",)),
                         ("is_on_chip", ("sbuf", "psum"))):
        setattr(made, name, lambda buffer, spaces=spaces: buffer.space in spaces)
    return made


# ---- nki.isa --------------------------------------------------------------------------------------

_ENUMS = {
    "engine": {"unknown": 0, "tensor": 1, "scalar": 2, "gpsimd": 3, "dma": 4, "vector": 5, "sync": 6},
    "reduce_cmd": {"idle": 0, "reset": 1, "reduce": 2, "reset_reduce": 3, "load_reduce": 4},
    "dge_mode": {"unknown": 0, "swdge": 1, "hwdge": 2, "none": 3},
    "oob_mode": {"error": 0, "skip": 1},
    "matmul_perf_mode": {"none": "none", "double_row": "double_row"},
    "dma_engine": {"dma": 1, "gpsimd_dma": 2},
}


class nc_version(enum.IntEnum):
    """NeuronCore versions; they can be compared."""

    gen2, gen3, gen4 = 2, 3, 4


_GENERATIONS = {"trn1": nc_version.gen2, "inf2": nc_version.gen2, "trn2": nc_version.gen3,
                "trn3": nc_version.gen4}


def _get_nc_version():
    chip = _chip().name.removesuffix("_lnc2")
    if chip not in _GENERATIONS:
        raise ValueError(f"'{chip}' is no NeuronCore")
    return _GENERATIONS[chip]


def _instruction(name):
    what, row = f"nki.isa.{name}", INSTRUCTIONS[name]

    def function(*args, **kwargs):
        recorder = recording()
        return (current(what) if recorder is None else recorder).call(row, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__signature__ = INSTRUCTIONS[name].signature
    return function


def _register(x=None):
    """A register, with a number if numbers are computed."""
    recorder = recording()
    is_known = x is not None and recorder is not None and recorder.values is not None
    return Register(value=recorder.values.register(x) if is_known else None)


def _isa():
    made, constants = _module("nki.isa"), _module("nki.isa.constants")
    made.__path__ = []
    made.constants = constants
    for name, values in _ENUMS.items():
        kind = enum.Enum(name, values, module="nki.isa")
        setattr(made, name, kind)
        setattr(constants, name, kind)
    made.nc_version = constants.nc_version = nc_version
    for name in ("tensor", "vector", "scalar", "gpsimd", "unknown"):
        setattr(made, f"{name}_engine", made.engine[name])
    for name in INSTRUCTIONS:
        setattr(made, name, _instruction(name))
    made.VirtualRegister = Register
    made.register_alloc = _register
    made.get_nc_version = _get_nc_version
    made.get_nc_sub_version = lambda: 0
    made.NkiInstruction = Instruction
    made.NkiValidationError = type("NkiValidationError", (Exception,), {"__module__": "nki.isa"})
    return made, constants


# ---- nki and what is around it -------------------------------------------------------------------------

class Jit:
    """A kernel with @nki.jit. Inside a trace a call runs the function; outside there is no device."""

    def __init__(self, function, options):
        functools.update_wrapper(self, function)
        self.func, self.options = function, options

    def __getitem__(self, grid):
        return Jit(self.func, {**self.options, "grid": grid})

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        recorder = current(f"the kernel '{self.__name__}'")
        if "grid" in self.options:
            return recorder.programs.launch(self.options["grid"], lambda: self.func(*args, **kwargs))
        return self.func(*args, **kwargs)


def _jit(fn=None, **options):
    if fn is None:
        return lambda function: Jit(function, options)
    return fn if isinstance(fn, Jit) else Jit(fn, options)


class _Typed:
    """nki.typing names, which only annotate."""

    def __class_getitem__(cls, item):
        return cls


class _Absent:
    """A name of nki.collectives: it can be imported, and a call is refused."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *args, **kwargs):
        raise current(self._name).refuse(f"{self._name} is not modelled")


def _module(name):
    made = types.ModuleType(name, f"Stand-in of spad for {name}, for traces.")
    made.__spad_stand_in__ = True

    def missing(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        hint = _spad.close_names(attribute, [known for known in vars(made) if not known.startswith("_")])
        raise AttributeError(f"{name}.{attribute} is not known to spad.nki.trace{hint}", name=attribute,
                             obj=made)

    made.__getattr__ = missing
    return made


@functools.cache
def modules():
    """name: module of the stand-in."""
    nki, language = _module("nki"), _language()
    isa, constants = _isa()
    typing, collectives = _module("nki.typing"), _module("nki.collectives")
    nki.__path__ = []
    nki.jit = _jit
    nki.language, nki.isa, nki.typing, nki.collectives = language, isa, typing, collectives
    nki.dtype = str
    typing.tensor = typing.Tensor = typing.mutable_tensor = _Typed
    collectives.__getattr__ = _absent
    return {made.__name__: made for made in (nki, language, isa, constants, typing, collectives)}


@functools.cache
def _all_modules():
    """name: module of the stand-in, with the older package. Each is copied for those who import it."""
    from ._neuronxcc import package  # which needs this module
    made = modules()
    return {**made, **package(made["nki.typing"])}


def _absent(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Absent(f"nki.collectives.{name}")


_imported = weakref.WeakSet()  # the modules that kernels have
_lock = threading.Lock()       # of them, and of sys.modules


def _new_modules():
    """name: a module with the functions and classes of the stand-in."""
    known = _all_modules()
    copies = {id(module): types.ModuleType(module.__name__, module.__doc__) for module in known.values()}
    for module in known.values():
        vars(copies[id(module)]).update((name, copies.get(id(value), value)) for name, value in vars(module).items())
    with _lock:
        _imported.update(copies.values())
    return {name: copies[id(module)] for name, module in known.items()}


@contextlib.contextmanager
def unchanged_modules():
    """Undoes what the block assigns to attributes of the stand-in's modules."""
    with _lock:
        before = [(vars(module), dict(vars(module))) for module in _imported]
    try:
        yield
    finally:
        for names, kept in before:
            if names != kept:
                names.clear()
                names.update(kept)


def _loaded():
    return {name: module for name, module in list(sys.modules.items())
            if name.partition(".")[0] in ("nki", "neuronxcc")}


def _show(modules):
    """Puts these modules into sys.modules, and no others of nki."""
    for name in _loaded():
        del sys.modules[name]
    sys.modules.update(modules)


class _Blocks:
    """The installed() blocks that are open, in all threads; sys.modules has the modules of the newest one."""

    def __init__(self):
        self._open = []    # the modules of each block
        self._before = {}  # what was loaded before the first of them

    def enter(self, replace):
        made = _new_modules()
        with _lock:
            before = _loaded()
            if not replace and any(not getattr(module, "__spad_stand_in__", False) for module in before.values()):
                raise _spad.StateError("a real nki is loaded in this process; installed(replace=True) or "
                                       "trace(..., replace_nki=True) sets it aside for the time of the trace")
            if not self._open:
                self._before = before
            self._open.append(made)
            _show(made)
        return made

    def leave(self, made):
        with _lock:
            self._open = [modules for modules in self._open if modules is not made]
            _show(self._open[-1] if self._open else self._before)
            if not self._open:
                self._before = {}


_blocks = _Blocks()


@contextlib.contextmanager
def installed(replace: bool = False) -> Iterator[None]:
    """Makes `import nki` find new modules of the stand-in inside the block. What was in sys.modules before is there
    again afterwards, also after an error, and where blocks of several threads overlap, after the last one. A real nki
    that is loaded is refused unless replace is true."""
    made = _blocks.enter(replace)
    try:
        yield
    finally:
        _blocks.leave(made)


def set_item(view, key, value):
    """view[key] = value."""
    part = view[key]
    recorder = current("an assignment to a tensor")
    if recorder.older is not None:
        from ._older import assign  # which needs this module
        assign(part, value)
        return
    values = _views(value)
    if not values:
        raise TypeError(f"an assignment of {value!r} to a tensor: nki.isa.memset fills one")
    hbm = "hbm" in (part.storage.space, values[0].storage.space)
    recorder.operation("dma" if hbm else "vector", "assign", values, [part], cost="moved" if hbm else "sizes")
    if recorder.values is not None:
        recorder.values.put(part, recorder.values.get(values[0]).reshape(part.shape))


View.__setitem__ = set_item

__all__ = ["Jit", "MemoryRegion", "TraceError", "installed", "modules"]
