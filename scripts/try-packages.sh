#!/usr/bin/env bash
# Tries what scripts/dist.sh made in clean roots: the static programs in a root with nothing else in it, the Debian
# package in a bare Debian, and there as well the steps of the container file, with the wheel and its main job.
#
#   scripts/try-packages.sh OUT
#
# Needs root, debootstrap and the mirror of Debian that this machine uses. The bare Debian is kept beside OUT for
# the next time. Only packages of this machine's architecture are tried.
set -euo pipefail

out=$(realpath "${1:?usage: scripts/try-packages.sh OUT}")
here=$(realpath "$(dirname "$0")")
container=$here/../packaging/container/Containerfile
suite=$(sed -n 's,^FROM .*/debian:\([a-z]*\).*,\1,p' "$container")

fail() {
    echo "airqueue: $*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || fail "clean roots are for root: sudo scripts/try-packages.sh $out"
command -v debootstrap >/dev/null || fail "needs debootstrap; install it with: apt-get install debootstrap"
(cd "$out" && sha256sum --check --quiet SHA256SUMS) || fail "$out is not what SHA256SUMS says; call make dist"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

# Runs a program in a root, with nothing of this machine's environment.
inside() {
    local root=$1
    shift
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# A copy of the bare Debian, which is made once.
clean_root() {
    local base=$out-root-$suite
    if [ ! -e "$base/.complete" ]; then
        rm -rf --one-file-system "$base"
        debootstrap --variant=minbase "$suite" "$base" >"$work/debootstrap.log" ||
            fail "debootstrap made no $suite: $(tail -n 1 "$work/debootstrap.log")"
        touch "$base/.complete"
    fi
    rm -rf --one-file-system "$1"
    cp --archive --reflink=auto "$base" "$1"
}

try_static() {
    local archive root=$work/empty
    archive=$(ls "$out"/airqueue-static-*-"$(uname -m)"-*.tar.gz)
    mkdir "$root"
    tar --extract --gzip --file "$archive" --directory "$root"
    chroot "$root" /airqueued --version >/dev/null
    chroot "$root" /airqueue-endpoint --version >/dev/null
    chroot "$root" /airqueued apply --help >/dev/null
    echo "airqueue: $(basename "$archive"): both programs run in a root with nothing else"
}

try_deb() {
    local package root=$work/deb file
    package=$(ls "$out"/airqueued_*_"$(dpkg --print-architecture)".deb)
    clean_root "$root"
    cp "$package" "$root/package.deb"
    inside "$root" dpkg --install /package.deb >/dev/null
    inside "$root" airqueued places --json >/dev/null
    inside "$root" airqueue-endpoint --version >/dev/null
    for file in man/man1/{airqueued,airqueued-apply,airqueue-endpoint-client}.1.gz bash-completion/completions/airqueued \
        zsh/vendor-completions/_airqueue-endpoint fish/vendor_completions.d/airqueued.fish doc/airqueued/copyright; do
        # Images without manuals leave them out of every package; this root does not.
        [ -s "$root/usr/share/$file" ] || fail "$(basename "$package") has no /usr/share/$file"
    done
    [ -s "$root/usr/lib/systemd/system/airqueued.service" ] || fail "the package has no unit of systemd"
    inside "$root" bash -c '. /usr/share/bash-completion/completions/airqueued && complete -p airqueued' >/dev/null
    mkdir -p "$root/var/lib/airqueued"
    inside "$root" dpkg --verify airqueued
    inside "$root" dpkg --purge airqueued >/dev/null
    file=$(find "$root" -name '*airqueue*' -not -path "$root/proc/*" | head -n 1)
    [ -z "$file" ] || fail "the purged package leaves ${file#"$root"}"
    echo "airqueue: $(basename "$package"): installed, used and purged in a bare $suite"
}

# pip inside has the dependencies from a folder, as this machine's settings for its index are not the root's.
try_container() {
    local root=$work/container page=$work/container/work/cell.html wheel version began=$SECONDS
    wheel=$(ls "$out"/airqueue-*.whl)
    clean_root "$root"
    version=$(inside "$root" apt-cache show python3 2>/dev/null | sed -n 's/^Version: \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    "${PYTHON:-python3}" -m pip download --quiet --only-binary :all: --python-version "$version" \
        --dest "$root/wheels" "$wheel"
    rm -f "$root/wheels/$(basename "$wheel")"
    "${PYTHON:-python3}" "$here/container_steps.py" "$container" "$out" "$root" --env DEBIAN_FRONTEND=noninteractive \
        --env PIP_NO_INDEX=1 --env PIP_FIND_LINKS=/wheels -- examples saturated-cell \
        >"$root/work.toml" 2>"$work/container.log" || fail "the container file failed: $(tail -n 5 "$work/container.log")"
    # What the entry point runs, with a file of the user's: as that user, in the folder of work.
    cp "$root/work.toml" "$root/work/cell.toml"
    inside "$root" su airqueue --shell /bin/sh --command 'cd /work && /opt/airqueue/bin/airqueue simulate cell.toml \
        --set duration=1s --set warm_up=0s --replications 2 --report cell.html' >"$work/said"
    grep -q upload10 "$work/said" && grep -q '</svg>' "$page" || fail "the container's airqueue simulated nothing"
    echo "airqueue: container file: its steps carried out in a bare $suite in $((SECONDS - began)) s, and the main job run"
}

try_static
try_deb
try_container
