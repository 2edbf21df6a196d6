"""The driver and the GPUs that tests/fake_nvidia simulates, and a LibTorch to go with them."""

import pathlib

import pytest

from conftest import RTRAIN

FAKE_DRIVER = pathlib.Path(RTRAIN).parent / "tests" / "fake_nvidia"
GPU_LIBRARY = FAKE_DRIVER / "libfake_gpu.so"


def uuid(device):
    return f"GPU-abababab-abab-abab-abab-ababababab{device:02x}"


def simulate_driver(rtrain, devices, **env):
    if not GPU_LIBRARY.exists():
        pytest.skip("built without the CUDA toolkit")
    rtrain.env.update(LD_LIBRARY_PATH=str(FAKE_DRIVER), FAKE_CUDA_DEVICES=str(devices), **env)


def simulate_gpus(rtrain, devices, **env):
    """Simulates GPUs: tensors are stored and copied, NCCL's collectives reduce, most kernels do nothing
    (tests/README.md)."""
    if not (pathlib.Path(rtrain.json("env")["libtorch"]["path"]) / "libtorch_cuda.so").exists():
        pytest.skip("LibTorch is without its CUDA library: scripts/setup --oracle or --gpu brings it")
    # cuBLASLt is not simulated, so LibTorch is made to use the matrix products of cuBLAS, which are.
    simulate_driver(rtrain, devices, LD_PRELOAD=str(GPU_LIBRARY), DISABLE_ADDMM_CUDA_LT="1", **env)


def use_libtorch(rtrain, cuda_library):
    """Gives a test its own LibTorch with `cuda_library` as the text of libtorch_cuda.so (None: no file); returns its
    folder."""
    original = pathlib.Path(rtrain.json("env")["libtorch"]["path"])
    lib = rtrain.folder / "libtorch" / "torch" / "lib"
    lib.mkdir(parents=True)
    (lib.parent.parent / "nvidia").symlink_to(original.parent.parent / "nvidia")
    (lib.parent / "version.py").write_text((original.parent / "version.py").read_text())
    for file in original.glob("lib*.so*"):
        if file.name != "libtorch_cuda.so":
            (lib / file.name).symlink_to(file)
    if cuda_library is not None:
        (lib / "libtorch_cuda.so").write_text(cuda_library)
    rtrain.env["RTRAIN_LIBTORCH"] = str(lib.parent.parent)
    return lib
