# SPDX-License-Identifier: Apache-2.0
"""Calls of public NKI kernels, with shapes of our choice, for traces of a checkout.

    SPAD_NKI_LIBRARY=/path/to/nki-library python tests/python/nki_public.py
    SPAD_NKI_SAMPLES=/path/to/nki-samples python tests/python/nki_public.py
    SPAD_NKI_SAMPLES_2025=/path/to/nki-samples python tests/python/nki_public.py   # its state 0898a77

Prints a row for each kernel: operations, seconds of the trace, of the check and of the plan, and the
verdict. Nothing of the checkouts is part of this repository.
"""

import contextlib
import csv
import importlib.util
import os
import sys
import time
import types
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


def module_of(kernel):
    return sys.modules[getattr(kernel, "func", kernel).__module__]


def wrapped(make):
    """A call that needs names of the kernel's own module: make(kernel, module) gives what to trace, its
    arguments and its options."""
    make.is_wrapped = True
    return make


@wrapped
def attention_tkg(kernel, module):
    cfg = module.AttnTKGConfig(bs=4, q_head=8, s_active=1, curr_sprior=2048, full_sprior=2048, d_head=128,
                               qk_in_sb=True)

    def decode(q, k_active, v_active, k_prior, v_prior, mask, out):
        import nki.language as nl
        sbm = module.SbufManager(0, 200 * 1024, use_auto_alloc=False)
        sbm.open_scope(name="decode")
        q, k_active = (nl.load(part) for part in (q, k_active))
        made = kernel(q, k_active, v_active, k_prior, v_prior, mask, out, cfg, sbm)
        sbm.close_scope()
        return made

    return decode, (h(128, 32), h(128, 4), h(4, 1, 1, 128), h(4, 1, 128, 2048), h(4, 1, 2048, 128),
                    h(2048, 4, 8, 1, dtype="uint8"), h(4, 8, 128, 1)), {}


@wrapped
def norm_tkg(kernel, module):
    def norm(x, gamma, out):
        import nki.isa as nisa
        import nki.language as nl
        t = nl.ndarray((128, 4, 16), dtype=x.dtype, buffer=nl.sbuf)
        kernel(x, gamma, t)
        nisa.dma_copy(dst=out, src=t)

    return norm, (h(4, 1, 2048), h(1, 2048), h(128, 4, 16)), {}


@wrapped
def rmsnorm_quant(kernel, module):
    return kernel, (h(1, 256, 2048), h(2048), module.RmsNormQuantKernelArgs()), {}


@wrapped
def router(kernel, module):
    kinds = module.common_types.RouterActFnType
    return kernel, (h(1024, 128), h(1024, 64), h(1, 64), h(128, 64, dtype=F32), h(128, 64, dtype=F32),
                    h(128, 4, dtype="uint32"), kinds.SOFTMAX, 4, 0, 0), {}


def blocks(experts=4, tokens=512, hidden=1024, inner=512, block=256):
    count = tokens // block + experts - 1
    return call(h(tokens + 1, hidden), h((tokens + 1) * experts, 1), h(experts, hidden, 2, inner),
                h(experts, inner, hidden), block, h(count * block, dtype=I32), h(count, 1, dtype=I32))


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

LIBRARY += (
    ("core/attention/attention_tkg.py:attention_tkg", "4 x 8 heads, 2048", attention_tkg),
    ("core/attention/gen_mask_tkg.py:gen_mask_tkg_hbm", "4 x 8 heads, 2048",
     call(h(4, 1, dtype=F32), 4, 8, 1, 2048)),
    ("core/subkernels/rmsnorm_tkg.py:rmsnorm_tkg", "4 x 2048", norm_tkg),
    ("core/subkernels/layernorm_tkg.py:layernorm_tkg", "4 x 2048", norm_tkg),
    ("core/rmsnorm/rmsnorm_quant.py:rmsnorm_quant_kernel", "256 x 2048", rmsnorm_quant),
    ("core/router_topk/router_topk.py:router_topk", "128 x 1024, 64 experts", router),
    ("core/moe/moe_cte/bwmm_shard_on_I.py:blockwise_mm_baseline_shard_intermediate", "4 experts", blocks()),
    ("core/moe/moe_cte/bwmm_shard_on_block.py:bwmm_shard_on_block", "4 experts", blocks()),
    ("experimental/moe/forward/bwmm_shard_on_H.py:blockwise_mm_baseline_shard_hidden", "4 experts", blocks()),
    ("core/moe/moe_tkg/moe_tkg.py:moe_tkg", "4 tokens, 8 experts",
     call(h(4, 1024), h(8, 1024, 2, 512), h(8, 512, 1024), h(4, 8, dtype=F32), h(4, 2, dtype=I32), False)),
    ("core/moe/moe_tkg/moe_tkg.py:moe_tkg", "4 tokens, all of 8 experts",
     call(h(4, 1024), h(8, 1024, 2, 512), h(8, 512, 1024), h(4, 8, dtype=F32), h(4, 2, dtype=I32), True)),
)

# What needs two cores; what cannot be traced, and why.
TWO_CORES = ("indexed_flatten", "blockwise_mm_baseline_shard_intermediate", "bwmm_shard_on_block",
             "blockwise_mm_baseline_shard_hidden")
DOES_NOT_PARSE = ("mlp",)  # in the state of 13 April 2026

MATMULS = "tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
SAMPLES = (
    (f"{MATMULS}:nki_matmul_basic_", "128 x 512", call(h(128, 64), h(128, 512))),
    (f"{MATMULS}:nki_matmul_tiled_", "1024^3", call(h(1024, 1024), h(1024, 1024))),
    (f"{MATMULS}:nki_matmul_hoist_load_", "1024^3", call(h(1024, 1024), h(1024, 1024))),
    (f"{MATMULS}:nki_matmul_block_free_dimension_", "1024^3", call(h(1024, 1024), h(1024, 1024))),
    (f"{MATMULS}:nki_matmul_fully_optimized_", "2048^3", call(h(2048, 2048), h(2048, 2048))),
)

# The older dialect.
ATTENTION = "src/nki_samples/tutorials/attention_fwd_performance/attention_kernels.py"
MAMBA = "src/nki_samples/tutorials/fused_mamba/mamba_nki_kernels.py"
ADD = "src/nki_samples/tutorials/tensor_addition"
FLOAT16 = "float16"


def f(*shape):
    return h(*shape, dtype=F32)


def launched(*grid):
    """On a grid of programs."""
    def on_grid(made):
        @wrapped
        def make(kernel, module):
            args, options = made()
            return kernel[grid], args, options

        return make

    return on_grid


OLDER = (
    *((f"{ATTENTION}:attn_fwd_v{version}", f"128 x {rows}", call(*(f(128, rows),) * 3))
      for version, rows in ((1, 128), (2, 128), *((version, 512) for version in range(3, 9)))),
    *((f"{ATTENTION}:attn_fwd_v{version}", "128 x 4096", call(*(h(128, 4096),) * 3)) for version in (9, 10)),
    *((f"{MAMBA}:mamba_v{version}", "256 x 512, 16 states",
       call(f(1, 256, 512), f(1, 256, 512), f(256, 16), f(1, 16, 512), f(1, 16, 512))) for version in (1, 2, 3)),
    (f"{ADD}/tensor_addition_nki_kernels.py:nki_tensor_add", "256 x 1024", call(*(h(256, 1024, dtype=FLOAT16),) * 2)),
    (f"{ADD}/spmd_tensor_addition_nki_kernels.py:nki_tensor_add", "256 x 1024",
     call(*(h(256, 1024, dtype=FLOAT16),) * 2)),
    (f"{ADD}/spmd_multiple_nc_tensor_addition_nki_kernels.py:nki_tensor_add_nc2", "512 x 2048",
     call(*(h(512, 2048, dtype=FLOAT16),) * 2)),
    ("src/nki_samples/tutorials/average_pool2d/average_pool2d_nki_kernels.py:tensor_avgpool_kernel", "64 x 32 x 32",
     call(h(64, 32, 32, dtype=FLOAT16), 2)),
    ("src/nki_samples/tutorials/transpose2d/transpose2d_nki_kernels.py:tensor_transpose2D_kernel_", "128 x 24 x 32",
     call(h(128, 768, dtype="int8"), (24, 32))),
    ("contributed/matmul.py:matmul", "1024 x 512 x 2048", call(h(1024, 512), h(1024, 2048))),
    ("contributed/maxpooling.py:max_pooling_2d_stride_1", "448 x 448", call(f(448, 448), 3)),
    ("contributed/interpolate_bilinear_fwd.py:interpolate_bilinear_2x_fwd", "128 x 20 x 20", call(f(1, 128, 20, 20), 10)),
    ("contributed/interpolate_trilinear_fwd.py:interpolate_trilinear_2x_fwd", "128 x 8 x 8 x 8",
     call(f(1, 128, 8, 8, 8), 4)),
)
TUTORIALS = "src/nki_samples/tutorials"
OLD_MATMULS = f"{TUTORIALS}/matrix_multiplication/matrix_multiplication_nki_kernels.py"
NORM = f"{TUTORIALS}/layernorm/layernorm_nki_kernel.py"
REFERENCE = "src/nki_samples/reference"
REMOVED = (  # kernels that later states do not have
    (f"{TUTORIALS}/softmax/softmax_nki_kernels.py:nki_softmax_kernel", "256 x 512", call(f(256, 512))),
    (f"{TUTORIALS}/softmax/softmax_nki_kernels.py:nki_softmax_kernel", "300 x 512", call(f(300, 512))),
    (f"{TUTORIALS}/rmsnorm/rmsnorm_nki_kernels.py:nki_rmsnorm_kernel", "256 x 512", call(f(256, 512), f(512))),
    *((f"{NORM}:nki_layernorm_kernel_v{version}", "256 x 1024", call(f(256, 1024), 1e-5, f(1024), f(1024)))
      for version in (1, 2)),
    (f"{OLD_MATMULS}:nki_matmul_basic_", "128 x 512", call(h(128, 64), h(128, 512))),
    *((f"{OLD_MATMULS}:nki_matmul_{name}_", "2048^3", call(h(2048, 2048), h(2048, 2048)))
      for name in ("tiled", "hoist_load", "block_free_dimension", "fully_optimized")),
    (f"{TUTORIALS}/sd_attention/sd_attention_nki_kernels.py:fused_self_attn_for_SD_small_head_size", "4096 x 64",
     call(*(f(4096, 64),) * 3)),
    (f"{REFERENCE}/allocated_attention.py:allocated_fused_self_attn_for_SD_small_head_size", "4096 x 128",
     call(f(1, 128, 4096), f(1, 128, 4096), f(1, 4096, 128))),
    (f"{REFERENCE}/allocated_fused_linear.py:allocated_fused_rms_norm_qkv", "256 x 1024",
     call(h(1, 256, 1024), h(1024, 512))),
    (f"{REFERENCE}/attention.py:flash_fwd", "2048 x 128",
     launched(1, 1)(call(h(1, 1, 128, 2048), h(1, 1, 128, 2048), h(1, 1, 2048, 128), None))),
    (f"{REFERENCE}/attention.py:flash_attn_bwd", "2048 x 128",
     launched(1, 1)(call(*(h(1, 1, 128, 2048),) * 5, f(1, 1, 128, 16), None, mixed_precision=True))),
    (f"{REFERENCE}/attention.py:fused_self_attn_for_SD_small_head_size", "4096 x 128",
     call(f(1, 128, 4096), f(1, 4096, 128), f(1, 4096, 128))),
    (f"{REFERENCE}/vision.py:resize_nearest_fixed_dma_kernel", "32 x 32 x 64", call(f(1, 32, 32, 64), (1, 64, 64, 64))),
    (f"{REFERENCE}/vision.py:select_and_scatter_kernel", "8 x 64 x 112 x 112",
     call(f(8, 64, 112, 112), f(8, 64, 56, 56))),
    (f"{REFERENCE}/vision.py:adaptive_avg_pool2d_kernel", "64 x 16 x 16", call(f(1, 64, 16, 16), 4)),
)


def cases():
    """(where, shape, call) of the checkouts that the environment names."""
    for variable, inside, table in (("SPAD_NKI_LIBRARY", "src/nkilib_src/nkilib", LIBRARY),
                                    ("SPAD_NKI_SAMPLES", "src/nki_samples", SAMPLES),
                                    ("SPAD_NKI_SAMPLES", ".", OLDER),
                                    ("SPAD_NKI_SAMPLES_2025", ".", REMOVED)):
        if os.environ.get(variable):
            root = Path(os.environ[variable]) / inside
            for where, shape, made in table:
                yield root / where, shape, made


class _Empty(types.ModuleType):
    """In the place of a module that a file imports for its own tests, and that is not installed."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Empty(name)


@contextlib.contextmanager
def without(*names):
    absent = [name for name in names if importlib.util.find_spec(name.partition(".")[0]) is None]
    sys.modules.update({name: _Empty(name) for name in absent})
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def load(where):
    with without("torch", "torch.nn", "torch.nn.functional", "torch_xla", "torch_xla.core", "torch_xla.core.xla_model",
                 "scipy", "scipy.special"):
        return nt.load(str(where))


def measure(where, made, target="trn2"):
    """A dict of one case: what happened and how long it took."""
    row = {}
    cores = 2 if str(where).rpartition(":")[2] in TWO_CORES else 1
    begin = time.process_time()
    try:
        kernel = load(where)
        if getattr(made, "is_wrapped", False):
            kernel, args, options = made(kernel, module_of(kernel))
        else:
            args, options = made()
        traced = nt.trace(kernel, *args, target=target, lnc=cores, **options)
    except Exception as error:
        return {"failure": str(error)}
    row["operations"], row["notes"] = traced.operations, len(traced.notes)
    row["trace"] = time.process_time() - begin
    begin = time.process_time()
    check = traced.check()
    row["check"], row["verdict"], row["errors"] = time.process_time() - begin, check.verdict, check.counts["errors"]
    begin = time.process_time()
    try:
        traced.plan()
    except spad.Error as error:
        row["plan_failure"] = str(error)
    row["plan"] = time.process_time() - begin
    try:
        row["time"] = traced.sim().makespan
    except (spad.Error, AttributeError) as error:
        row["time"] = str(error)
    return row


def spread(numbers, form="{}"):
    least, most = form.format(min(numbers)), form.format(max(numbers))
    return least if least == most else f"{least} to {most}"


def verdict(row):
    counted = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in
               ((row["errors"], "error"), (row["notes"], "note")) if count]
    return row["verdict"].replace(" for this shape", "") + (": " if row["errors"] else ", " if counted else "") + \
        ", ".join(counted)


def table(rows):
    """docs/results/nki-kernels.csv: (checkout, name, row) of each call."""
    groups = {}
    for key, row in rows:
        groups.setdefault(key, []).append(row)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("kernel", "calls", "operations", "trace_s", "check_s", "verdict"))
    for (_, name), made in groups.items():
        writer.writerow((name, len(made), spread([row["operations"] for row in made]),
                         spread([row["trace"] for row in made], "{:.2f}"),
                         spread([row["check"] for row in made], "{:.2f}"),
                         "; ".join(dict.fromkeys(map(verdict, made)))))


def main():
    rows = []
    for where, shape, made in cases():
        row = measure(where, made)
        name = str(where).rpartition(":")[2]
        if "failure" in row:
            print(f"{name} | {shape} | not traced: {row['failure'][:400]}", file=sys.stderr, flush=True)
            continue
        rows.append(((str(where), name), row))
        if "--table" not in sys.argv:
            print(f"{name} | {shape} | {row['operations']} | {row['trace']:.2f} | {row['check']:.2f} | "
                  f"{row['plan']:.2f} | {row['verdict']}, errors {row['errors']}, notes {row['notes']} | "
                  f"{row['time']} {row.get('plan_failure', '')}", flush=True)
    if "--table" in sys.argv:
        table(rows)


if __name__ == "__main__":
    main()
