# SPDX-License-Identifier: Apache-2.0
"""What a file keeps when the command or the package writes over it: its owner, its group, who may access it. Both
write files in their own code, so each test runs for both."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import spad
from spad import _files

NOBODY, OTHER = 65534, 65533
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


@pytest.fixture
def place():
    """A folder that every user may enter, and the ways to write a file there."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


KERNEL = "kernel k on trn2\ntensor x : sbuf bf16 (128, 512)\nscalar set writes x\n"


def run(words, **more):
    return subprocess.run(words, **{"stdout": subprocess.PIPE, **more}, stderr=subprocess.PIPE, text=True, cwd="/")


def by_command(folder, path, user=0, **more):
    source = Path(spad.__file__).with_name("spad")
    if not source.exists():
        pytest.skip("the package was built without the command")
    program = folder.parent / f"{folder.name}.spad"  # where every user can run it
    shutil.copy(source, program)
    try:
        if user:
            more.update(user=user, group=user, extra_groups=[])
        return run([program, "emit", "-", "-o", path], input=KERNEL, **more)
    finally:
        program.unlink()


def by_package(folder, path, user=0, **more):
    """The module alone, which changes to `user` itself: another user may read neither the package nor this Python."""
    code = Path(_files.__file__).read_text(encoding="utf-8") + "\nimport sys\n"
    if user:
        code += f"os.setgroups([]); os.setgid({user}); os.setuid({user})\n"
    return run([sys.executable, "-I", "-c", code + "replace_file(sys.argv[1], b'new')\n", path], **more)


@pytest.fixture(params=[by_command, by_package])
def write(request):
    return request.param


def made(path, owner, group, mode):
    path.write_text("old")
    os.chown(path, owner, group)
    path.chmod(mode)
    return path


def access(path):
    about = path.stat()
    return about.st_uid, about.st_gid, about.st_mode & 0o7777


def check(done, path, kept):
    assert done.returncode == 0, done.stderr
    assert path.read_text() != "old" and access(path) == kept
    assert not list(path.parent.glob(".spad-*"))


@AS_ROOT
def test_root_keeps_the_owner(place, write):
    for kept in ((NOBODY, OTHER, 0o640), (0, OTHER, 0o2751), (NOBODY, 0, 0o600)):
        path = made(place / "a", *kept)
        inode = path.stat().st_ino
        check(write(place, path), path, kept)
        assert path.stat().st_ino != inode  # replaced as a whole


@AS_ROOT
@pytest.mark.parametrize("sticky", [0, 0o1000])
def test_a_file_of_another_is_written_in_place(place, write, sticky):
    """Also in a folder such as /tmp, where it could not be replaced."""
    place.chmod(0o777 | sticky)
    for kept in ((OTHER, OTHER, 0o666), (NOBODY, OTHER, 0o664), (0, NOBODY, 0o664)):
        path = made(place / "a", *kept)
        done = write(place, path, user=NOBODY)
        check(done, path, kept)
        path.unlink()


@AS_ROOT
def test_a_file_of_another_that_may_not_be_written_stays(place, write):
    path = made(place / "a", OTHER, OTHER, 0o644)
    done = write(place, path, user=NOBODY)
    assert done.returncode != 0 and "Permission denied" in done.stderr and path.read_text() == "old"
    assert access(path) == (OTHER, OTHER, 0o644)


def test_an_access_control_list_stays(place, write):
    path = place / "a"
    path.write_text("old")
    words = b"".join(int(part).to_bytes(size, "little") for tag, mode, who in
                     ((1, 6, 0xffffffff), (2, 4, NOBODY), (4, 0, 0xffffffff), (16, 4, 0xffffffff), (32, 0, 0xffffffff))
                     for part, size in ((tag, 2), (mode, 2), (who, 4)))
    try:
        os.setxattr(path, "system.posix_acl_access", (2).to_bytes(4, "little") + words)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error.strerror}")
    before = os.getxattr(path, "system.posix_acl_access")
    done = write(place, path)
    assert done.returncode == 0 and path.read_text() != "old"
    assert os.getxattr(path, "system.posix_acl_access") == before


def test_streams_without_names(place, write):
    """/dev/stdout that is a pipe, or a file that is open already."""
    assert write(place, "/dev/stdout").stdout
    with open(place / "out", "w") as out:
        assert write(place, "/dev/stdout", stdout=out).returncode == 0
    assert (place / "out").read_text() and os.listdir(place) == ["out"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_leaves_the_old_file_and_no_other(place, number):
    """The package gets a signal when all is written, and before the file has its name."""
    (place / "a").write_text("old")
    code = ("import sys, time\nfrom spad import _files\n"
            "def held(descriptor): print('ready', flush=True); time.sleep(60)\n"
            "_files.os.fsync = held\n_files.replace_file(sys.argv[1], b'new')\n")
    process = subprocess.Popen([sys.executable, "-c", code, place / "a"], stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": str(Path(spad.__file__).parents[1])})
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.wait() == -number
    process.stdout.close()
    assert os.listdir(place) == ["a"] and (place / "a").read_text() == "old"
