"""rtrain doc: its output on a terminal and in a pipe, its JSON, unknown names, the guides, and the declarations for
editors."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from conftest import RTRAIN, SOURCE


def doc(rtrain, *args):
    result = rtrain("doc", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def on_terminal(rtrain, *args, columns=80, env=None):
    """Returns the output of the command on a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**rtrain.env, **(env or {})}
    environment = {key: value for key, value in environment.items() if value is not None}
    process = subprocess.Popen([RTRAIN, "doc", *args], stdin=subprocess.DEVNULL, stdout=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not part:
            break
        text += part
    os.close(master)
    assert process.wait(60) == 0
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "name, says",
    [
        (
            "torch.matmul",
            ["torch.matmul(input, other, {out}) → torch.Tensor", "x:matmul(other) → torch.Tensor", "(…, n, k)"],
        ),
        (
            "nn.Linear",
            [
                "nn.Linear(in_features, out_features, {bias = true, device, dtype}) → nn.Linear",
                "(out_features, in_features)",
            ],
        ),
        ("torch.nn.Linear", ["class, extends nn.Module; require 'torch.nn'"]),
        ("F.relu", ["F.relu(input, {inplace = false})"]),
        ("Tensor.view", ["x:view(size) → torch.Tensor", "Returns the same memory in another shape."]),
        ("x:view", ["x:view(size) → torch.Tensor"]),
        ("torch.optim.AdamW", ["lr = ", "weight_decay", "Loshchilov"]),
        (
            "train.report",
            ["train.report(metrics, {checkpoint, checkpoint_dir_name, checkpoint_upload_mode", "Raises code"],
        ),
        ("ScalingConfig", ["train.ScalingConfig({num_workers = 1", "Methods"]),
        ("vision.transforms.Compose", ["vision.transforms.Compose(transforms)", "Example"]),
        ("torch.nn", ["Names", "Linear", "functional"]),
    ],
)
def test_pages(rtrain, name, says):
    text = doc(rtrain, name)
    for part in says:
        assert part in text
    assert "\x1b" not in text


def test_without_a_name_it_lists_the_modules(rtrain):
    text = doc(rtrain)
    for module in ("torch.nn.functional", "torch.optim", "vision.models", "rtrain"):
        assert re.search(rf"^  {re.escape(module)}\s", text, re.MULTILINE)


GUIDES = sorted((SOURCE / "modules" / "rtrain" / "guide").glob("*.md"))


def test_without_a_name_it_lists_the_guides(rtrain):
    text = doc(rtrain)
    assert len(GUIDES) >= 5
    for path in GUIDES:
        assert re.search(rf"^  guide/{path.stem}\s", text, re.MULTILINE)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_a_guide_is_printed_as_it_is_written(rtrain, path):
    name, markdown = f"guide/{path.stem}", path.read_text()
    assert doc(rtrain, name) == markdown
    page = json.loads(doc(rtrain, name, "--json"))
    assert page == {"name": name, "kind": "guide", "title": markdown.splitlines()[0][2:], "markdown": markdown}


@pytest.mark.parametrize(
    "name, says",
    [
        ("guide/failurs", "there is no guide 'guide/failurs': did you mean 'guide/failures'?"),
        (
            "guide/qqqqqqqqqqqq",
            (
                "there is no guide 'guide/qqqqqqqqqqqq': valid names: guide/commands, guide/compile, guide/dashboard, "
                "guide/data, guide/deepdive, guide/events, guide/failures, "
            ),
        ),
    ],
)
def test_an_unknown_guide_gets_the_nearest_and_the_list(rtrain, name, says):
    result = rtrain("doc", name)
    assert (result.returncode, result.stdout) == (2, "")
    assert says in result.stderr and len(result.stderr.splitlines()) == 1


def test_the_guides_have_a_list_short_names_and_ray_trains_names(rtrain):
    listed = doc(rtrain, "guide").split()
    assert all(f"guide/{path.stem}" in listed for path in GUIDES) and "guide/porting" in listed
    porting = SOURCE / "modules/rtrain/PORTING.md"
    for name in ("lua", "troubleshooting", "failures"):
        assert doc(rtrain, name) == doc(rtrain, f"guide/{name}")
    assert doc(rtrain, "porting") == doc(rtrain, "guide/porting") == porting.read_text()


# Search words → names, one of which must be among the first three results.
SEARCHES = {
    ("a", "worker", "hangs"): ["guide/failures"],
    ("learning rate schedule",): ["torch.optim.lr_scheduler"],
    ("images in a folder",): ["vision.datasets.ImageFolder"],
    ("keep", "the", "best", "checkpoint"): ["train.CheckpointConfig"],
    ("loss is NaN",): ["guide/failures", "guide/troubleshooting"],
    ("x.numpy() in Lua",): ["guide/porting"],
    ("preempted",): ["guide/failures", "guide/nodes"],
}


@pytest.mark.parametrize("words", SEARCHES, ids=" ".join)
def test_words_are_searched_for(rtrain, words):
    page = json.loads(doc(rtrain, *words, "--json"))
    assert page["kind"] == "search"
    names = [item["name"] for item in page["names"]]
    assert set(names[:3]) & set(SEARCHES[words]), names
    assert len(names) <= 12 and all(item["text"] for item in page["names"])
    for name in names[:3]:
        assert rtrain("doc", name).returncode == 0, name


def test_words_that_are_nowhere(rtrain):
    result = rtrain("doc", "qqqqqqqq", "zzzzzzzz")
    assert (result.returncode, result.stdout) == (2, "")
    assert "nothing in the documentation has any of the words 'qqqqqqqq zzzzzzzz'" in result.stderr


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_gets_its_width(rtrain, columns):
    text = on_terminal(rtrain, "train.report", columns=columns).split("\nExample")[0]
    longest = max(map(len, text.splitlines()))
    assert longest <= min(columns, 100)
    assert longest > min(columns, 100) - 20


def test_colour_on_a_terminal_alone(rtrain):
    assert "\x1b[1m" in on_terminal(rtrain, "nn.Linear", env={"NO_COLOR": None})
    assert "\x1b" not in on_terminal(rtrain, "nn.Linear", env={"NO_COLOR": "1"})


@pytest.mark.parametrize(
    "name, hint",
    [
        ("nn.Liner", "torch.nn has no 'Liner': did you mean 'Linear'?"),
        ("torch.matmal", "torch has no 'matmal': did you mean 'matmul'?"),
        ("x:vew", "did you mean 'view'?"),
        ("ScalingConfg", "did you mean 'ScalingConfig'?"),
        ("qqqqqqqq", "nothing is called 'qqqqqqqq'"),
    ],
)
def test_unknown_names(rtrain, name, hint):
    result = rtrain("doc", name)
    assert (result.returncode, result.stdout) == (2, "")
    assert hint in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_unknown_option(rtrain):
    result = rtrain("doc", "--jsn", "nn.Linear")
    assert result.returncode == 2
    assert "did you mean '--json'?" in result.stderr


def test_json(rtrain):
    page = json.loads(doc(rtrain, "torch.topk", "--json"))
    assert (page["name"], page["kind"], page["require"]) == ("torch.topk", "operator", "torch")
    assert (
        page["signatures"][0]
        == "torch.topk(input, k, dim = -1, largest = true, sorted = true, {out}) → values, indices"
    )
    assert {p["name"]: p["type"] for p in page["parameters"]}["k"] == "integer"
    assert [r["name"] for r in page["returns"]] == ["values", "indices"]
    assert page["fields"] == [] and page["methods"] == [] and len(page["examples"]) == 1
    names = {item["name"]: item for item in json.loads(doc(rtrain, "torch.optim", "--json"))["names"]}
    assert names["SGD"]["kind"] == "class"
    assert {item["name"] for item in json.loads(doc(rtrain, "--json"))["names"]} >= {"torch", "rtrain", "vision.models"}


def test_what_is_written_in_lua_needs_no_libtorch(rtrain):
    rtrain.env["RTRAIN_LIBTORCH"] = str(rtrain.folder / "nowhere")
    for name in ("nn.Linear", "Linear", "train.report", "ScalingConfig", "torch.optim.AdamW", "vision.models.resnet18"):
        assert "; require '" in doc(rtrain, name)
    # The output of described operators leaves out only the overloads and `out`.
    assert "torch.matmul(input, other) → torch.Tensor" in doc(rtrain, "torch.matmul")


def test_stubs(rtrain):
    folder = rtrain.folder / "deep" / "stubs"
    text = doc(rtrain, "--stubs", str(folder))
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.lua"))
    assert text == f"{len(files)} files in {folder}\n"
    assert {
        "torch.lua",
        "torch/Tensor.lua",
        "torch/nn.lua",
        "torch/optim.lua",
        "rtrain.lua",
        "vision/models.lua",
    } <= set(files)
    for file in files:
        text = (folder / file).read_text()
        assert text.startswith("---@meta " + file.removesuffix(".lua").replace("/", "."))
        assert len(text.encode()) < 500_000
    # A second run writes the same bytes.
    first = {file: (folder / file).read_bytes() for file in files}
    doc(rtrain, "--stubs", str(folder))
    assert first == {file: (folder / file).read_bytes() for file in files}


def test_stubs_where_they_cannot_be_written(rtrain):
    (rtrain.folder / "file").write_text("")
    result = rtrain("doc", "--stubs", str(rtrain.folder / "file" / "stubs"))
    assert result.returncode == 4
    assert "file" in result.stderr
