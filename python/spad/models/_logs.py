# SPDX-License-Identifier: Apache-2.0
"""What a program allocated, as an arena: logs of RMM, memory snapshots of PyTorch, and traces of
PyTorch's profiler (export_chrome_trace after a run with profile_memory=True)."""

import json

from .. import _spad
from ..arena import Arena, Model, common_alignment, fault, whole
from .._devices import Log

ROWS_MOST = 1 << 21  # of a log, and memory events of a trace
TOGETHER = 1024  # events that are decoded at once


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
    rows = content.count(b"\n")
    if rows > ROWS_MOST:
        fault(f"it has {rows} rows; the most is {ROWS_MOST}", file)
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


def _places(content, file):
    """First byte and end of each memory event, one after the other."""
    try:
        found = _spad.memory_events(content, ROWS_MOST)
    except _spad.TextError as error:
        fault(f"not a trace: {error}", file)
    if found is None:
        fault("not a trace: 'traceEvents' has to be a list", file)
    places = memoryview(found).cast("q").tolist()
    if len(places) > 2 * ROWS_MOST:
        fault(f"it has more than {ROWS_MOST} memory events, which is the most", file)
    return places


def _memory_events(content, file):
    """The memory events of a trace. Only they are decoded: a trace may have hundreds of megabytes of others."""
    places = _places(content, file)
    for at in range(0, len(places), 2 * TOGETHER):
        part = places[at:at + 2 * TOGETHER]
        try:
            events = json.loads(b"[" + b",".join(content[a:b] for a, b in zip(part[::2], part[1::2])) + b"]")
        except (ValueError, RecursionError) as error:
            fault(f"not a trace: {str(error)[:80]} of the memory events from byte {part[0]} on", file)
        yield from events


def read_trace(content, file):
    """A Model of a profiler's trace, with an arena for every device."""
    found = []
    for event in _memory_events(content, file):
        time, arguments = event.get("ts"), event.get("args")
        if isinstance(time, str):
            time = _seconds(time)
        if not isinstance(time, (int, float)) or not isinstance(arguments, dict):
            fault("a memory event without 'ts' or 'args'", file)
        device = (_number(arguments, "Device Type", file), _number(arguments, "Device Id", file))
        found.append((time, len(found), device, _number(arguments, "Addr", file, 0),
                      _number(arguments, "Bytes", file, most=1 << 62)))
    if not found:
        fault("no memory events: profile with profile_memory=True", file)
    devices = {}
    for _, _, device, address, size in sorted(found):
        devices.setdefault(device, _Device(file)).event(address, size)
    arenas, notes = [], []
    for (kind, number), device in sorted(devices.items()):
        name = "cpu" if kind == 0 else f"device {number}" if kind == 1 else f"device {kind}:{number}"
        arenas.append(_arena(name, device.lives, device.step, "allocation"))
        if device.unknown:
            notes.append(f"{name}: {device.unknown} blocks were allocated before the trace and are left out")
    return Model("PyTorch profiler", file, arenas, notes)
