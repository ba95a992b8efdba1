#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel, installs it into a clean virtual environment and runs the Python tests from
# there, the long way: sh tools/test_wheel.sh [SEQUENCES [LEAK_ROUNDS]]. Needs PyPI, or a mirror of
# it, for the build back end and pytest. The tests check the stubs if mypy can be installed.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}

"$python" -m venv "$work/build"
"$work/build/bin/pip" -q install build
"$work/build/bin/python" -m build --wheel --outdir "$work/dist" . >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
ls -l "$work"/dist/*-cp311-abi3-*.whl

"$python" -m venv "$work/clean"
"$work/clean/bin/pip" -q install "$work"/dist/*.whl pytest
cp -R tests/python "$work/tests"
cd "$work"
echo "without numpy:"
SPAD_ROOT=$root clean/bin/python -m pytest -q -p no:cacheprovider tests
clean/bin/pip -q install numpy
clean/bin/pip -q install mypy 2>/dev/null || echo "mypy is not here: stubs are not checked"
echo "with numpy, ${1:-300} random sequences:"
SPAD_ROOT=$root clean/bin/python -m pytest -q -p no:cacheprovider tests \
    --sequences "${1:-300}" --leaks "${2:-2000}"
clean/bin/spad --version
