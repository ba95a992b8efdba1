# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced as a whole: a failure leaves the old one and nothing beside it. And the memory that
reading others may take."""

import errno
import io
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


def _has_access_list(path):
    """Is there more to say of who may access a file than its mode does?"""
    try:
        return bool(os.getxattr(path, "system.posix_acl_access"))
    except (OSError, AttributeError):
        return False


def _keep_access(descriptor, old):
    """Gives a file the owner, the group and the mode of an old one; False: it cannot have them."""
    mine = os.fstat(descriptor)
    try:
        if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    except OSError:
        return False
    return True


def _with_name(folder, make):
    """What make(name) returns for a name in a folder that no file has, and the name."""
    while True:
        name = os.path.join(folder, f".spad-{secrets.token_hex(6)}.tmp")
        try:
            return make(name), name
        except FileExistsError:
            continue


def _unnamed(folder, mode):
    """The descriptor of a file without a name, which goes with the process, whatever ends it; None: no such files."""
    try:
        if os.access("/proc/self/fd", os.X_OK):  # else it could not get a name
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode)
    except (OSError, AttributeError):
        pass
    return None


def _link(descriptor, name):
    """Names a file without one. Only with folders as descriptors does Python follow the link in /proc."""
    folder = os.open(os.path.dirname(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.link(f"/proc/self/fd/{descriptor}", os.path.basename(name), src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _open_fresh(target, old):
    """A new file in the folder of the target, as its descriptor and its name, None if it has none yet. None: that is
    not allowed here, or it cannot have what the old one has."""
    mode, folder = 0o666 if old is None else old.st_mode & 0o777, os.path.dirname(target)
    descriptor, name = _unnamed(folder, mode), None
    try:
        if descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor, name = _with_name(folder, lambda name: os.open(name, flags, mode))
    except OSError as error:
        if isinstance(error, PermissionError) and old is not None:
            return None
        error.filename = target
        raise
    if old is None or _keep_access(descriptor, old):
        return descriptor, name
    os.close(descriptor)
    if name is not None:
        os.unlink(name)
    return None


def replace_file(path, content):
    """Writes bytes to a file. The content takes the name when all of it is on the disk; links are
    followed; owner, group and mode are kept. A file for which they cannot be kept, or that has an access control
    list, is written in place, as is what is no regular file, and a file in a folder where another one may not be
    made. As cli/files.c does."""
    target = os.path.realpath(os.fsdecode(path))
    try:
        old = os.stat(path)  # not of the target: that of a pipe among our streams has no name
    except FileNotFoundError:
        old = None
    in_place = old is not None and (not stat.S_ISREG(old.st_mode) or _is_stream(old) or _has_access_list(path))
    if old is not None and not in_place:
        os.close(os.open(target, os.O_WRONLY))  # one that may not be written is not replaced
    fresh = None if in_place else _open_fresh(target, old)
    if fresh is None:
        with open(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC), "wb") as file:
            file.write(content)
        return
    descriptor, name = fresh
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            if name is None:
                _, name = _with_name(os.path.dirname(target), lambda name: _link(descriptor, name))
        os.replace(name, target)
    except BaseException:
        if name is not None:
            os.unlink(name)
        raise


def read_most(file, most):
    """The bytes of an open file from where it is, at most one more than `most`. What is no regular file does not
    say how many there are: it is read in pieces, because Python makes room for all bytes that it is asked for."""
    size = os.fstat(file.fileno()).st_size
    if size:
        return file.read(min(max(size - file.tell(), 0), most) + 1)
    found = io.BytesIO()  # which gives its bytes without a second copy of them
    while found.tell() <= most and (piece := file.read(min(PIECE, most + 1 - found.tell()))):
        found.write(piece)
    return found.getvalue()


def open_regular(path):
    """Opens a regular file to read it. Anything else is an OSError: a pipe would wait, a device has no end."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return file


def read_regular(path, most):
    """The bytes of a regular file of at most `most`; more is an OSError."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return content


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
