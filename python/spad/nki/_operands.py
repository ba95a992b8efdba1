# SPDX-License-Identifier: Apache-2.0
"""Shapes of operands that an instruction certainly refuses."""

import math

from ._views import View

_DATA = {  # the operands of an instruction that have the shape of dst: as many partitions, and elements in each
    "activation": ("data",), "activation_reduce": ("data",), "affine_select": ("on_true_tile",), "dropout": ("data",),
    "exponential": ("src",), "range_select": ("on_true_tile",), "reciprocal": ("data",),
    "scalar_tensor_tensor": ("data",), "tensor_copy": ("src",), "tensor_scalar": ("data",),
    "tensor_scalar_cumulative": ("src",), "tensor_scalar_reduce": ("data",), "tensor_tensor": ("data1", "data2"),
    "tensor_tensor_scan": ("data0", "data1"),
}


def _tensors(name, given, keys):
    """Arguments that must be tensors."""
    for key in keys:
        if not isinstance(given[key], View):
            raise TypeError(f"nki.isa.{name}: {key} is {given[key]!r}, not a tensor")
    return [given[key] for key in keys]


def _free_size(view):
    """Elements in a partition."""
    return math.prod(view.shape[1:])


def check_shapes(name, given):
    """The shapes that an instruction certainly refuses."""
    if name == "nc_matmul":
        _check_matmul(given)
    elif name == "dma_copy":
        dst, src = given["dst"], given["src"]
        if isinstance(src, View) and dst.size != src.size:
            raise ValueError(f"nki.isa.{name}: dst {dst.shape} and src {src.shape} have different numbers "
                             f"of elements")
    elif name == "nc_transpose":
        dst, data = _tensors(name, given, ("dst", "data"))
        if (dst.shape[0], _free_size(dst)) != (_free_size(data), data.shape[0]):
            raise ValueError(f"nki.isa.{name}: the transpose of data {data.shape} is ({_free_size(data)}, "
                             f"{data.shape[0]}), and dst is {dst.shape}")
    elif name in _DATA:
        dst = given["dst"]
        for key, view in zip(_DATA[name], _tensors(name, given, _DATA[name])):
            if view.shape[0] != dst.shape[0]:
                raise ValueError(f"nki.isa.{name}: dst {dst.shape} and {key} {view.shape} have different numbers of "
                                 f"partitions")
            if _free_size(view) != _free_size(dst):
                raise ValueError(f"nki.isa.{name}: dst {dst.shape} and {key} {view.shape} have different numbers of "
                                 f"elements")


def _check_matmul(given):
    dst, stationary, moving = _tensors("nc_matmul", given, ("dst", "stationary", "moving"))
    if stationary.shape[0] != moving.shape[0]:
        raise ValueError(f"nki.isa.nc_matmul: stationary {stationary.shape} and moving {moving.shape} "
                         f"have different numbers of partitions")
    if given["is_transpose"] or given["perf_mode"] is not None and \
            getattr(given["perf_mode"], "name", "none") != "none":
        return
    rows, columns = _free_size(stationary), _free_size(moving)
    if dst.shape[0] != rows or _free_size(dst) != columns:
        raise ValueError(f"nki.isa.nc_matmul: stationary {stationary.shape} and moving {moving.shape} "
                         f"give ({rows}, {columns}), and dst is {dst.shape}")
