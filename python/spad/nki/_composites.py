# SPDX-License-Identifier: Apache-2.0
"""Functions of nki.language that are several instructions, recorded as these."""

import math

from ._isa import INSTRUCTIONS
from ._record import current


class Composites:
    """Made of the simple functions of the language: `simple` is name: function."""

    def __init__(self, simple, sbuf, psum):
        self._simple, self._sbuf, self._psum = simple, sbuf, psum

    def functions(self):
        return {name: getattr(self, name) for name in
                ("softmax", "rms_norm", "var", "transpose", "matmul", "load_transpose2d", "gather_flattened",
                 "dropout", "rand", "random_seed")}

    def _made(self, name, shape, dtype, space=None):
        return current(f"nki.language.{name}").tensor(shape, dtype, space or self._sbuf, name)

    @staticmethod
    def _call(instruction, **given):
        current(f"nki.isa.{instruction}").call(INSTRUCTIONS[instruction], (), given)

    def softmax(self, x, axis=-1, dtype=None):
        """nl.softmax: largest, difference, exp, sum, quotient."""
        do = self._simple
        top = do["max"](x, axis, dtype="float32", keepdims=True)
        power = do["exp"](do["subtract"](x, top, dtype="float32"))
        return do["divide"](power, do["sum"](power, axis, keepdims=True), dtype=dtype or x.dtype)

    def rms_norm(self, x, w, axis, n, epsilon=1e-6, dtype=None, compute_dtype=None):
        """nl.rms_norm: squares, their sum, its scaled root, and two products."""
        do, kind = self._simple, compute_dtype or "float32"
        total = do["sum"](do["square"](x, dtype=kind), axis, keepdims=True)
        root = do["rsqrt"](do["add"](do["multiply"](total, 1.0 / n), epsilon))
        w = w.broadcast(0, x.shape[0]) if w.shape[0] == 1 and x.shape[0] != 1 else w
        return do["multiply"](do["multiply"](x, root, dtype=kind), w, dtype=dtype or x.dtype)

    def var(self, x, axis, dtype=None, keepdims=False):
        """nl.var: the mean of the squares of the differences from the mean."""
        do = self._simple
        less = do["subtract"](x, do["mean"](x, axis, dtype="float32", keepdims=True), dtype="float32")
        return do["mean"](do["square"](less), axis, dtype=dtype or x.dtype, keepdims=keepdims)

    def _moved(self, name, view, dtype):
        """A tile of PSUM in SBUF."""
        if view.storage.space != "psum":
            return view
        made = self._made(name, view.shape, dtype)
        self._call("tensor_copy", dst=made, src=view)
        return made

    def transpose(self, x, dtype=None):
        """nl.transpose: the partitions of a tile exchanged with its free dimension, on the tensor engine."""
        turned = self._made("transpose", (math.prod(x.shape[1:]), x.shape[0]), x.dtype, self._psum)
        self._call("nc_transpose", dst=turned, data=self._moved("transpose", x, x.dtype))
        return self._moved("transpose", turned, dtype or x.dtype)

    def matmul(self, x, y, transpose_x=False):
        """nl.matmul: x @ y; x is transposed first unless it is given that way. The result is in PSUM."""
        x = self._moved("matmul", x, x.dtype) if transpose_x else self.transpose(x)
        y = self._moved("matmul", y, y.dtype)
        made = self._made("matmul", (math.prod(x.shape[1:]), *y.shape[1:]), "float32", self._psum)
        self._call("nc_matmul", dst=made, stationary=x, moving=y, accumulate=False)
        return made

    def load_transpose2d(self, src, dtype=None):
        """nl.load_transpose2d: HBM to SBUF, the two dimensions exchanged."""
        made = self._made("load", tuple(reversed(src.shape)), dtype or src.dtype)
        self._call("dma_transpose", dst=made, src=src)
        return made

    def gather_flattened(self, data, indices, axis=0, dtype=None):
        """nl.gather_flattened: elements of each partition by their number."""
        made = self._made("gather", indices.shape, dtype or data.dtype)
        self._call("nc_n_gather", dst=made, data=data, indices=indices)
        return made

    def dropout(self, x, rate, dtype=None):
        """nl.dropout."""
        made = self._made("dropout", x.shape, dtype or x.dtype)
        self._call("dropout", dst=made, data=x, prob=rate)
        return made

    def rand(self, shape, dtype, buffer=None, name=""):
        """nl.rand."""
        made = self._made(name or "rand", shape, dtype, buffer)
        self._call("rng", dst=made)
        return made

    def random_seed(self, seed):
        """nl.random_seed."""
        self._call("set_rng_seed", src_seeds=seed)
