# SPDX-License-Identifier: Apache-2.0
"""The recorded statements of a kernel, and their lines in the kernel language."""

from ._access import alias_text
_READING = ("reads", "may reads")
_WORDS_OF_ACCESSES = ("reads", "may reads", "writes", "may writes", "updates", "may updates")


class Declaration:
    """A tensor, or another name of it."""

    __slots__ = ("storage", "name", "text")

    def __init__(self, storage, name, text):
        self.storage, self.name, self.text = storage, name, text

    def texts(self, shown):
        storage, twin = self.storage, shown.get(self.storage, {}).get(self.name)
        if self.text is not None:
            made = [f"tensor {self.name} : {self.text}"]
            return made if twin is None else [*made, f"tensor {twin} : {self.text}"]
        if twin is None:
            return [self.alone()]
        shape = storage.shape if len(storage.shape) > storage.is_on_chip else (*storage.shape, 1)
        return [self._placed() + (" input" if storage.is_input else ""),
                f"tensor {twin} : {alias_text(storage, storage.dtype, 0, shape)}"
                + (" output" if storage.is_changed else "")]

    def alone(self):
        """The declaration of a tensor under its own name."""
        storage = self.storage
        if storage.is_input:
            return self._placed() + (" persistent" if storage.is_changed else " input")
        return self._placed() + " output" if storage.is_output else self._placed()

    def _placed(self):
        storage = self.storage
        text = f"tensor {self.name} : {storage.home if storage.core else storage.kind.space} {storage.kind.text}"
        if storage.address is None:
            return text
        lane, byte = storage.address
        return f"{text} at {byte} lane {lane}" if lane else f"{text} at {byte}"


class Meeting:
    """Both cores wait for each other."""

    __slots__ = ("name", "storage")

    def __init__(self, name, storage=None):
        self.name, self.storage = name, storage  # the tensor that it is for

    def texts(self, shown):
        return [f"sync {self.name}"]


class Operation:
    """What an instruction reads, writes and updates, by name."""

    __slots__ = ("engine", "name", "accesses", "tail")

    def __init__(self, engine, name):
        self.engine, self.name, self.tail = engine, name, ""
        self.accesses = {word: {} for word in _WORDS_OF_ACCESSES}

    def add(self, word, storage, parts):
        for part in parts:
            self.accesses[word][part] = storage
            if word not in _READING:
                storage.write(part[0])

    def texts(self, shown):
        if not shown:
            text = f"{self.engine} {self.name}"
            for word, parts in self.accesses.items():
                if parts:
                    text += f" {word} {', '.join([name + ranges for name, ranges in parts])}"
            return [text + self.tail]
        accesses = {word: dict(parts) for word, parts in self.accesses.items()}
        for may in ("", "may "):
            updates = accesses[f"{may}updates"]
            for part, storage in list(updates.items()):
                if part[0] in shown.get(storage, ()) and self.engine != "tensor":  # which cannot read its results
                    del updates[part]
                    accesses[f"{may}reads"][part] = accesses[f"{may}writes"][part] = storage
        text = f"{self.engine} {self.name}"
        for word, parts in accesses.items():
            names = [(shown[storage].get(name, name) if word in _READING and storage in shown else name) + ranges
                     for (name, ranges), storage in parts.items()]
            text += f" {word} {', '.join(dict.fromkeys(names))}" if names else ""
        return [text + self.tail]
