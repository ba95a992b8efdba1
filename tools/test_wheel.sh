#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds a source distribution from a copy of the tree without git, a wheel from that, shows with
# auditwheel on which systems the wheel runs, installs it into a clean virtual environment and runs
# the Python tests from there, the long way: sh tools/test_wheel.sh [SEQUENCES [LEAK_ROUNDS]].
# Needs PyPI, or a mirror of it, for the build back end, auditwheel and pytest. The tests check the
# stubs if mypy can be installed. SPAD_WHEEL=build ends before the tests.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}

"$python" -m venv "$work/build"
"$work/build/bin/pip" -q install build auditwheel
mkdir "$work/tree"
tar -cf - --exclude=./.git --exclude=./build . | tar -xf - -C "$work/tree"
"$work/build/bin/python" -m build --outdir "$work/dist" "$work/tree" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
ls -l "$work"/dist/*.tar.gz "$work"/dist/*-cp311-abi3-*.whl
"$work/build/bin/auditwheel" show "$work"/dist/*.whl 2>/dev/null | tee "$work/audit"
grep -q '"manylinux_2_[0-9]*_' "$work/audit" || { echo "the wheel is for this machine only" >&2; exit 1; }

"$python" -m venv "$work/clean"
"$work/clean/bin/pip" -q install "$work"/dist/*.whl pytest
(cd "$work" && PATH="$work/clean/bin:$PATH" && [ "$(command -v spad)" = "$work/clean/bin/spad" ] && spad --version &&
    spad sweep "$root/examples/kernels/08_gemm_sm90.spad" --vary S=2..5 -o sweep.html)
[ "${SPAD_WHEEL:-}" != build ] || exit 0
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
