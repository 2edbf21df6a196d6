"""packaging/formats packs a folder: the bytes are reproducible, and pip and dpkg accept the files. packaging/check
tests the rest."""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import SOURCE, nightly

pytestmark = nightly

KINDS = ["wheel", "deb", "tarball"]
VERSION = "1.2.3"


def stage(folder, order):
    """Makes a folder like that of packaging/build, with its files written in the given order."""
    files = {
        "bin/rtrain": '#!/bin/sh\necho packed "$@"\n',
        "lib/rtrain/libstdc++.so.6": "a library",
        **{
            f"share/doc/rtrain/{name}": f"the file {name}\n"
            for name in ("LICENSE", "NOTICE", "CHANGELOG.md", "README.md")
        },
        "share/man/man1/rtrain.1": ".TH RTRAIN\n",
    }
    for name in sorted(files, reverse=order):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name])
        path.chmod(0o700 if name == "bin/rtrain" else 0o600)
    return folder


def pack(folder, out, *kinds, path=()):
    env = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "1700000001",
        "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]),
    }
    done = subprocess.run(
        [SOURCE / "packaging" / "formats" / "pack.py", folder, out, VERSION, *(kinds or KINDS)],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def packed(tmp_path):
    stage(tmp_path / "stage", False)
    return dict(zip(KINDS, pack(tmp_path / "stage", tmp_path / "out")))


def test_the_same_files_give_the_same_bytes(tmp_path):
    one = pack(stage(tmp_path / "one", False), tmp_path / "first")
    other = pack(stage(tmp_path / "another", True), tmp_path / "second")
    assert len(one) == 3
    for first, second in zip(one, other):
        assert open(first, "rb").read() == open(second, "rb").read(), first


def test_pip_installs_the_executable_as_a_script(packed, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [tmp_path / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "install", "--no-index", "--no-deps", packed["wheel"]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([tmp_path / "venv" / "bin" / "rtrain", "a"], capture_output=True, text=True)
    assert ran.stdout == "packed a\n"
    assert (tmp_path / "venv" / "lib" / "rtrain" / "libstdc++.so.6").exists()
    command = [tmp_path / "venv" / "bin" / "rtrain-jupyter", "install"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1 and "pip install 'rtrain[jupyter]'" in refused.stderr
    shown = subprocess.run([*pip, "show", "-f", "rtrain"], capture_output=True, text=True).stdout
    assert f"Version: {VERSION}" in shown and "Requires: torch" in shown and "licenses/NOTICE" in shown
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True)
    assert "rtrain 1.2.3 requires torch" in checked.stdout


def test_pip_is_asked_for_a_torch_that_there_is_an_engine_for(packed):
    minors = {path.stem for path in (SOURCE / "packaging" / "libtorch").glob("*.txt")}
    assert len(minors) > 1
    with zipfile.ZipFile(packed["wheel"]) as wheel:
        metadata = wheel.read(f"rtrain-{VERSION}.dist-info/METADATA").decode()
    asked = re.search(r"^Requires-Dist: torch(.*)$", metadata, re.M)[1]
    code = "from pip._vendor.packaging.specifiers import SpecifierSet; import sys; asked = SpecifierSet(sys.argv[1]);"
    code += "print(*[f'2.{minor}' for minor in range(5, 40) if f'2.{minor}.1' in asked])"
    taken = subprocess.run(
        [sys.executable, "-c", code, asked], check=True, capture_output=True, text=True
    ).stdout.split()
    assert set(taken) == minors


def test_dpkg_reads_the_debian_package(packed):
    fields = subprocess.run(["dpkg-deb", "--field", packed["deb"]], check=True, capture_output=True, text=True).stdout
    assert f"Version: {VERSION}\n" in fields and "libc6 (>= 2.28)" in fields
    listing = subprocess.run(
        ["dpkg-deb", "--contents", packed["deb"]], check=True, capture_output=True, text=True
    ).stdout
    rows = {line.split()[-1]: line.split()[:2] for line in listing.splitlines()}
    assert rows["usr/bin/rtrain"] == ["-rwxr-xr-x", "root/root"]
    assert "usr/share/doc/rtrain/copyright" in rows


def test_the_tarball_runs_where_it_is_unpacked(packed, tmp_path):
    with tarfile.open(packed["tarball"]) as archive:
        archive.extractall(tmp_path / "unpacked")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert folder.name == f"rtrain-{VERSION}-linux-x86_64"
    assert subprocess.run([folder / "bin" / "rtrain"], capture_output=True, text=True).stdout == "packed\n"


def test_the_documents_of_the_wheel_list_its_own_files_too(packed):
    with zipfile.ZipFile(packed["wheel"]) as wheel:
        names = wheel.namelist()
        texts = [json.loads(wheel.read(name)) for name in names if "/sboms/" in name]
    own = {name for name in names if name.startswith("rtrain_jupyter/")}
    assert len(texts) == 2 and "rtrain_jupyter/kernel.py" in own
    for document in texts:
        listed = [
            row.get("fileName", row.get("name")).removeprefix("./")
            for row in document.get("files", document.get("components"))
        ]
        assert own <= set(listed) and len(set(listed)) == len(listed)


def test_names_that_differ_in_one_character_have_identifiers_of_their_own(tmp_path):
    folder = stage(tmp_path / "stage", False)
    for name in ("share/doc/rtrain/a-b", "share/doc/rtrain/a_b", "share/doc/rtrain/a/b"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    pack(folder, tmp_path / "out", "tarball")
    document = json.loads((folder / "share/doc/rtrain/rtrain.spdx.json").read_text())
    identifiers = [row["SPDXID"] for row in document["files"]]
    assert len(identifiers) == 10 and len(set(identifiers)) == 10


def test_the_spdx_document_lists_every_file_and_what_is_inside(packed, tmp_path):
    with tarfile.open(packed["tarball"]) as archive:
        files = {
            member.name.split("/", 1)[1]: archive.extractfile(member).read() for member in archive if member.isfile()
        }
    document = json.loads(files.pop("share/doc/rtrain/rtrain.spdx.json"))
    bom = files.pop("share/doc/rtrain/rtrain.cdx.json")
    assert document["spdxVersion"] == "SPDX-2.3" and document["creationInfo"]["created"] == "2023-11-14T22:13:21Z"
    listed = {
        row["fileName"]: {sum_["algorithm"]: sum_["checksumValue"] for sum_ in row["checksums"]}
        for row in document["files"]
    }
    assert {name: sums["SHA256"] for name, sums in listed.items()} == {
        f"./{name}": hashlib.sha256(data).hexdigest() for name, data in files.items()
    }
    packages = {row["name"]: row["licenseDeclared"] for row in document["packages"]}
    assert packages["rtrain"] == "Apache-2.0" and packages["LuaJIT"] == "MIT" and "libstdc++" in packages
    check_cyclonedx(bom.decode(), files, packages)


def check_cyclonedx(text, files, packages):
    strict = pytest.importorskip("cyclonedx.validation.json").JsonStrictValidator
    from cyclonedx.schema import SchemaVersion

    assert strict(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    parts = {kind: [row for row in document["components"] if row["type"] == kind] for kind in ("library", "file")}
    assert {row["name"]: row["hashes"][0]["content"] for row in parts["file"]} == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()
    }
    assert {row["name"] for row in parts["library"]} == set(packages) - {"rtrain"}
    assert all(row["purl"].startswith(("pkg:deb/debian/", "pkg:pypi/")) for row in parts["library"])
    assert document["metadata"]["component"]["version"] == VERSION


@pytest.fixture
def signed(packed, tmp_path):
    """A folder with packages as packaging/sign leaves it, with a key of this test."""
    out = tmp_path / "out"
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text(sums)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    public = " ".join((tmp_path / "key.pub").read_text().split()[:2])
    (tmp_path / "signers").write_text(f'ada namespaces="rtrain-release" {public}\n')
    subprocess.run([SOURCE / "packaging" / "sign", tmp_path / "key", out], check=True, capture_output=True)
    return out


def verify(folder, *options):
    return subprocess.run([SOURCE / "packaging" / "verify", folder, *options], capture_output=True, text=True)


def test_verify_names_who_has_signed_the_packages(signed, tmp_path):
    done = verify(signed, "--signers", tmp_path / "signers")
    assert (done.returncode, done.stdout) == (0, "3 packages are as ada has signed them\n"), done.stderr


def _change_package(out):
    next(out.glob("*.deb")).write_bytes(b"changed")


def _add_package(out):
    (out / "rtrain-9.9.9.whl").write_bytes(b"added")


def _change_sums(out):
    (out / "SHA256SUMS").write_text((out / "SHA256SUMS").read_text() + "0" * 64 + "  rtrain-x\n")


def _sign_with_another_key(out):
    key = out.parent / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    subprocess.run([SOURCE / "packaging" / "sign", key, out], check=True, capture_output=True)


@pytest.mark.parametrize(
    "attack, message",
    [
        (_change_package, "a package is not what ada has signed"),
        (_add_package, "rtrain-9.9.9.whl: SHA256SUMS does not name it"),
        (_change_sums, "SHA256SUMS is not what ada has signed"),
        (_sign_with_another_key, "does not name the key that made it"),
        (lambda out: (out / "SHA256SUMS.sig").unlink(), "has no SHA256SUMS.sig"),
    ],
)
def test_verify_refuses_what_was_changed(signed, tmp_path, attack, message):
    attack(signed)
    done = verify(signed, "--signers", tmp_path / "signers")
    assert done.returncode == 1 and message in done.stderr, done.stderr


@pytest.fixture
def small_base(tmp_path):
    """A folder with an mmdebstrap whose base system is one file: Debian's needs a network and minutes
    (packaging/check)."""
    with tarfile.open(tmp_path / "base.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("etc/debian_version"), None)
    program = tmp_path / "path" / "mmdebstrap"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nfor target; do :; done\ncp {tmp_path}/base.tar "$target"\n')
    program.chmod(0o755)
    return program.parent


def test_an_image_says_its_hashes_and_has_rtrain_over_the_base(tmp_path, small_base):
    (image,) = pack(stage(tmp_path / "one", False), tmp_path / "first", "image", path=[small_base])
    (again,) = pack(stage(tmp_path / "another", True), tmp_path / "second", "image", path=[small_base])
    assert open(image, "rb").read() == open(again, "rb").read()
    with tarfile.open(image) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}

    def blob(descriptor):
        data = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
        assert (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") == (descriptor["size"], descriptor["digest"])
        return data

    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"]["org.opencontainers.image.ref.name"] == f"{VERSION}-cpu"
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    layers = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    names = [tarfile.open(fileobj=io.BytesIO(layer)).getnames() for layer in layers]
    assert names[0] == ["etc/debian_version"]
    (entrypoint,) = config["config"]["Entrypoint"]
    assert entrypoint.lstrip("/") in names[1] and "opt/rtrain/share/doc/rtrain/rtrain.spdx.json" in names[1]
    assert config["created"] == "2023-11-14T22:13:21Z"


def test_the_definition_of_apptainer_names_the_image(tmp_path, small_base):
    folder = stage(tmp_path / "stage", False)
    image, definition = pack(folder, tmp_path / "out", "image", "apptainer", path=[small_base])
    text = open(definition).read()
    assert f"Bootstrap: oci-archive\nFrom: {os.path.basename(image)}\n" in text
    assert 'exec /opt/rtrain/bin/rtrain "$@"' in text


def test_a_tree_with_changes_is_not_packed(tmp_path):
    (tmp_path / "packaging").mkdir()
    build = tmp_path / "packaging" / "build"
    build.write_bytes((SOURCE / "packaging" / "build").read_bytes())
    build.chmod(0o755)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "LICENSE").write_text("changed")
    done = subprocess.run([build], capture_output=True, text=True)
    assert done.returncode == 1
    assert "the tree is not clean" in done.stderr and "LICENSE" in done.stderr


def release(tree, *options):
    return subprocess.run([tree / "packaging" / "release", *options], capture_output=True, text=True)


def test_a_release_says_all_that_is_missing_before_anything_runs(tmp_path):
    tree = tmp_path / "tree"
    for name in ("packaging/release", "CMakeLists.txt", "CHANGELOG.md"):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((SOURCE / name).read_bytes())
    (tree / "packaging" / "release").chmod(0o755)
    git = ["git", "-C", tree, "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "first"], ["tag", "v7.0.0"]):
        subprocess.run([*git, *command], check=True)
    (tree / "new").touch()
    done = release(tree, "7.0.0", "--dry-run")
    assert done.returncode == 1
    for problem in (
        "tree: the tree has changes:\n?? new",
        "version: CMakeLists.txt says ",
        "changelog: CHANGELOG.md begins with ",
        "tag: there is a tag v7.0.0 already",
        "signers: there is no packaging/release_signers",
    ):
        assert f"packaging/release: {problem}" in done.stderr
    assert "packages: packaging/check --oracle --cuda --keep dist" in done.stdout
    assert "git worktree add ../rtrain-v7.0.0" in done.stdout
    first = release(tree, "7.0.0")
    assert first.returncode == 1 and first.stdout == "tree: all is committed\n"
    assert "go on with --from tree" in first.stderr
