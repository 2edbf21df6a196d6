#!/usr/bin/env python3
"""Packs a staged folder: packaging/formats/pack.py FOLDER OUT VERSION KIND… prints the files that it wrote.

FOLDER has bin/, lib/ and share/ as below a prefix, and gets the documents rtrain.spdx.json and rtrain.cdx.json of
the package's contents in share/doc/rtrain. KIND: wheel, deb, tarball, bundle, image, apptainer.
$SOURCE_DATE_EPOCH is the time of every file.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
import apptainer
import archive
import bundle
import cyclonedx
import deb
import image
import notice
import spdx
import tarball
import wheel

WRITERS = {
    "wheel": wheel.write,
    "deb": deb.write,
    "tarball": tarball.write,
    "bundle": bundle.write,
    "image": image.write,
    "apptainer": apptainer.write,
}


def write_documents(folder, version, more):
    """Writes the documents of the folder and of `more`: [(name, path)] of a package's own files."""
    documents = {kind: folder / f"share/doc/rtrain/rtrain.{kind.SUFFIX}" for kind in (spdx, cyclonedx)}
    for path in documents.values():
        path.unlink(missing_ok=True)  # that of another package
    files = sorted([*archive.files_below(folder), *more])
    libraries = notice.inside(folder)
    texts = {path: kind.document(files, libraries, version) for kind, path in documents.items()}
    for path, text in texts.items():
        path.write_text(text)


def main():
    folder, out, version, *kinds = sys.argv[1:]
    folder, out = pathlib.Path(folder), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    written = None
    for kind in kinds:
        more = wheel.own_files() if kind == "wheel" else []
        if more != written:
            write_documents(folder, version, more)
            written = more
        print(WRITERS[kind](folder, out, version))


if __name__ == "__main__":
    main()
