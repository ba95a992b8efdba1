# SPDX-License-Identifier: Apache-2.0
"""Arguments of nl.shared_constant: something with a shape and a dtype, or the name of an .npy file.

Of a file the header is enough, and is read without numpy (numpy.lib.format, versions 1 to 3); its numbers are read
where numbers are computed.
"""

import ast
import re
import struct

HEADER_MOST = 1 << 16
_TYPES = {"f2": "float16", "f4": "float32", "b1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32",
          "u1": "uint8", "u2": "uint16", "u4": "uint32"}


def _header(path):
    """The text of an .npy header."""
    with open(path, "rb") as file:
        start = file.read(8)
        if len(start) < 8 or start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
            raise ValueError("it is no .npy file")
        form = "<H" if start[6] == 1 else "<I"
        size = file.read(struct.calcsize(form))
        length = struct.unpack(form, size)[0] if len(size) == struct.calcsize(form) else HEADER_MOST + 1
        if length > HEADER_MOST:
            raise ValueError(f"its header is cut off, or longer than {HEADER_MOST} bytes")
        text = file.read(length)
        if len(text) < length:
            raise ValueError("its header is cut off")
        return text.decode("utf-8" if start[6] == 3 else "latin-1")


def _shape_and_type(path):
    """(shape, element type or None) of an .npy file."""
    try:
        header = ast.literal_eval(_header(path).strip())
        shape, described = header["shape"], header["descr"]
    except OSError as error:
        raise ValueError(f"'{path}': {error.strerror or error}") from None
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"'{path}' cannot be read: {error}") from None
    if not isinstance(shape, tuple) or not all(type(count) is int and count > 0 for count in shape) or not shape:
        raise ValueError(f"'{path}' has the shape {shape!r}: a constant has at least one element")
    found = re.fullmatch(r"[<|=]?([a-z]\d)", described) if isinstance(described, str) else None
    return shape, _TYPES.get(found[1]) if found else None


def constant_of(constant, dtype):
    """(shape, element type) of a constant. dtype: what the call asks for, or None."""
    if isinstance(constant, str):
        shape, kind = _shape_and_type(constant)
        if dtype is None and kind is None:
            raise TypeError(f"nki.language.shared_constant: '{constant}' has no element type of NKI: dtype= names one")
    else:
        shape, kind = getattr(constant, "shape", None), getattr(constant, "dtype", None)
    if shape is None or (dtype or kind) is None:
        raise TypeError("nki.language.shared_constant of something without a shape and a dtype")
    return tuple(shape), dtype or kind


def numbers_of(constant):
    """The numbers of a constant, where numbers are computed."""
    if not isinstance(constant, str):
        return constant
    from ._values import np  # the only part that needs numpy
    try:
        return np.load(constant, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"'{constant}' cannot be read: {error}") from None
