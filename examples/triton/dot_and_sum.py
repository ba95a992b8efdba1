# SPDX-License-Identifier: Apache-2.0
"""A matmul that also sums the rows of its left tile: Triton 3.6 and 3.9 compile it to a race on sm_90.

The ring of x has one slot less than that of y, because the sum is done with x when the round ends. The product is not:
it stays under way, and the copy for the slot that it reads is issued in the same round.

    python3 dot_and_sum.py            # what spad says (needs spad and triton); on a GPU of compute capability 9.0 also
                                      # how many results are wrong (needs torch)
    python3 dot_and_sum.py DIRECTORY  # also writes the TTGIR of each case
    python3 dot_and_sum.py --tiles    # other tiles, with and without the sum, and a table: docs/results/triton.md

Each stage count has three cases: as compiled, and two that mend it: a wait for each product, one slot more for x.
"""

import ctypes
import pathlib
import re
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ROWS, COLUMNS, DEPTH, SIZE, RUNS = 128, 128, 64, 4096, 20


@triton.jit
def dot_and_sum(a_ptr, b_ptr, c_ptr, sum_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    pid = tl.program_id(0)
    tiles = tl.cdiv(N, BN)
    row = (pid // tiles) * BM + tl.arange(0, BM)
    column = (pid % tiles) * BN + tl.arange(0, BN)
    deep = tl.arange(0, BK)
    left = a_ptr + row[:, None] * K + deep[None, :]
    right = b_ptr + deep[:, None] * N + column[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        x = tl.load(left)
        y = tl.load(right)
        acc = tl.dot(x, y, acc)
        if SUM:
            total += tl.sum(x.to(tl.float32), 1)
        left += BK
        right += BK * N
    tl.store(c_ptr + row[:, None] * N + column[None, :], acc)
    tl.store(sum_ptr + row, total)


TILES = [(128, 256, 64, 8), (128, 256, 64, 4), (128, 128, 64, 4), (64, 256, 64, 4), (64, 256, 128, 4), (128, 128, 128, 4)]  # and warps
MOST_SHARED = 227 * 1024  # bytes of a block


def source_of(rows, columns, depth, with_sum):
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "sum_ptr": "*fp32", "N": "i32", "K": "i32",
             "BM": "constexpr", "BN": "constexpr", "BK": "constexpr", "SUM": "constexpr"}
    divisible = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    return ASTSource(dot_and_sum, types, {"BM": rows, "BN": columns, "BK": depth, "SUM": with_sum}, divisible)


def compiled(source, stages, warps=4):
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": stages})


def cases(stages, directory):
    """(what was changed, kernel) of Triton's own and of the two that are mended."""
    source = source_of(ROWS, COLUMNS, DEPTH, True)
    own = compiled(source, stages)
    text = own.asm["ttgir"]
    waits = text.replace("pendings = 1", "pendings = 0")
    ring = text.replace(f"<{stages - 1}x{ROWS}x{DEPTH}xf16", f"<{stages}x{ROWS}x{DEPTH}xf16")
    ring = re.sub(rf"(arith\.cmpi sge, %\w+), %c{stages - 1}_i32", rf"\1, %c{stages}_i32", ring)
    assert text not in (waits, ring), "this version of Triton prints other text"
    found = [("as compiled", own)]
    for name, changed in (("every product is waited for", waits), ("one slot more for x", ring)):
        path = pathlib.Path(directory) / f"{name.replace(' ', '_')}_{stages}.ttgir"
        path.write_text(changed)
        found.append((name, compiled(str(path), stages)))
    (pathlib.Path(directory) / f"as_compiled_{stages}.ttgir").write_text(text)
    return found


def said(kernel):
    import spad.triton

    check = spad.triton.load(kernel.asm["ttgir"], sizes={"N": SIZE, "K": SIZE}, placed=False).check()
    return ", ".join([check.verdict] + sorted({finding.code for finding in check.findings}))


def launch(kernel, blocks, pointers, warps):
    """By the driver: kernels that Triton has compiled from TTGIR take other arguments in each of its versions."""
    driver = ctypes.CDLL("libcuda.so.1")
    values = [ctypes.c_void_p(p) for p in pointers] + [ctypes.c_int(SIZE)] * 2
    values += [ctypes.c_void_p(None)] * 2  # scratch memory off chip, which this kernel has none of
    arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    module, function, shared = ctypes.c_void_p(), ctypes.c_void_p(), kernel.metadata.shared
    largest_shared = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    for status in (driver.cuModuleLoadData(ctypes.byref(module), kernel.asm["cubin"]),
                   driver.cuModuleGetFunction(ctypes.byref(function), module, b"dot_and_sum"),
                   driver.cuFuncSetAttribute(function, largest_shared, shared),
                   driver.cuLaunchKernel(function, blocks, 1, 1, warps * 32, 1, 1, shared, None, arguments, None)):
        if status != 0:
            raise RuntimeError(f"the driver of CUDA says {status}")


def wrong_runs(kernel, rows=ROWS, columns=COLUMNS, warps=4):
    """How many of RUNS launches have a wrong product, and in how many elements at most. Integers, so that every order of additions is exact."""
    import torch

    torch.manual_seed(0)
    a, b = (torch.randint(-3, 4, (SIZE, SIZE), device="cuda").half() for _ in range(2))
    c, total = torch.empty((SIZE, SIZE), device="cuda"), torch.empty(SIZE, device="cuda")
    right = a.float() @ b.float()
    wrong = most = 0
    for _ in range(RUNS):
        c.zero_()
        pointers = (a.data_ptr(), b.data_ptr(), c.data_ptr(), total.data_ptr())
        launch(kernel, (SIZE // rows) * (SIZE // columns), pointers, warps)
        torch.cuda.synchronize()
        elements = int((c != right).sum())
        wrong, most = wrong + (elements > 0), max(most, elements)
    return wrong, most


def counted(kernel):
    wrong, most = wrong_runs(kernel)
    return f"{wrong} of {RUNS} runs wrong, at most {most} of {SIZE * SIZE} elements"


def has_hopper():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)


def attempt(of, kernel, package):
    try:
        return of(kernel)
    except ImportError as error:
        return f"not done: {package} cannot be imported ({error})"


def tile_rows(with_sum, gpu):
    """(what spad says, wrong runs, wrong elements) of each tile and stage count that fits the memory."""
    for rows, columns, depth, warps in TILES:
        for stages in (2, 3, 4):
            kernel = compiled(source_of(rows, columns, depth, with_sum), stages, warps)
            if kernel.metadata.shared > MOST_SHARED:
                continue
            verdict = attempt(said, kernel, "spad")
            wrong, most = wrong_runs(kernel, rows, columns, warps) if gpu else (0, 0)
            ran = f"; {wrong} of {RUNS} runs wrong, at most {most} elements" if gpu else ""
            print(f"{rows} x {columns} x {depth}, {warps} warps, {stages} stages, sum {with_sum}: {verdict}{ran}", flush=True)
            yield verdict, wrong, most


def asked(found):
    return not any(verdict.startswith("not done") for verdict, _, _ in found)


def tile_table(gpu):
    print("triton", triton.__version__)
    lines = []
    for name, with_sum in (("without the sum", False), ("with the sum", True)):
        found = list(tile_rows(with_sum, gpu))
        elements = [most for _, wrong, most in found if wrong == RUNS]
        span = f" ({min(elements)} to {max(elements)} of {SIZE * SIZE} elements)" if elements else ""
        some = sum(0 < wrong < RUNS for _, wrong, _ in found)
        races = [verdict for verdict, _, _ in found if "SPAD-RACE" in verdict]
        lines.append(f"| {name} | {len(races) if asked(found) else '-'} | {len(found)} | {len(elements)}{span} | {some} | "
                     f"{sum(wrong == 0 for _, wrong, _ in found)} |")
    print("\n| | SPAD-RACE | kernels | every run is wrong | some runs are | no run is |\n|---|---|---|---|---|---|", *lines, sep="\n")
    if not gpu:
        print("no GPU of compute capability 9.0 here, or no torch: nothing was run, and only the first two columns are of use")


def main(directory):
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    print("triton", triton.__version__)
    gpu = has_hopper()
    for stages in (3, 4):
        for name, kernel in cases(stages, directory):
            print(f"{stages} stages, {name}: {attempt(said, kernel, 'spad')}")
            if gpu:
                print("   ", attempt(counted, kernel, "torch"), flush=True)
    if not gpu:
        print("no GPU of compute capability 9.0 here, or no torch: nothing was run")


if __name__ == "__main__":
    if sys.argv[1:] == ["--tiles"]:
        tile_table(has_hopper())
    elif len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(scratch)
