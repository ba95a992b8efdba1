# SPDX-License-Identifier: Apache-2.0
"""A function of Triton and its signature: what the compiler takes, from what a user writes.

A function may be wrapped by @triton.autotune and @triton.heuristics. What is not given then comes from the
configuration that is chosen, from a heuristic that needs no more than what is given, or from the default of the
argument."""

import re

_TYPES = {"i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5",
          "fp8e5b16", "fp16", "bf16", "fp32", "fp64", "B", "constexpr", "nvTmaDesc"}
_OTHER_WORDS = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32", "f32": "fp32",
                "f16": "fp16", "float64": "fp64", "double": "fp64", "int": "i32", "int32": "i32", "int64": "i64",
                "int8": "i8", "uint8": "u8", "bool": "i1"}


class Unwrapped:
    """The @triton.jit function, and what its wrappers decide."""

    def __init__(self, function):
        self.configs, self.heuristics = [], {}
        while not hasattr(function, "arg_names") or hasattr(function, "configs") or hasattr(function, "values"):
            self.configs = list(getattr(function, "configs", self.configs))
            values = getattr(function, "values", {})
            self.heuristics = {**values, **self.heuristics} if isinstance(values, dict) else self.heuristics
            inner = getattr(function, "fn", None)
            if inner is None:
                break
            function = inner
        if not hasattr(function, "arg_names") or not hasattr(function, "params"):
            word = getattr(function, "__name__", type(function).__name__)
            raise TypeError(f"'{word}' is no function of Triton: it needs @triton.jit")
        self.function = function

    def config(self, number):
        """(constants, options) of a configuration of the autotuner; the only one where there is one."""
        if number is None and len(self.configs) != 1:
            return {}, {}
        chosen = number or 0
        if isinstance(chosen, int):
            if not 0 <= chosen < len(self.configs):
                raise ValueError(f"config={chosen}: the function has {len(self.configs)} configurations to choose from")
            chosen = self.configs[chosen]
        options = {name: getattr(chosen, name, None) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
        return dict(chosen.kwargs), {name: value for name, value in options.items() if value is not None}

    def default(self, name, known):
        """(found, value) of a constant that was not given."""
        if name in self.heuristics:
            try:
                return True, self.heuristics[name](dict(known))
            except Exception:  # it asks for something that is not known here, as a tensor
                return False, None
        for parameter in self.function.params:
            if parameter.name == name and parameter.has_default:
                return parameter.is_constexpr or parameter.default is None, parameter.default
        return False, None

    def missing(self, name):
        """Why an argument has no type."""
        text = f"argument '{name}' has no type: 'i32', '*fp16:16' or a constexpr"
        if name in self.heuristics:
            return f"{text}; a heuristic of the function decides it, with more than is known here"
        if any(name in config.kwargs for config in self.configs):
            return f"{text}; the function is tuned: config=0 to {len(self.configs) - 1} takes one of its configurations"
        return text


def descriptor(name, dtype=None, shape=None, layout=None):
    """The type of a descriptor of Gluon, from ("fp16", [128, 64], layout)."""
    if layout is None:
        raise ValueError(f"the type of '{name}' is a text, or (element type, shape, layout) for a descriptor of Gluon")
    return f"tensordesc<{dtype}{list(shape)},{layout!r}>"


def read_type(name, word):
    """(type, multiple or None) of 'i32', '*fp16:16', or of a descriptor of Gluon."""
    if isinstance(word, (tuple, list)):
        return descriptor(name, *word), None
    if not isinstance(word, str):
        raise TypeError(f"the type of argument '{name}' is {word!r}: expected a word as 'i32' or '*fp16:16'; a value "
                        "belongs to the constexprs")
    kind, colon, multiple = word.rpartition(":") if ":" in word and not word.endswith(">") else (word, "", "")
    base = kind.strip().strip("*")
    if base in _OTHER_WORDS or kind.strip().endswith("*"):
        right = f"{'*' if '*' in kind else ''}{_OTHER_WORDS.get(base, base)}"
        raise ValueError(f"'{word}', the type of argument '{name}', is no type of Triton: '{right}'")
    tile = re.fullmatch(r"tensordesc<(\w+)\[\d[\d, ]*\].*>", base)
    if (tile[1] if tile else base) not in _TYPES:
        raise ValueError(f"'{word}', the type of argument '{name}', is no type of Triton: 'i32', 'fp32', '*fp16:16', "
                         "'tensordesc<fp16[128, 64]>'")
    if colon and not multiple.strip().isdigit():
        raise ValueError(f"'{word}', the type of argument '{name}': after ':' is a number that the value is a multiple of")
    return kind.strip(), int(multiple) if colon else None


def signature(wrapped, given, constexprs):
    """(types, constants by path, attributes by path) as the compiler takes them."""
    names = list(wrapped.function.arg_names)
    if not isinstance(given, dict):
        raise TypeError("a signature is {argument: type}: {'a': '*fp16:16', 'K': 'i32'}")
    for name in list(given) + list(constexprs):
        if name not in names:
            raise ValueError(f"'{name}' is no argument of the kernel: {', '.join(names)}")
    types, attributes, constants = {}, {}, dict(constexprs)
    for number, name in enumerate(names):
        if name not in constants and name not in given:
            found, value = wrapped.default(name, constants)
            if not found:
                raise ValueError(wrapped.missing(name))
            constants[name] = value
        kind, multiple = ("constexpr", None) if name in constants else read_type(name, given[name])
        types[name] = kind
        if multiple is not None:
            attributes[(number,)] = [["tt.divisibility", multiple]]
    return types, {(names.index(name),): value for name, value in constants.items()}, attributes


def check_options(options, known):
    """TypeError for one that this Triton does not have, which it would pass over."""
    for name in options:
        if name not in known:
            raise TypeError(f"'{name}' is no option of this Triton: {', '.join(sorted(known))}")
