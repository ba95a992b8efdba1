# SPDX-License-Identifier: Apache-2.0
"""Shapes of views: dimensions as (stride, count), joined and split."""

import math


def inferred(shape, size, view):
    shape = tuple(int(count) for count in shape)
    known = math.prod(count for count in shape if count != -1)
    if shape.count(-1) == 1 and known and size % known == 0:
        shape = tuple(size // known if count == -1 else count for count in shape)
    if -1 in shape or math.prod(shape) != size:
        raise ValueError(f"{size} elements of {view!r} cannot take the shape {shape}")
    return shape


def joined(outer, inner, view):
    if inner[1] == 1:
        return outer
    if outer[1] == 1:
        return inner
    if outer[0] != inner[0] * inner[1]:
        raise ValueError(f"dimensions of {view!r} cannot be joined: they are not contiguous")
    return inner[0], outer[1] * inner[1]


def reshaped(dims, shape, view):
    """The same elements in another shape. Dimensions that lie one after another are joined and then
    split; where a new dimension would cross a gap, there is no such view."""
    chunks = []
    for stride, count in dims:
        if count == 1:
            continue
        if chunks and chunks[-1][0] == stride * count:
            chunks[-1] = (stride, chunks[-1][1] * count)
        else:
            chunks.append((stride, count))
    made, left = [], list(reversed(chunks))
    stride, count = left.pop(0) if left else (1, 1)
    for size in reversed(shape):
        if size == 1:
            made.append((stride, 1))
            continue
        if count == 1:
            stride, count = left.pop(0)
        if count % size:
            raise ValueError(f"{view!r} cannot take the shape {tuple(shape)}: it is not contiguous")
        made.append((stride, size))
        stride, count = stride * size, count // size
    return tuple(reversed(made))
