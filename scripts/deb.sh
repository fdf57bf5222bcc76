#!/usr/bin/env bash
# The Debian package airqueued: both static programs, with the unit of systemd, manual pages and shell completion.
#
#   scripts/deb.sh OUT [TARGET]      OUT/airqueued_VERSION_ARCHITECTURE.deb; TARGET as scripts/binaries.sh has it
#
# The command `airqueue` is the wheel's: Debian's numpy is older than the command takes.
set -euo pipefail

out=${1:?usage: scripts/deb.sh OUT [TARGET]}
target=${2:-$(uname -m)-unknown-linux-musl}
here=$(dirname "$0")
built=${CARGO_TARGET_DIR:-target}/binaries

case $target in
x86_64-*) architecture=amd64 ;;
aarch64-*) architecture=arm64 ;;
armv7-*) architecture=armhf ;;
*)
    echo "airqueue: Debian has no name here for $target; take one of scripts/binaries.sh" >&2
    exit 1
    ;;
esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
"$here/binaries.sh" "$built" "$target"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
share=$stage/usr/share
install -D -m 755 -t "$stage/usr/bin" "$built/$target/"{airqueued,airqueue-endpoint}
install -D -m 644 -t "$stage/usr/lib/systemd/system" packaging/systemd/airqueued.service
install -D -m 644 -t "$share/doc/airqueued" docs/{apply,service,control-points}.md packaging/debian/copyright
gzip -9n <CHANGELOG.md >"$share/doc/airqueued/changelog.gz"
cargo run --quiet --locked -p airqueue-manual -- "$share"
gzip -9n "$share"/man/man1/*.1
mv "$share/zsh/site-functions" "$share/zsh/vendor-completions" # where Debian's zsh looks
# A umask of the builder must not decide who reads the files.
chmod -R u=rwX,go=rX "$stage"

install -D -m 755 -t "$stage/DEBIAN" packaging/debian/{postinst,prerm,postrm}
(cd "$stage" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
{
    echo "Package: airqueued"
    echo "Version: $version"
    echo "Architecture: $architecture"
    echo "Installed-Size: $(du -sk "$stage/usr" | cut -f 1)"
    cat packaging/debian/control
} >"$stage/DEBIAN/control"
chmod 644 "$stage"/DEBIAN/{control,md5sums}
mkdir -p "$out"
package=$out/airqueued_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$stage" "$package" >/dev/null
echo "airqueue: $package, $(($(stat -c %s "$package") / 1000)) kB"
