# SPDX-License-Identifier: Apache-2.0
# Sourced by ./demo and ./test: installs the Debian packages that are missing.
#
# need PACKAGE...   makes sure that the packages are installed: with apt-get as
#                   root or through sudo; otherwise prints the line to run and exits.

is_installed() {
    [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]
}

need() {
    missing=
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    if ! command -v apt-get >/dev/null; then
        echo "please install what these Debian packages hold, then run this again:$missing" >&2
        exit 2
    elif [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root=sudo
    else
        echo "some packages are missing; please run this line, then try again:" >&2
        echo "    sudo apt-get install -y$missing" >&2
        exit 2
    fi
    echo "installing$missing"
    log=$(mktemp)
    # shellcheck disable=SC2086
    { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $missing; } \
        >"$log" 2>&1 || {
        cat "$log" >&2
        rm -f "$log"
        echo "installing failed" >&2
        exit 2
    }
    rm -f "$log"
}

# want PACKAGE: installs what a test would like to have, if that can be done without asking;
# without it the test is skipped.
want() {
    if is_installed "$1" || ! command -v apt-get >/dev/null; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; then
        (need "$1") || echo "$1 could not be installed; some tests will be skipped"
    fi
}

# build PRESET [TARGET]: configures once, then builds what has changed. Quiet unless it fails; on a
# terminal a line shows how far it is.
build() {
    log=$(mktemp)
    if ! { [ -f "build/$1/build.ninja" ] || cmake --preset "$1"; } >"$log" 2>&1 ||
        ! build_shown "$1" "${2:-all}"; then
        cat "$log" >&2
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
}

# build_shown PRESET TARGET: what the build prints goes to $log; "[12/345]" is drawn over itself.
build_shown() {
    if [ ! -t 1 ]; then
        cmake --build --preset "$1" --target "$2" >>"$log" 2>&1
        return
    fi
    { cmake --build --preset "$1" --target "$2" 2>&1 || echo "the build failed"; } | tee -a "$log" |
        awk '/^\[[0-9]+\/[0-9]+\]/ { printf "\r%s ", $1; fflush() } END { printf "\r\033[K" }'
    ! grep -q '^the build failed$' "$log"
}
