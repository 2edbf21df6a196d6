"""The container image: an OCI layout in one tar archive. A base of Debian's packages, and the staged folder in /opt/rtrain."""

import datetime
import hashlib
import json
import pathlib
import subprocess
import tempfile

import archive

PLACE = "opt/rtrain"
# Besides rtrain a run needs the C library, and certificates for object stores. The only documentation kept is licences.
BASE = [
    "mmdebstrap",
    "--quiet",
    "--variant=essential",
    "--include=ca-certificates",
    "--format=tar",
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    "bookworm",
]
TYPE = "application/vnd.oci.image."


class Layout:
    """The files of the archive. A blob is named after its hash."""

    def __init__(self):
        self.files = [("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')]

    def add(self, kind, data):
        """Adds the bytes, or a value as JSON; returns the descriptor."""
        data = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        self.files.append((f"blobs/sha256/{digest}", data))
        return {"mediaType": TYPE + kind, "digest": f"sha256:{digest}", "size": len(data)}

    def add_layer(self, tar):
        """(descriptor, hash of the tar archive itself)"""
        return self.add("layer.v1.tar+gzip", archive.gz(tar)), f"sha256:{hashlib.sha256(tar).hexdigest()}"


def base(out):
    """The bytes of the base's tar archive, which depend only on $SOURCE_DATE_EPOCH and the mirror's packages."""
    with tempfile.TemporaryDirectory(dir=out) as work:
        target = pathlib.Path(work, "base.tar")
        subprocess.run([*BASE, target], check=True)
        return target.read_bytes()


def config(version, layers):
    made = datetime.datetime.fromtimestamp(archive.epoch(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"title": "rtrain", "version": version, "licenses": "Apache-2.0", "created": made}
    return {
        "created": made,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": [f"/{PLACE}/bin/rtrain"],
            "Cmd": ["--help"],
            "WorkingDir": "/job",
            "Env": [f"PATH=/{PLACE}/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"],
            "Labels": {f"org.opencontainers.image.{key}": value for key, value in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": layers},
        "history": [{"created": made, "created_by": "packaging/build image"} for _ in layers],
    }


def write(folder, out, version):
    layout, tag = Layout(), f"{version}-{archive.half(folder)}"
    files = [(f"{PLACE}/{name}", path) for name, path in archive.files_below(folder)]
    layers = [layout.add_layer(tar) for tar in (base(out), archive.tar(files))]
    manifest = {
        "schemaVersion": 2,
        "mediaType": TYPE + "manifest.v1+json",
        "config": layout.add("config.v1+json", config(version, [diff for _, diff in layers])),
        "layers": [layer for layer, _ in layers],
    }
    entry = {**layout.add("manifest.v1+json", manifest), "annotations": {"org.opencontainers.image.ref.name": tag}}
    layout.files.append(("index.json", json.dumps({"schemaVersion": 2, "manifests": [entry]}, sort_keys=True).encode()))
    target = out / f"rtrain-{tag}.oci.tar"
    target.write_bytes(archive.tar(layout.files))
    return target
