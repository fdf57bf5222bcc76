"""What the virtual machine boots: an uncompressed kernel, and a file system with its modules."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import stat
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from peers.install import BUILD, UnavailableError, apt_install, checked
from wifi_vm.packages import FIRST_WITH_TXQS, KernelPackage, kernels, package, unpack

WANTED = "AIRQUEUE_WIFI_VM_TXQS"
"""Environment variable: 1 for a kernel with TXQs, 0 for one without; else the newest one."""
CACHE = BUILD.parent / "wifi-vm"
MODULES = (
    # The host's files, and the devices behind which they are.
    "virtio_pci 9p 9pnet_virtio",
    "mac80211_hwsim ccm gcm cmac ctr michael_mic",
    "e1000 veth",
)
INIT = """#!/bin/busybox sh
export PATH=/bin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in virtio_pci 9pnet_virtio 9p; do modprobe $module; done
files=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o $files,ro,cache=loose host /host || echo "no files of the host"
mount -t proc proc /host/proc
mount -t sysfs sys /host/sys
mount -t debugfs debug /host/sys/kernel/debug
mount -t devtmpfs dev /host/dev
for folder in run tmp mnt; do mount -t tmpfs tmp /host/$folder; done
mkdir -p /host/mnt/share
mount -t 9p -o $files share /host/mnt/share || echo "no folder to share"
modprobe e1000
ip link set lo up
chroot /host /bin/bash /mnt/share/first
sync
poweroff -f
"""


def wanted() -> bool | None:
    """Return whether the kernel is to have TXQs, as whoever runs the tests says."""
    return {"": None, "0": False, "1": True}[os.environ.get(WANTED, "")]


@dataclass(frozen=True)
class Image:
    """Files to boot."""

    kernel: Path
    files: Path
    release: str
    version: tuple[int, int]

    @property
    def has_txqs(self) -> bool:
        """Whether hwsim has mac80211's TXQs in this kernel."""
        return self.version >= FIRST_WITH_TXQS


def build(*, txqs: bool | None = None) -> Image:
    """The image of the newest kernel, of one with TXQs or of one without.

    It is made once, then taken from the cache.
    Raises UnavailableError with the reason if it cannot be had.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    for kernel in kernels(CACHE):
        has_txqs = kernel.version >= FIRST_WITH_TXQS
        if txqs is None or txqs == has_txqs:
            return _made(kernel)
    kind = "with" if txqs else "without"
    raise UnavailableError(f"neither this Debian nor its backports have a kernel {kind} TXQs")


def _made(kernel: KernelPackage) -> Image:
    maker = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    folder = CACHE / f"{kernel.name}-{maker}"
    if not folder.exists():
        # Under another name until it is whole: whoever is interrupted leaves nothing half made.
        begun = Path(f"{folder}.{os.getpid()}")
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir()
        _make(kernel, begun)
        try:
            begun.replace(folder)
        except OSError:
            # Another process has made the same meanwhile.
            shutil.rmtree(begun)
            if not folder.exists():
                raise
    release = (folder / "release").read_text("ascii")
    return Image(folder / "vmlinux", folder / "initrd", release, kernel.version)


def _make(kernel_package: KernelPackage, folder: Path) -> None:
    if shutil.which("zstd") is None:
        apt_install("zstd")
    kernel = unpack(kernel_package, folder / "kernel")
    busybox = unpack(package("busybox-static", CACHE), folder / "busybox") / "bin/busybox"
    (compressed,) = kernel.glob("boot/vmlinuz-*")
    (folder / "vmlinux").write_bytes(uncompressed(compressed.read_bytes(), folder))
    # Newer packages have their modules below /usr.
    (source,) = [*kernel.glob("lib/modules/*"), *kernel.glob("usr/lib/modules/*")]
    root = folder / "root"
    _lay_out(root, busybox)
    _copy_modules(source, root / "lib/modules" / source.name)
    checked(
        [str(busybox), "depmod", "-b", str(root.absolute()), source.name], "the list of modules"
    )
    (folder / "initrd").write_bytes(archive(root))
    (folder / "release").write_text(source.name, "ascii")
    for each in ("kernel", "busybox", "root"):
        shutil.rmtree(folder / each)


def uncompressed(image: bytes, folder: Path) -> bytes:
    """The ELF file within a bzImage (Documentation/x86/boot.rst), which boots without unpacking."""
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (setup_sectors + 1) * 512 + offset
    payload = image[begin : begin + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        # The length of the kernel stands behind the data.
        packed, plain = folder / "payload.zst", folder / "payload"
        packed.write_bytes(payload[:-4])
        checked(["zstd", "-qdf", str(packed), "-o", str(plain)], "unpacking the kernel")
        found = plain.read_bytes()
        packed.unlink()
        plain.unlink()
        return found
    raise UnavailableError(f"the kernel is packed in an unknown way, {payload[:4].hex()}")


def _lay_out(root: Path, busybox: Path) -> None:
    for name in ("bin", "sbin", "proc", "sys", "dev", "host"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    for name in ("sh", "mount", "modprobe", "ip", "chroot", "mkdir", "sync", "poweroff", "echo"):
        (root / "bin" / name).symlink_to("busybox")
    # The kernel itself asks for modules of its cryptography by this name.
    (root / "sbin/modprobe").symlink_to("/bin/busybox")
    (root / "init").write_text(INIT, "ascii")
    (root / "init").chmod(0o755)


def _copy_modules(source: Path, target: Path) -> None:
    """Copy the modules and all that they need, uncompressed: busybox loads plain ones."""
    paths = {
        re.sub(r"\.ko(\.xz)?$", "", path.name).replace("-", "_"): path
        for path in source.rglob("*.ko*")
    }
    left = [name for line in MODULES for name in line.split()]
    left += [name for name in paths if re.match(r"(sch|cls|act)_", name)]
    done: set[str] = set()
    while left:
        name = left.pop().replace("-", "_")
        # What is no module is part of the kernel.
        if name in done or name not in paths:
            continue
        done.add(name)
        path = paths[name]
        content = path.read_bytes()
        if path.suffix == ".xz":
            content = lzma.decompress(content)
        to = target / path.relative_to(source).with_name(path.name.removesuffix(".xz"))
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
        for needed in re.findall(rb"\0(?:depends|softdep)=(?:pre: )?([^\0]*)\0", content):
            left += re.split(r"[, ]+", needed.decode())
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        if (source / name).exists():
            shutil.copy(source / name, target / name)


def archive(root: Path) -> bytes:
    """A folder as the kernel reads it at its start: cpio in the format newc."""
    entries = sorted(root.rglob("*"))
    parts = [
        entry for number, path in enumerate(entries, 1) for entry in _entry(root, path, number)
    ]
    return b"".join([*parts, *_record("TRAILER!!!", 0, 0, b"")])


def _entry(root: Path, path: Path, number: int) -> Iterable[bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        content = str(path.readlink()).encode()
    else:
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
    return _record(str(path.relative_to(root)), mode, number, content)


def _record(name: str, mode: int, number: int, content: bytes) -> Iterable[bytes]:
    named = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(named), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + named
    return head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)
