"""Reproducible archives: their bytes depend only on their contents: sorted names, one time, no owner."""

import gzip
import io
import lzma
import os
import pathlib
import tarfile
import zipfile


def epoch():
    """The time of every file in an archive: $SOURCE_DATE_EPOCH."""
    return int(os.environ["SOURCE_DATE_EPOCH"])


def mode_of(path):
    return 0o755 if os.access(path, os.X_OK) else 0o644


def files_below(folder):
    """[(name relative to the folder, path)] of all files, in the order of their names."""
    folder = pathlib.Path(folder)
    return sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())


def half(folder):
    """Returns which LibTorch a staged folder contains: 'cuda' with its CUDA half, else 'cpu'."""
    return "cuda" if pathlib.Path(folder, "bin/lib/torch/lib/libtorch_cuda.so").exists() else "cpu"


def folders_of(names):
    """Every folder above these names, parents first."""
    return sorted({str(parent) for name in names for parent in pathlib.PurePosixPath(name).parents} - {"."})


def tar(files, prefix=""):
    """The bytes of a tar archive of [(name, path or bytes)]; its folders are in it too."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:

        def add(name, mode, kind, data=b""):
            info = tarfile.TarInfo(prefix + name)
            info.mode, info.type, info.size, info.mtime = mode, kind, len(data), epoch()
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(data))

        for folder in folders_of(prefix + name for name, _ in files):
            info = tarfile.TarInfo(folder)
            info.mode, info.type, info.mtime, info.uname, info.gname = 0o755, tarfile.DIRTYPE, epoch(), "root", "root"
            archive.addfile(info)
        for name, source in files:
            if isinstance(source, bytes):
                add(name, 0o644, tarfile.REGTYPE, source)
            else:
                add(name, mode_of(source), tarfile.REGTYPE, pathlib.Path(source).read_bytes())
    return out.getvalue()


def gz(data):
    return gzip.compress(data, compresslevel=9, mtime=0)


def xz(data):
    return lzma.compress(data, preset=6)


def ar(members):
    """The bytes of an ar archive of [(name, bytes)]."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{epoch():<12}{0:<6}{0:<6}{0o100644:<8o}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return out


def write_zip(target, files):
    """Writes a zip archive of [(name, path or bytes)] in this order."""
    import time

    date = max(time.gmtime(epoch())[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, source in files:
            info = zipfile.ZipInfo(name, date)
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            is_bytes = isinstance(source, bytes)
            info.external_attr = (0o100000 | (0o644 if is_bytes else mode_of(source))) << 16
            archive.writestr(info, source if is_bytes else pathlib.Path(source).read_bytes())
