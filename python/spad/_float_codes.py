# SPDX-License-Identifier: Apache-2.0
"""The numbers that the codes of an element type stand for."""

import math

from . import _spad

# Floating-point types: bits of the exponent and of the fraction, the bias, and what the highest codes
# mean: "ieee" infinity and NaN, "fn" one NaN, "fnuz" NaN at -0, "all" numbers, "power" powers of two
# and one NaN (IEEE 754, OCP's 8-bit and microscaling formats, ml_dtypes).
_FLOATS = {
    "float64": (11, 52, 1023, "ieee"),
    "float32": (8, 23, 127, "ieee"),
    "float32r": (8, 23, 127, "ieee"),
    "tfloat32": (8, 23, 127, "ieee"),
    "float16": (5, 10, 15, "ieee"),
    "bfloat16": (8, 7, 127, "ieee"),
    "float8_e3m4": (3, 4, 3, "ieee"),
    "float8_e4m3": (4, 3, 7, "ieee"),
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e4m3b11fnuz": (4, 3, 11, "fnuz"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
    "float8_e8m0fnu": (8, 0, 127, "power"),
    "float4_e2m1fn": (2, 1, 1, "all"),
}


def number_of(dtype, code):
    """The number that the lowest bits of a code are in an element type; the reverse of value()."""
    bits = _spad.dtype_bits(dtype)
    code &= (1 << bits) - 1
    if dtype in _FLOATS:
        return _float_of(code, *_FLOATS[dtype])
    if dtype == "bool":
        return code != 0
    return code - (1 << bits) if dtype.startswith("int") and code >> bits - 1 else code


def _float_of(code, exponent_bits, fraction_bits, bias, highest):
    most, ones = (1 << exponent_bits) - 1, (1 << fraction_bits) - 1
    exponent, fraction = code >> fraction_bits & most, code & ones
    if highest == "power":
        return math.nan if code == most else math.ldexp(1, code - bias)
    sign = -1.0 if code >> exponent_bits + fraction_bits else 1.0
    if highest == "ieee" and exponent == most:
        return math.nan if fraction else sign * math.inf
    if highest == "fn" and exponent == most and fraction == ones:
        return math.nan
    if highest == "fnuz" and sign < 0 and exponent == fraction == 0:
        return math.nan
    mantissa = fraction + ones + 1 if exponent else fraction
    return sign * math.ldexp(mantissa, max(exponent, 1) - bias - fraction_bits)
