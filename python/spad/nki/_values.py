# SPDX-License-Identifier: Apache-2.0
"""The numbers of a traced kernel, with numpy: nt.run.

Every tensor has bytes of its own, in its own type, so a value is rounded where it is written; between
that it is float32, as on the engines (whole numbers stay whole). Bytes that were never written are all
ones, which is NaN in the types with a fraction. Places on chip have no effect: whether tensors share
bytes wrongly is what the check finds.
"""

import functools
import math

from ._record import NotCovered
from ._views import Register, View, item_bytes

try:
    import numpy as np
except ImportError:  # nt.run says so
    np = None

# (bits of the exponent, bits of the fraction, bias, is there an infinity)
_SMALL = {"float8_e5m2": (5, 2, 15, True), "float8_e4m3": (4, 3, 7, True), "float8_e4m3fn": (4, 3, 7, False)}
_WHOLE = {"int8", "int16", "int32", "uint8", "uint16", "uint32", "bool"}
_ONES = {1: "u1", 2: "u2", 4: "u4"}


# ---- types ------------------------------------------------------------------------------------------------


@functools.cache
def _table(dtype):
    """The number of each byte of a type of 8 bits."""
    exponent, fraction, bias, infinite = _SMALL[dtype]
    made = np.empty(256, np.float32)
    top = (1 << exponent) - 1
    for bits in range(256):
        e, f = bits >> fraction & top, bits & (1 << fraction) - 1
        value = math.ldexp(f, 1 - bias - fraction) if e == 0 else math.ldexp((1 << fraction) + f, e - bias - fraction)
        if infinite and e == top:
            value = math.nan if f else math.inf
        elif not infinite and e == top and f == (1 << fraction) - 1:
            value = math.nan
        made[bits] = -value if bits >> 7 else value
    return made


@functools.cache
def _positive(dtype):
    """(numbers, bytes) of the finite numbers of a type of 8 bits from 0 on, in order."""
    numbers = _table(dtype)[:128]
    keep = np.isfinite(numbers)
    return numbers[keep], np.arange(128, dtype=np.uint8)[keep]


def decoded(raw, dtype):
    """Numbers of bytes: float32, or int64 for the whole types."""
    if dtype == "bfloat16":
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if dtype in _SMALL:
        return _table(dtype)[raw]
    if dtype in ("float32", "tfloat32"):
        return np.array(raw).view(np.float32)  # a copy: the bytes may change
    if dtype == "float16":
        return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)
    if dtype in _WHOLE:
        kind = "u1" if dtype == "bool" else f"{'u' if dtype[0] == 'u' else 'i'}{item_bytes(dtype)}"
        return np.ascontiguousarray(raw).view(kind).astype(np.int64)
    raise NotCovered(f"numbers of the type {dtype}")


def encoded(values, dtype):
    """Bytes of numbers, rounded to the nearest one of the type, ties to even."""
    values = np.asarray(values)
    if dtype in _WHOLE:
        if values.dtype.kind == "f":
            values = np.rint(np.nan_to_num(values.astype(np.float64), nan=0.0))
        kind = np.dtype("u1" if dtype == "bool" else f"{'u' if dtype[0] == 'u' else 'i'}{item_bytes(dtype)}")
        bits = np.iinfo(kind)
        if values.dtype.kind == "f":
            values = np.clip(values, bits.min, bits.max)
        return values.astype(np.int64).astype(kind).view(_ONES[kind.itemsize])
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(values, np.float32)
        if dtype in ("float32", "tfloat32"):
            return values.view(np.uint32)
        if dtype == "float16":
            return values.astype(np.float16).view(np.uint16)
    if dtype == "bfloat16":
        bits = values.view(np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)
    if dtype in _SMALL:
        return _encoded_small(values, dtype)
    raise NotCovered(f"numbers of the type {dtype}")


def _encoded_small(values, dtype):
    numbers, bits = _positive(dtype)
    size = np.abs(values)
    at = np.clip(np.searchsorted(numbers, size), 1, len(numbers) - 1)
    low, high = numbers[at - 1].astype(np.float64), numbers[at].astype(np.float64)
    middle = (low + high) / 2
    up = (size > middle) | (size == middle) & (bits[at] % 2 == 0)
    made = np.where(up, bits[at], bits[at - 1])
    largest = float(numbers[-1])
    step = largest - float(numbers[-2])
    over = size >= largest + step / 2
    infinity = 0x7C if dtype == "float8_e5m2" else 0x78 if dtype == "float8_e4m3" else 0x7F
    made = np.where(over, infinity, made)
    made = np.where(np.isnan(values), 0x7F, made)
    return (made | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)


# ---- functions ------------------------------------------------------------------------------------------------


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.float32)


def _normal(x):
    return (1 + _erf(x / np.float32(math.sqrt(2)))) / 2


def _unary():
    return {
        "copy": lambda x: x, "identity": lambda x: x, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
        "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "sigmoid": _sigmoid, "relu": lambda x: np.maximum(x, 0),
        "gelu": lambda x: x * _normal(x), "gelu_apprx_sigmoid": lambda x: x * _sigmoid(1.702 * x),
        "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
        "gelu_dx": lambda x: _normal(x) + x * np.exp(-x * x / 2) / np.float32(math.sqrt(2 * math.pi)),
        "silu": lambda x: x * _sigmoid(x), "silu_dx": lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
        "softplus": lambda x: np.logaddexp(x, 0), "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
        "erf": _erf, "erf_dx": lambda x: np.float32(2 / math.sqrt(math.pi)) * np.exp(-x * x),
        "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos, "tan": np.tan, "arctan": np.arctan,
        "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "negative": np.negative, "sign": np.sign,
        "square": np.square, "abs": np.abs, "logical_not": lambda x: x == 0, "invert": lambda x: ~_whole(x),
    }


def _whole(x):
    return np.asarray(x).astype(np.int64)


def _binary():
    return {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.true_divide,
        "maximum": np.maximum, "minimum": np.minimum, "max": np.maximum, "min": np.minimum, "sum": np.add,
        "prod": np.multiply, "abs_max": lambda a, b: np.maximum(np.abs(a), np.abs(b)),
        "abs_min": lambda a, b: np.minimum(np.abs(a), np.abs(b)), "power": np.power, "fmod": np.fmod,
        "mod": np.mod, "average": lambda a, b: (a + b) / 2, "bypass": lambda a, b: a,
        "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
        "greater": np.greater, "greater_equal": np.greater_equal,
        "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
        "bitwise_and": lambda a, b: _whole(a) & _whole(b), "bitwise_or": lambda a, b: _whole(a) | _whole(b),
        "bitwise_xor": lambda a, b: _whole(a) ^ _whole(b), "left_shift": lambda a, b: _whole(a) << _whole(b),
        "right_shift": lambda a, b: _whole(a) >> _whole(b),
    }


_ALIASES = {"amax": "max", "amin": "min", "absolute": "abs", "true_divide": "divide", "remainder": "mod",
            "float_power": "power"}
_REDUCERS = {"add": "sum", "sum": "sum", "max": "max", "maximum": "max", "min": "min", "minimum": "min",
             "multiply": "prod", "prod": "prod", "mean": "mean", "average": "mean", "all": "all",
             "logical_and": "all", "bitwise_and": "and", "bitwise_or": "or"}


def _called(op):
    name = getattr(op, "__name__", None) or str(op)
    return _ALIASES.get(name, name)


def unary(op, x):
    found = _unary().get(_called(op))
    if found is None:
        raise NotCovered(f"the function {_called(op)}")
    return found(_float(x))


def binary(op, a, b):
    found = _binary().get(_called(op))
    if found is None:
        raise NotCovered(f"the operator {_called(op)}")
    if _called(op) in ("divide", "average", "power"):
        a, b = _float(a), _float(b)
    return found(a, b)


def _float(x):
    return np.asarray(x, np.float32)


def reduced(op, x, axes):
    """A reduction that keeps its dimensions, of length 1. Sums are in float32."""
    kind = _REDUCERS.get(_called(op))
    if kind is None:
        raise NotCovered(f"a reduction by {_called(op)}")
    if kind in ("and", "or"):
        return (np.bitwise_and if kind == "and" else np.bitwise_or).reduce(_whole(x), axis=axes, keepdims=True)
    if kind == "all":
        return np.all(x != 0, axis=axes, keepdims=True)
    return getattr(np, kind)(x, axis=axes, keepdims=True)


# ---- tensors ----------------------------------------------------------------------------------------------


class Values:
    """The bytes of all tensors of a trace, and what instructions do to them."""

    def __init__(self, chip=None):
        """chip: tensors with an address share the bytes of its memories."""
        self._bytes = {}
        self._chip, self._memories = chip, {}
        self._sums = {}  # engine: the registers of reductions with reduce_cmd

    def _raw(self, view):
        """The elements of a view as whole numbers of their size; a view of the bytes."""
        storage = view.storage
        if storage not in self._bytes:
            self._bytes[storage] = self._new(storage)
        size = item_bytes(view.dtype)
        if size not in _ONES:
            raise NotCovered(f"numbers of the type {view.dtype}")
        data = self._bytes[storage].view(_ONES[size])
        strides = [stride * size for stride, _ in view.dims]
        if view.is_on_chip:
            strides[0] = view.dims[0][0] * data.strides[0]
        if any(stride < 0 for stride in strides):
            raise NotCovered(f"a part of '{view.name}' with a negative step")
        return np.lib.stride_tricks.as_strided(data[view.lane:, view.start:], view.shape, strides)

    def _new(self, storage):
        """The bytes of a tensor: its own, or those at its address."""
        if self._chip is None or storage.address is None:
            return np.full((storage.lanes, storage.row_bytes()), 0xFF, np.uint8)
        space = self._chip.spaces[storage.space]
        if storage.home not in self._memories:
            self._memories[storage.home] = np.full((space["lanes"], space["bytes"]), 0xFF, np.uint8)
        lane, byte = storage.address
        if lane < 0 or byte < 0 or lane + storage.lanes > space["lanes"] or byte + storage.row_bytes() > space["bytes"]:
            raise NotCovered(f"'{storage.name}', which is outside of {storage.space}")
        return self._memories[storage.home][lane:lane + storage.lanes, byte:byte + storage.row_bytes()]

    def register(self, value):
        """The number of a register, of a tensor of one element, or of a number."""
        if isinstance(value, View):
            numbers = self.get(value).reshape(-1)
            if numbers.size != 1:
                raise NotCovered(f"a register of the {numbers.size} elements of '{value.name}'")
            return int(numbers[0])
        if not isinstance(value, Register):
            return int(value)
        if value.value is None:
            raise NotCovered(f"{value.what} that was never written")
        return value.value

    def _known(self, index, most, view):
        """The numbers of an index, which are places of a view."""
        numbers = np.asarray([self.register(index)]) if isinstance(index, Register) else self.get(index).reshape(-1)
        if numbers.min() < 0 or numbers.max() >= most:
            wrong = numbers.max() if numbers.max() >= most else numbers.min()
            raise NotCovered(f"index {wrong} of '{view.name}', which has {most} places")
        return numbers

    def _at(self, view):
        """A view whose place is in registers, or in tensors of one element, at that place."""
        if len(view.index) != len(view.reach):
            raise NotCovered(f"a part of '{view.name}' that is known on the device only")
        start = view.start
        for (step, most), index in zip(view.reach, view.index):
            numbers = self._known(index, most, view)
            if numbers.size != 1:
                raise NotCovered(f"{numbers.size} indices for 1 row of '{view.name}'")
            start += int(numbers[0]) * step
        return view._with(start=start, reach=(), index=())

    def _found(self, view):
        """(all elements of a tensor in HBM, the numbers of those of a view) for a view with a place for each row, which
        is the number in another tensor."""
        if view.is_on_chip or len(view.index) != 1 or len(view.reach) != 1:
            raise NotCovered(f"a part of '{view.name}' that is known on the device only")
        step, most = view.reach[0]
        index, rows = self._known(view.index[0], most, view), view.shape[0]
        if index.size != rows:
            raise NotCovered(f"{index.size} indices for {rows} rows of '{view.name}'")
        dims = view.dims[1:]
        places = (view.start + index * step).reshape((rows, *((1,) * len(dims))))
        for at, (stride, count) in enumerate(dims):
            places = places + (np.arange(count) * stride).reshape((-1, *((1,) * (len(dims) - 1 - at))))
        whole = view._with(dims=((1, view._row()),), start=0, reach=(), index=(), spread=False)
        return self._raw(whole), places.reshape(view.shape)

    def get(self, view):
        if view.reach and not view.spread:
            view = self._at(view)
        if view.reach:
            elements, places = self._found(view)
            return decoded(elements[places], view.dtype)
        return decoded(self._raw(view), view.dtype)

    def put(self, view, values):
        if view.reach and not view.spread:
            view = self._at(view)
        if view.reach:
            elements, places = self._found(view)
            elements[places] = encoded(np.broadcast_to(np.asarray(values), places.shape), view.dtype)
            return
        raw = self._raw(view)
        raw[...] = encoded(np.broadcast_to(np.asarray(values), raw.shape), view.dtype)

    def fill(self, view, value):
        self.put(view, np.asarray(value))

    def identity(self, view):
        self.put(view, np.eye(view.shape[0], view.shape[1]))

    def _operand(self, value, like=None):
        """A number, or those of a tensor in the shape of another one where it has as many."""
        if not isinstance(value, View):
            return value
        made = self.get(value)
        return made if like is None else _shaped(made, like)

    # ---- functions of the language -----------------------------------------------------

    def elementwise(self, op, dst, operands):
        given = [self._operand(part) for part in operands]
        with np.errstate(all="ignore"):
            if op == "where":
                made = np.where(np.asarray(given[0]) != 0, given[1], given[2])
            elif len(given) == 1:
                made = unary(op, given[0])
            else:
                made = binary(op, *_aligned(given))
        self.put(dst, _shaped(made, dst.shape))

    def reduce(self, op, dst, src, axes):
        self.put(dst, reduced(op, self.get(src), tuple(sorted(axes))).reshape(dst.shape))

    def counted(self, dst, index):
        """The numbers of an index tile."""
        self.put(dst, _numbers(index, dst.shape))

    def masked(self, dst, mask, box, tile, value):
        holds = np.ones(tile.shape, bool)
        for part in getattr(mask, "parts", ()):
            holds &= _numbers(part.cut(box.spans), tile.shape) >= 0
        if mask is False:
            holds[...] = False
        self.put(dst, np.where(holds, self.get(tile), np.float32(value)).reshape(dst.shape))

    # ---- instructions ------------------------------------------------------------------

    def instruction(self, name, given, adds):
        """Computes an instruction of nki.isa by its arguments."""
        function = _INSTRUCTIONS.get(name)
        if function is None:
            raise NotCovered(f"nki.isa.{name}")
        with np.errstate(all="ignore"):
            function(self, given, adds)

    def collect(self, engine, given, result, default):
        """reduce_res of an instruction, with the registers of its engine."""
        command = getattr(given.get("reduce_cmd"), "name", default)
        op = given.get("reduce_op") or "max"
        if command in (None, "idle"):
            if given.get("reduce_res") is not None:
                raise NotCovered("reduce_res with reduce_cmd idle")
            return
        now = reduced(op, np.asarray(result, np.float32), tuple(range(1, result.ndim)))
        now = now.reshape(now.shape[0], 1)
        if command == "reset":
            now = None
        elif command in ("reduce", "load_reduce"):
            before = self._operand(given.get("reduce_init"), now.shape) if command == "load_reduce" else \
                self._sums.get(engine)
            if before is None:
                raise NotCovered("a reduction that continues nothing")
            now = binary(_called(op), before, now)
        self._sums[engine] = now
        if given.get("reduce_res") is not None and now is not None:
            sign = -1 if given.get("reduce_res_negate") else 1
            self.put(given["reduce_res"], _shaped(sign * now, given["reduce_res"].shape))


def _shaped(values, shape):
    """Values in another shape: the same elements, or repeated."""
    values = np.asarray(values)
    if values.shape == tuple(shape):
        return values
    if values.size == math.prod(shape):
        return values.reshape(shape)
    while values.ndim < len(shape):
        values = values[..., None]
    return np.broadcast_to(values, shape)


def _aligned(given):
    """Operands whose first dimensions are the same: the missing ones are last."""
    ndim = max(np.ndim(part) for part in given)
    return [np.reshape(part, np.shape(part) + (1,) * (ndim - np.ndim(part))) if np.ndim(part) else part
            for part in given]


def _numbers(index, shape):
    made = np.full((1,) * len(shape), index.constant, np.int64)
    fill = len(shape) - index.ndim
    for dim, (count, factor) in enumerate(zip(index.shape, index.factors)):
        steps = np.arange(count) * factor
        made = made + steps.reshape([-1 if at == dim + fill else 1 for at in range(len(shape))])
    return np.broadcast_to(made, shape)


def _pattern(given, dst):
    """offset + channel * multiplier + the steps of a pattern, for iota and affine_select."""
    made = np.asarray(given["offset"]) + np.arange(dst.shape[0]) * given["channel_multiplier"]
    for step, count in given["pattern"]:
        made = made[..., None] + np.arange(count) * step
    return made.reshape(dst.shape)


# ---- what each instruction does ---------------------------------------------------------------------------


def _activation(values, given, adds, default="idle"):
    data = values.get(given["data"])
    scale = _per_lane(values, given["scale"], data.ndim)
    bias = _per_lane(values, given["bias"], data.ndim) if given["bias"] is not None else np.float32(0)
    made = _float(unary(given["op"], _float(data) * scale + bias))
    values.put(given["dst"], _shaped(made, given["dst"].shape))
    values.collect("scalar", given, made, default)


def _per_lane(values, operand, ndim):
    """A number, or one for each partition."""
    if not isinstance(operand, View):
        return np.float32(operand)
    made = values.get(operand)
    return made.reshape(made.shape[0], *((1,) * (ndim - 1))) if made.size == made.shape[0] else made


def _side(values, op, data, operand, reverse):
    operand = _per_lane(values, operand, data.ndim) if isinstance(operand, View) else operand
    if isinstance(operand, np.ndarray) and operand.size == data.size:
        operand = operand.reshape(data.shape)
    return binary(op, operand, data) if reverse else binary(op, data, operand)


def _tensor_scalar(values, given, adds):
    made = _side(values, given["op0"], values.get(given["data"]), given["operand0"], given["reverse0"])
    if given["op1"] is not None:
        made = _side(values, given["op1"], made, given["operand1"], given["reverse1"])
    values.put(given["dst"], _shaped(made, given["dst"].shape))


def _tensor_scalar_reduce(values, given, adds):
    made = _side(values, given["op0"], values.get(given["data"]), given["operand0"], given["reverse0"])
    values.put(given["dst"], _shaped(made, given["dst"].shape))
    values.collect("vector", given, made, "reset_reduce")


def _scalar_tensor_tensor(values, given, adds):
    made = _side(values, given["op0"], values.get(given["data"]), given["operand0"], given["reverse0"])
    made = _side(values, given["op1"], made, given["operand1"], given["reverse1"])
    values.put(given["dst"], _shaped(made, given["dst"].shape))


def _tensor_tensor(values, given, adds):
    first = values.get(given["data1"])
    second = _shaped(values.get(given["data2"]), first.shape) if given["data2"].size <= first.size else \
        values.get(given["data2"])
    values.put(given["dst"], _shaped(binary(given["op"], first, second), given["dst"].shape))


def _copy(values, given, adds):
    values.put(given["dst"], _shaped(values.get(given["src"]), given["dst"].shape))


def _dma_copy(values, given, adds):
    made = _shaped(values.get(given["src"]), given["dst"].shape)
    if given["dst_rmw_op"] is not None:
        made = binary(given["dst_rmw_op"], values.get(given["dst"]), made)
    values.put(given["dst"], made)


def _dma_compute(values, given, adds):
    scales = given["scales"] or [1.0] * len(given["srcs"])
    parts = [_shaped(_float(values.get(src)) * np.float32(scale), given["dst"].shape)
             for src, scale in zip(given["srcs"], scales)]
    values.put(given["dst"], functools.reduce(functools.partial(binary, given["reduce_op"]), parts))


def _dma_transpose(values, given, adds):
    src, axes = values.get(given["src"]), given["axes"]
    if axes is None:  # the first and the last one are exchanged
        axes = (src.ndim - 1, *range(1, src.ndim - 1), 0)
    values.put(given["dst"], np.transpose(src, axes).reshape(given["dst"].shape))


def _matmul(values, given, adds):
    if getattr(given["perf_mode"], "name", "none") not in (None, "none"):
        raise NotCovered("nki.isa.nc_matmul with a perf_mode")
    stationary, moving = (_float(values.get(given[key])) for key in ("stationary", "moving"))
    rows = stationary.reshape(stationary.shape[0], -1)
    made = _shaped(rows.T @ moving.reshape(moving.shape[0], -1), given["dst"].shape)
    values.put(given["dst"], values.get(given["dst"]) + made if adds else made)


def _transpose(values, given, adds):
    data = values.get(given["data"])
    values.put(given["dst"], data.reshape(data.shape[0], -1).T.reshape(given["dst"].shape))


def _memset(values, given, adds):
    values.fill(given["dst"], given["value"])


def _reciprocal(values, given, adds):
    values.put(given["dst"], _shaped(1 / _float(values.get(given["data"])), given["dst"].shape))


def _tensor_reduce(values, given, adds):
    data = values.get(given["data"])
    axis = given["axis"] if isinstance(given["axis"], (tuple, list)) else (given["axis"],)
    made = reduced(given["op"], data, tuple(sorted(dim % data.ndim for dim in axis)))
    values.put(given["dst"], (-made if given["negate"] else made).reshape(given["dst"].shape))


def _partition_reduce(values, given, adds):
    values.put(given["dst"], reduced(given["op"], values.get(given["data"]), (0,)).reshape(given["dst"].shape))


def _bn_stats(values, given, adds):
    data = _float(values.get(given["data"])).reshape(given["data"].shape[0], -1)
    rows = []
    for part in (data[:, 0::2], data[:, 1::2]):
        count = part.shape[1]
        mean = part.mean(axis=1) if count else np.zeros(len(data))
        rows += [np.full(len(data), count), mean, ((part - mean[:, None]) ** 2).sum(axis=1)]
    values.put(given["dst"], np.stack(rows, axis=1).reshape(given["dst"].shape))


def _bn_aggr(values, given, adds):
    data = _float(values.get(given["data"])).reshape(given["data"].shape[0], -1, 3)
    count, mean, spread = data[:, :, 0], data[:, :, 1], data[:, :, 2]
    total = count.sum(axis=1)
    whole = (count * mean).sum(axis=1) / total
    variance = (spread + count * (mean - whole[:, None]) ** 2).sum(axis=1) / total
    values.put(given["dst"], np.stack([whole, variance], axis=1).reshape(given["dst"].shape))


def _iota(values, given, adds):
    values.put(given["dst"], _pattern(given, given["dst"]))


def _affine_select(values, given, adds):
    holds = binary(given["cmp_op"] or "equal", _pattern(given, given["dst"]), 0)
    tile = values.get(given["on_true_tile"]).reshape(given["dst"].shape)
    values.put(given["dst"], np.where(holds, tile, np.float32(given["on_false_value"])))


def _range_select(values, given, adds):
    tile = _float(values.get(given["on_true_tile"]))
    flat = tile.reshape(tile.shape[0], -1)
    at = given["range_start"] + np.arange(flat.shape[1])[None, :]
    holds = np.logical_and(*(binary(given[f"comp_op{k}"], at, _per_lane(values, given[f"bound{k}"], 2)) for k in (0, 1)))
    other = np.float32(-3.4028234663852886e38 if given["on_false_value"] is None else given["on_false_value"])
    made = np.where(holds, flat, other)
    values.put(given["dst"], made.reshape(given["dst"].shape))
    if given["reduce_res"] is not None:
        values.collect("vector", given, made, "reset_reduce")


def _select_reduce(values, given, adds):
    holds = values.get(given["predicate"]) != 0
    if given["reverse_pred"]:
        holds = ~holds
    other = _per_lane(values, given["on_false"], holds.ndim)
    made = np.where(holds, values.get(given["on_true"]), other)
    values.put(given["dst"], _shaped(made, given["dst"].shape))
    values.collect("vector", given, made, "idle")


def _predicated(values, given, adds):
    holds = values.get(given["predicate"]) != 0
    if given["reverse_pred"]:
        holds = ~holds
    before = values.get(given["dst"])
    src = given["src"]
    src = _shaped(values.get(src), before.shape) if isinstance(src, View) else src
    values.put(given["dst"], np.where(_shaped(holds, before.shape), src, before))


def _scan(values, given, adds):
    first, second = (_float(values.get(given[key])) for key in ("data0", "data1"))
    shape = first.shape
    first, second = first.reshape(shape[0], -1), second.reshape(shape[0], -1)
    state = _per_lane(values, given["initial"], 2)
    state = np.broadcast_to(state, (shape[0], 1)).reshape(shape[0])
    made = np.empty_like(first)
    for at in range(first.shape[1]):
        state = binary(given["op0"], *((state, first[:, at]) if given["reverse0"] else (first[:, at], state)))
        state = binary(given["op1"], *((second[:, at], state) if given["reverse1"] else (state, second[:, at])))
        made[:, at] = state
    values.put(given["dst"], made.reshape(given["dst"].shape))


def _cumulative(values, given, adds):
    command = getattr(given["reduce_cmd"], "name", "reset_reduce")
    data = _float(values.get(given["src"]))
    each = _side(values, given["op0"], data, given["imm0"], False).reshape(data.shape[0], -1)
    start = {"add": 0, "subtract": 0, "multiply": 1, "max": -np.inf, "maximum": -np.inf, "min": np.inf,
             "minimum": np.inf}.get(_called(given["op1"]))
    if command == "load_reduce":
        start = _per_lane(values, given["imm1"], 1)
    elif command != "reset_reduce" or start is None:
        raise NotCovered("nki.isa.tensor_scalar_cumulative that continues another one")
    state, made = np.broadcast_to(np.float32(start), each.shape[:1]), np.empty_like(each)
    for at in range(each.shape[1]):
        state = binary(given["op1"], each[:, at], state)
        made[:, at] = state
    values.put(given["dst"], made.reshape(given["dst"].shape))


def _max8(values, given, adds):
    data = values.get(given["src"]).reshape(given["src"].shape[0], -1)
    values.put(given["dst"], -np.sort(-data, axis=1)[:, :8].reshape(given["dst"].shape))


def _find8(values, given, adds):
    data = values.get(given["data"]).reshape(given["data"].shape[0], -1)
    sought = values.get(given["vals"]).reshape(data.shape[0], 8)
    made = np.full(sought.shape, -1, np.int64)
    for row in range(data.shape[0]):
        used = set()
        for at in range(8):
            found = [k for k in np.flatnonzero(data[row] == sought[row, at]) if k not in used]
            if found:
                made[row, at] = found[0]
                used.add(found[0])
    values.put(given["dst"], made)


def _replace8(values, given, adds):
    data = values.get(given["data"])
    flat = data.reshape(data.shape[0], -1).copy()
    sought = values.get(given["vals"]).reshape(data.shape[0], 8)
    index = np.full(sought.shape, -1, np.int64)
    for row in range(flat.shape[0]):
        free = np.ones(flat.shape[1], bool)
        for at in range(7, -1, -1):
            found = np.flatnonzero((flat[row] == sought[row, at]) & free)
            if found.size:
                index[row, at] = found[0]
                free[found[0]] = False
        flat[row, ~free] = given["imm"]
    values.put(given["dst"], flat.reshape(given["dst"].shape))
    if given["dst_idx"] is not None:
        values.put(given["dst_idx"], index.reshape(given["dst_idx"].shape))


def _shuffle(values, given, adds):
    src = values.get(given["src"])
    made = values.get(given["dst"]).copy()
    for first in range(0, src.shape[0], 32):
        for to, source in enumerate(given["shuffle_mask"]):
            if source != 255 and first + to < made.shape[0]:
                made[first + to] = src[first + source]
    values.put(given["dst"], made)


def _gather(values, given, adds):
    data = values.get(given["data"])
    index = values.get(given["indices"])
    made = np.take_along_axis(data.reshape(data.shape[0], -1), index.reshape(index.shape[0], -1), axis=1)
    values.put(given["dst"], made.reshape(given["dst"].shape))


def _exponential(values, given, adds):
    data = _float(values.get(given["src"]))
    made = np.exp(data - _per_lane(values, given["max_value"], data.ndim))
    values.put(given["dst"], _shaped(made, given["dst"].shape))
    if given["reduce_res"] is not None:
        values.collect("vector", {**given, "reduce_op": "add"}, made, "reset_reduce")


def _register_load(values, given, adds):
    given["dst"].value = values.register(given["src"])


def _register_store(values, given, adds):
    values.put(given["dst"], np.asarray(values.register(given["src"])))


_INSTRUCTIONS = {
    "activation": _activation, "activation_reduce": functools.partial(_activation, default="reset_reduce"),
    "affine_select": _affine_select, "bn_aggr": _bn_aggr, "bn_stats": _bn_stats, "dma_compute": _dma_compute,
    "dma_copy": _dma_copy, "dma_transpose": _dma_transpose, "exponential": _exponential, "iota": _iota,
    "max8": _max8, "memset": _memset, "nc_find_index8": _find8, "nc_match_replace8": _replace8,
    "nc_matmul": _matmul, "nc_n_gather": _gather, "nc_stream_shuffle": _shuffle, "nc_transpose": _transpose,
    "range_select": _range_select, "reciprocal": _reciprocal, "scalar_tensor_tensor": _scalar_tensor_tensor,
    "select_reduce": _select_reduce, "tensor_copy": _copy, "tensor_copy_predicated": _predicated,
    "tensor_partition_reduce": _partition_reduce, "tensor_reduce": _tensor_reduce, "tensor_scalar": _tensor_scalar,
    "tensor_scalar_cumulative": _cumulative, "tensor_scalar_reduce": _tensor_scalar_reduce,
    "tensor_tensor": _tensor_tensor, "tensor_tensor_scan": _scan, "register_load": _register_load,
    "register_move": _register_load, "register_store": _register_store,
}
COVERED = frozenset(_INSTRUCTIONS)
