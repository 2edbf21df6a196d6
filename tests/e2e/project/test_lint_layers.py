"""scripts/lint-layers: what points up is named. The trees are made up: a file or two with one mistake."""

import re
import subprocess

import pytest

from conftest import SOURCE, nightly
from lint_trees import lint  # noqa: F401  (a fixture)

pytestmark = nightly


def test_the_layers_of_this_tree_are_clean():
    done = subprocess.run([SOURCE / "scripts" / "lint-layers"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


HOST_LAYERS = "base decide machine lua loop store train worker bind cli".split()
HOST_EDGES = [
    *zip(HOST_LAYERS, HOST_LAYERS[1:]),
    ("worker", "train"),
    ("base", "engine"),
    ("decide", "machine"),
    ("machine", "decide"),
    ("lua", "arrow"),
    ("engine", "loop"),
    ("engine", "cuda"),
    ("arrow", "engine"),
    ("cuda", "base"),
    ("cuda", "engine/tensor"),
]


def wrong_lines(lint, files):
    """Returns what lint-layers reports for a tree: file → line and the text after it."""
    code, said = lint("lint-layers", files)
    assert code == 1
    return {file: (int(line), text) for file, line, text in re.findall(r"^([^:\n]+):(\d+): (.*)$", said, re.MULTILINE)}


def test_an_include_that_points_up_is_named(lint):
    edges = {f"host/{folder}/{other.replace('/', '_')}.h": (folder, other) for folder, other in HOST_EDGES}
    found = wrong_lines(
        lint, {file: f'#pragma once\n#include "host/{other}/b.h"\n' for file, (_, other) in edges.items()}
    )
    assert found.keys() == edges.keys()
    for file, (folder, other) in edges.items():
        line, text = found[file]
        assert line == 2 and text.startswith(f"includes host/{other}/b.h: host/{folder} may include only ")


ROOMS = """# host/store: rooms

## Rooms

| folder | holds |
|---|---|
| `files/` | what may include nothing of the others |
| (here) | what may include files/ |
| [`read/`](read/README.md) | what may include all |

## Other

| `late/` | is not a room |
"""


def test_a_room_that_includes_one_below_it_is_named(lint):
    edges = {"files/a.h": "read/b.h", "files/c.h": "b.h", "a.h": "read/b.h"}
    right = {"files/b.h": "files/a.h", "b.h": "files/a.h", "read/a.h": "b.h", "read/b.h": "files/a.h"}
    found = wrong_lines(
        lint,
        {
            "host/store/README.md": ROOMS,
            **{
                f"host/store/{file}": f'#include "host/store/{header}"\n' for file, header in {**edges, **right}.items()
            },
        },
    )
    assert found.keys() == {f"host/store/{file}" for file in edges}
    for file, header in edges.items():
        line, text = found[f"host/store/{file}"]
        assert line == 1 and text.startswith(
            f"includes host/store/{header}: by the table of host/store/README.md it may include only files"
        )


def test_a_namespace_of_another_folder_is_named(lint):
    found = wrong_lines(
        lint,
        {
            "host/store/a.h": "namespace rtrain {\n}\n",
            "host/store/b.h": "#pragma once\nnamespace rtrain::wire {\n}\n",
            "host/store/c.h": "namespace rtrain::store::rows {\n}\nnamespace rtrain::message {\n}\n",
            "host/base/d.h": "namespace rtrain {\n}\nnamespace rtrain::text_detail {\n}\n",
        },
    )
    assert found == {
        "host/store/a.h": (1, "namespace rtrain: host/store is rtrain::store"),
        "host/store/b.h": (2, "namespace rtrain::wire: host/store is rtrain::store"),
    }


@pytest.mark.parametrize("readme", [{}, {"host/store/README.md": ROOMS}])
def test_a_room_that_is_not_in_the_table_is_named(lint, readme):
    code, said = lint("lint-layers", {"host/store/late/a.h": "\n", **readme})
    assert (code, said) == (
        1,
        "host/store/late/a.h:1: host/store/late is not in the table of rooms of host/store/README.md\n",
    )


LUA_ROOMS = """# modules/torch: rooms

## Rooms

Each may include those above it.

| folder | holds |
|---|---|
| `tensor/` | what may require nothing of the others |
| `nn/` | what may require tensor/ |
| (here) | what may require both |
| `tools/` | what may require all |
"""


def test_a_room_of_lua_that_requires_one_below_it_is_named(lint):
    modules = {
        "init.lua": "local tools = {shown = 'torch.tools.shown'}\nreturn {name = 'torch', tools = tools}",
        "nn.lua": "return require 'torch.nn.linear'",
        "nn/linear.lua": "require 'torch.tensor.size'\nreturn {owner = 'torch'}",
        "tensor/size.lua": "return function() return require('torch.nn') end",
        "tensor/init.lua": "require 'torch.tensor.size'\nlocal torch = require 'torch'",
        "tools/shown.lua": "require 'torch'\nrequire 'torch.nn'\nrequire 'torch.tensor'",
    }
    found = wrong_lines(
        lint,
        {"modules/torch/README.md": LUA_ROOMS, **{f"modules/torch/{name}": text for name, text in modules.items()}},
    )
    by_table = "by the table of modules/torch/README.md it may require only"
    assert found == {
        "modules/torch/init.lua": (1, f"requires 'torch.tools.shown': {by_table} tensor nn (here)"),
        "modules/torch/tensor/size.lua": (1, f"requires 'torch.nn': {by_table} tensor"),
        "modules/torch/tensor/init.lua": (2, f"requires 'torch': {by_table} tensor"),
    }


def test_a_room_of_lua_that_is_not_in_the_table_is_named(lint):
    files = {"modules/torch/README.md": LUA_ROOMS, "modules/torch/late/a.lua": "return {}\n"}
    assert lint("lint-layers", files) == (
        1,
        "modules/torch/late/a.lua:1: modules/torch/late is not in the table of rooms of modules/torch/README.md\n",
    )


WEB_ROOMS = "## Rooms\n\n| folder | holds |\n|---|---|\n| `base/` | |\n| `chart/` | |\n| (here) | |\n"


def test_an_import_of_a_room_of_pages_that_is_below_is_named(lint):
    files = {
        "web/README.md": WEB_ROOMS,
        "web/main.js": "import {a} from './chart/a.js';\n",
        "web/chart/a.js": "import {b} from '../base/b.js';\nimport {c} from '../main.js';\n",
        "web/base/b.js": "import {d} from './d.js';\n\nimport {a} from '../chart/a.js';\n",
        "web/late/e.js": "",
    }
    by_table = "by the table of web/README.md it may import only"
    assert wrong_lines(lint, files) == {
        "web/chart/a.js": (2, f"imports main.js: {by_table} base chart"),
        "web/base/b.js": (3, f"imports chart/a.js: {by_table} base"),
        "web/late/e.js": (1, "web/late is not in the table of rooms of web/README.md"),
    }


LIBRARIES = [
    ("lua", "ATen/Tensor.h"),
    ("cli", "torch/csrc/autograd/engine.h"),
    ("engine", "cuda_runtime.h"),
    ("engine", "c10/cuda/CUDAStream.h"),
    ("store", "nccl.h"),
    ("engine", "arrow/api.h"),
    ("base", "parquet/file_reader.h"),
    ("engine", "torch/torch.h"),
]


def test_a_library_that_another_folder_wraps_is_named(lint):
    files = {f"host/{folder}/{number}.cpp": header for number, (folder, header) in enumerate(LIBRARIES)}
    found = wrong_lines(lint, {file: f"#include <{header}>\n" for file, header in files.items()})
    assert found.keys() == files.keys()
    assert all(found[file][1].startswith(f"includes <{header}>: ") for file, header in files.items())


REQUIRED = [
    ("base/args.lua", "torch"),
    ("base/own.lua", "rtrain.worker.session"),
    ("torch/nn.lua", "rtrain._worker"),
    ("torch/optim.lua", "vision.io"),
    ("vision/io.lua", "rtrain"),
    ("rtrain/report.lua", "vision.datasets"),
    ("argparse.lua", "rtrain.run.launch"),
    ("torch/init.lua", "argparse"),
]


@pytest.mark.parametrize(
    "line",
    ["local x = require '{}'", 'local x = require("{}").x', "f(function() return require [[x]], require '{}' end)"],
)
def test_a_require_that_points_up_is_named(lint, line):
    found = wrong_lines(lint, {f"modules/{file}": f"-- {file}\n{line.format(module)}\n" for file, module in REQUIRED})
    assert len(found) == len(REQUIRED)
    for file, module in REQUIRED:
        number, text = found[f"modules/{file}"]
        layer = file.split("/")[0].removesuffix(".lua")
        assert number == 2 and text.startswith(f"requires '{module}': {layer} may require only base")


def test_a_module_that_is_required_later_is_named(lint):
    code, said = lint(
        "lint-layers",
        {
            "modules/torch/init.lua": "local LATER = {\n  report = 'rtrain.report',\n}\n",
            "modules/rtrain/report.lua": "return {}\n",
        },
    )
    assert code == 1
    assert said.startswith("modules/torch/init.lua:2: requires 'rtrain.report'")


def test_cpp_that_names_a_module_above_it_is_named(lint):
    code, said = lint(
        "lint-layers",
        {
            "host/engine/a.cpp": 'f("torch.nn");\nf("rtrain.report");\n',
            "modules/torch/nn.lua": "return {}\n",
            "modules/rtrain/report.lua": "return {}\n",
        },
    )
    assert code == 1
    assert said == "host/engine/a.cpp:2: names the module 'rtrain.report': it may name only base torch\n"


@pytest.mark.parametrize("file", ["host/web/a.h", "modules/web/a.lua"])
def test_a_folder_without_a_layer_is_named(lint, file):
    code, said = lint("lint-layers", {file: "\n"})
    assert code == 1
    assert said.startswith(f"{file}:1: ") and "is not in the table of ARCHITECTURE.md" in said


def test_what_points_down_and_what_is_only_said_is_clean(lint):
    assert lint(
        "lint-layers",
        {
            "host/store/a.h": '#include "host/base/b.h"\n#include "host/store/c.h"\n#include <string>\n',
            "host/cuda/a.h": '#include "host/engine/cuda/api.h"\n#include <cuda_runtime.h>\n',
            "host/lua/a.h": '// as "rtrain.report" does\n',
            "modules/rtrain/report.lua": "local torch = require 'torch'\nlocal args = require 'base.args'\n",
            "modules/vision/io.lua": "-- require 'rtrain'\n--[[\nrequire 'rtrain'\n]]\nlocal text = \"require 'rtrain'\"\n",
        },
    ) == (0, "")


@pytest.mark.parametrize(
    "count, expected", [(40, (0, "")), (41, (1, "modules/base:1: 41 files in one folder, at most 40: make rooms\n"))]
)
def test_a_folder_of_too_many_files_is_named(lint, count, expected):
    files = {f"modules/base/part{number}.lua": "return {}\n" for number in range(count)}
    assert lint("lint-layers", files) == expected
