# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots of PyTorch (torch.cuda.memory._snapshot) as logs of allocations.

A snapshot has the segments of the caching allocator with their blocks, and for each device the events
of its history. The log has what the history allocates and frees; blocks that are older than the
history, which it frees or which are alive in a segment, are allocated before its first event.
"""

import gc
import io
import os
import pickle

from .. import _spad
from .._files import resident
from ..arena import NAME_MOST, shown

# A small pickle can have one event, block or frame any number of times.
ROWS_MOST = 1 << 21  # segments, blocks and events
FRAMES_MOST = 64  # that are looked at for a name
PATH_MOST = 4096  # last characters of a file's name
DEVICES_MOST = 64
OBJECTS_MOST = 1 << 30  # bytes of its objects, and five for each byte of the file
CHECKED_EVERY = 1 << 20  # bytes of the file
HEADER = "Thread,Time,Action,Pointer,Size,Stream\n"
ALIVE = ("active_allocated", "active_awaiting_free", "active_pending_free")


class _Plain(pickle.Unpickler):
    """Numbers, strings, lists, tuples and dicts: no pickle can name a class or a function."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}, and a snapshot is plain data")


def _fail(file, message):
    error = _spad.TextError(f"{file}: {message}")
    error.file = file
    raise error


class _File:
    """Bytes to read, in pieces of the size that CPython asks for; without readinto, after which it writes a
    message of its own if they end early.

    A byte of a pickle can make an object of 64 bytes. As the objects of a snapshot need about five times its
    bytes, a file that needs much more is refused while it is read."""

    def __init__(self, content, file):
        self.stream, self.view, self.file = io.BytesIO(content), memoryview(content), file
        self.checked, self.before = 0, resident()

    def read(self, size):
        self._check()
        return self.stream.read(size)

    def readline(self):
        self._check()
        return self.stream.readline()

    def peek(self, size):
        self._check()
        at = self.stream.tell()
        return bytes(self.view[at:at + size])

    def _check(self):
        at = self.stream.tell()
        if at < self.checked + CHECKED_EVERY:
            return
        self.checked = at
        most = self.before + OBJECTS_MOST + 5 * at
        if resident() > most:
            _fail(self.file, f"not a snapshot of PyTorch: its first {at} B are objects of more than {OBJECTS_MOST + 5 * at} B")


def unpickle(content, file):
    """The snapshot in the bytes of a pickle. Nothing of it is executed."""
    try:
        _spad.check_pickle(content)
    except _spad.TextError as error:
        _fail(file, f"not a snapshot of PyTorch: {error}")
    collects = gc.isenabled()
    gc.disable()  # it would go through all objects so far again and again, and none of them is garbage
    try:
        return _Plain(_File(content, file)).load()
    except _spad.TextError:
        raise
    except Exception as error:  # a broken pickle raises nearly anything
        words = " ".join(str(error)[:200].split())  # in one line
        _fail(file, f"not a snapshot of PyTorch: {words or type(error).__name__}")
    finally:
        if collects:
            gc.enable()


def _word(value):
    return value[:NAME_MOST] if isinstance(value, str) else shown(value)


class _Reader:
    """The rows of one device, and the names of what they allocate."""

    def __init__(self, file):
        self.file, self.rows, self.names = file, [], []
        self.live = {}  # address -> size and stream
        self.old = []  # address, size, stream and name of what was there before the history
        self.used = set()  # addresses that are in the history
        self.known = {}  # each name once

    def number(self, item, key, default=None):
        value = item.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            _fail(self.file, f"'{key}' has to be a number from 0 on below 2^63, not {shown(value)}")
        return value

    def items(self, holder, key):
        value = holder.get(key, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, dict) for v in value):
            _fail(self.file, f"'{key}' has to be a list of dicts")
        return value

    def name(self, item):
        """The first frame in a Python file that is not of PyTorch itself, or the first of all."""
        frames = item.get("frames", [])
        for frame in frames[:FRAMES_MOST] if isinstance(frames, (list, tuple)) else [None]:
            if not isinstance(frame, dict):
                _fail(self.file, "'frames' has to be a list of dicts")
            path, name, line = (frame.get(key) for key in ("filename", "name", "line"))
            path = path[-PATH_MOST:] if isinstance(path, str) else ""
            if path.endswith(".py") and f"{os.sep}torch{os.sep}" not in path:
                return f"{_word(name)} ({os.path.basename(path)[-NAME_MOST:]}:{_word(line)})"
        return _word(frames[0].get("name")) if frames and frames[0].get("name") else None

    def allocate(self, address, size, stream, name):
        if address in self.live:  # its free is not in the history
            self.free(address)
        self.live[address] = size, stream
        self.rows.append(("allocate", address, size, stream))
        self.names.append(self.known.setdefault(name, name))

    def free(self, address):
        size, stream = self.live.pop(address)
        self.rows.append(("free", address, size, stream))

    def event(self, event):
        action = event.get("action")
        if action not in ("alloc", "free_completed", "oom"):
            return  # segments, requests to free, marks
        size, stream = self.number(event, "size"), self.number(event, "stream", 0)
        if action == "oom":
            self.rows.append(("allocate failure", 0, size, stream))
            return
        address = self.number(event, "addr")
        if action == "alloc":
            self.used.add(address)
            self.allocate(address, size, stream, self.name(event))
            return
        if address not in self.live:
            name = self.name(event)
            self.old.append((address, size, stream, self.known.setdefault(name, name)))
            self.used.add(address)
            self.live[address] = size, stream
        self.free(address)

    def blocks(self, segments):
        """What is alive in the segments and that the history does not have."""
        late = []
        for segment in segments:
            at, stream = self.number(segment, "address"), self.number(segment, "stream", 0)
            for block in self.items(segment, "blocks"):
                size = self.number(block, "size")
                at = self.number(block, "address", at)
                asked = self.number(block, "requested_size", size)  # as the events have it
                if block.get("state") in ALIVE and at not in self.live:
                    found = at, asked or size, stream, self.name(block)
                    (late if at in self.used else self.old).append(found)
                at += size
        for found in late:
            self.allocate(*found)

    def text(self):
        old = [("allocate", address, size, stream) for address, size, stream, _ in self.old]
        self.names = [name for *_, name in self.old] + self.names
        return HEADER + "".join(f"0,{time},{action},{address:#x},{size},{stream:#x}\n" for
                                time, (action, address, size, stream) in enumerate(old + self.rows))


def _parts(snapshot, file):
    """The traces, the segments, and the numbers of the devices of which there is something."""
    if not isinstance(snapshot, dict) or not ("segments" in snapshot or "device_traces" in snapshot):
        _fail(file, "not a snapshot of PyTorch: it has neither segments nor device_traces")
    reader = _Reader(file)
    traces = snapshot.get("device_traces", [])
    if not isinstance(traces, (list, tuple)):
        _fail(file, "'device_traces' has to be a list")
    segments = reader.items(snapshot, "segments")
    known = {i for i, trace in enumerate(traces) if trace}
    known |= {reader.number(segment, "device", 0) for segment in segments}
    rows = sum(len(part) for part in (*traces, *(s.get("blocks", ()) for s in segments))
               if isinstance(part, (list, tuple)))
    if len(segments) + rows > ROWS_MOST or len(known) > DEVICES_MOST:
        _fail(file, f"it has {len(segments) + rows} segments, blocks and events of {len(known)} devices; the most are "
                    f"{ROWS_MOST} of {DEVICES_MOST}")
    return traces, segments, known


def devices(snapshot, file):
    """The numbers of the devices of which a snapshot has something."""
    return sorted(_parts(snapshot, file)[2])


def read(snapshot, device, file):
    """The log of a device as text, and the names of its allocations. device: its number; None: the
    only one of which the snapshot has something."""
    traces, segments, known = _parts(snapshot, file)
    reader = _Reader(file)
    if device is None and len(known) > 1:
        raise _spad.ArgumentError(f"{file}: there are devices {', '.join(map(str, sorted(known)))}; "
                                  "say which one with device=")
    if device is not None and device not in known:
        raise _spad.ArgumentError(f"{file}: there is nothing of device {device}; there are "
                                  f"{', '.join(map(str, sorted(known))) or 'no devices'}")
    chosen = device if device is not None else min(known, default=0)
    for event in reader.items({"device_traces": traces[chosen] if chosen < len(traces) else []},
                              "device_traces"):
        reader.event(event)
    reader.blocks(s for s in segments if s.get("device", 0) == chosen)
    return reader.text(), reader.names
