"""Scripts of rtrain.data whose results pyarrow reads."""

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
import pyarrow.parquet as pq

# In the second case, the smallest memory that is allowed, most rows are spilled to files.
MEMORY = pytest.mark.parametrize("memory_bytes", [2**27, 2**20], ids=["memory", "files"])


def lua(rtrain, text, *args):
    script = rtrain.script("local data, torch = require 'rtrain.data', require 'torch'\n" + text)
    result = rtrain("exec", script, *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def read(folder):
    return pa.concat_tables([pq.read_table(file) for file in sorted(folder.iterdir())])
