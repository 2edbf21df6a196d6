"""The SPDX document of a package: its files with their hashes, and the third-party code in them."""

import datetime
import hashlib
import json
import re

import archive
import notice

SUFFIX = "spdx.json"


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name)


def package(name, version, licence, **more):
    return {
        "SPDXID": identifier(f"Package-{name}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        **more,
    }


def file_entry(number, name, path):
    """The number distinguishes names that differ only in characters that an identifier cannot have."""
    data = path.read_bytes()
    checksums = [
        {"algorithm": kind, "checksumValue": hashlib.new(kind.lower(), data).hexdigest()} for kind in ("SHA1", "SHA256")
    ]
    return {
        "SPDXID": identifier(f"File-{number}-{name}"),
        "fileName": f"./{name}",
        "checksums": checksums,
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def document(files, libraries, version):
    """The document of files [(name, path)] and rows of NOTICE, as text. Its namespace has the hash of all files, which
    distinguishes documents of a version."""
    files = [file_entry(number, *row) for number, row in enumerate(files)]
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    code = hashlib.sha1("".join(sorted(entry["checksums"][0]["checksumValue"] for entry in files)).encode()).hexdigest()
    own = package(
        "rtrain",
        version,
        "Apache-2.0",
        filesAnalyzed=True,
        packageVerificationCode={"packageVerificationCodeValue": code},
    )
    parts = [
        package(name, notice.version_of(kind, origin), licence, filesAnalyzed=False, comment=f"{kind}: {origin}")
        for name, licence, kind, origin in libraries
    ]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", entry["SPDXID"]) for entry in [*files, *parts]]
    made = datetime.datetime.fromtimestamp(archive.epoch(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        json.dumps(
            {
                "spdxVersion": "SPDX-2.3",
                "dataLicense": "CC0-1.0",
                "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"rtrain-{version}",
                "documentNamespace": f"urn:rtrain:{version}:{digest}",
                "creationInfo": {"created": made, "creators": ["Tool: packaging/build"]},
                "packages": [own, *parts],
                "files": files,
                "relationships": [
                    {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                    for one, kind, other in relations
                ],
            },
            indent=1,
        )
        + "\n"
    )
