#!/usr/bin/env bash
# Static binaries for machines without Python, such as routers: airqueued and airqueue-endpoint, in OUT/TARGET/.
#
#   scripts/binaries.sh OUT [TARGET...]
#
# Each is stripped, below 2 MB, and is run once: under qemu-user if the processor is another one. musl for x86-64
# and aarch64; for armv7 Rust's own musl target cannot be had everywhere, so that glibc is linked statically there.
set -euo pipefail

readonly LARGEST_BYTES=2000000
readonly BINARIES=(airqueued airqueue-endpoint)
declare -A LINKERS=(
    [x86_64-unknown-linux-musl]=rust-lld
    [aarch64-unknown-linux-musl]=rust-lld
    [armv7-unknown-linux-gnueabihf]=arm-linux-gnueabihf-gcc
)
declare -A EMULATORS=(
    [x86_64-unknown-linux-musl]=qemu-x86_64-static
    [aarch64-unknown-linux-musl]=qemu-aarch64-static
    [armv7-unknown-linux-gnueabihf]=qemu-arm-static
)

out=$(realpath -m "${1:?usage: scripts/binaries.sh OUT [TARGET...]}")
shift
targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl armv7-unknown-linux-gnueabihf)
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")

fail() {
    echo "airqueue: $*" >&2
    exit 1
}

# Linkers find the files of scripts/ from here.
cd "$(dirname "$0")/.."
for target in "${targets[@]}"; do
    [ -n "${LINKERS[$target]:-}" ] || fail "no target $target: ${!LINKERS[*]}"
    emulator=${EMULATORS[$target]}
    [ "${target%%-*}" != "$(uname -m)" ] || emulator=
    for tool in "${LINKERS[$target]}" $emulator; do
        [ "$tool" = rust-lld ] || command -v "$tool" >/dev/null || fail "needs $tool; Debian's packages \
gcc-arm-linux-gnueabihf, libc6-dev-armhf-cross and qemu-user-static have it"
    done
    rustup target list --installed | grep -qx "$target" || rustup target add "$target"
    flags="-C target-feature=+crt-static -C linker=${LINKERS[$target]}"
    # Rust's target has ARM's long instructions; all of ARMv7 has the short ones, too.
    [ "${target%%-*}" != armv7 ] || flags+=" -C target-feature=+thumb-mode"
    # Functions whose code is the same are one; relocations are a bit map; no tables for unwinding.
    if [ "${LINKERS[$target]}" = rust-lld ]; then
        for word in --icf=all --pack-dyn-relocs=relr -Tscripts/no-unwinding.ld --no-eh-frame-hdr; do
            flags+=" -C link-arg=$word"
        done
    fi
    upper=$(tr a-z- A-Z_ <<<"$target")
    env "CARGO_TARGET_${upper}_RUSTFLAGS=$flags" \
        cargo build --quiet --locked --profile small --target "$target" -p airqueued -p airqueue-host --bins
    mkdir -p "$out/$target"
    for binary in "${BINARIES[@]}"; do
        file=$out/$target/$binary
        install -m 755 "$built/$target/small/$binary" "$file"
        ! readelf --program-headers "$file" | grep -q INTERP || fail "$file is not static"
        size=$(stat -c %s "$file")
        [ "$size" -le "$LARGEST_BYTES" ] || fail "$file has $size bytes, more than $LARGEST_BYTES"
        said=$($emulator "$file" --version)
        printf '%-32s %-20s %9d bytes  %s\n' "$target" "$binary" "$size" "$said"
    done
done
