"""The rows of NOTICE."""

import pathlib
import re
import subprocess

import libtorch

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^  (\S.*?)  +(\S+(?: (?:AND|OR|WITH) \S+)*)  +(debian|pypi):(\S+)$")
IN_PACKAGES = ("Inside the executable", "Next to the executable in packages")


def sections():
    """{title: [(name, licence, 'debian' or 'pypi', package)]}"""
    out, title = {}, ""
    for line in (ROOT / "NOTICE").read_text().splitlines():
        if found := ROW.match(line):
            out.setdefault(title, []).append(found.groups())
        elif line and not line.startswith(" "):
            title = line
    return out


def inside(folder):
    """The rows for the contents of a staged folder. It contains a wheel's files if it contains its licences."""
    found = sections()
    wheels = [
        row
        for rows in found.values()
        for row in rows
        if row[2] == "pypi" and (pathlib.Path(folder) / "share/doc/rtrain/licenses" / row[3]).exists()
    ]
    return [row for title in IN_PACKAGES for row in found[title]] + wheels


def version_of(kind, package):
    return debian_version(package) if kind == "debian" else wheel_version(package)


def wheel_version(package):
    """The version pinned in packaging/; for LibTorch and its libraries the oldest, which the bundle contains."""
    lists = [ROOT / "packaging" / "arrow.txt", ROOT / "packaging" / "libtorch" / f"{libtorch.minors()[0]}.txt"]
    pinned = "\n".join(path.read_text() for path in lists)
    return re.search(rf"^{re.escape(package)}==(\S+)", pinned, re.M)[1]


def debian_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], check=True, capture_output=True, text=True)
    return done.stdout
