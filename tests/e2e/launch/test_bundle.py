"""A bundle (packaging/formats/bundle.py, packaging/bundle) is unpacked once, completely or not at all. Here a script is
its program."""

import ctypes
import errno
import json
import os
import signal
import struct
import subprocess
import sys

import pytest

from conftest import RTRAIN, SOURCE, wait_until

SCRIPT = '#!/bin/sh\necho ran "$@"; cat "$(dirname "$0")/../data/text"; exit 7\n'


def bundle_of(folder, size):
    """Makes a bundle of a script, a text and that many bytes of incompressible data."""
    files = {"bin/rtrain": SCRIPT.encode(), "data/text": b"the text\n", "data/many": os.urandom(size)}
    for name, data in files.items():
        path = folder / "stage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "stage" / "bin" / "rtrain").chmod(0o755)
    code = "import pathlib, sys, bundle; bundle.write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), '1.2.3')"
    env = {**os.environ, "PYTHONPATH": str(SOURCE / "packaging" / "formats"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code, folder / "stage", folder], check=True, env=env)
    return folder / "rtrain-1.2.3-cpu.run"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A bundle of 64 MB, which takes a moment to unpack."""
    return bundle_of(tmp_path_factory.mktemp("bundle"), 64 << 20)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return bundle_of(tmp_path_factory.mktemp("small"), 1 << 20)


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache" / "rtrain" / "bundles"
    folder.mkdir(parents=True)
    return folder


def start(bundle, cache, **options):
    return subprocess.Popen(
        [bundle, "a", "b c"],
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(cache.parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def without_locks():
    """Makes flock() fail in this process from now on, as on a file system without locks, by a seccomp filter."""
    set_no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    load_number, jump_if_equal, return_value = 0x20, 0x15, 0x06
    flock = {"x86_64": 73, "aarch64": 32}[os.uname().machine]
    refuse, allow = 0x00050000 | errno.ENOLCK, 0x7FFF0000
    program = b"".join(
        struct.pack("HBBI", *line)
        for line in (
            (load_number, 0, 0, 0),
            (jump_if_equal, 0, 1, flock),
            (return_value, 0, 0, refuse),
            (return_value, 0, 0, allow),
        )
    )
    code = ctypes.create_string_buffer(program)
    described = struct.pack("HxxxxxxP", 4, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_seccomp, filter_mode, described) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def outcome(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


RAN = (7, "ran a b c\nthe text\n", "")


def names(cache):
    return sorted(path.suffix or "whole" for path in cache.iterdir())


def test_it_unpacks_once_and_becomes_the_program(made, cache):
    assert outcome(start(made, cache)) == RAN
    assert names(cache) == [".lock", "whole"]
    (unpacked,) = cache.glob("*[0-9a-f]/data/many")
    before = unpacked.stat()
    assert outcome(start(made, cache)) == RAN
    assert unpacked.stat().st_ino == before.st_ino and unpacked.stat().st_size == 64 << 20


def test_of_sixteen_that_start_at_once_one_unpacks(made, cache):
    running = [start(made, cache) for _ in range(16)]
    assert [outcome(process) for process in running] == [RAN] * 16
    assert names(cache) == [".lock", "whole"]


# fault: SIGKILL while a bundle is unpacked
def test_on_a_file_system_without_locks_each_unpacks_and_one_folder_stays(made, cache):
    running = [start(made, cache, preexec_fn=without_locks) for _ in range(3)]
    assert [outcome(process) for process in running] == [RAN] * 3
    assert names(cache) == [".lock", "whole"]
    assert outcome(start(made, cache, preexec_fn=without_locks)) == RAN


def test_a_killed_unpacking_is_begun_again(made, cache):
    process = start(made, cache)
    wait_until(lambda: list(cache.glob("*.partial/data/many")), message="a file of the bundle")
    process.send_signal(signal.SIGKILL)
    assert outcome(process)[0] == -signal.SIGKILL
    assert names(cache) == [".lock", ".partial"]
    assert outcome(start(made, cache)) == RAN
    assert names(cache) == [".lock", "whole"]


@pytest.mark.parametrize("where", ["a packed byte", "the hash"])
def test_a_changed_file_is_refused(made, cache, tmp_path, where):
    data = bytearray(made.read_bytes())
    data[-40 if where == "the hash" else -(32 << 20)] ^= 1
    changed = tmp_path / "changed.run"
    changed.write_bytes(data)
    changed.chmod(0o755)
    code, out, err = outcome(start(changed, cache))
    assert (code, out) == (4, "") and "copy it again" in err
    assert "whole" not in names(cache) and ".partial" not in names(cache)


def test_a_file_that_was_cut_off_is_refused(made, cache, tmp_path):
    short = tmp_path / "short.run"
    short.write_bytes(made.read_bytes()[:-1000])
    short.chmod(0o755)
    code, _, err = outcome(start(short, cache))
    assert code == 4 and "its end is missing: copy it again" in err
    assert names(cache) == []


# fault: a full disk while a bundle is unpacked
def test_a_full_disk_is_said_and_nothing_is_left(made, small_disk):
    cache = small_disk("8m") / "rtrain" / "bundles"
    code, _, err = outcome(start(made, cache))
    assert code == 4
    assert "No space left on device" in err and "needs 65 MiB in" in err and "XDG_CACHE_HOME" in err
    assert names(cache) == [".lock"]


def gc_command(cache, *args):
    """Returns (exit code, the output of --json, with only the last parts of paths)."""
    done = subprocess.run(
        [RTRAIN, "gc", "--bundles", *args, "--json"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache.parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def in_use(small, cache, tmp_path):
    """A process of the bundle that ends when its standard input is closed."""
    script = tmp_path / "wait"
    script.write_text("#!/bin/sh\necho up; read end\n")
    script.chmod(0o755)
    assert outcome(start(small, cache)) == RAN
    (program,) = cache.glob("*[0-9a-f]/bin/rtrain")
    program.write_text(script.read_text())
    process = subprocess.Popen(
        [small],
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(cache.parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "up\n"
    yield process
    process.communicate()


def test_the_cache_is_listed_and_what_is_unused_is_removed(made, cache):
    assert gc_command(cache, "--dry-run") == []
    assert outcome(start(made, cache)) == RAN
    (row,) = gc_command(cache, "--dry-run")
    assert row["bundle"] == "rtrain-1.2.3-cpu.run" and row["state"] == "unused" and row["size_bytes"] > 64 << 20
    assert row["last_used"][:2] == "20" and (cache / row["path"]).is_dir()
    assert row["removed"] is False and names(cache) == [".lock", "whole"]
    (removed,) = gc_command(cache)
    assert removed["removed"] is True and names(cache) == []
    assert outcome(start(made, cache)) == RAN


def test_what_a_process_uses_is_left_alone(cache, in_use):
    (row,) = gc_command(cache, "--dry-run")
    assert row["state"] == "in use"
    (row,) = gc_command(cache)
    assert row["removed"] is False and names(cache) == [".lock", "whole"]
    in_use.communicate("end\n")
    (row,) = gc_command(cache)
    assert row["removed"] is True and names(cache) == []


def test_what_a_killed_unpacking_left_is_removed(made, cache):
    process = start(made, cache)
    wait_until(lambda: list(cache.glob("*.partial/data/many")), message="a file of the bundle")
    (row,) = gc_command(cache, "--dry-run")
    assert row["state"] == "in use"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (row,) = gc_command(cache)
    assert row["state"] == "incomplete" and row["removed"] is True and names(cache) == []


def test_bundles_that_start_while_the_cache_is_cleaned_run(made, cache):
    running = [start(made, cache) for _ in range(8)]
    while any(process.poll() is None for process in running):
        gc_command(cache)
    assert [outcome(process) for process in running] == [RAN] * 8


def test_what_is_removed_is_listed(small, cache):
    env = {**os.environ, "XDG_CACHE_HOME": str(cache.parents[1])}
    assert outcome(start(small, cache)) == RAN

    def listed(*args):
        done = subprocess.run([RTRAIN, "gc", "--bundles", *args], env=env, capture_output=True, text=True)
        (line,) = done.stdout.splitlines()
        assert line.startswith(str(cache)) and line.endswith(" MB"), line
        return done.stderr

    assert listed("--dry-run").startswith("would remove 1 bundle, ")
    assert listed().startswith("removed 1 bundle, ")
    refused = subprocess.run([RTRAIN, "gc", "--bundles", "--rebuild"], env=env, capture_output=True, text=True)
    assert refused.returncode == 2 and "--bundles" in refused.stderr


def test_only_its_user_may_change_what_was_unpacked(small, cache):
    """Holds for any umask; the program itself runs with the umask of its caller."""
    assert outcome(start(small, cache, preexec_fn=lambda: os.umask(0))) == RAN
    unpacked = [path for path in [*cache.rglob("*"), *cache.parents[:2]] if not path.is_symlink()]
    assert len(unpacked) > 6 and [path for path in unpacked if path.stat().st_mode & 0o022] == []


@pytest.mark.parametrize("planted", ["bin/rtrain", "data", ".", "..", "../..", "../../.."])
@pytest.mark.parametrize("how", ["of another user", "open to others"])
def test_what_others_could_have_planted_is_not_run(small, cache, planted, how):
    if how == "of another user" and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    assert outcome(start(small, cache)) == RAN
    (folder,) = cache.glob("*[0-9a-f]")
    place = (folder / planted).resolve()
    if how == "open to others":
        place.chmod(0o777)
    else:
        os.chown(place, 12345, 12345)
    code, out, err = outcome(start(small, cache))
    assert (code, out) == (4, "") and "set XDG_CACHE_HOME to a folder of your own" in err and str(place) in err, err


def test_a_sticky_cache_holds_what_is_ones_own(small, cache):
    cache.parents[1].chmod(0o1777)
    assert outcome(start(small, cache)) == RAN


def test_without_a_home_it_says_what_to_set(small):
    done = subprocess.run([small], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 4 and "set XDG_CACHE_HOME" in done.stderr
