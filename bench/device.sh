#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one go: the device suite on cuda:0, the benchmarks and a
# training step of PyTorch. bench/device.sh [KIT]: a folder with the binaries (as
# bench/device_kit.sh packs it) for machines that cannot build; else they are built here.
set -u
cd "$(dirname "$0")/.." || exit 1
kit=${1:-}
if [ -z "$kit" ]; then
    kit=build/gpu
    mkdir -p build || exit 1
    cmake -S . -B "$kit" -DCMAKE_BUILD_TYPE=Release -DSPAD_BUILD_TESTS=ON -DSPAD_BUILD_BENCH=ON \
        >"$kit.log" 2>&1 && cmake --build "$kit" -j >>"$kit.log" 2>&1 || {
        tail -30 "$kit.log"
        exit 1
    }
    ln -sf tests/test_device tests/test_torch bench/bench_device bench/bench_pool "$kit"/
fi
export LD_LIBRARY_PATH="$kit${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
status=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
step() {
    echo "== $*"
    timeout 170 "$@" >"$log" 2>&1
    result=$?
    grep -vE '^\[ RUN|^\[ +OK' "$log"
    [ $result -eq 0 ] || status=1
    echo "-- exit $result"
}
step "$kit/spad" devices
step "$kit/test_device" cuda:0
step "$kit/test_torch"
step "$kit/bench_device" cuda:0
step "$kit/bench_pool"
step python3 bench/torch_step.py torch
step python3 bench/torch_step.py "$PWD/$kit/libspad_device.so"
step python3 bench/torch_step.py torch
step python3 bench/torch_step.py "$PWD/$kit/libspad_device.so"
exit $status
