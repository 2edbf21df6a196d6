"""The tarball: the staged folder in one of that name. It runs where it is unpacked."""

import archive


def write(folder, out, version):
    name = f"rtrain-{version}-linux-x86_64"
    target = out / f"{name}.tar.gz"
    target.write_bytes(archive.gz(archive.tar(archive.files_below(folder), f"{name}/")))
    return target
