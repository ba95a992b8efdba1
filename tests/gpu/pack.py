# SPDX-License-Identifier: Apache-2.0
"""Packs kernels for a GPU, and what spad says about them: launch.py runs the folder on a machine that needs neither spad
nor a compiler.

    PYTHONPATH=build/release/python python3 tests/gpu/pack.py FOLDER [--kernel NAME] [--jobs 2]

Kernels whose outputs the executor knows go with these outputs. Mutants (tests/python/ptx_mutants.py) and pairs of a right
and a wrong kernel become entries of one module, NAME__0 (right), NAME__1, ..., in two versions: with pointers that lead
each block of a large grid to a copy of the data for itself, and the same with a random delay in front of each access and
synchronisation. Everything is assembled here. Needs nvcc and ptxas."""

import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

import ptx_mutants  # noqa: E402
import spad.cuda as sc  # noqa: E402
from spad._reproduce import parameter_offsets  # noqa: E402
from launch import SIZES  # noqa: E402
from ptx_model import machine, text  # noqa: E402
from ptx_mutants import Case  # noqa: E402

FIRST, GAP, MOST_SHARED = 0x7200000000, 1024, 227 << 10
IN_OUT = ["u32[4096]", "u32[4096]"]


# ---- what is packed -----------------------------------------------------------------------

def own(name, kernels, cluster=1):
    return [Case(name, kernel, 128, IN_OUT, cluster) for kernel in kernels.split()]


# Beside the mutants. In each, the outputs do not depend on an order that the program leaves open.
COMPARED = [
    *[Case("machine", kernel, 64, ["u64[4096]", "numbers[1024]", n])
      for kernel in ("ints", "bits", "flow", "floats", "warp", "smem") for n in range(3)],
    Case("calls", "calls", 32, ["i32[64]", 3]), Case("tables", "tables", 256, ["f32[256]", 5]),
    Case("tiles", "reverse", 128, ["i32[128]"]), Case("tiles", "tile_sum", 128, ["i32[128]"]),
    Case("shared_pipeline", "pipeline", 128, ["i32[7,128]", "i32[128]", 7]),
    Case("flags", "flag", 64, ["i32[64]", "i32[64]"]), Case("flags", "flag_volatile", 64, ["i32[64]", "i32[64]"]),
    Case("flags", "lock", 128, ["i32[64]", "i32[64]"]), Case("flags", "last", 128, ["i32[64]", "i32[64]"]),
    Case("lanes", "first", 32, ["i32[32]", "i32[32]"]), Case("lanes", "half", 32, ["i32[32]", "i32[32]"]),
    Case("lanes", "shifted", 32, ["i32[32]", "i32[32]"]), Case("copies", "store", 128, ["f32[256]", 3]),
    Case("semaphore", "in_turn", 128, ["ones[1]", "f32[128]", "f32[128]"]),
    Case("products", "right", 128, ["f32[512]"]),
    Case("routes/along_sm90", "along", 128, ["f32[64,64]", "f32[64]", 0, 0], smem=16384),
    Case("routes/softmax_sm80_s3", "softmax", 128, ["f32[4,1024]", "f32[4,1024]", 1024, 4, 1000, 0, 0], smem=32768),
    *own("gpu/kernels", "cub_scan cub_sort cub_histogram cub_exchange cg_tiles cg_copy split_barrier bitonic gathered queens "
         "transposed_matrices dot_products recursion sha256 long_numbers exact_floats global_atomics"),
    *own("gpu/kernels", "cluster_histogram cluster_ring multicast", 4), *own("gpu/kernels", "async_stores", 2),
    Case("gpu/kernels", "boxes", 128, [f"tensormap:i32[64,64],box[{rows},{columns}]{swizzle}" for rows, columns, swizzle in (
        (32, 32, ",swizzle128"), (32, 16, ",swizzle64"), (32, 8, ",swizzle32"), (32, 16, ""), (32, 32, ",swizzle128"))] +
        ["i32[4096]"]),
]

# A right kernel, and what else the module has with a bug.
BUGS = [
    *[(case, [case.kernel + "_wrong"]) for case in own("gpu/bugs", "carry two_sums rows collectives stale_phase unfenced_store "
                                                       "unfenced_load lanes init_unfenced released_early")],
    (Case("reduce", "sums", 128, ["f32[3,128]", "f32[3]", 3]), ["sums_reused"]),
    (Case("copies", "ring_sum", 160, ["f32[7,256]", "f32[128]", 7]), ["ring_sum_early"]),
    (Case("copies", "store", 128, ["f32[256]", 3]), ["store_unfenced"]),
    (Case("arrivals", "reverse_rows", 128, ["f32[7,128]", "f32[7,128]", 7]), ["reverse_rows_early"]),
    (Case("peers", "swap_parts", 64, ["f32[64]"], 2), ["swap_parts_and_leave"]),
    (Case("flags", "flag", 64, ["i32[64]", "i32[64]"]), ["flag_relaxed"]),
    (Case("flags", "flag_volatile", 64, ["i32[64]", "i32[64]"]), ["flag_unfenced"]),
    (Case("flags", "lock", 128, ["i32[64]", "i32[64]"]), ["lock_missing"]),
    (Case("flags", "last", 128, ["i32[64]", "i32[64]"]), ["last_relaxed", "last_not_asked"]),
    (Case("lanes", "half", 32, ["i32[32]", "i32[32]"]), ["half_unsynced"]),
    (Case("lanes", "shifted", 32, ["i32[32]", "i32[32]"]), ["shifted_in_step"]),
    (Case("shared_pipeline", "pipeline", 128, ["i32[7,128]", "i32[128]", 7]), ["pipeline_early"]),
    (Case("tiles", "reverse", 128, ["i32[128]"]), ["reverse_unsynced"]),
    (Case("products", "right", 128, ["f32[512]"]), ["never_fenced", "fenced_once", "read_early", "changed_early"]),
]


def source_of(case, folder):
    """PTX of tests/ptx or tests/routes, or of a .cu file beside this one."""
    if not case.file.startswith("gpu/"):
        return (ROOT / "tests" / ("" if "/" in case.file else "ptx") / f"{case.file}.ptx").read_text()
    path = folder / f"{case.file[4:]}.ptx"
    if not path.exists():
        subprocess.run(["nvcc", "-ptx", "-std=c++17", "-arch=sm_90a", HERE / f"{case.file[4:]}.cu", "-o", path], check=True)
    return path.read_text()


# ---- launch files -------------------------------------------------------------------------

def contents_of(kind, count, draw):
    """Numbers of a tensor: small ones for floats, so that every order of a sum gives the same."""
    if kind in ("f16", "f32", "f64", "bf16"):
        codes = {"f16": "e", "f32": "f", "f64": "d", "bf16": "f"}
        words = [struct.pack("<" + codes[kind], draw.randrange(-4, 5)) for _ in range(count)]
        return b"".join(word[2:] if kind == "bf16" else word for word in words)
    if kind == "numbers":  # 64 bits: also zeros, ones, and few bits
        forms = [lambda: 0, lambda: 2**64 - 1, lambda: draw.getrandbits(64) >> draw.randrange(64), lambda: 1 << draw.randrange(64),
                 lambda: (2**64 - draw.randrange(50)) % 2**64, *[lambda: draw.getrandbits(64)] * 5]
        return b"".join(draw.choice(forms)().to_bytes(8, "little") for _ in range(count))
    if kind == "ones":
        return (1).to_bytes(4, "little") * count
    return draw.randbytes(count * SIZES[kind])


def launch_text(case, module, kernel, source):
    """A launch file with regions next to each other, all of whose bytes are known."""
    draw, at, parameters, tables = random.Random(0), FIRST, bytearray(), []
    declared = next(k for k in sc.kernels(source) if k["name"] == kernel)["parameters"]
    for argument, parameter in zip(case.args, declared, strict=True):
        parameters += bytes(-len(parameters) % parameter["align"])
        if isinstance(argument, int):
            word = struct.pack("<f", argument) if parameter["type"] == "f32" else argument.to_bytes(8, "little")
            parameters += word[:parameter["bytes"]]
            continue
        kind, extents = re.search(r"(\w+)\[([\d,]+)\]", argument).groups()
        count = 1
        for extent in extents.split(","):
            count *= int(extent)
        contents = contents_of(kind, count, draw)
        tables.append(f'[[memory]]\naddress = {at:#x}\nbytes = {len(contents)}\ncontents = "{contents.hex()}"\n')
        if argument.startswith("tensormap:"):
            tables.append(f'[[tensormap]]\nparameter = {len(parameters)}\nmap = "{argument[10:]},at[{at:#x}]"\n')
        parameters += at.to_bytes(8, "little").ljust(parameter["bytes"], b"\0")
        at += (len(contents) // GAP + 2) * GAP
    head = (f'version = 1\nmodule = "{module}"\nkernel = "{kernel}"\ngrid = {case.cluster}\nblock = {case.block}\n'
            f'cluster = {case.cluster}\nsmem = {case.smem}\nparameters = "{parameters.hex()}"\n')
    return head + "".join(tables), at - FIRST


def offsets_of(kernel, source):
    return parameter_offsets(next(entry for entry in sc.kernels(source) if entry["name"] == kernel)["parameters"])


# ---- entries of a module ------------------------------------------------------------------

def entry_at(source, name):
    """Where the text of a kernel begins and ends."""
    head = re.search(r"^[ \t]*(\.visible\s+|\.weak\s+)?\.entry\s+" + re.escape(name) + r"\s*\(", source, re.M)
    body, _, _ = text.kernel_text(source, name)
    end = source.index(body, head.start()) + len(body)
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(source[end], 0)
        end += 1
        if not depth:
            return head.start(), end


def entry_of(source, name):
    begin, end = entry_at(source, name)
    return source[begin:end]


def around_entries(source):
    """The module before its first kernel, and after it without any."""
    names = re.findall(r"\.entry\s+([\w$]+)\s*\(", source)
    first = min(entry_at(source, name)[0] for name in names)
    for name in names:
        source = source.replace(entry_of(source, name), "")
    return source[:first], source[first:]


def renamed(entry, old, new):
    return re.sub(r"(\.entry\s+)" + re.escape(old) + r"\b", r"\g<1>" + new, entry, count=1)


def in_copies(entry, old, case, stride):
    """Each block or cluster of a large grid has a copy of the data for itself, and takes itself for the first one."""
    index, own, count = ("%ctaid.x", "0", "1") if case.cluster == 1 else ("%clusterid.x", "%cluster_ctaid.x", "%cluster_nctaid.x")
    entry = entry.replace("%nctaid.x", count).replace("%ctaid.x", own)
    for n, argument in enumerate(case.args):
        if isinstance(argument, int):
            continue
        load = re.compile(r"(ld\.param\.[bu]64\s+(%\w+),\s*\[" + re.escape(f"{old}_param_{n}") + r"\];)")
        move = (rf"\1\n{{ .reg .b32 %copy; .reg .b64 %copied; mov.u32 %copy, {index}; "
                rf"mul.wide.u32 %copied, %copy, {stride}; add.s64 \2, \2, %copied; }}")
        entry, found = load.subn(move, entry)
        assert found, (old, argument)
    return entry


DELAY = ("{ .reg .b32 %w, %s, %t; .reg .pred %q; mov.u32 %w, %tid.x; shr.u32 %w, %w, 5; add.u32 %w, %w, 16; "
         "mov.u32 %s, %ctaid.x; mov.u32 %t, %smid; mad.lo.u32 %s, %t, 77, %s; mul.lo.u32 %s, %s, 0x9e3779b1; "
         "shf.l.wrap.b32 %s, %s, %s, %w; and.b32 %s, %s, 0x100; mov.u32 %t, %clock; mul.lo.u32 %t, %t, 0x85ebca6b; "
         "shr.u32 %t, %t, 21; setp.ne.u32 %q, %s, 0; @%q nanosleep.u32 %t; }")


def delayed(entry):
    """Some warps, other ones in each block, sleep up to 2 us in front of each access and synchronisation."""
    touches = re.compile(r"\s*\{?\s*(@!?%?\w+\s+)?(" + ptx_mutants.TOUCHES.pattern + ")")
    lines = entry.split("\n")
    body = next(n for n, line in enumerate(lines) if line.startswith("{"))
    return "\n".join(DELAY + "\n" + line if n > body and touches.match(line) and "ld.param" not in line else line
                     for n, line in enumerate(lines))


def assemble(path, source):
    """A cubin, or the message of ptxas. Without lines of the source: tools then name the kernel, not what it inlines."""
    path.with_suffix(".ptx").write_text(re.sub(r"^[ \t]*\.loc\s.*$", "", source, flags=re.M))
    done = subprocess.run(["ptxas", "-arch=sm_90a", path.with_suffix(".ptx"), "-o", path.with_suffix(".cubin")],
                          capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr


def assemble_entries(path, module, entries):
    """A module with those of the entries that ptxas takes. Returns the names of these."""
    entries = dict(entries)
    while entries:
        source = module[0] + "\n".join(entries.values()) + module[1]
        message = assemble(path, source)
        if message is None:
            path.with_suffix(".ptx").unlink()  # megabytes, which nothing reads
            return set(entries)
        lines, before = source.split("\n"), len(entries)
        for row in sorted({int(n) for n in re.findall(r"line (\d+);? *error", message)}):
            name = re.findall(r"\.entry\s+(\w+__\d+)", "\n".join(lines[:row]))
            if name and entries.pop(name[-1], None):
                print(f"{path.name}: {name[-1]} is left out: {message.splitlines()[0]}", flush=True)
        if len(entries) == before:
            raise RuntimeError(message)
    return set()


# ---- what spad says -----------------------------------------------------------------------

def pack_compared(number, case, folder):
    source, name = source_of(case, folder), f"compare_{number:02d}"
    module = re.sub(r"\W", "_", case.file)
    if not (folder / f"{module}.cubin").exists() and (message := assemble(folder / module, source)) is not None:
        raise RuntimeError(message)
    content, _ = launch_text(case, f"{module}.ptx", case.kernel, source)
    (folder / f"{name}.toml").write_text(content)
    kernel = sc.load(folder / f"{name}.toml")
    rows = [{"contents": m["contents"].hex(), "known": m["known"].hex()} for m in kernel.run["memory"]]
    (folder / f"{name}.expected").write_bytes(zlib.compress(json.dumps(rows).encode()))
    check = kernel.check()
    wrong = [finding.code for finding in check.findings if finding.severity == "error"]
    known, count = sum(m["known"].count(1) for m in kernel.run["memory"]), sum(m["bytes"] for m in kernel.run["memory"])
    print(f"{name} {case.file} {case.kernel}: {known} of {count} B known, {wrong or check.verdict}", flush=True)
    label = f"{case.kernel}({', '.join(str(a) for a in case.args if isinstance(a, int))})"
    return {"id": name, "group": "compare", "what": "compare", "kernel": label, "file": case.file, "cubin": f"{module}.cubin",
            "entry": case.kernel, "launch": f"{name}.toml", "expected": f"{name}.expected",
            "parameters": offsets_of(case.kernel, source), "wrong": wrong}


def verdict_of(source, case):
    begin = time.monotonic()
    verdict, why = ptx_mutants.ask_check(source, case)
    return {"verdict": verdict, "why": why[:200], "spad_seconds": round(time.monotonic() - begin, 4)}


def lines_that_run(source, case):
    kernel = text.read_kernel(source, case.kernel)
    run = machine.Machine(kernel, machine.Launch(case.block, [ptx_mutants.model_argument(one) for one in case.args],
                                                 case.cluster, smem=case.smem), 0)
    run.run()
    return run.executed


def variants_of(case, others, source):
    """(label, name of the kernel, text of its module): the right one first."""
    yield {"what_changed": "", "line": 0}, case.kernel, source
    if others:
        for other in others:
            yield {"what_changed": other, "line": 0}, other, source
        return
    executed = lines_that_run(source, case)
    for line, what, changed in ptx_mutants.mutants(source, text.read_kernel(source, case.kernel)):
        yield {"what_changed": what, "line": line, "executed": line in executed}, case.kernel, changed


def pack_group(name, case, others, folder):
    """Jobs of one kernel with its mutants, or of a right kernel with wrong ones."""
    source = source_of(case, folder)
    by_grid = not any(isinstance(a, str) and a.startswith("tensormap") for a in case.args)
    content, used = launch_text(case, f"{name}.ptx", f"{name}__0", renamed(source, case.kernel, f"{name}__0"))
    stride = (used + 127) // 128 * 128
    (folder / f"{name}.toml").write_text(content)
    plain, slow, jobs = {}, {}, []
    for n, (label, kernel, changed) in enumerate(variants_of(case, others, source)):
        entry = entry_of(changed, kernel)
        if by_grid:
            entry = in_copies(entry, kernel, case, stride)
        plain[f"{name}__{n}"] = renamed(entry, kernel, f"{name}__{n}")
        slow[f"{name}__{n}"] = delayed(plain[f"{name}__{n}"])
        said = verdict_of(changed, Case(case.file, kernel, case.block, case.args, case.cluster, case.smem))
        shared = next(k for k in sc.kernels(changed) if k["name"] == kernel)["shared_bytes"] + case.smem
        jobs.append({"id": f"{name}__{n}", "group": name, "what": "stress", "kernel": kernel, "file": case.file, **label, **said,
                     "entry": f"{name}__{n}", "right": f"{name}__0", "cubins": [f"{name}.cubin", f"{name}_delayed.cubin"],
                     "launch": f"{name}.toml", "parameters": offsets_of(case.kernel, source),
                     "stride": stride, "replicas": 1024 if by_grid else 128, "by_grid": by_grid,
                     "rounds": 4, "more_smem": max(0, min(96 << 10, MOST_SHARED - shared - 2048)),
                     "proved": said["verdict"] == "proved",
                     "late": "DEADLOCK" in said["why"] or "never" in said["why"]})
    module = around_entries(re.sub(r"\.target sm_8\d", ".target sm_90a", source))
    fine = assemble_entries(folder / name, module, plain) & assemble_entries(folder / f"{name}_delayed", module, slow)
    print(f"{name}: {len(jobs)} kernels, {len(fine)} assembled", flush=True)
    return [job for job in jobs if job["entry"] in fine]


def main():
    parser = argparse.ArgumentParser(description="packs kernels for a GPU")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kernel", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)  # a new one: modules that are there would be taken as they are
    for file in ("kernels", "bugs"):
        source_of(Case(f"gpu/{file}", "", 0, []), options.folder)
    compared = [pack_compared(n, case, options.folder) for n, case in enumerate(ptx_mutants.CASES + COMPARED)
                if options.kernel in case.kernel]
    groups = [(case.kernel + "_mutant", case, []) for case in reversed(ptx_mutants.CASES)]  # long ones first
    groups += [("bug_" + case.kernel, case, others) for case, others in BUGS]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        packed = [pool.submit(pack_group, *group, options.folder) for group in groups if options.kernel in group[0]]
        stress = [job for one in packed for job in one.result()]
    (options.folder / "manifest.json").write_text(json.dumps({"compare": compared, "stress": stress}, indent=1))


if __name__ == "__main__":
    main()
