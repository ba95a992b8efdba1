#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs what bench/device.sh runs into a folder that another machine can use:
# bench/device_kit.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
build=build/gpu
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPAD_BUILD_TESTS=ON -DSPAD_BUILD_BENCH=ON >/dev/null
cmake --build $build --target spad_device_shared spad_cli test_device test_torch bench_device bench_pool
mkdir -p "$1"
cp $build/tests/test_device $build/tests/test_torch $build/bench/bench_device \
    $build/bench/bench_pool $build/spad "$1"
cp -L $build/libspad_device.so $build/libspad.so.0.2 "$1"
for library in libcmocka.so.0 libmimalloc.so.2; do
    file=$(ldconfig -p | sed -n "s/.*$library .*=> //p" | head -1)
    [ -z "$file" ] || cp -L "$file" "$1/$library"
done
