# SPDX-License-Identifier: Apache-2.0
"""Results of a sweep in a folder, a file each, named by a hash of all that they depend on.

A file is written under another name and renamed, so there is no half of one after an interruption; one that is
damaged all the same (a full disk, a lost machine) fails its sum and is made again.
"""

import hashlib
import json
import os
import secrets

from . import _spad
from ._sweep_work import file_hash

FORMAT = 1  # of the files, and of rows


def _hash(thing):
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()


def build():
    """What answers depend on besides a job: the version, and the module of this very build."""
    return [FORMAT, _spad.version, file_hash(_spad.__file__)]


class Store:
    """Store(folder): a folder of results, which is made if there is none. Store(None) keeps nothing."""

    def __init__(self, folder):
        self.folder = None if folder is None else os.fspath(folder)
        self._build = build()
        if self.folder is not None:
            try:
                os.makedirs(self.folder, exist_ok=True)
                self._write(".gitignore", "*\n")  # also shows at once whether files can be written
            except OSError as error:
                raise OSError(f"cannot keep results in '{self.folder}': {error.strerror}") from None

    def key(self, job):
        """The name of the result of a job."""
        packages = _packages(job["kind"])
        return _hash([self._build, packages, job])

    def _path(self, key):
        return os.path.join(self.folder, key[:2], key + ".json")

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        fresh = os.path.join(self.folder, f".{secrets.token_hex(8)}.tmp")
        try:
            with open(fresh, "w", encoding="utf-8") as file:
                file.write(text)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(fresh, path)
        except BaseException:
            if os.path.exists(fresh):
                os.unlink(fresh)
            raise

    def load(self, key):
        """The row that is kept, or None: there is none, it is damaged, or a file that a program imported has changed."""
        if self.folder is None:
            return None
        try:
            with open(self._path(key), encoding="utf-8") as file:
                kept = json.load(file)
            if kept["key"] != key or kept["sum"] != _hash([kept["row"], kept["files"]]):
                return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if any(file_hash(path) != content for path, content in kept["files"].items()):
            return None
        return kept["row"]

    def save(self, key, row, files):
        """Keeps a row, and what was read for it besides the job."""
        if self.folder is not None:
            kept = {"key": key, "sum": _hash([row, files]), "row": row, "files": files}
            self._write(os.path.join(key[:2], key + ".json"), json.dumps(kept))


def _packages(kind):
    """Versions of what reads a program."""
    package = {"triton": "triton", "lowered": "tilelang"}.get(kind)
    if package is None:
        return []
    from importlib import metadata

    try:
        return [metadata.version(package)]
    except metadata.PackageNotFoundError:
        return [None]
