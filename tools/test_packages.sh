#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests with the real packages of others, and the package that users install:
#
#     tools/test_packages.sh [--until SECONDS] [--prepare | --folder] [NAME...]
#
# NAME (none: all), and what is tested with it:
#
#     triton      kernels that it compiles, without a GPU
#     cute        kernels of the CuTe DSL, recorded without a GPU
#     tilelang    kernels that it lowers, without a GPU
#     executorch  plans in its runtime, compared with eager; profiler traces; ONNX models
#     tflite      plans in the real TFLM; models; readers
#     tvm         our pass in its pipeline
#     wheel       sdist, wheel and auditwheel, then all Python tests from a clean environment (tools/test_wheel.sh)
#     site        the manual as a site, without a warning (docs/build), and its pages in a browser
#
# Each has an environment of its own with the packages of PyPI that tools/packages/NAME.txt lists, all of them with their
# versions, as `pip install --dry-run --report` resolves those at its top. It is made once and kept under
# ${SPAD_CACHE:-~/.cache/spad}/venv, which may be deleted at any time. Where one cannot be made, its tests are skipped with
# a message, and the exit status is 0; a test that fails gives 1.
# The package spad is that of build/release, or the one in the folder SPAD_PACKAGE.
#
# --until: a time (date +%s) at which everything has ended; what is left then is skipped with a message.
# --prepare: makes the environments that are missing, and runs no tests. It may run while something else
#            is built or tested; one that is left incomplete is made again later.
# --folder: prints the folder of the environment of one NAME, which it makes if it is missing.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
python=${SPAD_PYTHON:-python3}
cache=${SPAD_CACHE:-$HOME/.cache/spad}/venv
limit=1800 # seconds that the tests of a name may take
until=$(($(date +%s) + 86400))
mode="test"
child=
failed=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# timeout has a process group of its own, to which it passes this on
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 143' TERM INT HUP

usage() {
    sed -n 's/^#  *\(tools\/test_packages.*\)/usage: \1/p' "$0" >&2
    exit 2
}

# describe NAME: sets its packages, the module that must be there then, the megabytes that they take
# when installed, and the files of its tests.
describe() {
    name=$1
    module=$name
    files=tests/python/test_$name.py
    case $name in
    triton)
        megabytes=800
        files="$files tests/python/test_triton_routes.py"
        ;;
    cute)
        module=cutlass megabytes=500
        ;;
    tilelang)
        megabytes=6500
        files="tests/python/test_tilelang_load.py tests/python/test_tilelang_body.py"
        ;;
    executorch)
        module=executorch.exir megabytes=6500
        files="$files tests/python/test_readers.py"
        ;;
    tflite)
        module=tflite_micro megabytes=1000
        files="$files tests/python/test_models.py tests/python/test_readers.py"
        ;;
    tvm) megabytes=1000 ;;
    wheel) module=build megabytes=500 ;;
    site) module=sphinx megabytes=150 ;;
    *)
        echo "there are triton, cute, tilelang, executorch, tflite, tvm, wheel and site, not '$name'" >&2
        exit 2
        ;;
    esac
    packages=$(sed -n '/^$/q; /==/p' "tools/packages/$name.txt" | paste -sd ' ') # those that were asked for
    # what is installed is part of the name: other versions are another environment
    folder=$cache/$name-$({ "$python" --version && cat tools/packages/"$name"*.txt; } | cksum | cut -d ' ' -f 1)
}

seconds_left() {
    left=$((until - $(date +%s)))
    [ "$left" -gt 0 ]
}

# limited SECONDS COMMAND...: its exit status, or 124 after that time.
limited() {
    seconds=$1
    shift
    timeout -k 10 "$seconds" "$@" &
    child=$!
    status=0
    wait "$child" || status=$?
    child=
    [ "$status" -ne 137 ] || status=124
    return "$status"
}

# install: the steps of `environment`; what the tests of the wheel install is kept as files.
install() {
    limited "$left" "$python" -m venv "$folder" && seconds_left &&
        limited "$left" "$folder/bin/pip" install --no-compile --quiet --disable-pip-version-check \
            --retries 1 --timeout 30 -r "tools/packages/$name.txt" && seconds_left &&
        { [ "$name" != wheel ] || limited "$left" "$folder/bin/pip" download --quiet --disable-pip-version-check \
            --retries 1 --timeout 30 -d "$folder/wheels" -r tools/packages/wheel-tests.txt; } && seconds_left &&
        limited "$left" "$folder/bin/python" -c "import $module"
}

# environment: makes the one that was described; true if it is there, otherwise $why says why not.
environment() {
    [ -e "$folder/complete" ] && return 0
    mkdir -p "$cache"
    exec 9>"$folder.lock"
    if ! flock -w "$left" 9; then
        why="no time left while it was being installed"
        return 1
    fi
    [ -e "$folder/complete" ] && return 0
    # not tried again at once: the other side of a network may be silent for long
    if [ -n "$(find "$folder.log" -mmin -15 2>/dev/null)" ]; then
        why="it could not be installed a few minutes ago: $(tail -n 1 "$folder.log")"
        return 1
    fi
    free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
    if [ "$free" -lt $((megabytes + 2000)) ]; then
        why="it needs $megabytes MB on the disk, and $free MB are free"
        return 1
    fi
    seconds_left || { why="no time left to install it"; return 1; }
    rm -rf "$folder" "$folder.log"
    if install >"$work/log" 2>&1; then
        touch "$folder/complete"
        return 0
    fi
    rm -rf "$folder"
    if seconds_left; then
        cp "$work/log" "$folder.log"
        why="it could not be installed: $(tail -n 1 "$work/log")"
    else
        why="no time left while it was being installed"
    fi
    return 1
}

# package: builds the Python package, which is not part of the preset, once.
package() {
    [ -z "${SPAD_PACKAGE:-}" ] || return 0
    limited "$left" sh -c '
        set -eu
        . tools/setup.sh
        cmake --preset release -DSPAD_PYTHON=ON
        build release spad_python
        cmake --preset release -DSPAD_PYTHON=OFF' >"$work/log" 2>&1 || return
    SPAD_PACKAGE=build/release/python
}

# tests: those of the name that was described.
tests() {
    if [ "$name" = wheel ]; then
        limited "$left" sh tools/test_wheel.sh "$folder"
    elif [ "$name" = site ]; then
        limited "$left" sh -c 'docs/build "$0" && tests/check_site build/site' "$SPAD_PACKAGE"
    else
        # shellcheck disable=SC2086
        limited "$left" env PYTHONPATH="$SPAD_PACKAGE" PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" \
            -m pytest -q -rs -p no:cacheprovider $files
    fi
}

# tried: what the tests of a name came to, from $status; $began is when they did.
tried() {
    took=$(($(date +%s) - began))
    if [ "$status" -eq 0 ]; then
        grep '^SKIPPED' "$work/log" || true
        echo "passed: $name ($packages) in $took s: $(tail -n 1 "$work/log")"
    elif [ "$status" -eq 124 ] && [ "$left" -lt "$limit" ]; then
        echo "skipped: $name: no time left; it was stopped after $took s"
    else
        cat "$work/log"
        echo "failed: $name ($packages) after $took s, exit status $status"
        failed="$failed $name"
    fi
}

# stage NAME: installs what is missing and runs its tests.
stage() {
    describe "$1"
    if ! seconds_left; then
        echo "skipped: $name: no time left"
        return 0
    fi
    if ! environment; then
        echo "skipped: $name: $why"
        return 0
    fi
    began=$(date +%s)
    status=124
    if seconds_left; then
        status=0
        [ "$name" = wheel ] || package || status=$?
    fi
    if [ "$status" -eq 0 ]; then
        status=124
        if seconds_left; then
            if [ "$left" -gt "$limit" ]; then left=$limit; fi
            status=0
            tests >"$work/log" 2>&1 || status=$?
        fi
    fi
    tried
}

while [ $# -gt 0 ]; do
    case $1 in
    --until) [ $# -gt 1 ] || usage; until=$2; shift ;;
    --prepare) mode=prepare ;;
    --folder) mode=folder ;;
    -*) usage ;;
    *) break ;;
    esac
    shift
done
if [ $# -eq 0 ]; then set -- triton cute tilelang executorch tflite tvm wheel site; fi
for name in "$@"; do describe "$name"; done

if [ "$mode" = folder ]; then
    seconds_left && environment || { echo "$name: ${why:-no time left}" >&2; exit 2; }
    echo "$folder"
    exit 0
fi
if [ "$mode" = prepare ]; then
    for name in "$@"; do
        describe "$name"
        if ! seconds_left; then break; fi
        environment || echo "$name: $why"
    done
    exit 0
fi
# what is there comes first: to install may take all the time that is left
later=
for name in "$@"; do
    describe "$name"
    if [ -e "$folder/complete" ]; then stage "$name"; else later="$later $name"; fi
done
for name in $later; do stage "$name"; done
[ -z "$failed" ]
