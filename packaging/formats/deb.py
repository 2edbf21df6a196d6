"""The Debian package: the staged folder below /usr."""

import hashlib

import archive
import libtorch

CONTROL = """Package: rtrain
Version: {version}
Architecture: amd64
Maintainer: the rtrain authors
Installed-Size: {size}
Depends: libc6 (>= 2.28), libgcc-s1 (>= 3.4)
Section: science
Priority: optional
Description: distributed training of PyTorch models, scripted in Lua
 One executable: controller, run store, command line and Lua modules. It looks for LibTorch
 {libtorch} in Python environments and in the folder that RTRAIN_LIBTORCH names; `rtrain env` says where.
"""


def place_of(name):
    return "usr/share/doc/rtrain/copyright" if name == "share/doc/rtrain/NOTICE" else f"usr/{name}"


def write(folder, out, version):
    files = sorted(((place_of(name), path) for name, path in archive.files_below(folder)), key=lambda row: row[0])
    size = sum(path.stat().st_size for _, path in files) // 1024 + 1
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {name}\n" for name, path in files)
    control = archive.tar(
        [
            ("control", CONTROL.format(version=version, size=size, libtorch=libtorch.sentence()).encode()),
            ("md5sums", sums.encode()),
        ]
    )
    target = out / f"rtrain_{version}_amd64.deb"
    target.write_bytes(
        archive.ar(
            [
                ("debian-binary", b"2.0\n"),
                ("control.tar.xz", archive.xz(control)),
                ("data.tar.xz", archive.xz(archive.tar(files))),
            ]
        )
    )
    return target
