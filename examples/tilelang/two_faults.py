# SPDX-License-Identifier: Apache-2.0
"""Two kernels that TileLang 0.1.15 lowers to faults on sm_90: what spad says, and what a GPU computes.

reversed_rounds: rows are reversed through shared memory in a while loop. The next round stores while other warps still
read, and no barrier comes between. one_barrier: two groups of threads, one with static and one with dynamic shared memory,
meet at the same named barrier, each for itself.

    python3 two_faults.py build DIRECTORY   # needs tilelang, nvcc and spad: lowers, checks and compiles
    python3 two_faults.py run DIRECTORY     # needs torch and a GPU of compute capability 9.0; no tilelang

Of each there is a second source with one change that mends it: a barrier at the start of a round, and another number for
the barrier of the second group.
"""

import ctypes
import pathlib
import subprocess
import sys

BLOCKS, ROUNDS, RUNS = 512, 512, 20


def reversed_rounds():
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((ROUNDS * 128,), "float32"), rounds: T.Tensor((BLOCKS,), "int32"),
             Y: T.Tensor((BLOCKS * ROUNDS * 128,), "float32")):
        with T.Kernel(BLOCKS, threads=128) as bx:
            x = T.alloc_shared((128,), "float32")
            n = T.alloc_var("int32")
            n = rounds[bx]
            while n > 0:
                n = n - 1
                T.copy(X[n * 128], x)
                for i in T.Parallel(128):
                    Y[bx * (ROUNDS * 128) + n * 128 + i] = x[127 - i]

    return main


def one_barrier(blocks=BLOCKS):
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((blocks * 128, 64), "float32"), B: T.Tensor((blocks * 128, 64), "float32"),
             C: T.Tensor((blocks * 128, 4), "float32")):
        with T.Kernel(blocks, threads=256) as bx:
            a = T.alloc_shared((128, 16), "float32")
            b = T.alloc_shared((128,), "float32", scope="shared")
            tx = T.get_thread_binding()
            if tx < 128:
                for k in T.serial(4):
                    for i in T.serial(16):
                        a[tx, i] = A[bx * 128 + tx, k * 16 + i]
                    for i in T.serial(16):
                        B[bx * 128 + tx, k * 16 + i] = a[127 - tx, i]
            else:
                for k in T.serial(4):
                    b[tx - 128] = A[bx * 128 + tx - 128, k]
                    C[bx * 128 + tx - 128, k] = b[255 - tx]

    return main


def mended(name, source):
    if name == "reversed_rounds":
        changed = source.replace("n = (n - 1);", "__syncthreads(); n = (n - 1);")
    else:
        first, second = source.split("} else {")
        changed = first + "} else {" + second.replace("(3, 128)", "(4, 128)")
    assert changed != source, "this version of TileLang writes another source"
    return changed


def build(directory):
    import spad.tilelang
    import tilelang
    from tvm.target import Target

    include = pathlib.Path(tilelang.__file__).parent
    for make in (reversed_rounds, one_barrier):
        check = spad.tilelang.load(make(), target="sm_90").check()
        print(make.__name__, check.verdict, *sorted({finding.code for finding in check.findings}))
        with Target({"kind": "cuda", "arch": "sm_90"}) as target:
            source = tilelang.lower(make(), target=target).kernel_source
        for suffix, text in (("", source), ("_mended", mended(make.__name__, source))):
            path = directory / f"{make.__name__}{suffix}.cu"
            path.write_text(text)
            subprocess.run(["nvcc", "-std=c++20", "-w", "-cubin", "-arch=sm_90a", f"-I{include / 'src'}",
                            f"-I{include / '3rdparty' / 'cutlass' / 'include'}", path, "-o", path.with_suffix(".cubin")],
                           check=True)


def launch(path, threads, shared, tensors):
    driver = ctypes.CDLL("libcuda.so.1")
    values = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    for status in (driver.cuModuleLoadData(ctypes.byref(module), path.read_bytes()),
                   driver.cuModuleGetFunction(ctypes.byref(function), module, b"main_kernel"),
                   driver.cuLaunchKernel(function, BLOCKS, 1, 1, threads, 1, 1, shared, None, arguments, None)):
        if status != 0:
            raise RuntimeError(f"the driver of CUDA says {status}")


def report(name, wrong):
    """wrong() launches once and counts elements; a launch that does not end is for the caller to stop."""
    print(name, end=": ", flush=True)
    counts = [wrong() for _ in range(RUNS)]
    print(f"{sum(count > 0 for count in counts)} of {RUNS} runs wrong, at most {max(counts)} elements", flush=True)


def run(directory):
    import torch

    torch.manual_seed(0)
    x = torch.rand(ROUNDS * 128, device="cuda")
    rounds = torch.full((BLOCKS,), ROUNDS, dtype=torch.int32, device="cuda")
    reversed_x = x.view(ROUNDS, 128).flip(1).expand(BLOCKS, ROUNDS, 128).reshape(-1)
    a = torch.rand((BLOCKS * 128, 64), device="cuda")
    reversed_a = a.view(BLOCKS, 128, 64).flip(1).reshape(-1, 64)

    def of_rounds(path):
        y = torch.zeros_like(reversed_x)
        torch.cuda.synchronize()
        launch(path, 128, 128 * 4, (x, y, rounds))
        torch.cuda.synchronize()
        return int((y != reversed_x).sum())

    def of_barrier(path):
        b, c = torch.zeros_like(a), torch.zeros((BLOCKS * 128, 4), device="cuda")
        torch.cuda.synchronize()
        launch(path, 256, 128 * 16 * 4, (a, b, c))
        torch.cuda.synchronize()
        return int((b != reversed_a).sum()) + int((c != reversed_a[:, :4]).sum())

    for name, wrong in (("reversed_rounds_mended", of_rounds), ("reversed_rounds", of_rounds),
                        ("one_barrier_mended", of_barrier), ("one_barrier", of_barrier)):
        report(name, lambda: wrong(directory / f"{name}.cubin"))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("build", "run"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    {"build": build, "run": run}[sys.argv[1]](folder)
