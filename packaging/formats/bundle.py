"""The bundle: one file with rtrain, LibTorch and Arrow. packaging/bundle/run.cpp, its first part, unpacks the rest."""

import hashlib
import pathlib
import struct
import subprocess
import tempfile

import archive

MAGIC = b"rtrain-bundle-1\n"
MAKE_RUN = pathlib.Path(__file__).resolve().parents[1] / "bundle" / "make_run"
# Compresses 537 MB to 114 MB in ten seconds on one core; -19 takes minutes.
ZSTD = ["zstd", "--quiet", "--force", "-12", "--long=27", "-T2"]


def packed(files, folder):
    """(compressed bytes, uncompressed size) of [(name, path)]: for each file "MODE SIZE NAME" as a line, its bytes."""
    plain, total = folder / "plain", 0
    with open(plain, "wb") as out:
        for name, path in files:
            data = path.read_bytes()
            if "\n" in name:
                raise ValueError(f"{name!r}: a bundle has names without line breaks")
            out.write(f"{archive.mode_of(path):o} {len(data)} {name}\n".encode() + data)
            total += len(data)
        out.write(b"\n")
    subprocess.run([*ZSTD, plain, "-o", folder / "packed"], check=True)
    return (folder / "packed").read_bytes(), total


def write(folder, out, version):
    with tempfile.TemporaryDirectory(dir=out) as work:
        work = pathlib.Path(work)
        subprocess.run([MAKE_RUN, work / "run"], check=True)
        begin = (work / "run").read_bytes()
        data, size = packed(archive.files_below(folder), work)
    target = out / f"rtrain-{version}-{archive.half(folder)}.run"
    target.write_bytes(
        begin + data + struct.pack("<QQQ", len(begin), len(data), size) + hashlib.sha256(data).digest() + MAGIC
    )
    target.chmod(0o755)
    return target
