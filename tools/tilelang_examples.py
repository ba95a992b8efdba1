# SPDX-License-Identifier: Apache-2.0
"""What spad says of the kernels in a folder of TileLang programs, such as the examples of its repository.

    python tools/tilelang_examples.py collect FOLDER OUT [--arch sm_90]   # needs tilelang and torch, no GPU
    python tools/tilelang_examples.py table OUT                           # needs spad alone

`collect` runs each program on the CPU with a compiler that lowers and does not run: every kernel that a program
compiles is written to OUT as the tree that spad.tilelang.load reads. Results of kernels are zeros, so a program stops
where it compares them; what it compiled before is kept. `table` loads, checks and plans each tree and prints its row as CSV
(docs/results/tilelang-examples.csv); counts, sums and trees that are not loaded go to stderr.
"""

import argparse
import contextlib
import csv
import json
import os
import resource
import runpy
import signal
import sys
import tempfile
import time
from pathlib import Path

MOST = 8  # kernels of one program
AFTER = 4  # seconds of CPU from one kernel to the next
MEMORY = 10 << 30  # bytes of address space of one program


class Stop(BaseException):
    """The program has been run far enough."""


# ---- one program -----------------------------------------------------------------------------------


class Anything:
    """Stands for what a program asks of a kernel besides calling it."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args, **options):
        return 1.0


class Kernel(Anything):
    """A kernel that computes nothing: zeros of the right shapes."""

    def __init__(self, function, out_idx):
        self.prim_func = function
        self.out_idx = [out_idx] if isinstance(out_idx, int) else out_idx

    def __call__(self, *args, **options):
        import torch

        if not self.out_idx:
            return None
        params = list(self.prim_func.params)
        made = []
        for index in self.out_idx:
            buffer = self.prim_func.buffer_map[params[index]]
            shape = [int(n) if str(n).isdigit() else 128 for n in buffer.shape]
            made.append(torch.zeros(shape, dtype=getattr(torch, str(buffer.dtype), torch.float32)))
        return made[0] if len(made) == 1 else made


def on_cpu(torch, arch):
    """Lets a program for `cuda` make its tensors on the CPU, and see a GPU of that kind."""
    major, minor = divmod(int(arch.split("_")[1].rstrip("af")), 10)

    def here(function):
        def call(*args, **options):
            if "device" in options:
                options["device"] = "cpu"
            args = tuple("cpu" if isinstance(a, str) and a.startswith("cuda") else a for a in args)
            return function(*args, **options)
        return call

    for name in ("randn", "rand", "randint", "empty", "zeros", "ones", "full", "arange", "tensor", "randperm",
                 "empty_like", "zeros_like", "ones_like", "randn_like", "linspace", "eye", "rand_like", "full_like"):
        setattr(torch, name, here(getattr(torch, name)))
    zeros = torch.zeros
    torch.randn = torch.rand = lambda *args, generator=None, **options: zeros(*args, **options)  # no result is looked at
    torch.Tensor.cuda = lambda self, *a, **k: self
    torch.Tensor.to = here(torch.Tensor.to)
    torch.Tensor.new_empty, torch.Tensor.new_zeros = here(torch.Tensor.new_empty), here(torch.Tensor.new_zeros)
    torch.cuda.is_available = lambda: True
    torch.cuda.synchronize = lambda *a: None
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *a: (major, minor)
    torch.cuda.get_device_name = lambda *a: "none"
    torch.set_default_device = lambda *a: None
    torch.cuda.get_device_properties = lambda *a: type("P", (), {
        "multi_processor_count": 132, "major": major, "minor": minor, "name": "none", "total_memory": 1 << 36,
        "L2_cache_size": 50 << 20, "shared_memory_per_multiprocessor": 233472,
        "shared_memory_per_block_optin": 232448, "regs_per_multiprocessor": 65536})()


def told(error):
    """An error in one line: TVM's have a picture of the source after what they say."""
    lines = [line.strip() for line in str(error).splitlines() if any(c.isalnum() for c in line)]
    failed = [line for line in lines if "Error:" in line or "Check failed" in line]
    return f"{type(error).__name__}: {(failed or lines or [''])[-1][:200]}"


def keep(made, program, out, seen):
    """Writes a tree of a program to a file of its own, where it has none."""
    from spad._files import replace_file

    text = json.dumps(made)
    if text not in seen:
        seen.append(text)
        made["program"] = program.stem
        replace_file(out / f"{program.parent.name}.{program.stem}.{len(seen)}.json", json.dumps(made).encode())
        print(f"{len(seen)} kernels", flush=True)


def run_one(program, out, arch, seconds):
    """Runs a program with a tilelang.compile that keeps what TileLang lowers, and compiles nothing."""
    os.environ["TILELANG_DEFAULT_TARGET"] = json.dumps({"kind": "cuda", "arch": arch})
    import tilelang
    import torch

    import spad.tilelang._tree as tree

    on_cpu(torch, arch)
    seen = []

    def compile(func=None, out_idx=None, *args, pass_configs=None, **options):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of its own: what the program does between kernels is not waited for
        out_idx = out_idx if out_idx is not None else getattr(func, "out_idx_override", None)
        try:
            for made in tree.of_prim_func(func, arch, pass_configs):
                keep(made, program, out, seen)
        except Exception as error:
            print(f"not lowered: {told(error)}", flush=True)
        if len(seen) >= MOST:
            raise Stop
        signal.setitimer(signal.ITIMER_PROF, AFTER)
        return Kernel(func, out_idx)

    tilelang.compile = sys.modules["tilelang.jit"].compile = compile
    torch.set_num_threads(1)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # ends the process, also in the middle of a product on the CPU
    sys.argv = [str(program)]
    sys.path.insert(0, str(program.parent))
    try:
        with open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):
            runpy.run_path(str(program), run_name="__main__")
    except Stop:
        pass
    except BaseException as error:
        if not seen:
            print(told(error))


def answer_of(program, out, arch, seconds):
    """What run_one prints of a program, which runs in a process of its own: a copy of this one, with the packages loaded."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 1)
            sys.stdout = os.fdopen(1, "w", buffering=1)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            with contextlib.suppress(BaseException):
                run_one(program, out, arch, seconds)
            os._exit(0)
        end = time.monotonic() + 10 * seconds
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "no answer in time"
            time.sleep(0.05)
        said.seek(0)
        lines = [line for line in said.read().splitlines() if line.strip()]
    counts = [line for line in lines if line.endswith(" kernels")]
    return " | ".join([line for line in lines[-3:] if line not in counts and ":" in line] + (counts[-1:] or ["0 kernels"]))


def collect(folder, out, arch, seconds):
    os.environ["TILELANG_DEFAULT_TARGET"] = json.dumps({"kind": "cuda", "arch": arch})
    import tilelang  # noqa: F401: for the copies of this process
    import torch  # noqa: F401

    out.mkdir(parents=True, exist_ok=True)
    for program in sorted(folder.rglob("*.py")):
        name = program.name
        if name.startswith(("test_", "conftest", "__init__", "regression_")) or "tilelang" not in program.read_text():
            continue
        start = time.monotonic()
        said = answer_of(program.resolve(), out.resolve(), arch, seconds)
        print(f"{program.relative_to(folder)}: {said} ({time.monotonic() - start:.1f} s)", flush=True)


# ---- the table -------------------------------------------------------------------------------------


def row_of(source, sizes=None):
    """One kernel, a tree or its file: ((agents, verdict, bytes of TileLang and ours, approximations, seconds of the check and with the plan,
    codes of errors and of warnings, reason), None), or (None, why it is not read)."""
    import spad
    import spad.tilelang as T
    from spad.tilelang._page import shared_bytes

    start = time.process_time()
    try:
        kernel = T.load(source, sizes=sizes)
    except spad.Error as error:
        return None, f"not loaded: {error}"
    check = kernel.check()
    checked = time.process_time() - start
    planned = kernel.plan()
    seconds = time.process_time() - start
    errors = sorted({f.code for f in check.findings if f.severity == "error"})
    warnings = sorted({f.code for f in check.findings if f.severity == "warning"})
    inexact = sum(row["what"] != T.LoadedKernel.IDLE for row in kernel.approximations)
    return (len(kernel.agents) - 1, check.verdict, kernel.tilelang_bytes, shared_bytes(planned.layout()) if planned else None, inexact,
            checked, seconds, errors, warnings, check.reason), None


def title(path):
    """`gemm: gemm_persistent, 2` of gemm.example_gemm_persistent.2.json."""
    folder, program, number = path.stem.rsplit(".", 2)
    return f"{folder}: {program.removeprefix('example_')}" + (f", {number}" if number != "1" else "")


def table(folder):
    """Prints a row for each tree of a folder that has something in shared memory, and what they come to."""
    counts, refused, empty = {}, [], 0
    sums, above = [0, 0, 0], []
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["chip", "kernel", "agents", "verdict", "tilelang_bytes", "spad_bytes", "approximations", "check_s", "plan_s", "findings"])
    for path in sorted(folder.glob("*.json")):
        found, why = row_of(path)
        if found is None:
            refused.append((title(path), why))
            continue
        agents, verdict, theirs, ours, inexact, checked, seconds, errors, warnings, _ = found
        if not theirs:
            empty += 1
            continue
        key = verdict + (", with approximations" if inexact else "")
        counts[key] = counts.get(key, 0) + 1
        if ours is not None:
            sums = [sums[0] + theirs, sums[1] + ours, sums[2] + 1]
            above += [title(path)] if ours > theirs else []
        chip = json.loads(path.read_text(encoding="utf-8"))["arch"]
        out.writerow([chip, title(path), agents, verdict, theirs, ours, inexact, f"{checked:.1f}", f"{seconds:.1f}",
                      " ".join(errors + warnings)])

    def note(line):
        print(line, file=sys.stderr)

    note(f"{sum(counts.values())} kernels: " + ", ".join(f"{count} {key}" for key, count in sorted(counts.items())))
    note(f"bytes of the {sums[2]} that both place: TileLang {sums[0]}, spad {sums[1]}")
    note(f"{empty} without shared memory, {len(refused)} not loaded, {len(above)} with more bytes than TileLang's")
    for name in above:
        note(f"- above: {name}")
    for name, why in refused:
        note(f"- {name}: {why}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["collect", "one", "table"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    if options.command == "collect":
        collect(options.source, options.out, options.arch, options.seconds)
    elif options.command == "one":
        run_one(options.source.resolve(), options.out, options.arch, options.seconds)
    else:
        table(options.source)


if __name__ == "__main__":
    main()
