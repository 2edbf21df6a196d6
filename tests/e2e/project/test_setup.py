"""scripts/setup when a package or a download is unavailable."""

import os
import pathlib
import subprocess

from conftest import SOURCE


def test_a_source_that_no_mirror_has_is_said_and_does_not_stop_the_set_up(tmp_path):
    cache = tmp_path / "cache"
    setup = SOURCE / "scripts" / "setup"
    printed = subprocess.run([setup, "--print-ruff"], capture_output=True, text=True, check=True).stdout
    names = ["arrow-26.0.1-s3", "libtorch-2.11.0", pathlib.Path(printed).parent.parent.name]
    for name in names:
        (cache / name).mkdir(parents=True)
        (cache / name / "complete").touch()
    config = tmp_path / "apt.conf"
    config.write_text('Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "/dev/null";\n')
    env = {**os.environ, "RTRAIN_CACHE": str(cache), "APT_CONFIG": str(config)}
    done = subprocess.run([setup], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "LuaJIT was not built (no mirror that apt is configured with has luajit_2.1.0" in done.stderr
    assert "rtrain takes Debian's, whose compiled loops show no stack" in done.stderr
    assert sorted(path.name for path in cache.iterdir()) == names
