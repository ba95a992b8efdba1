# SPDX-License-Identifier: Apache-2.0
"""Allocators of spad.cubie as device functions.

`cuda` is a global of this module, not a variable of a closure: numba's simulator puts its own
`cuda` (with cuda.local and cuda.shared of the running thread) in place of that global while a
kernel runs. Import this module only where numba, or the compiler of CuBIE, is installed.
"""

import sys


def _compiler():
    """(cuda, options of cuda.jit, unroll_if, from_dtype) of the CuBIE that is loaded, otherwise
    of numba."""
    for backend in (_cubie_jit, _cubie_simsafe) if "cubie" in sys.modules else ():
        try:
            return backend()
        except ImportError:
            pass
    from numba import cuda
    from numba.np.numpy_support import from_dtype
    return cuda, {}, _as_is, from_dtype


def _cubie_jit():  # from 0.13 on
    from cubie._cudasim_extensions import cuda
    from cubie.backend.intrinsics import unroll_if
    from cubie.backend.jit import compile_kwargs
    from numba_cuda_mlir.numba_cuda.np.numpy_support import from_dtype
    return cuda, dict(compile_kwargs), unroll_if, from_dtype


def _cubie_simsafe():
    from cubie import cuda_simsafe
    own = vars(cuda_simsafe)
    return (cuda_simsafe.cuda, dict(cuda_simsafe.compile_kwargs), own.get("unroll_if", _as_is),
            own.get("numba_from_dtype") or cuda_simsafe.from_dtype)


def _as_is(iterable, flag):
    return iterable


cuda, _OPTIONS, unroll_if, _from_dtype = _compiler()
_PLAIN = unroll_if is _as_is  # a call in the loop head that this compiler would not know


def _scalar(name):
    """A numpy scalar type: as a dtype, and to make a value."""
    import numpy
    return getattr(numpy, name)


def _compiled(name):
    """The compiler's own type: the simulator needs the bits of it for shared memory."""
    import numpy
    return _from_dtype(numpy.dtype(name))


def _zeroing(elements, dtype, unroll):
    """A device function that sets the first elements of an array to zero."""
    if _PLAIN:
        @cuda.jit(device=True, inline=True, **_OPTIONS)
        def zero(array):
            for i in range(elements):
                array[i] = dtype(0)
    else:
        @cuda.jit(device=True, inline=True, **_OPTIONS)
        def zero(array):
            for i in unroll_if(range(elements), unroll):
                array[i] = dtype(0)
    return zero


def build_allocator(region, part, length, dtype_name, view, zeroed, unroll):
    """(shared, persistent) -> array: a part of one of them, or an array of `length` elements.
    view: the part has another type than the memory it is cut from. zeroed: elements to clear."""
    dtype = _scalar(dtype_name)
    use_shared, use_persistent = region == "shared", region == "persistent"
    zeroes = zeroed > 0
    zero = _zeroing(zeroed, dtype, unroll)

    @cuda.jit(device=True, inline=True, **_OPTIONS)
    def allocate_buffer(shared, persistent):
        if use_shared:
            if view:
                array = shared[part].view(dtype)
            else:
                array = shared[part]
        elif use_persistent:
            if view:
                array = persistent[part].view(dtype)
            else:
                array = persistent[part]
        else:
            array = cuda.local.array(length, dtype)
        if zeroes:
            zero(array)
        return array

    return _named(allocate_buffer, "allocate_buffer")


def build_toplevel(length, dtype_name):
    """() -> the dynamic shared memory of the block; () -> `length` local elements."""
    word, dtype = _compiled("float32"), _compiled(dtype_name)

    @cuda.jit(device=True, inline=True, **_OPTIONS)
    def alloc_shared():
        return cuda.shared.array(0, dtype=word)

    @cuda.jit(device=True, inline=True, **_OPTIONS)
    def alloc_persistent():
        return cuda.local.array(length, dtype=dtype)

    return _named(alloc_shared, "alloc_shared"), _named(alloc_persistent, "alloc_persistent")


def _named(function, name):
    """The name that callers read: the simulator's functions have none of their own."""
    if getattr(function, "__name__", None) != name:
        try:
            function.__name__ = name
        except AttributeError:
            pass
    return function
