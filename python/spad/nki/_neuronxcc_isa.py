# SPDX-License-Identifier: Apache-2.0
"""neuronxcc.nki.isa of the stand-in: instructions that give their result back.

They are those of the table of nki.isa (_isa.py), with the destination that the result finds.
"""

import inspect
import math

from ._index import Index, Mask
from ._isa import INSTRUCTIONS
from ._older import Box, Result, assign, now
from ._older_results import (_as, _axes, _broadcast, _dtype, _in_sbuf, _instruction_result, _matmul, _only_name, _operand,
                             _promoted, _reduced, _refused, _turned, finfo)
from ._stand_in import _ENUMS, _get_nc_version, _module, modules, nc_version
from ._views import View

# An instruction, its parameters (those after * by name only), and the shape of its result: that of a parameter, or a
# word that _shape() knows.
_ROWS = """
activation              | op data * bias=None scale=1.0 reduce_op=None reduce_res=None reduce_cmd=None | data
activation_reduce       | op data * reduce_op reduce_res bias=None scale=1.0 | data
bn_aggr                 | data | 2
bn_stats                | data | 6
dma_transpose           | src * axes=None | turned
dropout                 | data prob | data
local_gather            | src_buffer index num_elem_per_idx=1 num_valid_indices=None | gathered
max8                    | * src | 8
nc_find_index8          | * data vals | 8
nc_match_replace8       | * data vals imm dst_idx=None | data
nc_transpose            | data * engine=None | turned
range_select            | * on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd=None reduce_res=None reduce_op=None range_start=0 on_false_value=None | on_true_tile
reciprocal              | data | data
scalar_tensor_tensor    | * data op0 operand0 op1 operand1 reverse0=False reverse1=False | data
sequence_bounds         | * segment_ids | bounds
tensor_copy             | src * engine=None | src
tensor_partition_reduce | op data | one
tensor_reduce           | op data axis * negate=False keepdims=False | reduced
tensor_scalar           | data op0 operand0 reverse0=False op1=None operand1=None reverse1=False * engine=None | data
tensor_scalar_reduce    | * data op0 operand0 reduce_op reduce_res reverse0=False | data
tensor_tensor           | data1 data2 op * engine=None | both
tensor_tensor_scan      | data0 data1 initial op0 op1 reverse0=False reverse1=False | data0
"""

_DIRECT = """
dma_copy                | * dst src dst_rmw_op=None oob_mode=None dge_mode=None
nc_stream_shuffle       | src dst shuffle_mask
select_reduce           | * dst predicate on_true on_false reduce_res=None reduce_cmd=None reduce_op=None reverse_pred=False
tensor_copy_predicated  | * src dst predicate reverse_pred=False
"""


def _signature(words):
    values = {"None": None, "False": False, "1.0": 1.0, "1": 1, "0": 0}
    kind, made = inspect.Parameter.POSITIONAL_OR_KEYWORD, []
    for word in words.split():
        if word == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        name, equals, default = word.partition("=")
        made.append(inspect.Parameter(name, kind, default=values[default] if equals else inspect.Parameter.empty))
    return inspect.Signature(made)


def _bind(what, signature, args, options):
    """(arguments by name, dtype, mask) of a call."""
    dtype, mask, parameters = _dtype(options.pop("dtype", None)), options.pop("mask", None), signature.parameters
    own = {key: options.pop(key) for key in list(options) if key in parameters}
    _only_name(what, options)
    try:
        given = signature.bind(*args, **own)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    given.apply_defaults()
    return {key: _operand(what, value) for key, value in given.arguments.items()}, dtype, mask


def _shape(rule, given):
    """The shape of a result."""
    if rule in given:
        return given[rule].shape
    data = given.get("data", given.get("src"))
    if rule.isdigit():
        return (data.shape[0], int(rule))
    if rule == "turned":
        return _turned(data)
    if rule == "one":
        return (1, *data.shape[1:])
    if rule == "both":
        return _broadcast("nki.isa.tensor_tensor", [given["data1"], given["data2"]])
    if rule == "reduced":
        return _reduced(data.shape, _axes("nki.isa.tensor_reduce", given["axis"], data.ndim), given["keepdims"])
    if rule == "bounds":
        return (1, 2, given["segment_ids"].shape[-1])
    index = given["index"]
    return (given["src_buffer"].shape[0], 16 * math.prod(index.shape[1:]), given["num_elem_per_idx"])


def _isa_function(row):
    name, words, rule = (part.strip() for part in row.split("|"))
    signature, what = _signature(words), f"nki.isa.{name}"

    def function(*args, **options):
        recorder, older = now(what)
        given, dtype, mask = _bind(what, signature, args, options)
        tensors = [value for value in given.values() if isinstance(value, View)]
        if not tensors:
            raise TypeError(f"{what}: none of the arguments is a tensor")
        shape, space = _shape(rule, given), "sbuf"
        if name == "nc_transpose":
            engine = getattr(given["engine"], "name", "unknown")
            small = max(shape) <= 32
            space = "psum" if engine == "tensor" or engine == "unknown" and not small else "sbuf"
            if space == "psum":
                older.hide(what, (128, 128), given["data"].dtype)
                given["data"] = _in_sbuf(recorder, older, what, given["data"])
        if name in ("activation", "activation_reduce") and given["bias"] is None:
            older.hide(what, (128, 1), "float32")
        first = [given[key] for key in ("data", "src", "data1", "data2", "on_true_tile", "data0")
                 if isinstance(given.get(key), View)] or tensors
        kind = dtype or ("uint32" if name == "nc_find_index8" else _promoted(first))
        return _instruction_result(recorder, name, given, shape, kind, mask, space)

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature
    return function


def _direct_function(row):
    name, words = (part.strip() for part in row.split("|"))
    signature, what = _signature(words), f"nki.isa.{name}"

    def function(*args, **options):
        recorder, _ = now(what)
        given, _, mask = _bind(what, signature, args, options)
        box = Box(recorder, mask, given["dst"].shape, what)
        if not box.is_empty:
            recorder.call(INSTRUCTIONS[name], (), {key: box.of(value) if isinstance(value, View) else value
                                     for key, value in given.items()})

    function.__name__ = function.__qualname__ = name
    return function


def nc_matmul(stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False,
              tile_position=(), tile_size=(), mask=None, **options):
    """nisa.nc_matmul: stationary.T @ moving, into PSUM."""
    what = "nki.isa.nc_matmul"
    recorder, older = now(what)
    _only_name(what, options)
    return _matmul(recorder, what, {"stationary": _in_sbuf(recorder, older, what, stationary),
                                    "moving": _in_sbuf(recorder, older, what, moving),
                                    "is_transpose": is_transpose}, mask)


def affine_select(pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **options):
    """nisa.affine_select: a tile where a comparison of index tiles holds, and a number elsewhere."""
    what = "nki.isa.affine_select"
    recorder, older = now(what)
    _only_name(what, options)
    tile = _in_sbuf(recorder, older, what, on_true_tile)  # GpSimd does not read PSUM
    if not isinstance(pred, (Mask, bool)):
        raise TypeError(f"{what}: pred is {pred!r}, not a comparison of index tiles")

    def emit(dst):
        box = Box(recorder, mask, tile.shape, what)
        if box.is_empty:
            return
        dst, part = box.of(_as(dst, tile.shape)), box.of(tile)
        recorder.operation("gpsimd", "affine_select", [part], [dst], cost="N + 150")
        if recorder.values is not None:
            recorder.values.masked(dst, pred, box, part, on_false_value)

    return Result(recorder, what, tile.shape, _dtype(dtype) or tile.dtype, emit)


def iota(expr, dtype, *, mask=None, **options):
    """nisa.iota: the numbers of an index tile."""
    what = "nki.isa.iota"
    recorder, _ = now(what)
    _only_name(what, options)
    if not isinstance(expr, Index):
        raise TypeError(f"{what}: expr is {expr!r}, not an index tile")
    shape = expr.shape if expr.ndim > 1 else (*expr.shape, 1)

    def emit(dst):
        box = Box(recorder, mask, shape, what)
        if box.is_empty:
            return
        dst = box.of(_as(dst, shape))
        recorder.operation("gpsimd", "iota", [], [dst], cost="N + 150")
        if recorder.values is not None:
            recorder.values.counted(dst, expr.cut(box.spans))

    return Result(recorder, what, shape, _dtype(dtype), emit)


def memset(shape, value, dtype, *, mask=None, engine=None, **options):
    """nisa.memset: a new tile of one number."""
    what = "nki.isa.memset"
    recorder, _ = now(what)
    _only_name(what, options)
    shape = tuple(map(int, shape))

    def emit(dst):
        box = Box(recorder, mask, shape, what)
        if not box.is_empty:
            recorder.call(INSTRUCTIONS["memset"], (), {"dst": box.of(_as(dst, shape)), "value": value, "engine": engine})

    return Result(recorder, what, shape, _dtype(dtype), emit)


def isa():
    made = _module("neuronxcc.nki.isa")
    present = modules()["nki.isa"]
    for name in _ENUMS:
        setattr(made, name, getattr(present, name))
    for name in ("tensor", "vector", "scalar", "gpsimd", "unknown"):
        setattr(made, f"{name}_engine", made.engine[name])
    for row in _ROWS.strip().split("\n"):
        function = _isa_function(row)
        setattr(made, function.__name__, function)
    for row in _DIRECT.strip().split("\n"):
        function = _direct_function(row)
        setattr(made, function.__name__, function)
    made.tensor_copy_dynamic_src = made.tensor_copy
    made.tensor_copy_dynamic_dst = lambda *, dst, src, **options: assign(dst, made.tensor_copy(src, **options))
    for function in (nc_matmul, affine_select, iota, memset):
        setattr(made, function.__name__, function)
    made.nc_version, made.get_nc_version = nc_version, _get_nc_version
    made.fp32 = finfo("float32")
    made.builtin_custom_op = _refused("nki.isa.builtin_custom_op")
    return made
