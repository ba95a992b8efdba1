# SPDX-License-Identifier: Apache-2.0
"""spad.sweep on a cluster of Dask, which loses a worker. Skipped where there is no Dask."""

import os
import signal
import sys

import pytest

import spad
from test_sweep import folder  # noqa: F401 a fixture

VARY = {"S": "1..4", "N": "40..52+4"}


@pytest.fixture(scope="module")
def cluster():
    """Two processes with one thread each. A nanny starts another one for one that dies."""
    distributed = pytest.importorskip("dask.distributed", reason="there is no Dask")
    import dask

    quiet = {"distributed.admin.log-format": "", "distributed.scheduler.allowed-failures": 5}
    with dask.config.set(quiet), distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as made:
        made.wait_for_workers(2) if hasattr(made, "wait_for_workers") else None
        yield made


def test_a_cluster_that_loses_a_worker(folder, cluster):
    from dask.distributed import Client

    expected = spad.sweep("*.spad", VARY, frame=False)
    killed = []

    def kill(done, total):
        if done == 3 and not killed:  # in the middle, while both work
            with Client(cluster, set_as_default=False) as client:
                killed.extend(sorted(client.run(os.getpid).values())[:1])
            os.kill(killed[0], signal.SIGKILL)

    made = spad.sweep("*.spad", VARY, frame=False, dask=cluster.scheduler_address, progress=kill, results="kept")
    assert len(killed) == 1 and made.done == made.total == 32
    assert made.rows == expected.rows and made.csv() == expected.csv()
    assert len(list(folder.glob("kept/??/*.json"))) == 32


def test_a_cluster_with_programs(root, folder, cluster):
    """Programs run here: a worker elsewhere has not their files."""
    kernel = f"{root}/tests/python/nki_kernels.py:matmul"
    options = {"vary": {"rhs": "bf16[256,256],bf16[256,512],bf16[9,7]"}, "frame": False}
    here = spad.sweep([kernel, "timed.spad"], **options)
    from dask.distributed import Client

    with Client(cluster, set_as_default=False) as client:
        there = spad.sweep([kernel, "timed.spad"], dask=client, results="kept", **options)
        assert client.status == "running"  # a client that was given stays open
    assert there.rows == here.rows and [row["status"] for row in here] == ["fine", "fine", "refused", "fine"]
    assert spad.sweep([kernel, "timed.spad"], results="kept", **options).rows == here.rows


def test_a_sweep_on_a_cluster_goes_on(folder, cluster):
    part = spad.sweep("*.spad", VARY, frame=False, dask=cluster.scheduler_address, stop_after=5, results="kept")
    assert part.done == 5
    seen = []
    whole = spad.sweep("*.spad", VARY, frame=False, results="kept", progress=lambda done, total: seen.append(done))
    assert seen[0] == 5 and whole.rows == spad.sweep("*.spad", VARY, frame=False).rows


def test_the_command_on_a_cluster(folder, cluster):
    import subprocess

    words = ["*.spad", "--vary", "S=1..2", "--json", "--results"]
    run = lambda *more: subprocess.run([sys.executable, "-m", "spad", "sweep", *words, *more], capture_output=True,
                                       text=True, check=True).stdout
    assert run("a", "--dask", cluster.scheduler_address) == run("b")


def test_workers_with_another_version(folder, cluster, monkeypatch):
    from spad import _spad
    from spad._sweep import pool as sweep_pool

    class Other:
        version = "9.9.9"

    monkeypatch.setattr(sweep_pool, "_spad", Other)
    with pytest.raises(spad.ArgumentError, match=f"has spad {_spad.version}; here is 9.9.9"):
        spad.sweep("timed.spad", dask=cluster.scheduler_address)


def test_no_cluster(folder):
    pytest.importorskip("dask.distributed", reason="there is no Dask")
    from spad._sweep import pool as sweep_pool

    with pytest.raises(spad.ArgumentError, match="no cluster of Dask answers at 'tcp://127.0.0.1:1'"):
        sweep_pool.Cluster("tcp://127.0.0.1:1", patience=0.5)
    with pytest.raises(spad.ArgumentError, match="no cluster of Dask answers at 'nowhere:x'"):
        spad.sweep("timed.spad", dask="nowhere:x")


def test_no_dask(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(spad.ArgumentError, match=r"pip install spad\[sweep\]"):
        spad.sweep("timed.spad", dask="tcp://127.0.0.1:1")
    assert spad.sweep("timed.spad", frame=False)[0]["status"] == "fine"
