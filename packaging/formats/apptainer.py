"""The definition from which Apptainer makes a .sif file, based on the container image next to it."""

import image

DEFINITION = """Bootstrap: oci-archive
From: rtrain-{version}-cpu.oci.tar

%help
    rtrain {version}: distributed training of PyTorch models, scripted in Lua.
    apptainer run rtrain.sif run train.lua

    For GPUs: From: rtrain-{version}-cuda.oci.tar, and apptainer run --nv.

%runscript
    exec /{place}/bin/rtrain "$@"

%test
    /{place}/bin/rtrain --version
"""


def write(folder, out, version):
    target = out / f"rtrain-{version}.def"
    target.write_text(DEFINITION.format(version=version, place=image.PLACE))
    return target
