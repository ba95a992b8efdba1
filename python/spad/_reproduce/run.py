# SPDX-License-Identifier: Apache-2.0
"""Runs the kernels of folders that `spad cuda reproduce` has written, on a GPU, by the driver API alone.

    python3 run.py [FOLDER...] [--runs 1000] [--seconds 300] [--timeout 1] [--workers 1] [--out results.jsonl]

Each folder is a process. Each variant of its kernel is launched again and again on the same bytes: `plain` is the kernel
as it is, `random` has delays everywhere, `late0` and the others one at a place of the finding. A line of the output says
for each variant how many launches gave which result, and whether one did not end."""

import argparse
import concurrent.futures
import ctypes
import json
import os
import random
import subprocess
import sys
import threading
import time
import zlib

NOT_READY = 600
DELAYS = (200, 1000, 5000, 20000)  # nanoseconds
GUARD = 4096  # bytes between blocks of memory


class Hang(Exception):
    pass


class Driver:
    """cuda:0"""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        device, self.context, self.stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), 0)  # which waits for the copies

    def call(self, name, *values):
        status = getattr(self.library, name)(*values)
        if status:
            raise RuntimeError(f"{name}: error {status}")

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def load(self, path):
        """A module: the cubin of a PTX, or the PTX."""
        cubin = path[:-4] + ".cubin"
        with open(cubin if os.path.exists(cubin) else path, "rb") as file:
            image = file.read() + b"\0"
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def set_delay(self, module, delay):
        """Where the module has such a variable."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        if self.library.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), module, b"spad_delay") == 0:
            self.call("cuMemcpyHtoD_v2", address, ctypes.byref(ctypes.c_uint32(delay)), ctypes.c_size_t(4))

    def tensor_map(self, one, address):
        raw = ctypes.create_string_buffer(256)
        at = ctypes.addressof(raw) + 63 & ~63
        n = len(one["size"])
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), one["type"], n, ctypes.c_void_p(address),
                  (ctypes.c_uint64 * n)(*one["size"]), (ctypes.c_uint64 * max(n - 1, 1))(*one["stride"]),
                  (ctypes.c_uint32 * n)(*one["box"]), (ctypes.c_uint32 * n)(*[1] * n), 0, one["swizzle"], 0, 0)
        return ctypes.string_at(at, 128)

    def launch(self, function, launch, parameters):
        config = (ctypes.c_uint64 * 7)()
        numbers = ctypes.cast(config, ctypes.POINTER(ctypes.c_uint32))
        for i, value in enumerate([*launch["grid"], *launch["block"], launch["smem"]]):
            numbers[i] = value
        config[4] = self.stream.value
        attribute = (ctypes.c_uint32 * 18)(4, 0, *launch["cluster"])
        if launch["cluster"] != [1, 1, 1]:
            config[5], numbers[12] = ctypes.addressof(attribute), 1
        buffer = ctypes.create_string_buffer(parameters, len(parameters) + 1)
        # One by one: ptxas leaves room before a parameter with a large alignment, which a buffer of all would not have.
        each = (ctypes.c_void_p * len(launch["offsets"]))(*(ctypes.addressof(buffer) + at for at in launch["offsets"]))
        self.call("cuLaunchKernelEx", config, function, each, None)

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while (status := self.library.cuStreamQuery(self.stream)) == NOT_READY:
            if time.monotonic() > end:
                raise Hang
        if status:
            raise RuntimeError(f"the launch ended with error {status}")


class NoDriver(Driver):
    """For --dry-run: nothing is launched, and memory is that of the host."""

    def __init__(self):
        self.kept = []

    def allocate(self, size):
        self.kept.append(ctypes.create_string_buffer(size + 256))
        return ctypes.addressof(self.kept[-1]) + 255 & ~255

    def call(self, name, *values):
        if name.startswith("cuMemcpy"):
            to, source, size = (value.value if hasattr(value, "value") else value for value in values)
            ctypes.memmove(to, source, size)

    def load(self, path):
        with open(path if os.path.exists(path) else path[:-4] + ".cubin", "rb") as file:
            return file.read()

    def function(self, module, name):
        assert name.encode() in module, name
        return name

    def set_delay(self, module, delay):
        pass

    def launch(self, function, launch, parameters):
        assert len(parameters) == len(launch["parameters"]) // 2

    def wait(self, seconds):
        if os.environ.get("SPAD_DRY_HANG"):
            raise Hang


class Memory:
    """All blocks of a launch in one allocation, and the bytes that they begin with. What is not known is the same small
    positive number each time, whatever the type."""

    def __init__(self, driver, launch):
        self.driver, self.places, size = driver, [], 0
        for block in launch["memory"]:
            self.places.append((block["address"], block["bytes"], size))
            size += -(-(block["bytes"] + GUARD) // GUARD) * GUARD
        self.size = max(size, GUARD)
        self.device, self.pristine = driver.allocate(self.size), driver.allocate(self.size)
        numbers = random.Random(1)
        image = bytearray(bytes(numbers.choices(range(0x30, 0x40), k=min(self.size, 1 << 20))) * -(-self.size >> 20))[:self.size]
        for block, (_, _, at) in zip(launch["memory"], self.places):
            contents = bytes.fromhex(block["contents"])
            image[at:at + len(contents)] = self.moved(contents)
        self.parameters = bytearray(self.moved(bytes.fromhex(launch["parameters"])))
        for one in launch["maps"]:
            made = driver.tensor_map(one, self.place(one["address"])) if not isinstance(driver, NoDriver) else bytes(128)
            if "parameter" in one:
                self.parameters[one["parameter"]:one["parameter"] + 128] = made
            else:
                at = self.place(one["at"]) - self.device
                image[at:at + 128] = made
        driver.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.pristine), bytes(image), ctypes.c_size_t(self.size))

    def place(self, address):
        for first, size, at in self.places:
            if first <= address < first + max(size, 1):
                return self.device + at + address - first
        return None

    def moved(self, data):
        """The bytes, with addresses of the launch file replaced by those of the device."""
        data = bytearray(data)
        for at in range(0, len(data) - 7, 8):
            place = self.place(int.from_bytes(data[at:at + 8], "little"))
            if place is not None:
                data[at:at + 8] = place.to_bytes(8, "little")
        return bytes(data)

    def reset(self):
        self.driver.call("cuMemcpyDtoD_v2", ctypes.c_uint64(self.device), ctypes.c_uint64(self.pristine), ctypes.c_size_t(self.size))

    def read(self):
        out = ctypes.create_string_buffer(self.size)
        self.driver.call("cuMemcpyDtoH_v2", out if not isinstance(self.driver, NoDriver) else ctypes.addressof(out),
                         ctypes.c_uint64(self.device), ctypes.c_size_t(self.size))
        return b"".join(out.raw[at:at + size] for _, size, at in self.places)


def run_variant(driver, folder, launch, memory, name, runs, timeout, seconds):
    module = driver.load(os.path.join(folder, name + ".ptx"))
    function = driver.function(module, launch["kernel"])
    driver.call("cuFuncSetAttribute", function, 8, launch["smem"])
    record = {"folder": folder, "variant": name, "runs": 0, "hang": False, "results": {}}
    begin = time.monotonic()
    delayed = name not in ("plain", "reference")
    while record["runs"] < runs and time.monotonic() < begin + seconds:
        if delayed and record["runs"] % 16 == 0:
            driver.set_delay(module, DELAYS[record["runs"] // 16 % len(DELAYS)])
        memory.reset()
        try:
            driver.launch(function, launch, bytes(memory.parameters))
            driver.wait(timeout)
        except Hang:
            record["hang"] = True
            break
        except RuntimeError as error:
            record["error"] = str(error)
            break
        result = f"{zlib.crc32(memory.read()):08x}"
        record["results"][result] = record["results"].get(result, 0) + 1
        record["runs"] += 1
    record["seconds"] = round(time.monotonic() - begin, 3)
    return record


def work(folder, options):
    """The variants of a folder; the process ends at the first hang or error, after which the device is of no use."""
    with open(os.path.join(folder, "launch.json"), encoding="utf-8") as file:
        launch = json.load(file)
    driver = NoDriver() if options.dry_run else Driver()
    memory = Memory(driver, launch)
    for name in launch["variants"]:
        if name in options.done.split(","):
            continue
        print("@@", json.dumps({"begins": name}), flush=True)
        record = run_variant(driver, folder, launch, memory, name, options.runs, options.timeout, options.most)
        print("@@", json.dumps(record), flush=True)
        if record["hang"] or "error" in record:
            os._exit(3)


class Parent:
    def __init__(self, options):
        self.options, self.end, self.lock = options, time.monotonic() + options.seconds, threading.Lock()

    def write(self, record):
        with self.lock, open(self.options.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def process(self, folder, done):
        """Runs one process. Returns its records, and the variant that it had begun."""
        options = self.options
        command = [sys.executable, os.path.abspath(__file__), folder, "--work", "--done", ",".join(done), "--runs",
                   str(options.runs), "--timeout", str(options.timeout), "--most", str(options.most)]
        patience = options.timeout + options.most + 30
        command += ["--dry-run"] if options.dry_run else []
        made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        timer = threading.Timer(min(patience * 6, max(self.end - time.monotonic(), 1)), made.kill)
        timer.start()
        records, begun, other = [], None, []
        for line in made.stdout:
            if not line.startswith("@@"):
                other.append(line)
                continue
            record = json.loads(line[2:])
            begun = record.get("begins")
            if begun is None:
                records.append(record)
                self.write(record)
        made.wait()
        timer.cancel()
        return records, begun, "".join(other[-4:])

    def folder(self, folder):
        with open(os.path.join(folder, "launch.json"), encoding="utf-8") as file:
            variants = json.load(file)["variants"]
        records, done = [], []
        while len(done) < len(variants) and time.monotonic() < self.end:
            new, begun, said = self.process(folder, done)
            records += new
            done += [record["variant"] for record in new]
            if (begun is not None or not new) and time.monotonic() < self.end:  # it died in this one
                name = begun or next(name for name in variants if name not in done)
                records.append({"folder": folder, "variant": name, "runs": 0, "hang": False, "results": {}, "error": said[:400]})
                self.write(records[-1])
                done.append(name)
        with self.lock:
            print_table(folder, records)


def reference_of(records):
    """The result that counts as right: that of the reference, or else the most frequent one of the kernel as it is."""
    by_name = {record["variant"]: record["results"] for record in records}
    for name in ("reference", "plain"):
        if by_name.get(name):
            return max(by_name[name], key=by_name[name].get)
    return None


def print_table(folder, records):
    right = reference_of(records)
    print(folder)
    for record in records:
        wrong = record["runs"] - record["results"].get(right, 0)
        note = ", then a launch that did not end" if record["hang"] else ""
        note = f", then {record['error'].strip()}" if "error" in record else note
        print(f"  {record['variant']:10} {wrong:6} of {record['runs']:6} runs differ, {len(record['results'])} results{note}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="runs folders of spad cuda reproduce on a GPU")
    parser.add_argument("folders", nargs="*", default=[os.path.dirname(os.path.abspath(__file__))])
    parser.add_argument("--runs", type=int, default=1000, help="launches of a variant")
    parser.add_argument("--seconds", type=float, default=300, help="for everything")
    parser.add_argument("--most", type=float, default=20, help="seconds for a variant")
    parser.add_argument("--timeout", type=float, default=1, help="seconds until a launch counts as one that does not end")
    parser.add_argument("--workers", type=int, default=1, help="folders at the same time")
    parser.add_argument("--out", default="results.jsonl")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU: everything but the launches")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--done", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.folders[0], options)
    parent = Parent(options)
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        for one in [pool.submit(parent.folder, folder) for folder in options.folders]:
            one.result()
    return None


if __name__ == "__main__":
    main()
