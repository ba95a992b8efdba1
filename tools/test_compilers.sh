#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests the integrations with the real compilers: tools/test_compilers.sh [executorch] [tflite] [tvm]
# Each gets an environment of its own with packages from PyPI, kept under build/venv (several GB for
# ExecuTorch, which needs PyTorch). The package spad is that of build/dev; other arguments: all three.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
python=${SPAD_PYTHON:-python3}
if [ $# -eq 0 ]; then set -- executorch tflite tvm; fi
build dev spad_python

# environment NAME PACKAGE...: made once.
environment() {
    folder=build/venv/$1
    shift
    if [ ! -e "$folder/complete" ]; then
        "$python" -m venv "$folder"
        "$folder/bin/pip" install --quiet pytest "$@"
        touch "$folder/complete"
    fi
}

for name in "$@"; do
    files=tests/python/test_$name.py
    case $name in
    executorch) environment executorch executorch numpy ;;
    tflite)
        environment tflite tflite-micro flatbuffers onnx numpy
        files="$files tests/python/test_models.py tests/python/test_readers.py"
        ;;
    tvm) environment tvm apache-tvm numpy ;;
    *)
        echo "there are executorch, tflite and tvm, not '$name'" >&2
        exit 2
        ;;
    esac
    # shellcheck disable=SC2086
    PYTHONPATH=build/dev/python "build/venv/$name/bin/python" -m pytest -q -rs -p no:cacheprovider $files
done
