"""LICENSE, NOTICE, and rtrain --version --licenses."""

import pathlib
import re
import subprocess

import pytest

from conftest import RTRAIN, SOURCE

ROW = re.compile(r"^  \S.* (debian|pypi):(\S+)$", re.M)


def named(kind):
    """Returns the packages of that kind in NOTICE."""
    return [package for origin, package in ROW.findall((SOURCE / "NOTICE").read_text()) if origin == kind]


def test_the_executable_prints_the_licences_of_all_that_it_holds(rtrain):
    result = rtrain("--version", "--licenses")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(rtrain("--version").stdout)
    texts = [SOURCE / "LICENSE", SOURCE / "NOTICE", *(f"/usr/share/doc/{name}/copyright" for name in named("debian"))]
    for text in map(pathlib.Path, texts):
        assert text.read_text().strip() in result.stdout, text
    assert rtrain("--licenses").stdout == result.stdout


def test_notice_names_every_archive_that_is_linked():
    cache = pathlib.Path(RTRAIN).parent / "CMakeCache.txt"
    if not cache.exists():
        pytest.skip("the executable is not in its build folder")
    archives = re.findall(r"^\w+_ARCHIVE:FILEPATH=(.+)$", cache.read_text(), re.M)
    assert len(archives) > 10
    for archive in archives:
        owner = subprocess.run(["dpkg", "-S", pathlib.Path(archive).resolve()], capture_output=True, text=True)
        assert owner.returncode == 0, f"no Debian package has {archive}"
        assert owner.stdout.split(":")[0] in named("debian"), f"NOTICE lacks {owner.stdout}"


def test_notice_names_every_wheel_that_is_fetched():
    wheels = set()
    for part in [*SOURCE.glob("packaging/libtorch/*.txt"), SOURCE / "packaging" / "arrow.txt"]:
        wheels |= set(re.findall(r"^([\w-]+)==", part.read_text(), re.M))
    setup = (SOURCE / "scripts" / "setup").read_text()
    asked = re.findall(r'/pip" install --quiet(?: --no-deps)? (.*)$', setup, re.M)
    asked += re.findall(r"^  echo (.*==.*)$", setup, re.M)
    words = [word.strip("'\"") for line in asked for word in line.split() if word != "--no-compile"]
    wheels |= {re.match(r"[\w-]+", word)[0] for word in words if word[0].isalpha()}
    assert len(wheels) > 25 and {"torchvision", "moto", "xgboost-cpu", "ruff"} <= wheels
    assert not wheels - set(named("pypi"))


def test_the_changelog_has_the_version(rtrain):
    version = rtrain("--version").stdout.split()[1]
    assert re.search(rf"^## {re.escape(version)}\b", (SOURCE / "CHANGELOG.md").read_text(), re.M)
