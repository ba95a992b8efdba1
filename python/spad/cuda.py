# SPDX-License-Identifier: Apache-2.0
"""Kernels of CUDA C++, and of everything else that becomes PTX, for one launch (docs/cuda.md).

    import spad.cuda as sc
    k = sc.load("gemm.ptx", kernel="gemm*", grid=132, block=384, smem=200704,
                args=["tensormap:bf16[4096,4096],box[128,64],swizzle128", "bf16[4096,4096]", 4096])
    print(k.check())
    k.report().save("gemm.html")

load() takes a path (PTX, a .cu file, which nvcc compiles, a fatbin, an executable, a launch file), a PTX text, or an
object that carries a kernel: of Triton, Numba or CuPy. The result is a spad.Kernel; `run` has the numbers and the
remarks of the execution.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

from . import _spad, core
from ._program import lines
from .kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = ["CudaKernel", "check", "kernels", "load"]


class CudaKernel(Kernel):
    """The kernel of one executed launch. run: a dict with the numbers of the execution, `remarks`: what is wrong or not
    certain beside the kernel, and `memory`: device memory afterwards, as dicts with `address`, `bytes`, and `contents`
    and `known` (per byte, 0: not known) where the launch gave contents, else None."""

    run: dict[str, Any]


def compile(path: str | os.PathLike[str], flags: Sequence[str] = ("-arch=sm_90a", "-std=c++17")) -> str:
    """PTX of a .cu file, by nvcc: $NVCC, the one on the path, or that of /usr/local/cuda."""
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "kernel.ptx")
        done = subprocess.run([nvcc, "-ptx", "-lineinfo", *flags, os.fspath(path), "-o", out],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"nvcc did not compile '{os.fspath(path)}':\n{done.stderr}")
        return core._read(out, core._TEXT_MIB)[0]


_IMAGES = (b"\x50\xed\x55\xba", b"\x7fELF")  # fatbins, and what may have some


class _Module:
    """What load() takes, as the reader needs it. content: a PTX text, or the bytes of a fatbin or an executable.
    launch: the text of a launch file. kernel: where the object names one."""

    def __init__(self, content, name, *, launch=None, launch_name=None, kernel=None, expand=None):
        self.content, self.name, self.kernel = content, name, kernel
        self.launch, self.launch_name = launch, launch_name or "<launch>"
        self.expand = expand or (lambda value: [_argument(value)])


def _of_file(path):
    if os.fspath(path).endswith(".cu"):
        return _Module(compile(path), os.fspath(path))
    content, name = core._read_bytes(path, core._ROWS_MIB)
    if content.getvalue()[:4] in _IMAGES:
        return _Module(content.getvalue(), name)
    text, name = core._read(path, core._TEXT_MIB)
    if not name.endswith(".toml"):
        return _Module(text, name)
    module = _of_file(os.path.join(os.path.dirname(name), _spad.Kernel.ptx_launch_module(text, name)))
    module.launch, module.launch_name = text, name
    return module


def _compile_numba(dispatcher, args, arch):
    """PTX of a kernel that Numba has not compiled, for the types of the arguments. No GPU is needed."""
    import numba
    from numba import cuda

    if not args or any(value is None or isinstance(value, str) for value in args):
        raise ValueError("Numba compiles the kernel for the types of its arguments: pass numbers and arrays as args")
    number = (arch or "sm_90").rpartition("_")[2].rstrip("af")
    types = tuple(numba.typeof(value) for value in args)
    return cuda.compile_ptx(dispatcher.py_func, types, cc=(int(number[:-1]), int(number[-1])), lineinfo=True)[0]


def _of_numba(dispatcher, args, arch):
    """A dispatcher of Numba has a text for each signature. Its kernels take an array as several parameters."""
    compiled = getattr(dispatcher, "overloads", True)  # asking for texts needs a GPU where there are none
    texts = dispatcher.inspect_asm() if compiled else _compile_numba(dispatcher, args, arch)
    if isinstance(texts, dict):
        if len(texts) != 1:
            raise ValueError(f"the kernel is compiled for {len(texts)} signatures: pass one text of inspect_asm()")
        texts = next(iter(texts.values()))
    return _Module(texts, "<numba>", expand=_numba_words)


def _of_source(code, options, kernel):
    """CUDA C++ of a RawKernel or a RawModule of CuPy: compiled by nvcc, with their options."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        flags = [str(option) for option in options or ()]
        if not any(flag.startswith(("-arch", "--gpu-arch", "-gencode")) for flag in flags):
            flags.insert(0, "-arch=sm_90a")
        return _Module(compile(path, flags), "<cupy>", kernel=kernel)


def _module_of(source, args=(), arch=None):
    if hasattr(source, "asm") and "ptx" in source.asm:  # a kernel that Triton compiled
        return _Module(source.asm["ptx"], f"<{getattr(source, 'name', 'triton')}>")
    if callable(getattr(source, "inspect_asm", None)):
        return _of_numba(source, args, arch)
    if isinstance(source, tuple) and source and isinstance(source[0], str):  # numba.cuda.compile_ptx: a text and a type
        return _Module(source[0], "<numba>", expand=_numba_words)
    if isinstance(getattr(source, "code", None), str):  # cupy.RawKernel has a name, cupy.RawModule has none
        return _of_source(source.code, getattr(source, "options", ()), getattr(source, "name", None))
    if isinstance(getattr(source, "file_path", None), str):
        return _of_file(source.file_path)
    if isinstance(source, str) and "\n" in source:
        return _Module(source, "<ptx>")
    return _of_file(source)


_CONTENTS_BYTES = 64 << 10  # of integer arrays, whose values decide where a kernel goes


def _array(value):
    """An array by its type and shape, with its contents if they are few integers on the host."""
    extents = ",".join(str(extent) for extent in value.shape) or "1"
    word = f"{str(value.dtype).rpartition('.')[2]}[{extents}]"
    whole = getattr(value, "numpy", None) if getattr(getattr(value, "device", None), "type", "") == "cpu" else None
    value = whole() if callable(whole) else value  # a tensor of torch
    known = getattr(value.dtype, "kind", "") in "iub" and hasattr(value, "tobytes") and not hasattr(value, "get")
    if not known or not 0 < value.nbytes <= _CONTENTS_BYTES:
        return word
    return word + "=" + ",".join(str(int(item)) for item in value.reshape(-1).tolist())


def _argument(value):
    """An argument as a word: numbers, None (unknown), words as they are, and arrays."""
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return value
    if hasattr(value, "shape") and hasattr(value, "dtype") and value.shape != ():
        return _array(value)
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    if isinstance(value, bool):
        return str(int(value))
    return format(value, "d") if isinstance(value, int) else format(value, ".15f").rstrip("0")


def _numba_words(value):
    """A kernel of Numba takes an array as two objects of its runtime, the number of items and their size, the data, and
    extents and strides."""
    if not (hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "strides")) or value.shape == ():
        return [_argument(value)]
    item = value.dtype.itemsize
    count = 1
    for extent in value.shape:
        count *= extent
    numbers = [0, 0, count, item]
    return ([str(number) for number in numbers] + [_array(value)]
            + [str(number) for number in (*value.shape, *value.strides)])


def kernels(source: Any) -> list[dict[str, Any]]:
    """The kernels of a module, with their parameters; of a fatbin or an executable those of each architecture."""
    module = _module_of(source)
    return _spad.Kernel.ptx_kernels(module.content, module.name)


def load(source: Any, kernel: str | None = None, *, grid: int | Sequence[int] | None = None,
         block: int | Sequence[int] | None = None, cluster: int | Sequence[int] | None = None,
         cta: int | Sequence[int] | None = None, smem: int | None = None, args: Iterable[Any] = (), way: int = 0,
         target: Any = None, arch: str | None = None) -> CudaKernel:
    """Executes a launch. kernel: a name, or a pattern with `*`. args: the arguments in the order of the parameters, as
    numbers, arrays, None for any value, or words such as "bf16[64,64]"; integers of an array of numpy or torch on the
    host are its contents, up to 64 KiB. smem: bytes of dynamic shared memory. cta: the block that is executed. way: of
    what data decides, bit n is the answer at the n-th place. arch: of several texts, such as "sm_90a". What is given
    here replaces what a launch file says. An argument that decides a trip count becomes the parameter `arg0`, `arg1`, ...
    of the kernel (docs/cuda.md)."""
    args = list(args)
    module = _module_of(source, args, arch)
    expanded = [word for value in args for word in module.expand(value)]
    words = [f"arg{position}={word}" for position, word in enumerate(expanded)]
    made, run = _spad.Kernel.read_ptx(module.content, module.name, kernel or module.kernel, grid, block, cluster, cta,
                                      smem, words, way, target, arch, module.launch, module.launch_name)
    lines.read(made, module.name)
    loaded = CudaKernel._of(made)
    loaded.run = run
    return loaded


def check(source: Any, kernel: str | None = None, **launch: Any) -> Any:
    """load(source, kernel, ...).check()"""
    return load(source, kernel, **launch).check()
