# SPDX-License-Identifier: Apache-2.0
"""Calls of public NKI kernels, with shapes of our choice, for traces of a checkout.

    SPAD_NKI_LIBRARY=/path/to/nki-library python tests/python/nki_public.py
    SPAD_NKI_SAMPLES=/path/to/nki-samples python tests/python/nki_public.py

Prints a row for each kernel: operations, seconds of the trace, of the check and of the plan, and the
verdict. Nothing of the checkouts is part of this repository.
"""

import os
import sys
import time
from pathlib import Path

import spad
import spad.nki.trace as nt

BF, F32, I32 = "bfloat16", "float32", "int32"


def h(*shape, dtype=BF):
    return nt.hbm(shape, dtype)


def attention(rows, **options):
    return lambda: ((h(1, rows, 128), h(1, 128, rows), h(1, rows, 128)), options)


def call(*args, **options):
    return lambda: (args, options)


def enum_of(kernel, module, kind, name):
    """A member of an enumeration that the module of a kernel imports."""
    return getattr(getattr(sys.modules[kernel.func.__module__], kind), name)


LIBRARY = (
    ("core/attention/attention_cte.py:attention_cte", "2k", attention(2048)),
    ("core/attention/attention_cte.py:attention_cte", "4k", attention(4096)),
    ("core/attention/attention_cte.py:attention_cte", "2k, no mask", attention(2048, causal_mask=False)),
    ("core/attention/attention_cte.py:attention_cte", "2k, window 512",
     attention(2048, sliding_window=512)),
    ("core/attention/attention_cte.py:attention_cte", "2k, softmax kept", attention(2048, cache_softmax=True)),
    ("core/attention/attention_cte.py:attention_cte", "2k, output transposed", attention(2048, tp_out=True)),
    ("core/attention/attention_bwd.py:attention_bwd", "2k, causal",
     call(*(h(1, 1, 128, 2048) for _ in range(5)), h(1, 1, 128, 16, dtype=F32), use_causal_mask=True,
          mixed_precision=True)),
    ("core/cumsum/cumsum.py:cumsum", "256 x 4096", call(h(256, 4096))),
    ("core/max/cascaded_max.py:cascaded_max", "1 x 32768", call(h(1, 1, 32768))),
    ("core/max/cascaded_max.py:cascaded_max", "8 x 32768", call(h(8, 1, 32768))),
    ("core/embeddings/rope.py:RoPE", "128, 1, 8, 512",
     call(h(128, 1, 8, 512), h(64, 1, 512), h(64, 1, 512))),
    ("core/embeddings/rope.py:RoPE", "interleaved",
     call(h(128, 1, 8, 512), h(64, 1, 512), h(64, 1, 512), contiguous_layout=False)),
    ("core/embeddings/rope_hf.py:rope_hf", "8 heads, 512",
     call(h(1, 8, 512, 128), h(1, 2, 512, 128), h(1, 8, 512, 128), h(1, 2, 512, 128), h(1, 512, 128),
          h(1, 512, 128))),
    ("core/qkv/qkv.py:qkv", "prefill 512", call(h(1, 512, 2048), h(2048, 512))),
    ("core/qkv/qkv.py:qkv", "decode 4", call(h(4, 1, 2048), h(2048, 512))),
    ("core/output_projection/output_projection_cte/output_projection_cte.py:output_projection_cte",
     "1024 x 2048", call(h(1, 4, 128, 1024), h(512, 2048))),
    ("core/output_projection/output_projection_tkg.py:output_projection_tkg", "4 x 2048",
     call(h(128, 4, 4, 1), h(512, 2048))),
    ("core/subkernels/find_nonzero_indices.py:find_nonzero_indices", "1024 x 16",
     call(h(1024, 16, dtype=F32))),
    ("core/subkernels/indexed_flatten.py:indexed_flatten", "16 x 4096",
     call(h(16, 4096, dtype=I32), 128, 65536, h(16, dtype=I32))),
    ("core/mlp/mlp.py:mlp", "512 x 1024",
     call(h(1, 512, 1024), h(1024, 512), h(1024, 512), h(512, 1024))),
    ("experimental/benchmark/find_nonzero_indices_with_count.py:find_nonzero_indices_with_count", "1 x 1024",
     call(h(1, 1024, dtype=F32))),
    ("experimental/conv/conv1d.py:conv1d", "128 channels",
     call(h(1, 128, 512), h(3, 128, 128))),
    ("experimental/conv/depthwise_conv1d.py:depthwise_conv1d_implicit_gemm", "64 channels",
     call(h(1, 64, 1, 512), h(64, 1, 1, 4), feature_group_count=64)),
    ("experimental/loss/cross_entropy.py:cross_entropy_forward", "64 x 8192",
     call(h(64, 8192), h(64, dtype=I32), chunk_size=4096)),
    ("experimental/loss/cross_entropy.py:cross_entropy_backward", "64 x 8192",
     call(h(64, 8192), h(64, dtype=I32), h(64), chunk_size=4096)),
    ("experimental/dynamic_shapes/dynamic_elementwise_add.py:dynamic_elementwise_add", "512 x 1024",
     call(h(512, 1024), h(512, 1024), h(1, 1, dtype=I32))),
)

MATMULS = "tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
SAMPLES = (
    (f"{MATMULS}:nki_matmul_basic_", "128 x 512", call(h(128, 64), h(128, 512))),
    (f"{MATMULS}:nki_matmul_tiled_", "1024^3", call(h(1024, 1024), h(1024, 1024))),
    (f"{MATMULS}:nki_matmul_hoist_load_", "1024^3", call(h(1024, 1024), h(1024, 1024))),
    (f"{MATMULS}:nki_matmul_block_free_dimension_", "1024^3", call(h(1024, 1024), h(1024, 1024))),
    (f"{MATMULS}:nki_matmul_fully_optimized_", "2048^3", call(h(2048, 2048), h(2048, 2048))),
)


def cases():
    """(where, shape, call) of the checkouts that the environment names."""
    for variable, inside, table in (("SPAD_NKI_LIBRARY", "src/nkilib_src/nkilib", LIBRARY),
                                    ("SPAD_NKI_SAMPLES", "src/nki_samples", SAMPLES)):
        if os.environ.get(variable):
            root = Path(os.environ[variable]) / inside
            for where, shape, made in table:
                yield root / where, shape, made


def measure(where, made, target="trn2"):
    """A dict of one case: what happened and how long it took."""
    row = {}
    begin = time.perf_counter()
    try:
        kernel = nt.load(str(where))
        args, options = made()
        traced = nt.trace(kernel, *args, target=target, **options)
    except spad.Error as error:
        return {"failure": str(error)}
    row["operations"], row["notes"] = traced.operations, len(traced.notes)
    row["trace"] = time.perf_counter() - begin
    begin = time.perf_counter()
    check = traced.check()
    row["check"], row["verdict"], row["errors"] = time.perf_counter() - begin, check.verdict, check.counts["errors"]
    begin = time.perf_counter()
    try:
        traced.plan()
    except spad.Error as error:
        row["plan_failure"] = str(error)
    row["plan"] = time.perf_counter() - begin
    try:
        row["time"] = traced.sim().makespan
    except (spad.Error, AttributeError) as error:
        row["time"] = str(error)
    return row


def main():
    for where, shape, made in cases():
        row = measure(where, made)
        name = str(where).rpartition(":")[2]
        if "failure" in row:
            print(f"{name} | {shape} | not traced: {row['failure'][:400]}", flush=True)
            continue
        print(f"{name} | {shape} | {row['operations']} | {row['trace']:.2f} | {row['check']:.2f} | "
              f"{row['plan']:.2f} | {row['verdict']}, errors {row['errors']}, notes {row['notes']} | "
              f"{row['time']} {row.get('plan_failure', '')}", flush=True)


if __name__ == "__main__":
    main()
