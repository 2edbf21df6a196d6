"""The CycloneDX document of a package: the third-party code in it, and its files with their hashes."""

import datetime
import hashlib
import json
import uuid

import archive
import notice

SUFFIX = "cdx.json"
SPACE = uuid.UUID("5b0c0f0e-6f0a-4c11-9d53-6e0d5f3a4a10")  # of the documents' serial numbers


def purl(kind, origin, version):
    """The package's name in the form of package-url: it is how scanners find its known flaws."""
    place = "deb/debian" if kind == "debian" else "pypi"
    return f"pkg:{place}/{origin}@{version.replace(':', '%3A').replace('+', '%2B')}"


def library(name, licence, kind, origin):
    version = notice.version_of(kind, origin)
    key = purl(kind, origin, version)
    return {
        "type": "library",
        "bom-ref": f"{key}#{name}",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": key,
    }


def file_entry(name, path):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"type": "file", "bom-ref": f"file:{name}", "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def document(files, libraries, version):
    """The document of files [(name, path)] and rows of NOTICE, as text. Its serial number depends on all files, which
    distinguishes documents of a version."""
    files = [file_entry(name, path) for name, path in files]
    libraries = [library(*row) for row in libraries]
    made = datetime.datetime.fromtimestamp(archive.epoch(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    own = {
        "type": "application",
        "bom-ref": "rtrain",
        "name": "rtrain",
        "version": version,
        "licenses": [{"expression": "Apache-2.0"}],
        "purl": f"pkg:generic/rtrain@{version}",
    }
    text = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(SPACE, json.dumps(files))}",
        "version": 1,
        "metadata": {
            "timestamp": made,
            "tools": {"components": [{"type": "application", "name": "packaging/build"}]},
            "component": own,
        },
        "components": [*libraries, *files],
        "dependencies": [{"ref": "rtrain", "dependsOn": [entry["bom-ref"] for entry in libraries]}],
    }
    return json.dumps(text, indent=1) + "\n"
