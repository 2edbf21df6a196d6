"""The wheel: pip puts the executable among the scripts of an environment, libstdc++ where rtrain searches it, and the Jupyter
kernel among the packages."""

import base64
import hashlib
import pathlib

import archive
import libtorch

TAG = "py3-none-manylinux_2_28_x86_64"
METADATA = """Metadata-Version: 2.4
Name: rtrain
Version: {version}
Summary: Distributed training of PyTorch models in one executable, scripted in Lua
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICE
Requires-Python: >=3.9
Requires-Dist: {torch}
Provides-Extra: data
Requires-Dist: pyarrow>=26.0,<26.1; extra == "data"
Provides-Extra: jupyter
Requires-Dist: ipykernel>=7.0,<8; extra == "jupyter"
Description-Content-Type: text/markdown

{readme}"""
ENTRY_POINTS = "[console_scripts]\nrtrain-jupyter = rtrain_jupyter.install:main\n"
JUPYTER = pathlib.Path(__file__).resolve().parents[2] / "jupyter"
WHEEL = f"Wheel-Version: 1.0\nGenerator: packaging/build\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def record(files, name):
    rows = []
    for path, source in files:
        data = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}")
    return ("\n".join([*rows, f"{name},,"]) + "\n").encode()


def place_of(name, data, info):
    """Where a file of the staged folder is in the wheel."""
    if name.startswith("bin/"):
        return f"{data}/scripts/{name[4:]}"
    if name in ("share/doc/rtrain/LICENSE", "share/doc/rtrain/NOTICE"):
        return f"{info}/licenses/{name[17:]}"
    return f"{data}/data/{name}"


def own_files():
    """[(name, path)] of the files that only the wheel has: the Jupyter kernel."""
    return [(path.relative_to(JUPYTER).as_posix(), path) for path in sorted(JUPYTER.glob("rtrain_jupyter/*.py"))]


def write(folder, out, version):
    info, data = f"rtrain-{version}.dist-info", f"rtrain-{version}.data"
    staged = archive.files_below(folder)
    files = sorted(((place_of(name, data, info), path) for name, path in staged), key=lambda row: row[0])
    readme = (pathlib.Path(folder) / "share/doc/rtrain/README.md").read_text()
    files += [
        (f"{info}/METADATA", METADATA.format(version=version, torch=libtorch.requirement(), readme=readme).encode()),
        (f"{info}/WHEEL", WHEEL.encode()),
        (f"{info}/entry_points.txt", ENTRY_POINTS.encode()),
    ]
    files += own_files()
    documents = [path for name, path in staged if name.endswith((".spdx.json", ".cdx.json"))]
    files += [(f"{info}/sboms/{path.name}", path) for path in documents]
    files.append((f"{info}/RECORD", record(files, f"{info}/RECORD")))
    target = out / f"rtrain-{version}-{TAG}.whl"
    archive.write_zip(target, files)
    return target
