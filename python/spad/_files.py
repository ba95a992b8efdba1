# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced as a whole: a failure leaves the old one and nothing beside it. And the memory that
reading others may take."""

import os
import secrets
import stat

PIECE = 1 << 20  # bytes that are read at once


def _is_stream(old):
    """One of our own standard streams, such as /dev/stdout that is a file."""
    for descriptor in (0, 1, 2):
        try:
            if os.path.samestat(os.fstat(descriptor), old):
                return True
        except OSError:
            pass  # it is closed
    return False


def _open_fresh(target, old):
    """A new file in the folder of the target, as its name and descriptor; None: that is not allowed here."""
    while True:
        name = os.path.join(os.path.dirname(target), f".spad-{secrets.token_hex(6)}.tmp")
        try:
            return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        except OSError as error:
            if isinstance(error, PermissionError) and old is not None:
                return None
            error.filename = target
            raise


def replace_file(path, content):
    """Writes bytes to a file. The content takes the name when all of it is on the disk; links are
    followed, and mode bits are kept. What is no regular file is written in place, as is a file in a
    folder where another one may not be made."""
    target = os.path.realpath(os.fsdecode(path))
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    in_place = old is not None and (not stat.S_ISREG(old.st_mode) or _is_stream(old))
    if old is not None and not in_place:
        os.close(os.open(target, os.O_WRONLY))  # one that may not be written is not replaced
    fresh = None if in_place else _open_fresh(target, old)
    if fresh is None:
        with open(path, "wb") as file:
            file.write(content)
        return
    name, descriptor = fresh
    try:
        with open(descriptor, "wb") as file:
            if old is not None:
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def read_most(file, most):
    """The bytes of an open file from where it is, at most one more than `most`. What is no regular file does not
    say how many there are: it is read in pieces, because Python makes room for all bytes that it is asked for."""
    size = os.fstat(file.fileno()).st_size
    if size:
        return file.read(min(max(size - file.tell(), 0), most) + 1)
    found = bytearray()
    while len(found) <= most and (piece := file.read(min(PIECE, most + 1 - len(found)))):
        found += piece
    return bytes(found)


def resident():
    """The bytes of memory that this process has; 0 where the system does not say it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _free_memory():
    """The bytes of memory that programs may still take without others being moved out."""
    with open("/proc/meminfo", "rb") as file:
        for line in file:
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) << 10
    raise ValueError


def limit_memory(most):
    """From now on this process may take so many bytes more, and no more than are free. What needs more ends with
    a MemoryError; without a limit the system would end this program or another one."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:
            taken = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit, hard = taken + min(most, _free_memory()), resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError, IndexError):
        pass  # a system without these files or limits
