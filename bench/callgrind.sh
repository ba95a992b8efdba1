#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions of one solve with a fixed number of nodes: a number that does not
# depend on how busy the machine is. usage: bench/callgrind.sh BENCH_PLAN FILE.csv
set -eu
out=$(mktemp)
trap 'rm -f "$out"' EXIT
valgrind --tool=callgrind --callgrind-out-file="$out" "$1" --count "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\)/instructions \1/p; /nodes/p'
