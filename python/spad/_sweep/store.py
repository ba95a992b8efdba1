# SPDX-License-Identifier: Apache-2.0
"""Results of a sweep in a folder, a file each, named by a hash of all that they depend on.

A folder is made by a sweep and has a marker, or it is refused: what is in it may be replaced. A file begins with a
code over its name and its content, with a key that only this user has. So a row that is damaged (a full disk, a lost
machine) or that came with the files of somebody else is not read, and made again. A file is written under another
name and renamed: there is no half of one after an interruption.
"""

import contextlib
import errno
import hashlib
import hmac
import json
import os
import secrets
import shutil
import tempfile

from .. import _spad
from .._files import read_regular
from .inputs import wrong
from .work import file_hash

FORMAT = 2  # of the files, and of rows
MARKER = ".spad-results"
ROW_MOST = 1 << 22  # bytes of a file


def _hash(thing):
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()


def build():
    """What answers depend on besides a job: the version, and the module of this very build."""
    return [FORMAT, _spad.version, file_hash(_spad.__file__)]


def _write(path, content, name):
    """Writes a file under another name in its folder; `name` gives it its own."""
    fresh = os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.tmp")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content)
        name(fresh, path)
    finally:
        if os.path.lexists(fresh):
            os.unlink(fresh)


def _key_of_user():
    """The key that signs rows, from the user's state folder. The first sweep makes it."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = os.path.join(home, "spad", "results.key")
    try:
        if not os.path.isabs(path):  # without a home folder the ~ stays
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # another sweep was faster
                _write(path, secrets.token_bytes(32), os.link)
        key = read_regular(path, 32)
    except OSError as error:
        raise OSError(f"cannot keep results without a key in '{path}': {error.strerror}; XDG_STATE_HOME names another "
                      "folder for it") from None
    if len(key) != 32:
        raise OSError(f"'{path}' is not a key of spad; delete it, and the next sweep makes a new one")
    return key


def _make_folder(folder):
    """Makes a folder with its marker at once, so that no other sweep sees it without one."""
    parent = os.path.dirname(os.path.abspath(folder))
    os.makedirs(parent, exist_ok=True)
    fresh = tempfile.mkdtemp(prefix=".spad-", dir=parent)
    try:
        for name, text in ((MARKER, "Results of spad sweep. This folder may be deleted.\n"), (".gitignore", "*\n")):
            with open(os.path.join(fresh, name), "w", encoding="ascii") as file:
                file.write(text)
        os.rename(fresh, folder)
    except OSError:
        if not os.path.isdir(folder):  # otherwise another sweep was faster
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


class Store:
    """Store(folder): a folder of results, which is made if there is none. Store(None) keeps nothing."""

    def __init__(self, folder):
        self.folder = None if folder is None else os.fspath(folder)
        self._build = build()
        if self.folder is not None:
            self._open()
            self._secret = _key_of_user()

    def _open(self):
        try:
            if not os.path.lexists(self.folder):
                _make_folder(self.folder)
            names = os.listdir(self.folder)
            if MARKER in names and not os.access(self.folder, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise OSError(f"cannot keep results in '{self.folder}': {error.strerror}") from None
        if MARKER not in names:
            raise wrong(f"'{self.folder}' is not a folder that a sweep has made; results need one of their own, such as "
                        f"'{os.path.join(self.folder, '.spad-sweep')}'")

    def key(self, job):
        """The name of the result of a job."""
        packages = _packages(job["kind"])
        return _hash([self._build, packages, job])

    def _path(self, key):
        return os.path.join(self.folder, key[:2], key + ".json")

    def _code(self, key, text):
        return hmac.new(self._secret, key.encode() + text, "sha256").hexdigest().encode()

    def load(self, key):
        """The row that is kept, or None: there is none, it is damaged or of somebody else, or a file that a program
        imported has changed."""
        if self.folder is None:
            return None
        try:
            code, _, text = read_regular(self._path(key), ROW_MOST).partition(b"\n")
        except OSError:
            return None
        if not hmac.compare_digest(code, self._code(key, text)):
            return None
        kept = json.loads(text)
        if any(content is None or file_hash(path) != content for path, content in kept["files"].items()):
            return None
        return kept["row"]

    def save(self, key, row, files):
        """Keeps a row, and what was read for it besides the job."""
        if self.folder is not None:
            text = json.dumps({"row": row, "files": files}).encode()
            path = self._path(key)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, self._code(key, text) + b"\n" + text, os.replace)


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
