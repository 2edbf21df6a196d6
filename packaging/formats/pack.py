#!/usr/bin/env python3
"""Packs a staged folder: packaging/formats/pack.py FOLDER OUT VERSION KIND… prints the files that it wrote.

FOLDER has bin/, lib/ and share/ as below a prefix, and gets the documents rtrain.spdx.json and rtrain.cdx.json of
its contents in share/doc/rtrain. KIND: wheel, deb, tarball, bundle, image, apptainer.
$SOURCE_DATE_EPOCH is the time of every file.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
import apptainer
import bundle
import cyclonedx
import deb
import image
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


def main():
    folder, out, version, *kinds = sys.argv[1:]
    folder, out = pathlib.Path(folder), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    documents = folder / "share/doc/rtrain"
    for kind in (spdx, cyclonedx):
        (documents / f"rtrain.{kind.SUFFIX}").unlink(missing_ok=True)  # those of an earlier call
    texts = {kind.SUFFIX: kind.document(folder, version) for kind in (spdx, cyclonedx)}
    for suffix, text in texts.items():
        (documents / f"rtrain.{suffix}").write_text(text)
    for kind in kinds:
        print(WRITERS[kind](folder, out, version))


if __name__ == "__main__":
    main()
