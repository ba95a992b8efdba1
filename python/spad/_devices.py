# SPDX-License-Identifier: Apache-2.0
"""Devices, their buffers and streams, and logs of allocations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _spad
from . import core
from .core import Device, Memory, Plan, Report, Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any, Self
    from ._spad import _Facts


@core._part_of(_spad.Device)
class _Device:
    """Device(name='host', target=None, max_bytes=0, block_bytes=0): host, cuda:N, opencl:N,
    ascend:N (or npu:N) or neuron:N."""

    def __repr__(self):
        return f"<spad.Device {self.name}: {self.about}>"


@core._part_of(_spad.Buffer)
class _Buffer:
    """A typed, shaped piece of the memory of a device. As a with block it is freed at the end.

    Host buffers speak the buffer protocol and DLPack, CUDA buffers DLPack and
    __cuda_array_interface__.
    """

    def __enter__(self):
        if self.freed:
            raise _spad.StateError("the buffer was freed before")
        return self

    def __exit__(self, *unused):
        if not self.freed:
            self.free()

    def __dlpack_device__(self):
        """(1, 0) for the host, (2, N) for cuda:N."""
        name = self.device.name
        if name == "host":
            return 1, 0
        if name.startswith("cuda:"):
            return 2, int(name[5:])
        raise BufferError(f"DLPack cannot carry memory of {name}")

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """The bytes for another library, without a copy; as long as it has them, free() is
        refused. Work on streams of ours is done first, unless stream is -1."""
        where = self.__dlpack_device__()
        if copy or dl_device not in (None, where):
            raise BufferError("a copy was asked for; copy the buffer first")
        if where[0] == 2 and stream != -1 and self.nbytes:
            self.read(0, 1)
        return _spad.to_dlpack(self, *where, max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self):
        """Version 3 of the interface; only CUDA buffers in global memory have it."""
        if not self.device.name.startswith("cuda:") or self.scope != "global":
            raise AttributeError("the buffer is not in global memory of a CUDA device")
        if self.nbytes:
            self.read(0, 1)  # what our streams do with it is done
        size = _spad.dtype_bytes(self.dtype)
        kind = {"e": "f", "f": "f", "d": "f", "b": "i", "h": "i", "i": "i", "q": "i",
                "?": "b"}.get(self.format, "u")
        return {"shape": self.shape, "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
                "data": (self.address, False), "version": 3, "strides": None, "stream": None}

    def __repr__(self):
        if self.freed:
            return "<spad.Buffer, freed>"
        return (f"<spad.Buffer {self.name or '(unnamed)'}: {self.shape} {self.dtype} on "
                f"{self.device.name}>")


@core._part_of(_spad.Workspace)
class _Workspace:
    """Workspace(device, bytes, scope='global', name=None): bytes that the phases of a computation
    use in turn. As a with block it is closed at the end."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __repr__(self):
        return f"<spad.Workspace of {self.bytes} B: {self.used} B used, {self.peak} B at most>"


class Stream(_spad.Stream):
    """Stream(device): an order of work. As a with block it is closed at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self):
        return f"<spad.Stream on {self.device.name}>"


class Log(_spad.Log):
    """A log of allocations in the format of RMM's logging adaptor; a sequence of its rows.
    Log.parse(text), Log.load(path), Log.from_snapshot(snapshot)."""

    names: tuple[str | None, ...] | None = None  # of its allocations, by number; None: the log has none

    @classmethod
    def load(cls, path: str | PathLike[str], device: int | None = None) -> Self:
        """The log in a file: of RMM as CSV, or a pickled memory snapshot of PyTorch, of which
        device says the number of the device. A pickle is read as plain data."""
        content, name = core._read_bytes(path, core._ROWS_MIB)
        head = content.read(1)
        content.seek(0)
        if head == b"\x80":  # every pickle since protocol 2 begins so, and no text does
            return cls.from_snapshot(content.read(), device, name)
        return cls.parse(content.read().decode("utf-8"), name)

    @classmethod
    def from_snapshot(cls, snapshot: Mapping[str, Any] | bytes | bytearray | memoryview, device: int | None = None,
                      file: str = "<snapshot>") -> Self:
        """The log of a memory snapshot of PyTorch: the dict of torch.cuda.memory._snapshot(), or
        the bytes of its pickle. device: the number of the device, if there are several."""
        from .models import _snapshot  # here, because few programs need it

        if isinstance(snapshot, (bytes, bytearray, memoryview)):
            snapshot = _snapshot.unpickle(bytes(snapshot), file)
        text, names = _snapshot.read(snapshot, device, file)
        log = cls.parse(text, file)
        log.names = tuple(names)
        return log

    def _lives(self):
        """Begin, end, address, bytes, name and stream of every allocation; end None: not freed."""
        lives = []
        for time, row in enumerate(self):
            number = row["allocation"]
            if number is None:
                continue
            if row["action"] == "allocate":
                name = None if self.names is None else self.names[number]
                lives.append([time, None, row["address"], row["bytes"], name, row["stream"]])
            else:
                lives[number][1] = time
        return lives

    def plan(self, capacity: int | None = None, alignment: int = 1) -> Plan:
        """A Plan of the allocations: their sizes, and the rows between which they live."""
        lives, plan = self._lives(), Plan(capacity=capacity)
        plan.add_many([life[0] for life in lives],
                      [len(self) if life[1] is None else life[1] for life in lives],
                      [life[3] for life in lives], alignment=[alignment] * len(lives),
                      names=core._distinct(life[4] for life in lives))
        return plan

    def report(self, title: str = "log") -> Report:
        """A Report of the blocks over time."""
        lives = self._lives()
        low = min((life[2] for life in lives), default=0)
        top = max((life[2] + life[3] for life in lives), default=1)
        chip = Target.parse(f"target log\nspace memory {{ bytes {max(top - low, 1)} }}\n", "<log>")
        report = Report(chip, title, "row")
        if self.names is None:
            report.add_log(self)
            return report
        for number, (begin, end, address, size, name, stream) in enumerate(lives):
            report.add_box(name or f"stream {stream}[{number}]", begin,
                           len(self) if end is None else end, address - low, size)
        return report

    def _repr_html_(self) -> str | None:
        return self.report().light()

    def __repr__(self):
        return f"<spad.Log of {len(self)} rows, {self.allocations} allocations>"


def torch_library() -> str:
    """The path of the library that PyTorch's pluggable CUDA allocator loads, to take its memory
    from our pool:

        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            spad.torch_library(), "spad_torch_alloc", "spad_torch_free")
        torch.cuda.memory.change_current_allocator(allocator)   # before the first tensor

    torch_stats(device) has what it took."""
    return _spad.__file__


def replay(log: Log | str | PathLike[str], device: str | Device | Memory = "host",
           scope: str = "global") -> dict[str, int]:
    """Makes the calls of a log (a Log, or the path of one: of RMM or of PyTorch) again, on the pool of a device or on a
    Memory: how long they take, and what does not fit."""
    if not isinstance(log, _spad.Log):
        log = Log.load(log)
    if not isinstance(device, (_spad.Device, Memory)):
        device = Device(device)
    return log.replay(device if isinstance(device, Memory) else device.pool(scope))


def devices() -> _Facts:
    """The devices of this machine, and why others are absent."""
    return _spad.devices()
