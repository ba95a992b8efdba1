# SPDX-License-Identifier: Apache-2.0
"""The prim_func of what tilelang.jit makes: a decorated function with arguments, one with tilelang.autotune around it, a
compiled kernel, or a Python function that gives one of these."""

import inspect

from .. import _spad

_DEEP = 4  # a function that gives a decorated function that ...


def jit_of(function):
    """The object of tilelang.jit, also below tilelang.autotune, functools.cache and other wrappers that say what they wrap;
    None: something else."""
    while True:
        inner = getattr(function, "jit_impl", function)
        if callable(getattr(inner, "get_tir", None)) and hasattr(inner, "signature"):
            return inner
        if not inspect.isroutine(getattr(type(function), "__call__", None)) or not hasattr(function, "__wrapped__"):
            return None
        function = function.__wrapped__


def is_function(function):
    """A Python function, also below functools.cache and other wrappers that say what they wrap; a prim_func is not one."""
    return callable(function) and inspect.isfunction(inspect.unwrap(function))


def names(function):
    """The arguments that a function can be given; None: any, because the shapes of its tensors are given by name."""
    made = jit_of(function)
    if made is None:
        return list(inspect.signature(function).parameters) if is_function(function) else []
    found = list(made.signature.parameters)
    return None if _tensors(made) else found


def _tensors(made):
    """Names of the arguments of an eager function that are tensors."""
    return list(getattr(made.func, "tensor_args", None) or ())


def _title(function):
    made = jit_of(function)
    name = getattr(function if made is None else made.func, "__name__", "a function")
    return name, f"'{name}'" + (" of tilelang.jit" if made is not None else "")


def _missing(function, why, others):
    """The error for arguments that a function cannot be called with; others: names that it does not take."""
    made = jit_of(function)
    tensors = _tensors(made) if made is not None else []
    parameters = made.signature.parameters if made is not None else inspect.signature(function).parameters
    known = [name for name in parameters if name not in tensors]
    shapes = " and the extents of its tensors by their names (T.const)" if tensors else ""
    wrong = "".join(f"; it has no '{name}'{_spad.close_names(name, known)}" for name in others)
    name, title = _title(function)
    return _spad.ArgumentError(f"{title} needs arguments, as load({name}, arguments={{...}}) or --arg NAME=VALUE: "
                               f"{', '.join(known) or 'none of its own'}{shapes} ({str(why).partition(chr(10))[0]}){wrong}")


def _taken(function, arguments):
    """(args, options) that a function takes of the arguments."""
    if isinstance(arguments, (list, tuple)):
        return list(arguments), {}
    given, made = dict(arguments or {}), jit_of(function)
    parameters = made.signature.parameters if made is not None else inspect.signature(function).parameters
    if made is not None and _tensors(made) or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return [], given
    return [], {name: value for name, value in given.items() if name in parameters}


def _called(function, arguments, used):
    """(what a function gives, the arguments for the function that it gives). used: names that were taken, which grow."""
    made = jit_of(function)
    args, options = _taken(function, arguments)
    used.update(options)
    rest = [name for name in arguments or () if name not in used] if isinstance(arguments, dict) else []
    if made is None or not _tensors(made):  # the body of a function may raise a TypeError of its own
        try:
            (inspect.signature(function) if made is None else made.signature).bind(*args, **options)
        except TypeError as error:
            raise _missing(function, error, rest) from error
    try:
        return (function if made is None else made.get_tir)(*args, **options), arguments if isinstance(arguments, dict) else None
    except (TypeError, ValueError) as error:
        if made is None or not _tensors(made) or "argument" not in str(error):
            raise
        raise _missing(function, error, rest) from error


def prim_func_of(function, arguments=None, pass_configs=None):
    """(prim_func, pass_configs) of any of them; what has no prim_func is given back as it is. Arguments by name are those of each
    function that takes them: of the first one, and of the function that it gives."""
    known, used = [], set()
    for _ in range(_DEEP):
        made = jit_of(function)
        compiled = getattr(function, "prim_func", None)
        if made is not None or compiled is None and is_function(function):
            known += names(function) or []
            own = made.pass_configs if made is not None else None
            function, arguments = _called(function, arguments, used)
        elif compiled is not None:
            function, own = compiled, getattr(function, "pass_configs", None)
        else:
            break
        pass_configs = own if pass_configs is None else pass_configs
    left = [name for name in arguments or () if name not in used]
    if left and known:
        name = left[0]
        raise _spad.ArgumentError(f"no function takes an argument '{name}'{_spad.close_names(name, known) or '; there are: ' + ', '.join(known)}"
                                  f" (a dynamic size is one of sizes={{...}}, -D {name}=N)")
    if left:
        raise _spad.ArgumentError("arguments are for functions: a prim_func or a compiled kernel has none")
    return function, pass_configs


def arch_of(function):
    """The chip that a compiled kernel was made for, or that was given to tilelang.jit; otherwise sm_90."""
    target = getattr(jit_of(function) or function, "target", None)
    arch = str(getattr(target, "arch", ""))
    if not arch and isinstance(target, str) and "sm_" in target:
        arch = "sm_" + target.partition("sm_")[2].split()[0].strip('"}\' ,')
    return arch.removesuffix("a") if arch.startswith("sm_") else "sm_90"
