"""The rows of NOTICE."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r'^  (\S.*?)  +(\S+(?: (?:AND|OR|WITH) \S+)*)  +(debian|pypi):(\S+)$')
IN_PACKAGES = ('Inside the executable', 'Next to the executable in packages')


def sections():
    """{title: [(name, licence, 'debian' or 'pypi', package)]}"""
    out, title = {}, ''
    for line in (ROOT / 'NOTICE').read_text().splitlines():
        if found := ROW.match(line):
            out.setdefault(title, []).append(found.groups())
        elif line and not line.startswith(' '):
            title = line
    return out


def inside():
    """The rows of what packages hold."""
    found = sections()
    return [row for title in IN_PACKAGES for row in found[title]]


def debian_version(package):
    done = subprocess.run(['dpkg-query', '-W', '-f=${Version}', package], check=True, capture_output=True, text=True)
    return done.stdout
