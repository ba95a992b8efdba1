# SPDX-License-Identifier: Apache-2.0
"""What a program allocated, as an arena: logs of RMM, memory snapshots of PyTorch, and traces of
PyTorch's profiler (export_chrome_trace after a run with profile_memory=True)."""

import json

from .arena import Arena, Model, common_alignment, fault, whole
from .core import Log


def _touched(pieces):
    """The bytes of all addresses that were ever in use: what the allocator needed at least."""
    total, end = 0, None
    for start, size in sorted(pieces):
        if end is None or start >= end:
            total, end = total + size, start + size
        elif start + size > end:
            total, end = total + start + size - end, start + size
    return total


def _arena(name, lives, count, what):
    """An arena of (begin, end, address, size, name); end None: not freed. Its alignment is what all
    addresses have."""
    arena = Arena(name, common_alignment([life[2] for life in lives], 512))
    for number, (begin, end, _, size, name) in enumerate(lives):
        if end is None or end > begin:
            last = count if end is None else end - 1
            arena.add(name or f"{what} {number}", begin, max(begin, last), size)
    if lives:
        arena.compare_with("allocator", _touched((life[2], life[3]) for life in lives))
    return arena


def read_log(content, file):
    """A Model of a log in RMM's format."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        fault(f"not text: {error}", file)
    return _from_log("RMM log", Log.parse(text, file), file, "memory")


def read_snapshot(content, file):
    """A Model of a pickled memory snapshot, with an arena for every device."""
    from . import _snapshot

    snapshot = _snapshot.unpickle(content, file)
    arenas = []
    for device in _snapshot.devices(snapshot, file):
        log = Log.from_snapshot(snapshot, device, file)
        if log.allocations:
            arenas += _from_log("", log, file, f"device {device}").arenas
    return Model("PyTorch snapshot", file, arenas)


def _from_log(kind, log, file, name):
    lives = [life[:5] for life in log._lives()]
    return Model(kind, file, [_arena(name, lives, len(log), "allocation")])


# ---- the profiler --------------------------------------------------------------------------------


class _Device:
    """The allocations of one device in the order of a trace."""

    def __init__(self, file):
        self.file, self.lives, self.live, self.step, self.unknown = file, [], {}, 0, 0

    def event(self, address, size):
        if size > 0:
            if address in self.live:  # its free is not in the trace
                self.lives[self.live[address]][1] = self.step
            self.live[address] = len(self.lives)
            self.lives.append([self.step, None, address, size, None])
        elif address in self.live:
            self.lives[self.live.pop(address)][1] = self.step
        else:
            self.unknown += 1  # allocated before the trace began
        self.step += 1


def _number(arguments, name, file, least=-(1 << 62), most=1 << 64):
    return whole(arguments.get(name), f"'{name}' of a memory event", least, most, file)


def _seconds(text):
    try:
        return float(text)
    except ValueError:
        return None


def read_trace(content, file):
    """A Model of a profiler's trace, with an arena for every device."""
    try:
        trace = json.loads(content)
    except (ValueError, RecursionError) as error:
        fault(f"not a trace: {str(error)[:80]}", file)
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        fault("not a trace: 'traceEvents' has to be a list", file)
    found = []
    for event in events:
        if isinstance(event, dict) and event.get("name") == "[memory]":
            time, arguments = event.get("ts"), event.get("args")
            if isinstance(time, str):
                time = _seconds(time)
            if not isinstance(time, (int, float)) or not isinstance(arguments, dict):
                fault("a memory event without 'ts' or 'args'", file)
            found.append((time, len(found), arguments))
    if not found:
        fault("no memory events: profile with profile_memory=True", file)
    devices = {}
    for _, _, arguments in sorted(found, key=lambda item: item[:2]):
        device = (_number(arguments, "Device Type", file), _number(arguments, "Device Id", file))
        devices.setdefault(device, _Device(file)).event(
            _number(arguments, "Addr", file, 0), _number(arguments, "Bytes", file, most=1 << 62))
    arenas, notes = [], []
    for (kind, number), device in sorted(devices.items()):
        name = "cpu" if kind == 0 else f"device {number}" if kind == 1 else f"device {kind}:{number}"
        arenas.append(_arena(name, device.lives, device.step, "allocation"))
        if device.unknown:
            notes.append(f"{name}: {device.unknown} blocks were allocated before the trace and are left out")
    return Model("PyTorch profiler", file, arenas, notes)
