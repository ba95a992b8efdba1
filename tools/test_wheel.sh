#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds a source distribution from a copy of the tree without git, a wheel from that, has auditwheel
# name the systems that the wheel runs on, installs it into a clean virtual environment and runs
# the Python tests from there: without numpy, and at the same time with all that the tests can use.
#
#     tools/test_wheel.sh ENVIRONMENT [SEQUENCES [LEAK_ROUNDS]]
#
# ENVIRONMENT has the tools, and what is installed next to the wheel as files in wheels/; it is made by
# tools/test_packages.sh wheel, which calls this. SPAD_WHEEL=build ends before the tests. SPAD_DIST names
# a folder that gets the source distribution and the wheel that was tested.
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
PATH="$tools/bin:$PATH" quiet "$tools/bin/auditwheel" repair --wheel-dir "$work/wheel" "$work"/dist/*-cp311-abi3-*.whl
ls -l "$work"/dist/*.tar.gz "$work"/wheel/*
wheel=$(echo "$work"/wheel/*-cp311-abi3-manylinux_2_*.whl)
[ -f "$wheel" ] || { echo "the wheel is for this machine only" >&2; exit 1; }

# environment NAME PACKAGE...: a clean one with the wheel and these, from files only.
environment() {
    clean=$work/$1
    shift
    "$tools/bin/python" -m venv "$clean"
    quiet "$clean/bin/pip" install --no-compile --no-index --find-links "$tools/wheels" "$@"
}

# tests NAME ARGUMENT...: runs the tests there. Some send themselves a SIGINT, which a shell lets what
# runs in the background ignore. Packages are compiled when they are first imported, and that is kept.
tests() {
    clean=$work/$1
    shift
    (cd "$work" && SPAD_ROOT=$root env -u PYTHONDONTWRITEBYTECODE --default-signal=INT \
        "$clean/bin/python" -m pytest -q -rs -p no:cacheprovider tests "$@")
}

environment bare "$wheel" pytest
(cd "$work" && PATH="$work/bare/bin:$PATH" && [ "$(command -v spad)" = "$work/bare/bin/spad" ] && spad --version &&
    spad sweep "$root/examples/kernels/08_gemm_sm90.spad" --vary S=2..5 -o sweep.html)
keep() { [ -z "${SPAD_DIST:-}" ] || cp "$work"/dist/*.tar.gz "$wheel" "$SPAD_DIST"; }
[ "${SPAD_WHEEL:-}" != build ] || { keep; exit 0; }
cp -R "$root/tests/python" "$work/tests" # away from the sources of the package
environment full "${wheel}[sweep]" pytest numpy mypy
# both at once: each waits often, for a process or a browser
tests bare >"$work/without" 2>&1 &
without=$!
status=0
tests full --sequences "${2:-300}" --leaks "${3:-2000}" >"$work/with" 2>&1 || status=1
wait "$without" || status=1
echo "without numpy:"
if [ "$status" = 0 ]; then grep -v '^SKIPPED' "$work/without"; else cat "$work/without"; fi
echo "with numpy, pandas, Dask and mypy, ${2:-300} random sequences:"
cat "$work/with"
[ "$status" != 0 ] || keep
exit "$status"
