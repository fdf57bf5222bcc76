#!/usr/bin/env bash
# Sees to it that the system has what `make demo` or `make test` needs beside Rust and Python 3.11+.
#
#   scripts/ensure-system.sh PURPOSE      PURPOSE: build | demo | test
#
# What is missing is installed with apt-get when that is possible without asking (root, or sudo
# that wants no password); otherwise the exact command to type is printed, and the script fails.
# Only for `test` the tools of the test bed and the browser are optional: a test whose tool is absent
# is skipped and says so.
set -euo pipefail

# Ordinary users of Debian have no sbin on their PATH; ip, tc and nft live there.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

purpose=${1:-}
python=${PYTHON:-python3}
required=()
optional=()

say() { printf 'airqueue: %s\n' "$*" >&2; }

has() { command -v "$1" >/dev/null; }

# Debian takes ensurepip out of python3 and puts it into a package of its own.
look_for_venv() {
    [ -x .venv/bin/python ] && return
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    local version
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(readlink -f "$(command -v "$python")")" != "/usr/bin/python$version" ]; then
        say "$python has no ensurepip module; name another one: make PYTHON=/path/to/python3"
        exit 1
    fi
    required+=("python$version-venv")
}

look() {
    required=()
    optional=()
    has cc || required+=(gcc libc6-dev)
    look_for_venv
    local bed=() browser=()
    has ip && has tc || bed+=(iproute2)
    has unshare && has nsenter || bed+=(util-linux)
    has nft || bed+=(nftables)
    case $purpose in
    demo) required+=("${bed[@]}") ;;
    test)
        has mgen || bed+=(mgen)
        has tshark || bed+=(tshark)
        has curl || bed+=(curl)
        has ping || bed+=(iputils-ping)
        has iptables || bed+=(iptables)
        has pasta || bed+=(passt)
        has qemu-system-x86_64 || bed+=(qemu-system-x86)
        has hostapd || bed+=(hostapd)
        has wpa_supplicant || bed+=(wpasupplicant)
        has iw || bed+=(iw)
        has ethtool || bed+=(ethtool)
        has zstd || bed+=(zstd)
        has strace || bed+=(strace)
        has busybox || bed+=(busybox)
        # Exact emulations and the bed on the virtual clock; packaged for x86-64 alone.
        [ "$(uname -m)" != x86_64 ] || has linux.uml || bed+=(user-mode-linux)
        has chromium || has chromium-browser || browser+=(chromium fonts-dejavu-core)
        optional+=("${bed[@]}" "${browser[@]}")
        ;;
    esac
    missing=("${required[@]}" "${optional[@]}")
}

# Succeeds when a privileged command needs no answer; prints sudo if it takes that.
privilege() {
    if [ "$(id -u)" -eq 0 ]; then
        return 0
    fi
    has sudo && sudo -n true 2>/dev/null && echo sudo
}

install_missing() {
    local words
    has apt-get || return 1
    words=$(privilege) || return 1
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -qq)
    [ -n "$words" ] && apt=(sudo -n "${apt[@]}")
    say "installing ${missing[*]}"
    # A failed update still leaves what the old package lists know.
    "${apt[@]}" update >/dev/null || true
    "${apt[@]}" install --no-install-recommends -y "${missing[@]}" </dev/null >/dev/null
}

case $purpose in
build | demo | test) ;;
*)
    say "usage: scripts/ensure-system.sh build|demo|test"
    exit 2
    ;;
esac
if ! has cargo; then
    say "needs Rust (cargo) and found none on PATH; install it with rustup, then call make again"
    exit 1
fi

look
[ ${#missing[@]} -eq 0 ] && exit 0
install_missing || true
look
[ ${#missing[@]} -eq 0 ] && exit 0
say "missing: ${missing[*]}; install with:"
say "    sudo apt-get update && sudo apt-get install --no-install-recommends -y ${missing[*]}"
[ ${#required[@]} -eq 0 ] || exit 1
say "going on; the tests that need these are skipped"
