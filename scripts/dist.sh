#!/usr/bin/env bash
# Everything that is handed out, in OUT with SHA256SUMS: the source distribution, and made of its unpacked files the
# wheel, the wheel of airqueue-papers, the static programs and the Debian packages. Each is tried (scripts/try-wheel.sh,
# scripts/try-packages.sh, the latter as root alone).
#
#   scripts/dist.sh OUT
#
# PYTHON is an interpreter with airqueue in it, maturin and hatchling.
set -euo pipefail

out=$(realpath -m "${1:?usage: scripts/dist.sh OUT}")
export CARGO_TARGET_DIR
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
readonly TARGETS=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl armv7-unknown-linux-gnueabihf)

say() { printf 'airqueue: %s\n' "$*"; }

rm -rf "$out"
mkdir -p "$out"
said=$(maturin sdist --out "$out" 2>&1) || {
    say "maturin made no source distribution: $said" >&2
    exit 1
}
sdist=$(ls "$out"/airqueue-*.tar.gz)
name=$(basename "$sdist" .tar.gz)
# From here on the unpacked files alone are read: what they lack would be missed. A file that is as it was the last time keeps
# that time, all others get the present one: by these times cargo knows what is to be compiled again.
unpacked=$CARGO_TARGET_DIR/dist-source
rm -rf "$unpacked.new"
mkdir -p "$unpacked.new"
tar --extract --touch --gzip --file "$sdist" --directory "$unpacked.new"
(cd "$unpacked.new/$name" && find . -type f -print0) | while IFS= read -r -d '' file; do
    new=$unpacked.new/$name/$file old=$unpacked/$name/$file
    ! cmp --silent "$old" "$new" || touch --reference "$old" "$new"
    # maturin leaves no file executable.
    [ ! -x "$file" ] || chmod 755 "$new"
done
rm -rf "$unpacked"
mv "$unpacked.new" "$unpacked"
tar --create --gzip --owner root:0 --group root:0 --sort name --file "$sdist" --directory "$unpacked" "$name"
say "$sdist, $(($(stat -c %s "$sdist") / 1000)) kB"
cd "$unpacked/$name"

scripts/wheel.sh "$out"
"$PYTHON" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$out" ./papers

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
binaries=$CARGO_TARGET_DIR/binaries
for target in "${TARGETS[@]}"; do
    scripts/deb.sh "$out" "$target"
    tar --create --gzip --owner root:0 --group root:0 --file "$out/airqueue-static-$version-$target.tar.gz" \
        --directory "$binaries/$target" airqueued airqueue-endpoint --directory "$PWD" LICENSE-MIT LICENSE-APACHE
done
(cd "$out" && sha256sum -- * >SHA256SUMS)

if [ "$(id -u)" -eq 0 ]; then
    scripts/try-packages.sh "$out"
else
    say "clean roots are for root: sudo scripts/try-packages.sh $out"
fi
(cd "$out" && ls -l)
