#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one golden case of the command: run_case.sh SPAD CASE, where CASE.cmd is
# a piece of shell in which `spad` is the command under test. It runs in the
# folder of the case. Compared are stdout with CASE.out, stderr with CASE.err
# (no file: nothing), and the exit status with CASE.exit (no file: 0).
# SPAD_ACCEPT=1 writes what came out as the new expectation.
set -u
SPAD=$1
case=$2
spad() { "$SPAD" "$@"; }
export LC_ALL=C
# A build that counts coverage cannot save its counters where a case limits the size of files, and
# must not report that in the output of the case.
export GCOV_ERROR_FILE=/dev/null

cd "$(dirname "$case")" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
(source "$case.cmd") >"$work/out" 2>"$work/err" </dev/null
echo $? >"$work/exit"

# expect KIND EMPTY: compares; an expectation equal to EMPTY has no file.
failed=0
expect() {
    local file=$case.$1
    printf '%s' "$2" >"$work/default"
    if [ "${SPAD_ACCEPT:-}" = 1 ]; then
        rm -f "$file"
        cmp -s "$work/$1" "$work/default" || cp "$work/$1" "$file"
        return
    fi
    [ -e "$file" ] || file=$work/default
    diff -u "$file" "$work/$1" || failed=1
}
expect out ''
expect err ''
expect exit $'0\n'
exit $failed
