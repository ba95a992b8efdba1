# SPDX-License-Identifier: Apache-2.0
"""nt.run: the numbers of traced NKI kernels against plain numpy, for each instruction that is covered."""

import math
import os
import sys
import threading
from pathlib import Path

import pytest

import nki_public
import spad
import spad.nki.trace as nt
from spad.nki import _isa, _values

np = pytest.importorskip("numpy")

OLDER = Path(__file__).with_name("nki_older.py")
PRESENT = Path(__file__).with_name("nki_kernels.py")


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert not [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]


def some(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def rounded(values, dtype):
    """Through an element type and back."""
    return _values.decoded(_values.encoded(values, dtype), dtype)


# ---- types ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3", "float8_e4m3fn"])
def test_small_floats_round_to_the_nearest(dtype):
    numbers = _values._table(dtype)
    finite = np.unique(numbers[np.isfinite(numbers)])
    assert np.array_equal(rounded(finite, dtype), finite)  # what the type has is kept
    values = np.random.default_rng(3).normal(size=4000).astype(np.float32) * 20
    values = values[np.abs(values) < finite[-1]]
    nearest = np.abs(finite[None, :] - values[:, None].astype(np.float64)).min(axis=1)
    assert np.array_equal(np.abs(rounded(values, dtype) - values.astype(np.float64)), nearest)
    middle = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)  # ties: to the even one
    assert all(_values.encoded(middle, dtype) % 2 == 0)
    edge = rounded(np.float32([np.inf, -np.inf, np.nan, 1e30, 0.0, -0.0]), dtype)
    assert np.isnan(edge[2]) and edge[4] == 0 and np.signbit(edge[5])
    assert np.isnan(edge[0]) if dtype == "float8_e4m3fn" else np.isinf(edge[[0, 1, 3]]).all()


def test_largest_numbers():
    assert {name: float(np.nanmax(np.where(np.isinf(_values._table(name)), 0, _values._table(name))))
            for name in _values._SMALL} == {"float8_e5m2": 57344.0, "float8_e4m3": 240.0, "float8_e4m3fn": 448.0}


def test_bfloat16_rounds_ties_to_even():
    one = np.float32(1)
    step = np.float32(2 ** -7)
    values = np.float32([1, 1 + step / 2, 1 + 3 * step / 2, 1 + step / 4, np.inf, np.nan, -2.5, 1e-40])
    made = rounded(values, "bfloat16")
    assert list(made[:5]) == [one, one, 1 + 2 * step, one, np.inf] and np.isnan(made[5]) and made[6] == -2.5
    ml = pytest.importorskip("ml_dtypes")
    many = some(1000)
    assert np.array_equal(rounded(many, "bfloat16"), many.astype(ml.bfloat16).astype(np.float32))


def test_whole_numbers():
    assert list(rounded(np.float32([1.5, 2.5, -1.2, 300, np.nan]), "int8")) == [2, 2, -1, 127, 0]
    assert list(rounded(np.int64([-1, 2**32 - 1]), "uint32")) == [2**32 - 1] * 2
    assert list(rounded(np.float32([0.5, 3]), "float16")) == [0.5, 3]
    with pytest.raises(_values.NotCovered):
        _values.encoded(np.zeros(1), "float8_e8m0fnu")
    with pytest.raises(_values.NotCovered):
        _values.decoded(np.zeros(1, np.uint8), "float8_e8m0fnu")


# ---- instructions -----------------------------------------------------------------------------------------


A, B = some(64, 96), some(64, 96, seed=2)
LANE = some(64, 1, seed=4)
PREDICATE = (some(64, 96, seed=5) > 0).astype(np.uint8)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(math.erf)(x)


def scanned(a, b, start):
    out, state = np.empty_like(a), start
    for at in range(a.shape[1]):
        state = a[:, at] * state + b[:, at]
        out[:, at] = state
    return out


def first8(data, wanted):
    return np.stack([np.argmax(data == wanted[:, k:k + 1], axis=1) for k in range(8)], axis=1)


def replaced(data, wanted, value):
    made = data.copy()
    for row in range(len(data)):
        made[row, np.isin(data[row], wanted[row])] = value
    return made


TOP = -np.sort(-A, axis=1)[:, :8]
EVEN, ODD = A[:, 0::2], A[:, 1::2]
FLOOR = np.float32(-3.4028234663852886e38)
COLUMNS = np.arange(96)[None, :]
ROWS = np.arange(64)[:, None]
INDEX = np.random.default_rng(6).integers(0, 96, (64, 32)).astype(np.uint32)

# name: (arguments as Python, with the tensors a, b, lane, predicate, index, and the shape of dst; what numpy says)
CASES = {
    "activation": ("op=nl.exp, data=a, bias=lane, scale=0.5", A.shape, np.exp(A * 0.5 + LANE)),
    "activation_reduce": ("op=nl.square, data=a, reduce_op=nl.add, reduce_res=res", A.shape,
                          (A ** 2, (A ** 2).sum(axis=1, keepdims=True))),
    "affine_select": ("pattern=[[-1, 96]], channel_multiplier=1, on_true_tile=a, on_false_value=-7.0, "
                      "cmp_op=nl.greater_equal", A.shape, np.where(ROWS >= COLUMNS, A, -7)),
    "bn_stats": ("data=a", (64, 6), np.stack(
        [np.full(64, 48), EVEN.mean(1), EVEN.var(1) * 48, np.full(64, 48), ODD.mean(1), ODD.var(1) * 48], axis=1)),
    "bn_aggr": ("data=stats", (64, 2), np.stack([A.mean(1), A.var(1)], axis=1)),
    "dma_compute": ("srcs=[a, b], reduce_op=nl.add", A.shape, A + B),
    "dma_copy": ("src=a", A.shape, A),
    "dma_transpose": ("src=a", (96, 64), A.T),
    "exponential": ("src=a, max_value=lane, reduce_res=res", A.shape,
                    (np.exp(A - LANE), np.exp(A - LANE).sum(axis=1, keepdims=True))),
    "iota": ("pattern=[[10, 8], [1, 12]], offset=5, channel_multiplier=100", (64, 96),
             5 + 100 * ROWS + (10 * np.arange(8)[:, None] + np.arange(12)).reshape(1, 96)),
    "max8": ("src=a", (64, 8), TOP),
    "memset": ("value=2.5", (64, 96), np.full((64, 96), 2.5)),
    "nc_find_index8": ("data=a, vals=top", (64, 8), first8(A, TOP)),
    "nc_match_replace8": ("data=a, vals=top, imm=-9.0", A.shape, replaced(A, TOP, -9)),
    "nc_matmul": ("stationary=a, moving=b", (96, 96), A.T @ B),
    "nc_n_gather": ("data=a, indices=index", (64, 32), np.take_along_axis(A, INDEX.astype(int), axis=1)),
    "nc_stream_shuffle": ("src=a, shuffle_mask=list(range(31, -1, -1))", A.shape,
                          A.reshape(2, 32, 96)[:, ::-1].reshape(64, 96)),
    "nc_transpose": ("data=a", (96, 64), A.T),
    "range_select": ("on_true_tile=a, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low, bound1=high, "
                     "range_start=4", A.shape, np.where((COLUMNS + 4 >= 10) & (COLUMNS + 4 < 50), A, FLOOR)),
    "reciprocal": ("data=a", A.shape, 1 / A),
    "scalar_tensor_tensor": ("data=a, op0=nl.add, operand0=lane, op1=nl.multiply, operand1=b", A.shape,
                             (A + LANE) * B),
    "select_reduce": ("predicate=predicate, on_true=a, on_false=lane, reduce_res=res, "
                      "reduce_cmd=nisa.reduce_cmd.reset_reduce", A.shape,
                      (np.where(PREDICATE, A, LANE), np.where(PREDICATE, A, LANE).max(axis=1, keepdims=True))),
    "tensor_copy": ("src=a", A.shape, A),
    "tensor_copy_predicated": ("src=a, predicate=predicate", A.shape, np.where(PREDICATE, A, 1.0)),
    "tensor_partition_reduce": ("op=nl.add, data=a", (1, 96), A.sum(axis=0, keepdims=True)),
    "tensor_reduce": ("op=nl.max, data=a, axis=1, negate=True", (64, 1), -A.max(axis=1, keepdims=True)),
    "tensor_scalar": ("data=a, op0=nl.subtract, operand0=lane, reverse0=True, op1=nl.multiply, operand1=3.0", A.shape,
                      (LANE - A) * 3),
    "tensor_scalar_cumulative": ("src=a, op0=nl.multiply, op1=nl.add, imm0=2.0", A.shape, np.cumsum(2 * A, axis=1)),
    "tensor_scalar_reduce": ("data=a, op0=nl.multiply, operand0=lane, reduce_op=nl.max, reduce_res=res", A.shape,
                             (A * LANE, (A * LANE).max(axis=1, keepdims=True))),
    "tensor_tensor": ("data1=a, data2=b, op=nl.subtract", A.shape, A - B),
    "tensor_tensor_scan": ("data0=a, data1=b, initial=0.5, op0=nl.multiply, op1=nl.add", A.shape,
                           scanned(A, B, np.full(64, 0.5, np.float32))),
}


def test_every_covered_instruction_has_a_case():
    registers = {"register_load", "register_move", "register_store"}  # test_registers
    assert {*CASES, *registers} == _values.COVERED


@pytest.mark.parametrize("name", CASES)
def test_an_instruction_against_numpy(name):
    arguments, shape, wanted = CASES[name]
    wanted, extra = wanted if isinstance(wanted, tuple) else (wanted, None)

    def kernel(a_in, b_in, lane_in, predicate_in, index_in, out, res_out):
        import nki.isa as nisa
        import nki.language as nl
        a, b, lane, predicate, index = map(nl.load, (a_in, b_in, lane_in, predicate_in, index_in))
        low, high = nl.full((64, 1), 10, nl.float32), nl.full((64, 1), 50, nl.float32)
        top = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
        nisa.max8(dst=top, src=a)
        stats = nl.ndarray((64, 6), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_stats(dst=stats, data=a)
        psum = name in ("nc_matmul", "nc_transpose")
        dst = nl.ndarray(shape, dtype=nl.float32, buffer=nl.psum if psum else nl.sbuf)
        if name in ("tensor_copy_predicated", "nc_stream_shuffle"):
            nisa.memset(dst=dst, value=1.0)
        res = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
        scope = {"nl": nl, "nisa": nisa, "dst": dst, "res": res, "a": a, "b": b, "lane": lane, "index": index,
                 "predicate": predicate, "low": low, "high": high, "top": top, "stats": stats}
        eval(f"nisa.{name}(dst=dst, {arguments})", scope)
        if extra is not None:
            nisa.dma_copy(dst=res_out, src=res)
        if psum:
            moved = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=moved, src=dst)
            dst = moved
        nisa.dma_copy(dst=out, src=dst)
        return out, res_out

    ran = nt.run(kernel, A, B, LANE, PREDICATE, INDEX, nt.hbm(shape, "f32"), nt.hbm((64, 1), "f32"))
    made, res = ran.outputs
    np.testing.assert_allclose(made, np.broadcast_to(wanted, made.shape), rtol=2e-5, atol=2e-5)
    if extra is not None:
        np.testing.assert_allclose(res, extra, rtol=2e-5, atol=2e-5)
    else:
        assert np.isnan(res).all()  # never written
    assert ran.kernel.operations > 5


FUNCTIONS = {
    "exp": np.exp, "tanh": np.tanh, "sigmoid": sigmoid, "relu": lambda x: np.maximum(x, 0), "square": np.square,
    "abs": np.abs, "negative": np.negative, "sign": np.sign, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "arctan": np.arctan, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "copy": lambda x: x,
    "silu": lambda x: x * sigmoid(x), "softplus": lambda x: np.log1p(np.exp(x)), "erf": erf,
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2, "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "gelu_dx": lambda x: (1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "reciprocal": lambda x: 1 / x, "logical_not": lambda x: x == 0,
}
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}
OPERATORS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
             "maximum": np.maximum, "minimum": np.minimum, "less": np.less, "greater_equal": np.greater_equal,
             "equal": np.equal, "not_equal": np.not_equal, "less_equal": np.less_equal, "greater": np.greater,
             "abs_max": lambda a, b: np.maximum(abs(a), abs(b)), "abs_min": lambda a, b: np.minimum(abs(a), abs(b)),
             "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
             "average": lambda a, b: (a + b) / 2, "bypass": lambda a, b: a, "fmod": np.fmod, "mod": np.mod}


@pytest.mark.parametrize("module", ["nki.language", "neuronxcc.nki.language"])
def test_functions_of_the_language(module):
    names = [*FUNCTIONS, *POSITIVE, *OPERATORS]

    def kernel(a, b, positive, out):
        import importlib
        nl = importlib.import_module(module)
        x, y, p = nl.load(a), nl.load(b), nl.load(positive)
        for at, name in enumerate(names):
            function = getattr(nl, name)
            made = function(x, y) if name in OPERATORS else function(p if name in POSITIVE else x)
            nl.store(out[at], made)
        return out

    a, b, p = some(8, 16), some(8, 16, seed=2), np.abs(some(8, 16, seed=3))
    made = nt.run(kernel, a, b, p, nt.hbm((len(names), 8, 16), "f32")).outputs
    for at, name in enumerate(names):
        wanted = (OPERATORS[name](a, b) if name in OPERATORS else POSITIVE[name](p) if name in POSITIVE
                  else FUNCTIONS[name](a))
        np.testing.assert_allclose(made[at], wanted, rtol=1e-5, atol=1e-6, err_msg=name)


def test_whole_operators_and_where():
    def kernel(a, b, out):
        import nki.language as nl
        x, y = nl.load(a), nl.load(b)
        for at, name in enumerate(("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")):
            nl.store(out[at], getattr(nl, name)(x, y))
        nl.store(out[5], nl.invert(x))
        nl.store(out[6], nl.where(y, x, 7))
        return out

    a, b = (np.random.default_rng(k).integers(0, 5, (4, 8)).astype(np.int32) for k in (1, 2))
    made = nt.run(kernel, a, b, nt.hbm((7, 4, 8), "int32")).outputs
    for got, wanted in zip(made, (a & b, a | b, a ^ b, a << b, a >> b, ~a, np.where(b, a, 7))):
        assert np.array_equal(got, wanted)


# ---- kernels ------------------------------------------------------------------------------------------------


def test_a_matmul_is_rounded_to_the_type_of_its_tiles():
    a, b = some(256, 128), some(256, 512, seed=2)
    ran = nt.run(nt.load(f"{PRESENT}:matmul"), nt.array(a, "bf16"), nt.array(b, "bf16"))
    a, b = rounded(a, "bfloat16"), rounded(b, "bfloat16")
    wanted = rounded((a[:128].T @ b[:128] + a[128:].T @ b[128:]).astype(np.float32), "bfloat16")
    np.testing.assert_allclose(ran.outputs, wanted, rtol=2 ** -7)
    assert np.array_equal(ran.outputs, rounded(ran.outputs, "bfloat16"))
    assert np.array_equal(ran.arguments["lhsT"], a) and ran.kernel.check().verdict == "proved for this shape"


def test_functions_that_are_several_instructions():
    x, w = some(128, 128), some(1, 128, seed=2)
    ran = nt.run(nt.load(f"{PRESENT}:composed"), x, w)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    wanted = [e / e.sum(axis=1, keepdims=True), x / np.sqrt((x ** 2).mean(axis=1, keepdims=True) + 1e-6) * w, x @ x, x.T,
              x.T @ x.T]
    for at, values in enumerate(wanted):
        np.testing.assert_allclose(ran.outputs[at], values, rtol=1e-4, atol=1e-4, err_msg=str(at))
    np.testing.assert_allclose(ran.outputs[5, :, 0], x.var(axis=1), rtol=1e-4)
    assert np.isnan(ran.outputs[5, :, 1:]).all()


def test_rows_of_the_older_dialect():
    x = some(200, 64)
    made = nt.run(nt.load(f"{OLDER}:rows"), x).outputs
    np.testing.assert_allclose(made, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-5)


def test_functions_of_the_older_dialect():
    x, w = some(128, 128), some(128, seed=2)
    made = nt.run(nt.load(f"{OLDER}:functions"), x, w).outputs
    e = np.exp(x - x.max(axis=1, keepdims=True))
    wanted = [e / e.sum(axis=1, keepdims=True), x / np.sqrt((x ** 2).mean(axis=1, keepdims=True) + 1e-6) * w, x @ x, x.T,
              (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5), 3 * x + 1]
    for at, values in enumerate(wanted):
        np.testing.assert_allclose(made[at], values, rtol=1e-4, atol=1e-4, err_msg=str(at))


def test_instructions_of_the_older_dialect():
    x = some(128, 512)
    made = nt.run(nt.load(f"{OLDER}:instructions"), x).outputs
    rows, columns = np.arange(128)[:, None], np.arange(512)[None, :]
    causal = np.where(rows >= columns, x, FLOOR)
    top = causal.max(axis=1, keepdims=True)
    e = np.exp(causal - top)
    both = scanned(e / e.sum(axis=1, keepdims=True), x, np.zeros(128, np.float32)) + columns
    both[:, :128] = both[:, :128].T.copy()
    both[:, 128:256] = (x[:, :128] - top) * x[:, 128:256]
    both[:, 256], both[:, 257], both[:, 258] = x.mean(axis=1), x.var(axis=1), 3
    np.testing.assert_allclose(made, both, rtol=1e-4, atol=1e-4)


def test_what_is_left_of_the_older_dialect():
    x = some(128, 128)
    ran = nt.run(nt.load(f"{OLDER}:others"), x, np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32))
    made, columns = ran.outputs, np.arange(128)[None, :]
    top = -np.sort(-x, axis=1)[:, :8]
    row = np.zeros((128, 128), np.float32)
    row[:, :8], row[:, 8:16], row[0, 16:80] = top, first8(x, top), x[:, :64].sum(axis=0)
    row[:32, 96:] = x[:32, :32].T
    wanted = [x.T, rounded(x, "bfloat16"), 128 - x / 2, np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape) - 1,
              np.where(x > 0, x, 1), x.reshape(4, 32, 128)[:, ::-1].reshape(128, 128),
              np.where((columns >= 10) & (columns < 50), x, 0), -np.where(x > 0, x, -1), row, replaced(x, top, 0),
              np.where(x > 0, x, np.eye(128)), (1 - x) ** 2 + (x < 0.5)]
    for at, values in enumerate(wanted):
        np.testing.assert_allclose(made[at], values, rtol=1e-4, atol=1e-4, err_msg=str(at))
    assert any("device_print" in text for _, text in ran.kernel.notes)
    assert ran.kernel.check().verdict == "proved for this shape", ran.kernel.explain(ran.kernel.check())


def test_other_kernels_of_the_older_dialect():
    a, b = some(256, 128), some(256, 512, seed=2)
    np.testing.assert_allclose(nt.run(nt.load(f"{OLDER}:matmul"), a, b).outputs, a.T @ b, rtol=1e-4, atol=1e-4)
    x = some(6, 4, 8)
    wanted = x.reshape(6, 2, 2, 4, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(nt.run(nt.load(f"{OLDER}:pooled"), x).outputs, wanted, rtol=1e-5, atol=1e-6)
    x = some(128, 64)
    np.testing.assert_allclose(nt.run(nt.load(f"{OLDER}:used_twice"), x).outputs, np.exp(x) + np.exp(2 * x), rtol=1e-5)
    a, b = some(256, 512), some(256, 512, seed=2)
    np.testing.assert_allclose(nt.run(nt.load(f"{OLDER}:launch"), a, b).outputs, a + b, rtol=1e-6)


def test_what_was_never_written_is_nan():
    def kernel(a):
        import nki.isa as nisa
        import nki.language as nl
        out = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        t = nl.ndarray((128, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=t[:, 0:4], src=a)
        nisa.dma_copy(dst=out, src=t)
        return {"result": [out]}

    made = nt.run(kernel, some(128, 4)).outputs["result"][0]
    assert not np.isnan(made[:, :4]).any() and np.isnan(made[:, 4:]).all()


def test_registers_of_a_reduction():
    def kernel(a, out):
        import nki.isa as nisa
        import nki.language as nl
        t, res = nl.load(a), nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
        e = nl.ndarray((64, 96), dtype=nl.float32, buffer=nl.sbuf)
        half = (slice(None), slice(0, 48)), (slice(None), slice(48, 96))
        nisa.activation(dst=e[half[0]], op=nl.exp, data=t[half[0]], reduce_op=nl.add,
                        reduce_cmd=nisa.reduce_cmd.reset_reduce)
        nisa.activation(dst=e[half[1]], op=nl.exp, data=t[half[1]], reduce_op=nl.add, reduce_res=res,
                        reduce_cmd=nisa.reduce_cmd.reduce)
        nisa.dma_copy(dst=out, src=res)
        return out

    np.testing.assert_allclose(nt.run(kernel, A, nt.hbm((64, 1), "f32")).outputs,
                               np.exp(A).sum(axis=1, keepdims=True), rtol=1e-5)


# ---- what is not covered ------------------------------------------------------------------------------------


def test_an_instruction_that_is_not_covered_is_named():
    def kernel(a, name):
        import nki.isa as nisa
        import nki.language as nl
        t = nl.load(a)
        getattr(nisa, name)(dst=t)
        nl.store(a, t)

    with pytest.raises(nt.TraceError, match="the values of nki.isa.rng are not computed") as caught:
        nt.run(kernel, some(64, 8), "rng")
    assert caught.value.place[0] == __file__
    assert nt.trace(kernel, nt.hbm((64, 8), "f32"), "rng").operations == 3  # it is traced
    missing = set(_isa.INSTRUCTIONS) - _values.COVERED
    assert {"rng", "quantize_mx", "nc_matmul_mx", "dropout", "topk"} <= missing


def test_two_cores():
    x = some(128, 64)
    kernel = nt.load(f"{PRESENT}:halves")
    ran = nt.run(kernel, x, lnc=2)
    e = np.exp(x)
    np.testing.assert_allclose(ran.outputs, e + np.roll(e, 32, axis=1), rtol=1e-6)
    wanted, code = nt.trace(kernel, nt.hbm(x.shape, "f32"), lnc=2), ran.kernel.source
    assert ran.kernel.operations == wanted.operations and ran.kernel.check().verdict == wanted.check().verdict
    assert code.count("agent core_") == 2 and code.count("sync cores") == 2
    late = nt.run(kernel, x, wait=False, lnc=2).outputs  # the first core reads what the second has not written yet
    assert np.isnan(late[:, :32]).all() and not np.isnan(late[:, 32:]).any()
    for places in (False, True):
        made = nt.run(nt.load(f"{PRESENT}:exchanged"), x, lnc=2, places=places).outputs
        np.testing.assert_allclose(made, np.stack([3 * x, 3 * x]), rtol=1e-6)
    a, b = some(512, 512), some(512, 512, seed=2)
    np.testing.assert_allclose(nt.run(nt.load(f"{OLDER}:launch_on_cores"), a, b, lnc=2).outputs, a + b, rtol=1e-6)


def test_cores_that_do_not_meet():
    def kernel(a, which):
        import nki.isa as nisa
        import nki.language as nl
        t = nl.load(a)
        if nl.program_id(0) == which:
            nisa.core_barrier(data=a, cores=(0, 1))
        elif which == 2 and nl.program_id(0):
            raise RuntimeError("the second core")
        elif which == 3:
            nisa.core_barrier(data=a, cores=(0, 1)) if nl.program_id(0) else \
                nisa.sendrecv(src=t, dst=t, send_to_rank=1, recv_from_rank=1, pipe_id=0)
        nl.store(a, t)

    before = threading.active_count()
    for which, text in ((0, "a different number of times"), (1, "a different number of times"),
                        (2, "RuntimeError: the second core"), (3, "the other core does not call it")):
        with pytest.raises(nt.TraceError, match=text) as caught:
            nt.run(kernel, some(64, 8), which, lnc=2)
        assert caught.value.place[0] == __file__
    assert threading.active_count() == before


def test_rows_by_their_numbers():
    """Gather and scatter: an index for each row, one index for all, and both dialects."""
    table, index = some(100, 8), np.random.default_rng(8).permutation(100)[:64].astype(np.int32)[:, None]

    def kernel(table, index, out, spread, moved):
        import nki.isa as nisa
        import nki.language as nl
        i, t = nl.load(index), nl.ndarray((64, 8), dtype=table.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=table.ap([[8, 64], [1, 8]], vector_offset=i, indirect_dim=0))
        nisa.dma_copy(dst=out, src=t)
        nisa.dma_copy(dst=spread.vector_select(0, i), src=t)
        nisa.dma_copy(dst=t[0:2], src=table.ap([[8, 2], [1, 8]], scalar_offset=i[3:4, 0:1], indirect_dim=0))
        nisa.dma_copy(dst=moved, src=t[0:2])
        return out, spread, moved

    made, spread, moved = nt.run(kernel, table, index, *(nt.hbm((rows, 8), "f32") for rows in (64, 100, 2))).outputs
    rows = index[:, 0]
    np.testing.assert_array_equal(made, table[rows])
    np.testing.assert_array_equal(spread[rows], table[rows])
    assert np.isnan(spread[np.setdiff1d(np.arange(100), rows)]).all()
    if rows[3] < 99:
        np.testing.assert_array_equal(moved, table[rows[3]:rows[3] + 2])
    older = np.random.default_rng(9).integers(0, 100, (128, 1)).astype(np.int32)
    np.testing.assert_array_equal(nt.run(nt.load(f"{OLDER}:gathered"), table, older).outputs, table[older[:, 0]])
    with pytest.raises(nt.TraceError, match="index 100 of 'table', which has 100 places"):
        nt.run(nt.load(f"{OLDER}:gathered"), table, older * 0 + 100)


def test_other_things_that_are_not_covered():
    def register(a, b, c):
        import nki.isa as nisa
        nisa.register_load(dst=nisa.register_alloc(), src=a)

    def unwritten(a, b, c):
        import nki.isa as nisa
        nisa.register_store(dst=b, src=nisa.register_alloc())

    def endless(a, b, c):
        import nki.language as nl
        nl.while_loop(0, lambda index: nl.store(c, nl.load(a)))

    def outside(a, b, c):
        import nki.isa as nisa
        import nki.language as nl
        nl.store(c[:, 0:1], nl.load(a[:, nl.ds(nisa.register_alloc(8), 1)]))

    def by_register(a, b, c):
        import nki.isa as nisa
        import nki.language as nl
        t = nl.ndarray((100, 1), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=a[:, nl.ds(nisa.register_alloc(), 1)])

    def function(a, b, c):
        import nki.language as nl
        nl.store(c, nl.prelu(nl.load(a)))

    for kernel, text in ((register, "a register of the 800 elements of 'a'"),
                         (unwritten, "a register that was never written"), (endless, "nki.language.while_loop"),
                         (outside, "index 8 of 'a', which has 8 places"), (by_register, "known on the device only"),
                         (function, "the function prelu")):
        with pytest.raises(nt.TraceError, match=text):
            nt.run(kernel, some(100, 8), np.zeros((1, 1), np.int32), nt.hbm((100, 8), "f32"))


def test_registers():
    """Counts, places and numbers in registers, in HBM and on chip; and arithmetic with them."""
    def kernel(x, count, out, told):
        import nki.isa as nisa
        import nki.language as nl
        rows, last, c = nisa.register_alloc(), nisa.register_alloc(7), nl.load(count)
        nisa.register_load(dst=rows, src=c)
        nisa.register_move(dst=last, src=rows - 1)
        all_rows = nl.ndarray((16, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(dst=all_rows, value=0.0)
        for i in nl.dynamic_range(rows):
            nisa.dma_copy(dst=all_rows[:, nl.ds(i * 8, 8)], src=x[last - i])
        nisa.dma_copy(dst=out, src=all_rows)
        nisa.register_store(dst=c, src=(2 * last + 100 // rows) % 64 + -rows)
        nl.store(told, c)

    x = some(8, 16, 8)
    for rows in (1, 5):
        ran = nt.run(kernel, x, np.int32([[rows]]), nt.hbm((16, 64), "f32"), nt.hbm((1, 1), "int32"))
        wanted = np.zeros((16, 64), np.float32)
        for i in range(rows):
            wanted[:, 8 * i:8 * i + 8] = x[rows - 1 - i]
        np.testing.assert_array_equal(ran.arguments["out"], wanted)
        assert ran.arguments["told"][0, 0] == (2 * (rows - 1) + 100 // rows) % 64 - rows
        assert any("as often as these numbers say" in text for _, text in ran.kernel.notes)
    traced = nt.trace(kernel, *(nt.hbm(shape, kind) for shape, kind in
                                (((8, 16, 8), "f32"), ((1, 1), "int32"), ((16, 64), "f32"), ((1, 1), "int32"))))
    assert any("recorded once" in text for _, text in traced.notes)  # without numbers nothing is known


def test_a_loop_with_a_count_of_the_device():
    x = some(8, 128, 64)
    made = nt.run(nt.load(f"{PRESENT}:dynamic"), x, np.int32([[3]])).outputs
    np.testing.assert_array_equal(made[:3], x[:3])
    assert np.isnan(made[3:]).all()


def test_without_numpy(monkeypatch):
    monkeypatch.setattr(_values, "np", None)
    with pytest.raises(spad.Error, match="numpy"):
        nt.run(nt.load(f"{OLDER}:rows"), nt.hbm((128, 8), "f32"))


def test_the_numbers_of_the_page(root, tmp_path, monkeypatch):
    import test_docs
    names = {"__name__": "docs"}
    monkeypatch.chdir(test_docs.write_files(root, "nki-trace.md", tmp_path))
    for needs, code in test_docs.blocks(root, "nki-trace.md"):
        if needs in ("", "numpy"):
            exec(compile(code, str(root / "docs/nki-trace.md"), "exec"), names)
    assert "ran" in names
    page = (root / "docs/nki-reference.md").read_text(encoding="utf-8")
    listed = page[page.index("Covered are"):page.index("and the functions of `nki.language`")]
    assert {name for name in _isa.INSTRUCTIONS if f"`{name}`" in listed} == _values.COVERED
    assert f"Covered are {len(_values.COVERED)} instructions" in page


# ---- index tiles and masks ----------------------------------------------------------------------------------


def random_key(rng, shape):
    """(an index of the older dialect, the same one of numpy) for a tensor, with at least one index tile."""
    from spad.nki import _index
    from spad.nki._views import DynamicSlice
    kinds = [rng.choice(["tile", "tile", "number", "slice", "ds"]) for _ in shape]
    if "tile" not in kinds:
        kinds[rng.integers(len(kinds))] = "tile"
    count, ours, theirs, at = kinds.count("tile"), [], [], 0
    for kind, extent in zip(kinds, shape):
        extent = int(extent)
        low = int(rng.integers(extent))
        if kind == "number":
            ours.append(low)
            theirs.append(low)
        elif kind == "slice":
            ours.append(slice(low, extent, 2))
            theirs.append(ours[-1])
        elif kind == "ds":
            ours.append(DynamicSlice(low, extent - low))
            theirs.append(slice(low, extent))
        else:
            step = int(rng.integers(1, 3))
            size = (extent - low + step - 1) // step
            place = (None,) * at + (slice(None),) + (None,) * (count - at - 1)
            ours.append(step * _index.arange(size)[place] + low)
            theirs.append((step * np.arange(size) + low)[place])
            at += 1
    return tuple(ours), tuple(theirs)


@pytest.mark.parametrize("seed", range(4))
def test_indices_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    made = []

    def kernel(a):
        import neuronxcc.nki.language as nl
        for _ in range(60):
            key, same = random_key(rng, a.shape)
            view = a[key]
            made.append((key, view.fitted([(0, count) for count in view.shape]), same))
        nl.store(a, nl.load(a))

    values = _values.Values()
    x = np.arange(5 * 6 * 7).reshape(5, 6, 7).astype(np.float32)
    nt.trace(kernel, nt.hbm(x.shape, "f32"))
    values.put(spad.nki._views.View.whole(made[0][1].storage), x)
    for key, view, same in made:
        wanted = x[same]
        got = values.get(view)
        assert got.size == wanted.size and np.array_equal(got.reshape(-1), wanted.reshape(-1)), key
        assert got.shape == (wanted.shape or (1,)), key


def test_masks_are_those_of_numpy():
    def kernel(a, b, out):
        import neuronxcc.nki.isa as nisa
        import neuronxcc.nki.language as nl
        i, j = nl.mgrid[0:96, 0:64]
        box = (i < 70) & (j >= 8) & (j <= 50)
        t = nl.zeros((nl.par_dim(96), 64), dtype=nl.float32)
        t[i, j] = nl.load(a[i, j], mask=box)
        nl.store(out[0, 0:96], value=t)
        top = nl.full((nl.par_dim(96), 1), -1.0, dtype=nl.float32)
        top[...] = nisa.tensor_reduce(nl.max, t, axis=1, mask=box)
        nl.store(out[1, 0:96, 0:1], value=top)
        total = nl.full((nl.par_dim(96), 1), -1.0, dtype=nl.float32)
        total[...] = nl.sum(t, axis=1, mask=(i < 70))
        nl.store(out[1, 0:96, 1:2], value=total)
        acc = nl.zeros((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
        acc += 0.0
        k = nl.mgrid[0:64, 0:64]
        acc[...] = nisa.nc_matmul(t, nl.load(b), mask=(k.p < 40) & (k.x < 30))
        nl.store(out[2, 0:64], value=acc)
        turned = nl.zeros((nl.par_dim(64), 96), dtype=nl.float32, buffer=nl.psum)
        turned += 0.0
        turned[...] = nisa.nc_transpose(t, mask=(i < 10))
        nl.store(out[3, 0:64], value=turned[:, 0:64])
        nl.store(out[4, 0:96], value=t, mask=box)
        nothing = nl.exp(t, mask=(i < 0))
        nl.store(out[4, 0:96], value=t, mask=(i < 0))
        assert nothing.shape == (96, 64)
        return out

    a, b = some(96, 64), some(96, 64, seed=2)
    made = nt.run(kernel, a, b, nt.hbm((5, 96, 64), "f32")).outputs
    rows, columns = np.arange(96)[:, None], np.arange(64)[None, :]
    box = (rows < 70) & (columns >= 8) & (columns <= 50)
    t = np.where(box, a, 0)
    np.testing.assert_array_equal(made[0], t)
    top = np.where(np.arange(96) < 70, t[:, 8:51].max(axis=1), -1)
    np.testing.assert_allclose(made[1, :, 0], top)
    np.testing.assert_allclose(made[1, :, 1], np.where(np.arange(96) < 70, t.sum(axis=1), -1), rtol=1e-5, atol=1e-5)
    product = t.T @ b
    product[40:], product[:, 30:] = 0, 0
    np.testing.assert_allclose(made[2, :64], product, rtol=1e-4, atol=1e-4)
    turned = np.where(np.arange(96)[None, :] < 10, t.T, 0)
    np.testing.assert_allclose(made[3, :64], turned[:, :64])
    np.testing.assert_array_equal(np.isnan(made[4]), ~box)


def test_more_of_what_instructions_do():
    def kernel(a, predicate, out, hbm):
        import nki.isa as nisa
        import nki.language as nl
        t, p = nl.load(a), nl.load(predicate)
        r, res = (nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf) for shape in ((64, 96), (64, 1)))
        nisa.select_reduce(dst=r, predicate=p, on_true=t, on_false=2.0, reverse_pred=True)
        nl.store(out[0], r)
        nisa.memset(dst=r, value=0.0)
        nisa.tensor_copy_predicated(dst=r, src=5.0, predicate=p, reverse_pred=True)
        nl.store(out[1], r)
        start = nl.full((64, 1), 3, nl.float32)
        nisa.tensor_scalar_cumulative(dst=r, src=t, op0=nl.add, op1=nl.add, imm0=1.0, imm1=start,
                                      reduce_cmd=nisa.reduce_cmd.load_reduce)
        nl.store(out[2], r)
        top, at = (nl.ndarray((64, 8), dtype=kind, buffer=nl.sbuf) for kind in (nl.float32, nl.uint32))
        nisa.max8(dst=top, src=t)
        nisa.nc_match_replace8(dst=r, data=t, vals=top, imm=0.0, dst_idx=at)
        nl.store(out[3, :, 0:8], at)
        low, high = nl.full((64, 1), 0, nl.float32), nl.full((64, 1), 9, nl.float32)
        nisa.range_select(dst=r, on_true_tile=t, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low, bound1=high,
                          reduce_res=res, reduce_op=nl.max)
        nl.store(out[4, :, 0:1], res)
        nisa.tensor_scalar_reduce(dst=r, data=t, op0=nl.multiply, operand0=1.0, reduce_op=nl.add, reduce_res=res,
                                  reduce_cmd=nisa.reduce_cmd.load_reduce, reduce_init=start, reduce_res_negate=True)
        nl.store(out[4, :, 1:2], res)
        nisa.dma_copy(dst=hbm, src=t)
        nisa.dma_copy(dst=hbm, src=t, dst_rmw_op=nl.add)
        nl.store(out[5], nl.load(hbm))
        whole = nl.ndarray((64, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=whole, op=nl.bitwise_or, data=p, axis=1)
        nl.store(out[6, :, 0:1], whole)
        nl.store(out[6, :, 1:2], nl.all(p, axis=1))
        nisa.dma_transpose(dst=r.reshape((64, 8, 12)), src=t.reshape((64, 12, 8)), axes=(0, 2, 1))
        nl.store(out[7], r)
        four = nl.ndarray((4, 4, 6, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_transpose(dst=four, src=t.reshape((64, 4, 6, 4)))
        nisa.dma_copy(dst=out[8].reshape((4, 4, 6, 64)), src=four)
        return out

    made = nt.run(kernel, A, PREDICATE, nt.hbm((9, 64, 96), "f32"), nt.hbm((64, 96), "f32")).outputs
    np.testing.assert_array_equal(made[0], np.where(PREDICATE, 2, A))
    np.testing.assert_array_equal(made[1], np.where(PREDICATE, 0, 5))
    np.testing.assert_allclose(made[2], np.cumsum(A + 1, axis=1) + 3, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(made[3, :, :8], first8(A, TOP))
    np.testing.assert_array_equal(made[4, :, 0], A[:, :9].max(axis=1))
    np.testing.assert_allclose(made[4, :, 1], -(A.sum(axis=1) + 3), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(made[5], A + A)
    np.testing.assert_array_equal(made[6, :, 0], PREDICATE.max(axis=1))
    np.testing.assert_array_equal(made[6, :, 1], PREDICATE.min(axis=1))
    np.testing.assert_array_equal(made[7], A.reshape(64, 12, 8).transpose(0, 2, 1).reshape(64, 96))
    np.testing.assert_array_equal(made[8].reshape(4, 4, 6, 64), A.reshape(64, 4, 6, 4).transpose(3, 1, 2, 0))


@pytest.mark.parametrize("call, text", [
    ("nisa.activation(dst=t, op=nl.exp, data=t, reduce_op=nl.add, reduce_res=t[:, 0:1])", "reduce_cmd idle"),
    ("nisa.activation(dst=t, op=nl.exp, data=t, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reduce)", "continues nothing"),
    ("nisa.nc_matmul(dst=nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.psum), stationary=t, moving=t, "
     "perf_mode=nisa.matmul_perf_mode.double_row)", "perf_mode"),
    ("nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.arctan)", "the operator arctan"),
    ("nisa.tensor_reduce(dst=t[:, 0:1], op=nl.power, data=t, axis=1)", "a reduction by power"),
    ("nisa.memset(dst=nl.ndarray((64, 8), dtype=nl.float8_e8m0fnu, buffer=nl.sbuf), value=1)", "the type float8_e8m0fnu"),
    ("nisa.tensor_scalar_cumulative(dst=t, src=t, op0=nl.add, op1=nl.add, imm0=1.0, "
     "reduce_cmd=nisa.reduce_cmd.reduce)", "continues another one"),
])
def test_forms_that_are_not_covered_are_named(call, text):
    def kernel(a):
        import nki.isa as nisa
        import nki.language as nl
        eval(call, {"nl": nl, "nisa": nisa, "t": nl.load(a)})
        nl.store(a, nl.load(a))

    with pytest.raises(nt.TraceError, match=text):
        nt.run(kernel, some(64, 8))
    assert nt.trace(kernel, nt.hbm((64, 8), "f32")).operations >= 3


# ---- public kernels -----------------------------------------------------------------------------------------


def shares(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def worst(made, wanted):
    return float(np.abs(made - wanted).max() / np.abs(wanted).max())


@pytest.mark.skipif(not os.environ.get("SPAD_NKI_SAMPLES"), reason="SPAD_NKI_SAMPLES names no checkout")
@pytest.mark.parametrize("version", range(1, 9))
def test_public_attention(version):
    rows = 128 if version < 3 else 512
    q, k, v = (some(128, rows, seed=seed) for seed in (1, 2, 3))
    kernel = nki_public.load(Path(os.environ["SPAD_NKI_SAMPLES"]) / f"{nki_public.ATTENTION}:attn_fwd_v{version}")
    made = nt.run(kernel, q, k, v).outputs
    assert worst(made, shares(q.T @ k) @ v.T) < (1e-5 if version < 7 else 1e-2)  # the last two use bfloat16


@pytest.mark.skipif(not os.environ.get("SPAD_NKI_LIBRARY"), reason="SPAD_NKI_LIBRARY names no checkout")
def test_public_attention_with_its_addresses():
    q, k, v = some(1, 512, 128), some(1, 128, 512, seed=2), some(1, 512, 128, seed=3)
    kernel = nki_public.load(Path(os.environ["SPAD_NKI_LIBRARY"])
                             / "src/nkilib_src/nkilib/core/attention/attention_cte.py:attention_cte")
    made = nt.run(kernel, *(nt.array(part, "bf16") for part in (q, k, v)), scale=0.0884, places=True).outputs
    q, k, v = (rounded(part, "bfloat16")[0] for part in (q, k, v))
    scores = 0.0884 * (q @ k)
    scores[np.triu_indices(512, 1)] = -1e9
    assert worst(made[0], shares(scores) @ v) < 2e-2
    for name in [name for name in sys.modules if name.partition(".")[0] == "nkilib_src"]:
        del sys.modules[name]
