#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests kernels of the real front ends: tools/test_frontends.sh [triton] [tilelang]
# Each gets an environment of its own with packages from PyPI, made once and kept under
# ${SPAD_CACHE:-~/.cache/spad}/venv, named after their versions. Both compile without a GPU. Where the
# packages cannot be had, the tests of that front end are skipped with a message, and the exit status
# is 0. The package spad is that of build/dev.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
python=${SPAD_PYTHON:-python3}
triton=3.6.0
tilelang=0.1.15
if [ $# -eq 0 ]; then set -- triton tilelang; fi
build dev spad_python

# environment FOLDER PACKAGE...: true if it is there, made now or earlier.
environment() {
    folder=$1
    shift
    [ -e "$folder/complete" ] && return 0
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    { "$python" -m venv "$folder" && "$folder/bin/pip" install --quiet --retries 1 --timeout 30 pytest "$@"; } >&2 || {
        rm -rf "$folder"
        return 1
    }
    touch "$folder/complete"
}

for name in "$@"; do
    case $name in
    triton)
        packages="triton==$triton setuptools"
        files=tests/python/test_triton.py
        version=$triton
        ;;
    tilelang)
        packages="tilelang==$tilelang numpy"
        files="tests/python/test_tilelang_load.py tests/python/test_tilelang_body.py"
        version=$tilelang
        ;;
    *)
        echo "there are triton and tilelang, not '$name'" >&2
        exit 2
        ;;
    esac
    folder=${SPAD_CACHE:-$HOME/.cache/spad}/venv/$name-$version
    # shellcheck disable=SC2086
    if ! environment "$folder" $packages; then
        echo "skipped: $name $version could not be installed from PyPI; its tests ran with recorded kernels only"
        continue
    fi
    # shellcheck disable=SC2086
    PYTHONPATH=build/dev/python "$folder/bin/python" -m pytest -q -rs -p no:cacheprovider $files
done
