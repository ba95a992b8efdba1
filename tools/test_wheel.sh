#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds a source distribution from a copy of the tree without git, a wheel from that, shows with
# auditwheel on which systems the wheel runs, installs it into a clean virtual environment and runs
# the Python tests from there: without numpy, then with all that the tests can use.
#
#     tools/test_wheel.sh ENVIRONMENT [SEQUENCES [LEAK_ROUNDS]]
#
# ENVIRONMENT has the tools, and what is installed next to the wheel as files in wheels/; it is made by
# tools/test_packages.sh wheel, which calls this. SPAD_WHEEL=build ends before the tests.
set -eu
tools=$1
cd "$(dirname "$0")/.."
work=$(mktemp -d)
root=$work/tree # all that follows is of the copy
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM INT HUP
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

mkdir "$root"
tar -cf - --exclude=./.git --exclude=./build . | tar -xf - -C "$root"
# the tools are there already: nothing is taken from the network for the build
quiet "$tools/bin/python" -m build --no-isolation --outdir "$work/dist" "$root"
ls -l "$work"/dist/*.tar.gz "$work"/dist/*-cp311-abi3-*.whl
"$tools/bin/auditwheel" show "$work"/dist/*.whl 2>/dev/null | tee "$work/audit"
grep -q '"manylinux_2_[0-9]*_' "$work/audit" || { echo "the wheel is for this machine only" >&2; exit 1; }

"$tools/bin/python" -m venv "$work/clean"
# with PACKAGE...: installs them, from files only
with() { quiet "$work/clean/bin/pip" install --no-index --find-links "$tools/wheels" "$@"; }
with "$work"/dist/*.whl pytest
(cd "$work" && PATH="$work/clean/bin:$PATH" && [ "$(command -v spad)" = "$work/clean/bin/spad" ] && spad --version &&
    spad sweep "$root/examples/kernels/08_gemm_sm90.spad" --vary S=2..5 -o sweep.html)
[ "${SPAD_WHEEL:-}" != build ] || exit 0
cp -R "$root/tests/python" "$work/tests" # away from the sources of the package
cd "$work"
echo "without numpy:"
SPAD_ROOT=$root clean/bin/python -m pytest -q -p no:cacheprovider tests
with numpy mypy "$(echo dist/*.whl)[sweep]"
echo "with numpy, pandas, Dask and mypy, ${2:-300} random sequences:"
SPAD_ROOT=$root clean/bin/python -m pytest -q -rs -p no:cacheprovider tests \
    --sequences "${2:-300}" --leaks "${3:-2000}"
