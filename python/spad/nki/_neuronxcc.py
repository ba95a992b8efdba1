# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the older package neuronxcc.nki: language, compiler, typing; isa is in _neuronxcc_isa.py.

Functions give results back (_older.Result) and take mask= and dtype=. Those that are several instructions are
recorded as these.
"""

import contextlib
import functools
import inspect

from . import _direct
from ._constants import constant_of, numbers_of
from ._index import Index, Mask, arange, mgrid
from ._neuronxcc_isa import isa
from ._older import Blocks, Box, Result, copy, fill, fitted, now, unwrapped
from ._older_results import (Dtype, _as, _dtype, _elementwise, _in_sbuf, _instruction_result, _matmul, _only_name,
                             _operand, _reduce, _refused, _turned, _unspecified, finfo)
from ._programs import Cores, SpmdDim
from ._record import recording
from ._stand_in import (_BINARY, _DTYPES, _ON_VECTOR, _REDUCTIONS, _UNARY, Jit, MemoryRegion, TileSize, _dynamic_range,
                        _jit, _loop, _module)
from ._views import DynamicSlice, View

# ---- operations -------------------------------------------------------------------------------------------


_NAMES = {1: ("x",), 2: ("x", "y"), 3: ("condition", "x", "y")}
_TESTS = frozenset("equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
                   "logical_not".split())


def _pointwise(name, count):
    what = f"nki.language.{name}"
    parameters = [inspect.Parameter(word, inspect.Parameter.POSITIONAL_OR_KEYWORD) for word in
                  (("src",) if name == "copy" else _NAMES[count])]
    signature = inspect.Signature(parameters)

    def function(*args, dtype=None, mask=None, **options):
        recorder, _ = now(what)
        own = {key: options.pop(key) for key in list(options) if key in signature.parameters}
        _only_name(what, options)
        try:
            given = signature.bind(*args, **own).args
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
        if given[0] is Ellipsis:
            return _unspecified(recorder, what, name)
        operands = [_operand(what, part) for part in given]
        engine = "scalar" if count == 1 and name not in _ON_VECTOR else "vector"
        made = _dtype(dtype) or ("uint8" if name in _TESTS else None)
        return _elementwise(recorder, what, name, operands, made, mask, engine)

    function.__name__ = function.__qualname__ = name
    return function


def _reduction(name):
    what = f"nki.language.{name}"

    def function(x, axis, *, dtype=None, mask=None, keepdims=False, **options):
        recorder, _ = now(what)
        _only_name(what, options)
        return _reduce(recorder, what, name, _operand(what, x), axis, dtype, mask, keepdims)

    function.__name__ = function.__qualname__ = name
    return function


def load(src, *, mask=None, dtype=None, **options):
    """nl.load: HBM to SBUF."""
    what = "nki.language.load"
    recorder, _ = now(what)
    _only_name(what, options)
    if src is Ellipsis:
        return _unspecified(recorder, what, "load", "dma")
    src = _operand(what, src)
    shape = src.shape if src.ndim > 1 else (*src.shape, 1) if src.shape[0] <= 128 else (1, *src.shape)

    def emit(dst):
        box = Box(recorder, mask, shape, what)
        if box.is_empty:
            return
        source, dst = box.of(src), box.of(_as(dst, shape))
        recorder.operation("dma", "load", [source], [dst], cost="moved")
        if recorder.values is not None:
            recorder.values.put(dst, recorder.values.get(source).reshape(dst.shape))

    return Result(recorder, what, shape, _dtype(dtype) or src.dtype, emit)


def load_transpose2d(src, *, mask=None, dtype=None, **options):
    """nl.load_transpose2d: HBM to SBUF, the two dimensions exchanged."""
    recorder, _ = now("nki.language.load_transpose2d")
    _only_name("nki.language.load_transpose2d", options)
    return _instruction_result(recorder, "dma_transpose", {"src": _operand("load_transpose2d", src)},
                               tuple(reversed(src.shape)), _dtype(dtype) or src.dtype, mask)


def store(dst, value=None, *, mask=None, **options):
    """nl.store: SBUF to HBM."""
    what = "nki.language.store"
    recorder, older = now(what)
    _only_name(what, options)
    value = unwrapped(value)
    if dst is Ellipsis or value is Ellipsis or value is None:
        tile = value if isinstance(value, View) else None
        recorder.operation("dma", "store", [tile] if tile is not None else [], [])
        return
    if isinstance(value, Blocks):
        flat = dst.reshape((len(value.tiles), *value.tiles[0].shape))
        for at, tile in enumerate(value.tiles):
            store(flat[at], tile)
        return
    if not isinstance(value, View):
        fill(recorder, dst, value)
        return
    if dst.size != value.size:
        raise ValueError(f"{what}: dst {dst.shape} and value {value.shape} have different numbers of elements")
    box = Box(recorder, mask, dst.shape, what)
    if box.is_empty:
        return
    value, dst = box.of(_as(value, dst.shape) if value.shape != dst.shape and box.is_all else value), box.of(dst)
    if value.storage.space == "psum":  # which a DMA does not read
        moved = older.make((_direct.par_dim(value.shape[0]), *value.shape[1:]), value.dtype, _direct.sbuf,
                           "stored", implicit_of=what)
        copy(recorder, moved, value)
        value = moved
    recorder.operation("dma", "store", [value], [dst], cost="moved")
    if recorder.values is not None:
        recorder.values.put(dst, recorder.values.get(value).reshape(dst.shape))


def atomic_rmw(dst, value, op, *, mask=None, **options):
    """nl.atomic_rmw: adds to HBM."""
    recorder, _ = now("nki.language.atomic_rmw")
    _only_name("nki.language.atomic_rmw", options)
    box = Box(recorder, mask, dst.shape, "nki.language.atomic_rmw")
    if not box.is_empty:
        recorder.no_values("nki.language.atomic_rmw")
        recorder.operation("dma", "atomic_rmw", [box.of(_operand("atomic_rmw", value))], [], [box.of(dst)],
                           cost="moved")


def _filled(value):
    def function(shape, dtype=None, *, buffer=None, name="", **options):
        return full(shape, value, dtype, buffer=buffer, name=name, **options)

    return function


def full(shape, fill_value, dtype, *, buffer=None, name="", **options):
    """nl.full, nl.zeros, nl.ones. Zeros in PSUM are what a sum starts with: they are written only if something
    else comes first."""
    recorder, older = now("nki.language.full")
    options.pop("lazy_initialization", None)
    _only_name("nki.language.full", options)
    made = older.make(shape, dtype, buffer, name)
    tiles = made.tiles if isinstance(made, Blocks) else [made]
    if tiles[0].address is not None:
        older.faults.append((recorder.place(), "SPAD-IMPLICIT-TENSOR",
                             f"tensor '{made.name}' is placed directly and has an initial value, for which the "
                             f"compiler makes a tensor of its own; use nl.ndarray, and write the value"))
    for tile in tiles:
        if tile.storage.space == "psum" and fill_value == 0:
            older.zeroed[tile.storage] = recorder.place()
            recorder.zeroed = older
        else:
            fill(recorder, tile, fill_value)
    return made


def _like(value):
    def function(a, dtype=None, *, buffer=None, name="", **options):
        dtype, buffer = dtype or a.dtype, buffer or a.buffer
        if value is None:
            return ndarray(a.shape, dtype, buffer=buffer, name=name)
        return full(a.shape, value, dtype, buffer=buffer, name=name, **options)

    return function


class _TensorKind(type):
    def __call__(cls, shape, dtype=None, *, buffer=None, name="", **options):
        _only_name("nki.language.ndarray", options)
        _, older = now("nki.language.ndarray")
        return older.make(shape, _spelled(dtype), buffer, name)

    def __instancecheck__(cls, made):
        return isinstance(made, (View, Blocks, Result))


def _spelled(dtype):
    return str(dtype) if isinstance(dtype, Dtype) else dtype


class ndarray(metaclass=_TensorKind):
    """nl.ndarray(shape, dtype, buffer, name): a new tensor. Also the type in annotations."""


def matmul(x, y, *, transpose_x=False, mask=None, **options):
    """nl.matmul: x @ y on the tensor engine; x is transposed first unless it is given that way."""
    what = "nki.language.matmul"
    recorder, older = now(what)
    _only_name(what, options)
    x, y = _in_sbuf(recorder, older, what, x), _in_sbuf(recorder, older, what, y)
    if not transpose_x:
        older.hide(what, (128, 128), x.dtype)
        turned = _instruction_result(recorder, "nc_transpose", {"data": x}, _turned(x), "float32", None, "psum")
        x = _in_sbuf(recorder, older, what, turned, x.dtype)
    return _matmul(recorder, what, {"stationary": x, "moving": y}, mask)


def transpose(x, *, dtype=None, mask=None, **options):
    """nl.transpose: the partitions of a tile exchanged with its free dimension, on the tensor engine."""
    what = "nki.language.transpose"
    recorder, older = now(what)
    _only_name(what, options)
    x = _in_sbuf(recorder, older, what, x)
    older.hide(what, (128, 128), x.dtype)
    return _instruction_result(recorder, "nc_transpose", {"data": x}, _turned(x), _dtype(dtype) or x.dtype, mask,
                               "psum")


def _hidden(what, *results):
    """The tensor of a result inside of a function that is several instructions."""
    made = [_operand(what, result) for result in results]
    return made[0] if len(made) == 1 else made


def softmax(x, axis, *, dtype=None, compute_dtype=None, mask=None, **options):
    """nl.softmax: largest, difference, exp, sum, quotient."""
    what = "nki.language.softmax"
    recorder, older = now(what)
    _only_name(what, options)
    x = _operand(what, x)
    kind = _dtype(compute_dtype) or "float32"
    top = _hidden(what, _reduce(recorder, what, "max", x, axis, kind, mask, True))
    less = _hidden(what, _elementwise(recorder, what, "subtract", [x, top], kind, mask, "vector"))
    power = _hidden(what, _elementwise(recorder, what, "exp", [less], kind, mask, "scalar"))
    total = _hidden(what, _reduce(recorder, what, "sum", power, axis, kind, mask, True))
    return _elementwise(recorder, what, "divide", [power, total], _dtype(dtype) or x.dtype, mask, "vector")


def rms_norm(x, w, axis, n, epsilon=1e-6, *, dtype=None, compute_dtype=None, mask=None, **options):
    """nl.rms_norm: squares, their sum, its scaled root, and two products."""
    what = "nki.language.rms_norm"
    recorder, older = now(what)
    _only_name(what, options)
    x, w = _operand(what, x), _operand(what, w)
    kind = _dtype(compute_dtype) or "float32"
    squares = _hidden(what, _elementwise(recorder, what, "square", [x], kind, mask, "scalar"))
    total = _hidden(what, _reduce(recorder, what, "sum", squares, axis, kind, mask, True))
    mean = _hidden(what, _elementwise(recorder, what, "multiply", [total, 1.0 / n], kind, mask, "vector"))
    mean = _hidden(what, _elementwise(recorder, what, "add", [mean, epsilon], kind, mask, "vector"))
    root = _hidden(what, _elementwise(recorder, what, "rsqrt", [mean], kind, mask, "scalar"))
    scaled = _hidden(what, _elementwise(recorder, what, "multiply", [x, root], kind, mask, "vector"))
    w = w.broadcast(0, x.shape[0]) if w.shape[0] == 1 else w
    return _elementwise(recorder, what, "multiply", [scaled, w], _dtype(dtype) or x.dtype, mask, "vector")


def var(x, axis, *, dtype=None, mask=None, **options):
    """nl.var: the mean of the squares of the differences from the mean."""
    what = "nki.language.var"
    recorder, older = now(what)
    _only_name(what, options)
    x = _operand(what, x)
    mean = _hidden(what, _reduce(recorder, what, "mean", x, axis, "float32", mask, True))
    less = _hidden(what, _elementwise(recorder, what, "subtract", [x, mean], "float32", mask, "vector"))
    squares = _hidden(what, _elementwise(recorder, what, "square", [less], "float32", mask, "scalar"))
    return _reduce(recorder, what, "mean", squares, axis, dtype or x.dtype, mask)


def loop_reduce(x, op, loop_indices, *, dtype=None, mask=None, **options):
    """nl.loop_reduce: the slot that it is assigned to is the other operand."""
    what = "nki.language.loop_reduce"
    recorder, _ = now(what)
    _only_name(what, options)
    x = _operand(what, x)

    def emit(dst):
        box = Box(recorder, mask, x.shape, what)
        if box.is_empty:
            return
        into, part = box.of(_as(dst, x.shape)), box.of(x)
        recorder.operation("vector", "loop_reduce", [part], [], [into])
        if recorder.values is not None:
            recorder.values.elementwise(_op_name(op), into, [into, part])

    return Result(recorder, what, x.shape, _dtype(dtype) or x.dtype, emit)


def _op_name(op):
    return getattr(op, "__name__", str(op))


def static_cast(input_data, dtype):
    """nl.static_cast: a copy in another type; a number stays one."""
    recorder, _ = now("nki.language.static_cast")
    value = _operand("nki.language.static_cast", input_data)
    if not isinstance(value, View):
        return value
    return _elementwise(recorder, "nki.language.static_cast", "copy", [value], _dtype(dtype), None, "vector")


def gather_flattened(data, indices, *, mask=None, dtype=None, **options):
    """nl.gather_flattened: elements of each partition by their number."""
    what = "nki.language.gather_flattened"
    recorder, _ = now(what)
    _only_name(what, options)
    data, indices = _operand(what, data), _operand(what, indices)

    def emit(dst):
        recorder.operation("gpsimd", "gather_flattened", [data, indices], [fitted(dst)])
        recorder.no_values(what)

    return Result(recorder, what, indices.shape, _dtype(dtype) or data.dtype, emit)


def rand(shape, dtype="float32", **options):
    """nl.rand."""
    recorder, _ = now("nki.language.rand")
    _only_name("nki.language.rand", options)

    def emit(dst):
        recorder.operation("vector", "rand", [], [fitted(dst)])
        recorder.no_values("nki.language.rand")

    return Result(recorder, "nki.language.rand", tuple(map(int, shape)), _dtype(dtype), emit)


def random_seed(seed, *, mask=None, **options):
    """nl.random_seed."""
    recorder, _ = now("nki.language.random_seed")
    seed = _operand("nki.language.random_seed", seed)
    recorder.operation("vector", "random_seed", [seed] if isinstance(seed, View) else [], [])


def dropout(x, rate, *, dtype=None, mask=None, **options):
    """nl.dropout."""
    recorder, _ = now("nki.language.dropout")
    x = _operand("nki.language.dropout", x)
    return _instruction_result(recorder, "dropout", {"data": x, "prob": unwrapped(rate)}, x.shape,
                               _dtype(dtype) or x.dtype, mask)


def shared_constant(constant, dtype=None, **options):
    """nl.shared_constant: a tensor in HBM with given numbers."""
    recorder, _ = now("nki.language.shared_constant")
    shape, kind = constant_of(constant, dtype)
    made = recorder.tensor(shape, _dtype(kind), MemoryRegion.hbm, "constant", is_input=True)
    if recorder.values is not None:
        recorder.values.put(made, numbers_of(constant))
    return made


def shared_identity_matrix(n, dtype="uint8", **options):
    """nl.shared_identity_matrix: in HBM."""
    recorder, _ = now("nki.language.shared_identity_matrix")
    key = ("identity", n, _dtype(dtype))
    if key not in recorder.constants:
        made = recorder.constants[key] = recorder.tensor((n, n), key[2], MemoryRegion.hbm, "identity",
                                                         is_input=True)
        if recorder.values is not None:
            recorder.values.identity(made)
    return recorder.constants[key]


def broadcast_to(src, *, shape, **options):
    """nl.broadcast_to: a view."""
    return _operand("nki.language.broadcast_to", src).broadcast_to(shape)


def expand_dims(data, axis):
    """nl.expand_dims: a view."""
    data = _operand("nki.language.expand_dims", data)
    return data.expand_dim(axis % (data.ndim + 1))


def program_id(axis=0):
    """nl.program_id."""
    return now("nki.language.program_id")[0].programs.program_id(axis)


def num_programs(axes=None):
    """nl.num_programs."""
    return now("nki.language.num_programs")[0].programs.num_programs(axes)


def program_ndim():
    """nl.program_ndim."""
    return len(now("nki.language.program_ndim")[0].programs.grid)


def device_print(prefix, x=None, *, mask=None, **options):
    """nl.device_print."""
    now("nki.language.device_print")[0].note("device_print is not modelled")


def _loops(name):
    def loop(*args, **options):
        if len(args) == 1 and isinstance(args[0], (Index, Mask)):
            raise TypeError(f"nki.language.{name} counts to a number")
        numbers = _loop(*args)
        return now(f"nki.language.{name}")[1].loop(numbers) if name != "static_range" else numbers

    loop.__name__ = name
    return loop


def language():
    made = _module("neuronxcc.nki.language")
    for name in _DTYPES:
        setattr(made, name, Dtype(name))
    made.bool_ = Dtype("bool")
    made.fp32, made.bfp16 = finfo("float32"), finfo("bfloat16")
    for name in _UNARY:
        setattr(made, name, _pointwise(name, 1))
    for name in _BINARY:
        setattr(made, name, _pointwise(name, 2))
    made.where = _pointwise("where", 3)
    for name in _REDUCTIONS:
        setattr(made, name, _reduction(name))
    for function in (load, load_transpose2d, store, atomic_rmw, full, matmul, transpose, softmax, rms_norm, var,
                     loop_reduce, static_cast, gather_flattened, rand, random_seed, dropout, shared_constant,
                     shared_identity_matrix, broadcast_to, expand_dims, program_id, num_programs, program_ndim,
                     device_print, finfo, arange):
        setattr(made, function.__name__, function)
    for name, value in (("zeros", _filled(0)), ("ones", _filled(1)), ("empty_like", _like(None)),
                        ("zeros_like", _like(0)), ("mgrid", mgrid), ("ds", DynamicSlice), ("ndarray", ndarray),
                        ("par_dim", _direct.par_dim), ("sbuf", _direct.sbuf), ("psum", _direct.psum),
                        ("hbm", _direct.hbm), ("private_hbm", _direct.private_hbm),
                        ("shared_hbm", _direct.shared_hbm), ("tile_size", TileSize()), ("constants", TileSize()),
                        ("nc", Cores), ("spmd_dim", SpmdDim), ("dynamic_range", _dynamic_range),
                        ("no_reorder", contextlib.nullcontext),
                        ("all_reduce", _refused("nki.language.all_reduce"))):
        setattr(made, name, value)
    for name in ("affine_range", "sequential_range", "static_range"):
        setattr(made, name, _loops(name))
    return made


# ---- neuronxcc.nki and its compiler -----------------------------------------------------------------------


def _marks(**facts):
    """A decorator that a trace needs to know, or not."""
    def decorate(func=None, **options):
        if func is None:
            return functools.partial(decorate, **options)
        made = func if isinstance(func, Jit) else Jit(func, {})
        made.options = {**made.options, **options, **facts}
        return made

    return decorate


def compiler():
    made = _module("neuronxcc.nki.compiler")
    made.sbuf, made.psum = _direct.sbuf, _direct.psum
    made.skip_middle_end_transformations = _marks()
    made.enable_stack_allocator = _marks()
    made.force_auto_alloc = _marks(force_auto=True)
    made.allocation_scope = made.no_reorder = contextlib.nullcontext
    made.multi_buffer = lambda factor=2: contextlib.nullcontext(factor)
    return made


def simulate_kernel(kernel, *args, **kwargs):
    """nki.simulate_kernel: inside a trace it is a call."""
    return kernel(*args, **kwargs)


def package(typing):
    """name: module of the older package."""
    old, nki = _module("neuronxcc"), _module("neuronxcc.nki")
    old.__path__, nki.__path__ = [], []
    old.nki = nki
    nki.language, nki.isa, nki.compiler, nki.typing = language(), isa(), compiler(), typing
    nki.jit = nki.trace = nki.baremetal = nki.benchmark = nki.profile = _jit
    nki.simulate_kernel = simulate_kernel
    nki.tensor = ndarray
    return {"neuronxcc": old, "neuronxcc.nki": nki, "neuronxcc.nki.typing": typing,
            "neuronxcc.nki.language": nki.language, "neuronxcc.nki.isa": nki.isa,
            "neuronxcc.nki.compiler": nki.compiler}


# ---- operators of tensors ---------------------------------------------------------------------------------


def _operator(name, swapped=False, engine="vector"):
    what = f"nki.language.{name}"

    def function(self, other):
        recorder = now(what)[0] if _is_older() else None
        if recorder is None:
            return NotImplemented
        operands = [_operand(what, part) for part in ((other, self) if swapped else (self, other))]
        return _elementwise(recorder, what, name, operands, "uint8" if name in _TESTS else None, None, engine)

    return function


def _is_older():
    recorder = recording()
    return recorder is not None and recorder.older is not None


def _in_place(name):
    what = f"nki.language.{name}"

    def function(self, other):
        if not _is_older():
            return NotImplemented
        recorder, _ = now(what)
        target = fitted(unwrapped(self))
        if name == "add" and isinstance(other, Result) and other.add_to(target):
            return self
        other = _operand(what, other)
        reads = [fitted(other)] if isinstance(other, View) else []
        recorder.operation("vector", name, reads, [], [target])
        if recorder.values is not None:
            recorder.values.elementwise(name, target, [target, *(reads or [other])])
        return self

    return function


_OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "mod": "mod"}
for _kind in (View, Result):
    for _short, _long in _OPERATORS.items():
        setattr(_kind, f"__{_short}__", _operator(_long))
        setattr(_kind, f"__r{_short}__", _operator(_long, True))
        setattr(_kind, f"__i{_short}__", _in_place(_long))
    for _short, _long in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
        setattr(_kind, f"__{_short}__", _operator(_long))
    _kind.__neg__ = lambda self: _elementwise(now("nki.language.negative")[0], "nki.language.negative", "negative",
                                              [_operand("-", self)], None, None, "vector")


def _astype(self, dtype):
    return static_cast(self, dtype)


View.astype = _astype
View.expand_dims = lambda self, axis: self.expand_dim(axis % (self.ndim + 1))


def _assert_shape(self, shape):
    if tuple(shape) != self.shape:
        raise AssertionError(f"{self!r} has not the shape {tuple(shape)}")
    return self


View.assert_shape = _assert_shape
