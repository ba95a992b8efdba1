# SPDX-License-Identifier: Apache-2.0
"""Runs what pack.py has packed on a GPU, through the driver API alone, and writes down what it sees.

    python3 tests/gpu/launch.py FOLDER OUT [--seconds 500] [--processes 3] [--only NAMES] [--dry-run]

First the kernels whose outputs spad's executor knows, once each. Then every mutant and every bug, thousands of times:
plain, with random delays of its warps, with many blocks and few on a multiprocessor. A launch that does not end in time
is a hang: the process ends, and the next one goes on with the next mutant. At last racecheck and synccheck, which launch
each kernel once. --only takes the kernels with one of some words in their group or name. OUT/results.jsonl has a record
for each answer, as soon as it is there; table.py makes tables of it.
"""

import argparse
import ctypes
import gzip
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import zlib

NOT_READY, STREAMS = 600, 32
TYPES = {"u8": 0, "i8": 0, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
SIZES = {"u8": 1, "i8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f16": 2, "f32": 4, "f64": 8, "bf16": 2}
SWIZZLES = {"32": 1, "64": 2, "128": 3}


# ---- launch files -------------------------------------------------------------------------

class Launch:
    """A launch file whose regions are next to each other: their bytes are one image, which moves as a whole."""

    def __init__(self, path, offsets):
        text = tomllib.loads(pathlib.Path(path).read_text())
        regions = text.get("memory", [])
        self.first = min((r["address"] for r in regions), default=0)
        self.regions = [(r["address"] - self.first, r["bytes"]) for r in regions]
        image = bytearray(max((at + count for at, count in self.regions), default=1))
        for r in regions:
            contents = bytes.fromhex(r.get("contents", ""))
            at = r["address"] - self.first
            image[at:at + len(contents)] = contents
        self.image = bytes(image)
        self.parameters, self.offsets = bytes.fromhex(text.get("parameters", "")), offsets
        self.grid, self.block = (([text.get(key, 1)] if isinstance(text.get(key, 1), int) else text[key]) + [1, 1]
                                 for key in ("grid", "block"))
        self.smem = text.get("smem", 0)
        self.maps = [(m["parameter"], m["map"]) for m in text.get("tensormap", [])]

    def parameters_at(self, device, address):
        """The parameter bytes, with all that leads into the image leading to its copy at an address."""
        out = bytearray(self.parameters)
        for at in range(0, len(out) - 7, 8):
            value = int.from_bytes(out[at:at + 8], "little")
            if any(value == self.first + offset for offset, _ in self.regions):
                out[at:at + 8] = (value - self.first + address).to_bytes(8, "little")
        for at, words in self.maps:
            out[at:at + 128] = device.tensor_map(words, lambda value: value - self.first + address)
        return bytes(out)


def read_map(words):
    """A tensor map as cuTensorMapEncodeTiled takes it: innermost first."""
    kind = words.split("[")[0]
    lists = {name or "size": [int(n, 0) for n in numbers.split(",")][::-1]
             for name, numbers in re.findall(r"(?:,(box|stride|at)|^\w+)\[([^\]]*)\]", words)}
    strides = lists.get("stride") or []
    if not strides:
        total = SIZES[kind]
        for extent in lists["size"][:-1]:
            total *= extent
            strides.append(total)
    swizzle = re.search(r"swizzle(\d+)", words)
    return kind, lists["size"], strides, lists["box"], SWIZZLES[swizzle[1]] if swizzle else 0, lists["at"][0]


# ---- the device ---------------------------------------------------------------------------

class Hang(Exception):
    pass


class Device:
    """cuda:0, by the driver API."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.modules, self.streams, self.pool, self.pool_bytes = {}, [], ctypes.c_uint64(), 0
        for _ in range(STREAMS):
            self.streams.append(ctypes.c_void_p())
            self.call("cuStreamCreate", ctypes.byref(self.streams[-1]), 1)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: error {status}")

    def function(self, path, name):
        if path not in self.modules:
            self.modules[path] = ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(self.modules[path]), pathlib.Path(path).read_bytes() + b"\0")
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.modules[path], name.encode())
        return function

    def tensor_map(self, words, move):
        kind, size, strides, box, swizzle, address = read_map(words)
        raw = ctypes.create_string_buffer(256)
        at = (ctypes.addressof(raw) + 63) & ~63
        n = len(size)
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), TYPES[kind], n, ctypes.c_void_p(move(address)),
                  (ctypes.c_uint64 * n)(*size), (ctypes.c_uint64 * max(n - 1, 1))(*strides), (ctypes.c_uint32 * n)(*box),
                  (ctypes.c_uint32 * n)(*[1] * n), 0, swizzle, 0, 0)
        return ctypes.string_at(at, 128)

    def launch_one(self, function, launch, grid, address, smem, stream):
        parameters = launch.parameters_at(self, address)
        buffer = ctypes.create_string_buffer(parameters, len(parameters) + 1)
        # One by one: ptxas leaves room before a parameter with a large alignment, which a buffer of all would not have.
        each = (ctypes.c_void_p * len(launch.offsets))(*(ctypes.addressof(buffer) + at for at in launch.offsets))
        self.call("cuLaunchKernel", function, grid, *launch.grid[1:3], *launch.block[:3], smem, stream, each, None)

    def run(self, function, launch, stride, replicas, by_grid, more_smem=0, seconds=1.5):
        """All images after launches at the same time: one with all blocks, or one for each image."""
        image = launch.image.ljust(stride, b"\0") * replicas
        if len(image) > self.pool_bytes:
            self.call("cuMemAlloc_v2", ctypes.byref(self.pool), ctypes.c_size_t(len(image)))
            self.pool_bytes = len(image)
        self.call("cuMemcpyHtoD_v2", self.pool, image, ctypes.c_size_t(len(image)))
        self.call("cuCtxSynchronize")
        smem = launch.smem + more_smem
        self.call("cuFuncSetAttribute", function, 8, smem)
        if by_grid:
            self.launch_one(function, launch, launch.grid[0] * replicas, self.pool.value, smem, self.streams[0])
        else:
            for i in range(replicas):
                self.launch_one(function, launch, launch.grid[0], self.pool.value + i * stride, smem, self.streams[i % STREAMS])
        end = time.monotonic() + seconds
        for stream in self.streams:
            while (status := self.driver.cuStreamQuery(stream)) == NOT_READY:
                if time.monotonic() > end:
                    raise Hang
                time.sleep(0.0002)
            if status:
                raise RuntimeError(f"the launch ended with error {status}")
        out = ctypes.create_string_buffer(len(image))
        self.call("cuMemcpyDtoH_v2", out, self.pool, ctypes.c_size_t(len(image)))
        return out.raw


class NoDevice(Device):
    """For --dry-run: nothing is launched, and memory stays as it is."""

    def __init__(self):
        pass

    def function(self, path, name):
        if name.encode() not in pathlib.Path(path).read_bytes():
            raise RuntimeError(f"{path} has no {name}")
        return name

    def tensor_map(self, words, move):
        return repr(read_map(words)).encode().ljust(128)[:128]

    def run(self, function, launch, stride, replicas, by_grid, more_smem=0, seconds=1.5):
        assert len(launch.parameters_at(self, 1 << 40)) == len(launch.parameters) and len(launch.image) <= stride
        if function.endswith("__3") and not hasattr(self, "hung"):
            raise Hang
        return launch.image.ljust(stride, b"\0") * replicas


# ---- jobs, in a process of their own ------------------------------------------------------

def compare(device, job, folder):
    """Outputs of one launch against the bytes that spad knows."""
    launch, wrong, known_bytes = Launch(folder / job["launch"], job["parameters"]), [], 0
    got = device.run(device.function(folder / job["cubin"], job["entry"]), launch, len(launch.image), 1, True, seconds=10)
    expected = json.loads(zlib.decompress((folder / job["expected"]).read_bytes()))
    for (at, count), region in zip(launch.regions, expected, strict=True):
        contents, known = bytes.fromhex(region["contents"]), bytes.fromhex(region["known"])
        known_bytes += sum(known)
        wrong += [at + i for i in range(count) if known[i] and got[at + i] != contents[i]]
    changed = sum(a != b for a, b in zip(got, launch.image, strict=True))
    return {"outcome": "wrong" if wrong else "same", "known": known_bytes, "bytes": sum(count for _, count in launch.regions),
            "changed": changed, "wrong": len(wrong), "first": [(at, got[at]) for at in wrong[:4]]}


class References:
    """What the kernel without a fault gives: the same in each of many runs."""

    def __init__(self):
        self.of = {}

    def get(self, device, job, folder, launch):
        if job["group"] not in self.of:
            function = device.function(folder / job["cubins"][0], job["right"])
            images = device.run(function, launch, job["stride"], job["replicas"], job["by_grid"], seconds=10)
            one = images[:job["stride"]]
            self.of[job["group"]] = one if images == one * job["replicas"] else None
        return self.of[job["group"]]


def stress(device, job, folder, references):
    """A kernel again and again: how many runs gave something else than the right kernel does."""
    launch, stride, runs, wrong = Launch(folder / job["launch"], job["parameters"]), job["stride"], 0, {}
    right = references.get(device, job, folder, launch)
    if right is None:
        return {"outcome": "unstable"}
    for variant, cubin in zip(("plain", "delayed"), job["cubins"]):
        function = device.function(folder / cubin, job["entry"])
        for n in range(job["rounds"]):
            images = device.run(function, launch, stride, job["replicas"], job["by_grid"], n % 2 * job["more_smem"],
                                job.get("seconds", 1.5))
            runs += job["replicas"]
            if images != right * job["replicas"]:
                bad = sum(images[at:at + stride] != right for at in range(0, len(images), stride))
                wrong[variant] = wrong.get(variant, 0) + bad
    return {"outcome": "wrong" if wrong else "same", "runs": runs, "wrong": wrong}


def once(device, job, folder):
    """For the tools of compute-sanitizer."""
    launch = Launch(folder / job["launch"], job["parameters"])
    device.run(device.function(folder / job["cubins"][0], job["entry"]), launch, job["stride"], 1, job["by_grid"], seconds=20)
    return {"outcome": "ran"}


def work(folder, jobs, device):
    """The jobs of a file; an answer on stdout for each. After a hang or an error of the device the process ends."""
    references = References()
    for job in jobs:
        print("@@", json.dumps({"id": job["id"], "begins": True}), flush=True)
        begin, ends = time.monotonic(), True
        try:
            what = {"compare": compare, "once": once}.get(job["what"])
            answer = what(device, job, folder) if what else stress(device, job, folder, references)
            ends = False
        except Hang:
            answer = {"outcome": "hang"}
        except RuntimeError as error:
            answer = {"outcome": "error", "why": str(error)}
        answer["seconds"] = round(time.monotonic() - begin, 4)
        print("@@", json.dumps({"id": job["id"], **answer}), flush=True)
        if ends:
            os._exit(3)


# ---- the parent ---------------------------------------------------------------------------

class Parent:
    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + options.seconds
        self.out = open(options.out / "results.jsonl", "a", encoding="utf-8")
        self.log = gzip.open(options.out / "tools.log.gz", "at", encoding="utf-8")
        self.lock, self.answers = threading.Lock(), {}

    def left(self):
        return self.end - time.monotonic()

    def write(self, record):
        with self.lock:
            self.out.write(json.dumps(record) + "\n")
            self.out.flush()

    def run_process(self, jobs, tool, patience):
        """Runs one process. Returns how many of the jobs it has answered, or died of."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(jobs, file)
        command = [sys.executable, os.path.abspath(__file__), str(self.options.folder), file.name, "--work"]
        command += ["--dry-run"] if self.options.dry_run else []
        begin, done, begun, lines = time.monotonic(), 0, None, queue.Queue()
        process = subprocess.Popen((tool["command"] if tool else []) + command, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        threading.Thread(target=lambda: [lines.put(line) for line in process.stdout] + [lines.put(None)], daemon=True).start()
        log, stuck = [], False
        while True:
            try:
                line = lines.get(timeout=max(min(patience, self.left()), 0.1))
            except queue.Empty:
                stuck = True
                break
            if line is None:
                break
            if not line.startswith("@@"):
                log.append(line)
            elif "begins" in (record := json.loads(line[2:])):
                begun = record["id"]
            else:
                done, begun = done + 1, None
                self.answer(record, tool)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.unlink(file.name)
        if done < len(jobs) and (begun is not None or not done) and self.left() > 0:
            self.answer({"id": jobs[done]["id"], "outcome": "stuck" if stuck else "died", "why": "".join(log[-3:])[:300]}, tool)
            done += 1
        self.note_log(jobs[:done], log, tool, time.monotonic() - begin)
        return done

    def answer(self, record, tool):
        if tool:
            record["tool"] = tool["name"]
        else:
            self.answers[record["id"]] = record["outcome"]
        self.write(record)

    def note_log(self, jobs, log, tool, seconds):
        """What a tool says about each kernel: the severity of the first line of each block of its report."""
        if not tool:
            return
        found, severity, names = {}, None, {job["entry"] for job in jobs}
        for line in log:
            head = re.match(r"=+ +(Error|Warning|Info|Barrier error|Invalid|Program hit)\b", line)
            severity = head[1] if head else severity
            named = names & set(re.findall(r"\b(\w+__\d+)\b", line)) if severity else set()
            for name in (names if head else set()) if len(names) == 1 else named:
                found.setdefault(name, {}).setdefault(severity, 0)
                found[name][severity] += 1
        self.write({"tool": tool["name"], "seconds": round(seconds, 2), "kernels": [job["entry"] for job in jobs], "found": found})
        with self.lock:
            self.log.write(f"## {tool['name']} {[job['entry'] for job in jobs]}\n" + "".join(log[:4000]))
            self.log.flush()

    def run_all(self, chunks, tool=None, patience=30, until=0.0, threads=None):
        """Chunks of jobs, in their order, in several processes at a time. Stops when only `until` seconds are left."""
        waiting = queue.Queue()
        for chunk in chunks:
            waiting.put(chunk)

        def take():
            while self.left() > until:
                try:
                    jobs = waiting.get_nowait()
                except queue.Empty:
                    return
                while jobs and self.left() > until:
                    jobs = jobs[self.run_process(jobs, tool, patience):]
        takers = [threading.Thread(target=take) for _ in range(threads or self.options.processes)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()


def chunks_of(jobs, most):
    out = []
    for job in jobs:
        if not out or len(out[-1]) == most or out[-1][0]["group"] != job["group"]:
            out.append([])
        out[-1].append(job)
    return out


def tools():
    path = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if path is None:
        return []
    return [{"name": name, "command": [path, "--tool", name, "--print-limit", "10000"]} for name in ("racecheck", "synccheck")]


def run_everything(options):
    parent = Parent(options)
    manifest = json.loads((options.folder / "manifest.json").read_text())
    if options.only:
        words = options.only.split(",")
        manifest = {what: [job for job in jobs if any(word in job["group"] or word in job["kernel"] for word in words)]
                    for what, jobs in manifest.items()}
    begin = time.monotonic()

    def note(what):
        print(f"{time.monotonic() - begin:7.1f} s  {what}", flush=True)
    smi = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    if shutil.which(smi[0]):
        parent.write({"gpu": subprocess.run(smi, capture_output=True, text=True, check=False).stdout.strip()})
    parent.run_all([[job] for job in manifest["compare"]][:1])  # the first use of the device takes long
    parent.run_all(chunks_of(manifest["compare"][1:], 40))
    note("fidelity")
    mutants = manifest["stress"]
    parent.run_all(chunks_of(sorted(mutants, key=lambda job: (job["late"], job["group"])), 24), until=options.seconds * 0.45)
    doubtful = [j for j in mutants if j["proved"] and parent.answers.get(j["id"]) not in (None, "same", "wrong")]
    parent.run_all([[dict(job, seconds=10)] for job in doubtful], threads=1)  # with the device for itself
    note(f"mutants; {len(doubtful)} of them again")
    if tools():
        version = subprocess.run([tools()[0]["command"][0], "--version"], capture_output=True, text=True, check=False).stdout
        parent.write({"compute-sanitizer": version[-200:]})
    single = [dict(job, what="once") for job in mutants]
    for tool in tools():
        for chosen, most in (([j for j in single if j["entry"] == j["right"]], 1), ([j for j in single if j["entry"] != j["right"]], 16)):
            quick = [job for job in chosen if parent.answers.get(job["id"]) not in ("hang", "error", "stuck", "died")]
            parent.run_all(chunks_of(quick, most), tool, 60, until=options.seconds * (0.2 if tool["name"] == "racecheck" else 0.05))
        note(tool["name"])
    for tool in tools()[::-1]:
        hung = [job for job in single if parent.answers.get(job["id"]) in ("hang", "error", "stuck", "died")]
        parent.run_all([[job] for job in hung], tool, 30, until=5)
        note(f"{tool['name']}, kernels that hang")
    outcomes = list(parent.answers.values())
    print({name: outcomes.count(name) for name in sorted(set(outcomes))}, flush=True)


def main():
    parser = argparse.ArgumentParser(description="runs packed kernels on a GPU")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--only", default="", help="words, with commas between them")
    parser.add_argument("--dry-run", action="store_true", help="nothing is launched")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.folder, json.loads(options.out.read_text()), NoDevice() if options.dry_run else Device())
    else:
        options.out.mkdir(parents=True, exist_ok=True)
        run_everything(options)


if __name__ == "__main__":
    main()
