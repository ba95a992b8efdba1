# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package. Where numpy, numba or Dask are absent, what needs them is skipped."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SPAD_ROOT", Path(__file__).resolve().parents[2]))


def pytest_addoption(parser):
    parser.addoption("--sequences", type=int, default=300,
                     help="random operation sequences per test (the long run: 100000)")
    parser.addoption("--leaks", type=int, default=2000,
                     help="iterations of the leak checks (the long run: 100000)")


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """Sweeps keep their key here, and not in the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def sequences(request):
    return request.config.getoption("--sequences")


@pytest.fixture(scope="session")
def leak_rounds(request):
    return request.config.getoption("--leaks")


@pytest.fixture(scope="session")
def root():
    return ROOT
