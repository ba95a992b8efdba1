# SPDX-License-Identifier: Apache-2.0
"""The chip of spad.nki: the one that was chosen, or the one that the manuals describe."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

from .. import core

if TYPE_CHECKING:
    from .._spad import Target

_settings = {"target": None, "use_reserved": None}
_OFF = ("", "0", "no", "off", "false")


def chosen_target() -> str | None:
    """The name of the chip that was chosen: set_target(), or SPAD_NKI_TARGET; None: none was."""
    return _settings["target"] or os.environ.get("SPAD_NKI_TARGET") or None


def _chosen_reserve():
    """Does the reserve of SBUF count as usable: set_target(), SPAD_NKI_USE_RESERVED, or None."""
    if _settings["use_reserved"] is not None:
        return _settings["use_reserved"]
    word = os.environ.get("SPAD_NKI_USE_RESERVED")
    return None if word is None else word.lower() not in _OFF


@functools.cache
def _without_reserve(name):
    lines = core.Target(name).text().splitlines(keepends=True)
    return core.Target.parse("".join(line for line in lines if line.split()[:1] != ["reserved"]),
                             name)


@functools.cache
def _manual_chip():
    """The chip of the manuals: a NeuronCore whose partitions of SBUF have 262144 B for tensors.
    Everything else is that of trn2."""
    text = _without_reserve("trn2").text()
    start = text.index("space sbuf")
    head, sbuf_text = text[:start], text[start:]
    sbuf_text = re.sub(r"bytes +\S+ KiB", "bytes 256 KiB", sbuf_text, count=1)
    head = re.sub(r'target trn2 ".*"', 'target nki_manual "NKI manuals: 256 KiB of SBUF"', head)
    return core.Target.parse(head + sbuf_text, "nki_manual")


def chip(target: Target | str | None = None, use_reserved: bool | None = None) -> Target:
    """The chip of a name, or the chosen one; with neither, that of the manuals, whose SBUF has
    262144 B. use_reserved: all bytes of its memories count."""
    if target is not None and not isinstance(target, str):
        return target
    name = target or chosen_target()
    if name is None:
        return _manual_chip()
    reserve = _chosen_reserve() if use_reserved is None else use_reserved
    return _without_reserve(name) if reserve else core.Target(name)


def set_target(name: str | None, use_reserved: bool = False) -> None:
    """The chip of what is made from now on: trn1, trn2 or trn3. use_reserved: the bytes that the
    compiler reserves count as usable. None: as the environment says; where that says nothing, a
    partition of SBUF has the 262144 B of the manuals."""
    if name is not None:
        core.Target(name)
    _settings.update(target=name, use_reserved=None if name is None else bool(use_reserved))
