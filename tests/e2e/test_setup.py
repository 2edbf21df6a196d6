"""scripts/setup where something is not to be had."""

import os
import subprocess

from conftest import SOURCE


def test_a_source_that_no_mirror_has_is_said_and_does_not_stop_the_set_up(tmp_path):
    cache = tmp_path / "cache"
    for name in ["libtorch-2.11.0", "arrow-26.0.1-s3"]:
        (cache / name).mkdir(parents=True)
        (cache / name / "complete").touch()
    config = tmp_path / "apt.conf"
    config.write_text('Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "/dev/null";\n')
    env = {**os.environ, "RTRAIN_CACHE": str(cache), "APT_CONFIG": str(config)}
    done = subprocess.run([SOURCE / "scripts" / "setup"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "LuaJIT was not built (no mirror that apt is configured with has luajit_2.1.0" in done.stderr
    assert "rtrain takes Debian's, whose compiled loops show no stack" in done.stderr
    assert sorted(path.name for path in cache.iterdir()) == ["arrow-26.0.1-s3", "libtorch-2.11.0"]
