# SPDX-License-Identifier: Apache-2.0
"""Kernels of the CuTe DSL (nvidia-cutlass-dsl), checked without a GPU (docs/cuda-sources.md).

    import spad.cute
    a = cute.runtime.make_fake_compact_tensor(cutlass.BFloat16, (512, 256), stride_order=(1, 0))
    print(spad.cute.check(launch, a, a, arch="sm_90a"))     # launch: a function with @cute.jit

The DSL compiles a kernel to PTX, and the host code around it to machine code, which calls the CUDA runtime under names
that begin with `_cu`. Here these names are functions of Python: they note the launch and compute nothing. So grid,
parameters and tensor maps are those of the program, and findings point at lines of Python.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from typing import TYPE_CHECKING

from . import _spad, cuda

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Launch", "check", "launches", "load", "record"]

_FIRST_ADDRESS = 0x700000000000  # of device memory
_ALIGN = 512  # of an allocation
_OPEN_BYTES = 1 << 30  # behind a pointer, whose extent nothing says
_CONTENTS_BYTES = 64 << 10
_MAP_BYTES = 128
_NO_STREAM = ctypes.c_uint64(0)
_SHARED_BYTES = 232448  # of a block, on sm_90 and sm_100
_PROCESSORS = 132
# by the number in a descriptor; the last three unpack elements into bytes of shared memory
_MAP_TYPES = ("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float32", "float64",
              "bfloat16", "uint4", "uint8", "uint8")
_DRIVER_TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8, 11, 12, 13)  # these numbers, by CUtensorMapDataType
_DRIVER_SWIZZLES = ((0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3))  # fields, by CUtensorMapSwizzle
_MAP_SWIZZLES = {(0, 0): "0", (1, 0): "32", (2, 0): "64", (3, 0): "128", (3, 1): "128atom32"}


class Launch:
    """A recorded launch. kernel: its name in the PTX; ptx; text: its launch file (docs/cuda-launch.md)."""

    def __init__(self, kernel: str, ptx: str, text: str) -> None:
        self.kernel, self.ptx, self.text = kernel, ptx, text

    def load(self, way: int = 0) -> cuda.CudaKernel:
        """Executes the launch, as spad.cuda.load() does."""
        made, run = _spad.Kernel.read_ptx(self.ptx, "<cute>", None, None, None, None, None, None, [], way,
                                          None, None, self.text, "<launch>")
        loaded = cuda.CudaKernel._of(made)
        loaded.run = run
        return loaded

    def check(self) -> Any:
        return self.load().check()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes path.ptx and path.toml, which `spad cuda check` reads."""
        path = os.fspath(path)
        module = os.path.basename(path)
        text = self.text.replace('module = "kernel.ptx"', f'module = "{module}.ptx"', 1)
        for name, content in ((path + ".ptx", self.ptx), (path + ".toml", text)):
            with open(name, "w", encoding="utf-8") as file:
                file.write(content)


class _Memory:
    """What the arguments of one call point to. The host code gets them as they are; in the parameters of a launch,
    addresses of the host become those of a device."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.blocks = []  # (address of the caller, address, bytes, contents)
        self.next = _FIRST_ADDRESS
        self.launched = False

    def add(self, host, size, contents=None):
        """Notes a block, and returns its address. host: where the caller has it, None for a tensor without memory."""
        if self.launched:  # these are the arguments of another call
            self.clear()
        address = self.next + (host or 0) % 16
        host = address if host is None else host
        if size > 0 and any(start <= host and host + size <= start + extent for start, _, extent, _ in self.blocks):
            return self.device_address(host)
        self.next = -(-(address + size) // _ALIGN) * _ALIGN
        self.blocks.append((host, address, size, contents))
        return address

    def device_address(self, host):
        """None: no block is there. Blocks whose size is known go first."""
        fitting = [(extent == _OPEN_BYTES, address + host - start) for start, address, extent, _ in self.blocks
                   if start <= host < start + extent]
        return min(fitting)[1] if fitting else None

    def moved(self, data):
        """The bytes, with addresses of the host replaced by those of the device."""
        data = bytearray(data)
        for at in range(0, len(data) - 7, 8):
            address = self.device_address(int.from_bytes(data[at:at + 8], "little"))
            if address is not None:
                data[at:at + 8] = address.to_bytes(8, "little")
        return bytes(data)

    def text(self):
        for _, address, size, contents in self.blocks:
            yield f"\n[[memory]]\naddress = {address:#x}\nbytes = {size}\n"
            if contents:
                yield f'contents = "{contents.hex()}"\n'


def _extent_bytes(shape, stride, bits):
    bits = 8 if bits == 1 else bits  # booleans
    last = sum((extent - 1) * abs(step) for extent, step in zip(shape, stride))
    return -(-(last + 1) * bits // 8) if all(shape) else 0


class _DLTensor(ctypes.Structure):  # dlpack.h
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("dims", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8)]


def _move_to_device(tensor):
    """Lets a tensor of the host be one of a device, whose pointers are to global memory. The contents of integers and
    booleans are kept: their values decide where a kernel goes."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    capsule = ctypes.py_object(tensor._dlpack_data)
    name = python.PyCapsule_GetName(capsule)
    if name == b"dltensor":  # not yet read by the DSL
        found = _DLTensor.from_address(python.PyCapsule_GetPointer(capsule, name))
        tensor._spad_known = found.device == 1 and found.code in (0, 1, 6)
        found.device = 2 if found.device == 1 else found.device


def _is_number(extent):
    return isinstance(extent, int)


class _Arguments:
    """Replaces how the DSL passes tensors and pointers: which memory there is, is noted."""

    def __init__(self, memory):
        self.memory = memory
        self.kept = []

    def loading(self, original):
        def load(tensor):
            if tensor._dltensor_wrapper is None:
                _move_to_device(tensor)
            original(tensor)
        return load

    def tensor(self, original):
        def pointers(tensor):
            made = original(tensor)
            size = _extent_bytes(tensor.shape, tensor.stride, tensor.element_type.width)
            known = 0 < size <= _CONTENTS_BYTES and getattr(tensor, "_spad_known", False)
            host = ctypes.c_uint64.from_address(made[0]).value
            self.memory.add(host, size, ctypes.string_at(host, size) if known else None)
            return made
        return pointers

    def pointer(self, original):
        def pointers(pointer):
            made = original(pointer)
            host = ctypes.c_uint64.from_address(made[0]).value
            if host != 0 and self.memory.device_address(host) is None:
                self.memory.add(host, _OPEN_BYTES)
            return made
        return pointers

    def symbol(self, value):
        raise ValueError(f"{value}: a launch needs extents that are numbers. For a kernel with a dynamic layout, pass an "
                         "array (numpy, or torch on the host) with mark_layout_dynamic()")

    def fake_tensor(self, tensor):
        if not all(map(_is_number, (*tensor.shape, *tensor.stride))):
            self.symbol(tensor)
        size = _extent_bytes(tensor.shape, tensor.stride, tensor.element_type.width)
        word = ctypes.c_uint64(self.memory.add(None, size))
        self.kept.append(word)
        return [ctypes.addressof(word)]


class _Runtime:
    """The functions that the host code of one compiled module calls. A failure is noted, and raised afterwards."""

    def __init__(self, ptx, memory, found, failures):
        self.ptx, self.memory, self.found, self.failures = ptx, memory, found, failures
        self.names = []
        self.callbacks = {}
        pointer, number = ctypes.c_void_p, ctypes.c_uint32
        many = [ctypes.c_uint32] * 6
        self._define("_cudaLibraryLoadData", self._load, [pointer] * 8)
        self._define("_cudaLibraryGetKernel", self._kernel, [pointer, pointer, ctypes.c_char_p])
        self._define("_cuKernelGetAttribute", self._no_bytes, [pointer, number, pointer, number])
        self._define("_cudaDeviceGetAttribute", self._attribute, [pointer, number, number])
        self._define("_cudaGetDevice", self._zero, [pointer])
        self._define("_cudaGetDeviceCount", self._one, [pointer])
        self._define("_cudaKernelSetAttributeForDevice", self._nothing, [pointer, number, number, number])
        self._define("_cudaFuncSetAttribute", self._nothing, [pointer, number, number])
        self._define("_cudaOccupancyMaxActiveBlocksPerMultiprocessor", self._one,
                     [pointer, pointer, number, ctypes.c_uint64])
        self._define("_cudaLaunchKernelEx", self._launch_config, [pointer, pointer, pointer])
        self._define("_cudaLaunchKernel", self._launch, [pointer, *many, pointer, ctypes.c_uint64, pointer])
        self._define("_cuTensorMapEncodeTiled", self._encode, [pointer, number, number, *[pointer] * 5, *[number] * 4])
        self._define("cuda_dialect_assert_success", self._assert_success, [number])

    def _define(self, name, function, types):
        def guarded(*values):
            try:
                function(*values)
            except Exception as failure:
                self.failures.append(failure)
                return 1
            return 0
        self.callbacks[name] = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(guarded)

    def _nothing(self, *_):
        pass

    def _zero(self, out, *_):
        ctypes.c_int32.from_address(out).value = 0

    _no_bytes = _zero

    def _one(self, out, *_):
        ctypes.c_int32.from_address(out).value = 1

    def _load(self, out, *_):
        ctypes.c_uint64.from_address(out).value = 0

    def _kernel(self, out, _, name):
        self.names.append(name.decode())
        ctypes.c_uint64.from_address(out).value = len(self.names)

    def _attribute(self, out, attribute, _):
        known = {16: _PROCESSORS, 97: _SHARED_BYTES}  # cudaDevAttrMultiProcessorCount, ...MaxSharedMemoryPerBlockOptin
        if attribute not in known:
            raise ValueError(f"the host code asks for attribute {attribute} of the device")
        ctypes.c_int32.from_address(out).value = known[attribute]

    def _encode(self, out, kind, dims, address, extents, strides, box, steps, interleave, swizzle, *_):
        """In the form of the hardware, as the host code does it elsewhere."""
        if kind >= len(_DRIVER_TYPES) or swizzle >= len(_DRIVER_SWIZZLES):
            raise ValueError(f"a tensor map with type {kind} and swizzle {swizzle} is not known")
        fields = [(0, address), (64, 2), (68, dims - 1), (71, _DRIVER_TYPES[kind]), (75, interleave)]
        fields += zip((77, 83), _DRIVER_SWIZZLES[swizzle])
        for d in range(dims):
            if d > 0:
                stride = ctypes.c_uint64.from_address(strides + 8 * (d - 1)).value >> 4
                fields += [(64 + 32 * d, stride & 0xffffffff), (220 + 4 * d, stride >> 32)]
            fields += [(256 + 32 * d, ctypes.c_uint64.from_address(extents + 8 * d).value - 1),
                       (440 + 8 * d, ctypes.c_uint32.from_address(box + 4 * d).value - 1),
                       (416 + 3 * d, ctypes.c_uint32.from_address(steps + 4 * d).value - 1)]
        bits = sum(value << first for first, value in fields)
        ctypes.memmove(out, bits.to_bytes(64, "little") + bytes(64), _MAP_BYTES)

    def _assert_success(self, status):
        if status != 0 and not self.failures:
            raise ValueError(f"a call of the CUDA runtime in the host code failed with error {status}")

    def _launch_config(self, config, kernel, values):
        numbers = (ctypes.c_uint32 * 14).from_address(config)
        smem = ctypes.c_uint64.from_address(config + 24).value
        first, cluster = ctypes.c_uint64.from_address(config + 40).value, None
        for i in range(numbers[12]):
            attribute = (ctypes.c_uint32 * 5).from_address(first + 72 * i)
            if attribute[0] == 4:  # cudaLaunchAttributeClusterDimension
                cluster = list(attribute[2:5])
        self._add(kernel, numbers[0:3], numbers[3:6], cluster, smem, values)

    def _launch(self, kernel, gx, gy, gz, bx, by, bz, values, smem, _stream):
        self._add(kernel, [gx, gy, gz], [bx, by, bz], None, smem, values)

    def _add(self, kernel, grid, block, cluster, smem, values):
        self.memory.launched = True
        name = self.names[kernel - 1]
        ptx = next((text for text in self.ptx if name in text), None)
        if ptx is None:
            raise ValueError(f"the DSL has not written PTX of kernel '{name}'")
        parameters = next(one["parameters"] for one in _spad.Kernel.ptx_kernels(ptx, "<cute>") if one["name"] == name)
        data = self.memory.moved(_parameter_bytes(parameters, values))
        words, maps = _with_maps(data, self.memory)
        lines = ["version = 1\n", 'module = "kernel.ptx"\n', f'kernel = "{name}"\n', f"grid = {list(grid)}\n",
                 f"block = {list(block)}\n"]
        if cluster and cluster != [1, 1, 1]:
            lines.append(f"cluster = {cluster}\n")
        lines += [f"smem = {smem}\n", f'parameters = "{words}"\n', *self.memory.text(), *maps]
        self.found.append(Launch(name, ptx, "".join(lines)))


def _parameter_bytes(parameters, values):
    """The bytes of all parameters. values: an array of addresses, one for each."""
    data = bytearray()
    for i, parameter in enumerate(parameters):
        data += bytes(-len(data) % parameter["align"])
        data += ctypes.string_at(ctypes.c_uint64.from_address(values + 8 * i).value, parameter["bytes"])
    return bytes(data)


def _with_maps(data, memory):
    """The parameters in hexadecimal, and the tables of the tensor maps in them. The host code of the DSL fills the
    first half of the 128 bytes of a map itself; nothing writes the other half."""
    words, tables = [data[i:i + 1].hex() for i in range(len(data))], []
    for at in range(0, len(data) - _MAP_BYTES + 1, 64):
        address = int.from_bytes(data[at:at + 8], "little")
        if data[at + 8] & 15 == 2 and any(start <= address < start + size for _, start, size, _ in memory.blocks):
            tables.append(f'\n[[tensormap]]\nparameter = {at}\nmap = "{_map_word(data[at:at + 64], address)}"\n')
            words[at + 64:at + _MAP_BYTES] = [".."] * 64
    return "".join(words), tables


def _map_word(data, address):
    """A descriptor as a word of a launch file. Its fields were found with maps that the DSL makes of known tensors."""
    def bits(first, count):
        return int.from_bytes(data, "little") >> first & (1 << count) - 1
    dims, kind, swizzle = bits(68, 3) + 1, bits(71, 4), (bits(77, 2), bits(83, 2))
    if bits(75, 2) or bits(416, 15) or kind >= len(_MAP_TYPES) or swizzle not in _MAP_SWIZZLES:
        raise ValueError("a tensor map with interleaving, element strides or a swizzle of 64-byte atoms is not "
                         "supported")
    extents = [str(bits(256 + 32 * d, 32) + 1) for d in reversed(range(dims))]
    box = [str(bits(440 + 8 * d, 8) + 1) for d in reversed(range(dims))]
    strides = [str((bits(96 + 32 * d, 32) | bits(224 + 4 * d, 4) << 32) << 4) for d in reversed(range(dims - 1))]
    stride = f"stride[{','.join(strides)}]," if strides else ""
    return (f"{_MAP_TYPES[kind]}[{','.join(extents)}],box[{','.join(box)}],{stride}swizzle{_MAP_SWIZZLES[swizzle]},"
            f"at[{address:#x}]")


def _engine(original, folder, memory, found, failures):
    """The execution engine of the DSL, which calls our functions. The PTX of its module is in the folder."""
    class Engine(original):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            texts = []
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if name.endswith(".ptx"):
                    with open(path, encoding="utf-8") as file:
                        texts.append(file.read().rstrip("\0"))
                    os.unlink(path)
            self._spad_runtime = _Runtime(texts, memory, found, failures)
            for symbol, callback in self._spad_runtime.callbacks.items():
                self.raw_register_runtime(symbol, ctypes.cast(callback, ctypes.c_void_p))
    return Engine


def _load_library(compiled):
    """Lets a compiled function find its kernels. It gets no handle of a library, which it would unload."""
    initialise, load = compiled._get_cuda_init_and_load()
    library, device, error = ctypes.c_void_p(), ctypes.c_int32(0), ctypes.c_int32(0)
    handle = ctypes.pointer(ctypes.pointer(library))
    for function, values in ((initialise, (handle, ctypes.pointer(error))),
                             (load, (handle, ctypes.pointer(device), ctypes.pointer(error)))):
        function((ctypes.c_void_p * len(values))(*(ctypes.cast(value, ctypes.c_void_p) for value in values)))
        if error.value != 0:
            raise ValueError("the host code of the kernel did not find it")
    return []


@contextlib.contextmanager
def _replaced(pairs):
    """Sets attributes, (object, name, value) each, and takes them back."""
    before = [(where, name, name in vars(where), vars(where).get(name)) for where, name, _ in pairs]
    try:
        for where, name, value in pairs:
            setattr(where, name, value)
        yield
    finally:
        for where, name, had, value in reversed(before):
            if had:
                setattr(where, name, value)
            else:
                delattr(where, name)


class _Device:
    """cutlass.utils.HardwareInfo without a driver."""

    def __init__(self, device_id: int = 0):
        self.device_id = device_id

    def get_max_active_clusters(self, cluster_size, stream=None):
        return _PROCESSORS // cluster_size

    def get_device_multiprocessor_count(self):
        return _PROCESSORS

    def get_l2_cache_size_in_bytes(self):
        return 50 << 20


@contextlib.contextmanager
def record(arch: str = "sm_90a") -> Iterator[list[Launch]]:
    """Within the block, kernels of the CuTe DSL are compiled for `arch` and launched nowhere: the list that it gives
    grows by a Launch for each. Arrays of the host stand for those of a device. Results are never computed."""
    import cutlass.utils
    from cutlass._mlir import execution_engine
    from cutlass.cute import runtime, typing
    from cutlass.cutlass_dsl import CuTeDSL, CuteExperimentalDSL, cuda_jit_executor

    memory, found, failures = _Memory(), [], []
    arguments = _Arguments(memory)
    with tempfile.TemporaryDirectory() as folder, _replaced([
        *((dsl._get_dsl().envar, name, value) for dsl in (CuTeDSL, CuteExperimentalDSL) for name, value in
          {"_arch": arch, "keep_tokens": frozenset(["ptx"]), "keep_ptx": True, "no_cache": True, "lineinfo": True,
           "dump_dir": folder}.items()),
        (execution_engine, "ExecutionEngine",
         _engine(execution_engine.ExecutionEngine, folder, memory, found, failures)),
        (cuda_jit_executor.CudaDialectJitCompiledFunction, "_load_cuda_library", _load_library),
        (runtime._Tensor, "load_dltensor", arguments.loading(runtime._Tensor.load_dltensor)),
        (runtime._Tensor, "__c_pointers__", arguments.tensor(runtime._Tensor.__c_pointers__)),
        (runtime._Pointer, "__c_pointers__", arguments.pointer(runtime._Pointer.__c_pointers__)),
        (runtime._FakeTensor, "__c_pointers__", lambda tensor: arguments.fake_tensor(tensor)),
        (typing.SymInt, "__c_pointers__", lambda value: arguments.symbol(value)),
        (runtime._FakeStream, "__c_pointers__", lambda _: [ctypes.addressof(_NO_STREAM)]),
        (cutlass.utils, "HardwareInfo", _Device),
    ]):
        try:
            yield found
        except Exception as failure:
            if failures:
                raise failures[0] from failure
            raise
    if failures:
        raise failures[0]


def launches(function: Any, *args: Any, arch: str = "sm_90a") -> list[Launch]:
    """The launches of a function with @cute.jit, called with args: fake tensors with extents that are numbers, arrays
    of the host, numbers."""
    with record(arch) as found:
        function(*args)
    return found


def load(function: Any, *args: Any, kernel: str = "", arch: str = "sm_90a") -> cuda.CudaKernel:
    """Executes the launch. kernel: a part of its name, where the function has several."""
    fitting = [launch for launch in launches(function, *args, arch=arch) if kernel in launch.kernel]
    if len(fitting) != 1:
        names = ", ".join(launch.kernel for launch in fitting) or "none"
        raise ValueError(f"there is not one launch of a kernel '{kernel}' but {len(fitting)}: {names}")
    return fitting[0].load()


def check(function: Any, *args: Any, kernel: str = "", arch: str = "sm_90a") -> Any:
    """load(function, *args, ...).check()"""
    return load(function, *args, kernel=kernel, arch=arch).check()
