# SPDX-License-Identifier: Apache-2.0
"""The prim_func of what tilelang.jit makes: a decorated function with arguments, one with tilelang.autotune around it, a
compiled kernel, or a Python function that gives one of these."""

import inspect

from . import _spad

_DEEP = 4  # a function that gives a decorated function that ...


def jit_of(function):
    """The object of tilelang.jit, also below tilelang.autotune; None: something else."""
    inner = getattr(function, "jit_impl", function)
    return inner if callable(getattr(inner, "get_tir", None)) and hasattr(inner, "signature") else None


def names(function):
    """The arguments that a function can be given; None: any, because the shapes of its tensors are given by name."""
    made = jit_of(function)
    if made is None:
        return list(inspect.signature(function).parameters) if inspect.isfunction(function) else []
    found = list(made.signature.parameters)
    return None if _tensors(made) else found


def _tensors(made):
    """Names of the arguments of an eager function that are tensors."""
    return list(getattr(made.func, "tensor_args", None) or ())


def _missing(made, error):
    known = ", ".join(name for name in made.signature.parameters if name not in _tensors(made))
    shapes = " and the extents of its tensors by their names (T.const)" if _tensors(made) else ""
    name = getattr(made.func, "__name__", "a function")
    why = str(error).partition("\n")[0]
    return _spad.ArgumentError(f"'{name}' of tilelang.jit needs arguments, as load({name}, arguments={{...}}): "
                               f"{known or 'none of its own'}{shapes} ({why})")


def _call(function, arguments):
    if isinstance(arguments, (list, tuple)):
        return function(*arguments)
    return function(**dict(arguments or {}))


def prim_func_of(function, arguments=None, pass_configs=None):
    """(prim_func, pass_configs) of any of them; what has no prim_func is given back as it is."""
    for _ in range(_DEEP):
        made = jit_of(function)
        compiled = getattr(function, "prim_func", None)
        if made is not None:
            try:
                function, own = _call(made.get_tir, arguments), made.pass_configs
            except (TypeError, ValueError) as error:
                if "argument" not in str(error):
                    raise
                raise _missing(made, error) from error
        elif compiled is not None:
            function, own = compiled, getattr(function, "pass_configs", None)
        elif inspect.isfunction(function):
            function, own = _call(function, arguments), None
        else:
            break
        arguments = None
        pass_configs = own if pass_configs is None else pass_configs
    if arguments:
        raise _spad.ArgumentError("arguments are for functions: a prim_func or a compiled kernel has none")
    return function, pass_configs


def arch_of(function):
    """The chip that a compiled kernel was made for, or that was given to tilelang.jit; otherwise sm_90."""
    target = getattr(jit_of(function) or function, "target", None)
    arch = str(getattr(target, "arch", ""))
    if not arch and isinstance(target, str) and "sm_" in target:
        arch = "sm_" + target.partition("sm_")[2].split()[0].strip('"}\' ,')
    return arch.removesuffix("a") if arch.startswith("sm_") else "sm_90"
