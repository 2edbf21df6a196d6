"""rtrain init: the files that it writes run unchanged, and it never overwrites a file."""

import functools
import json
import re
import shutil

import pytest

from conftest import SOURCE, Rtrain, sample

# Arguments that limit each template to a few steps.
FEW_STEPS = {
    "mnist": ["epochs=1", "limit=128", "test_limit=63"],
    "cifar": ["epochs=1", "limit=128", "test_limit=63", "width=4"],
    "tabular": ["epochs=1"],
    "gpt": ["epochs=2", "batch_size=512", "width=16", "layers=1"],
    "pretrain": ["n_layer=1", "n_embd=16", "n_head=2", "length=32", "vocab_size=260", "steps=2", "save_steps=2"],
    "blank": ["epochs=2"],
}
FILES = ["train.lua", "README.md", ".gitignore", ".luarc.json"]


def settings(template):
    return [part for setting in FEW_STEPS[template] for part in ("--set", setting)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Returns (folder `hello`, output of rtrain init) of a template; cached, as writing the declarations takes a
    second."""
    runner = Rtrain(tmp_path_factory.mktemp("written"))

    @functools.cache
    def write(template):
        result = runner("init", template, f"{template}/hello")
        assert result.returncode == 0, result.stderr
        return runner.folder / template / "hello", result.stdout

    yield write
    shutil.rmtree(runner.runtime)


@pytest.fixture
def project(rtrain, tmp_path, written):
    """Creates the folder of a template, and runs rtrain in that folder from then on."""

    def make(template):
        folder, said = written(template)
        rtrain.folder = tmp_path / "hello"
        shutil.copytree(folder, rtrain.folder)
        return said

    return make


@pytest.mark.parametrize("template", FEW_STEPS)
@pytest.mark.parametrize("workers", sample("1", "2"))
def test_a_template_trains_as_it_is(rtrain, project, template, workers):
    project(template)
    readme = (rtrain.folder / "README.md").read_text()
    result = rtrain("run", "train.lua", "-n", workers, *settings(template))
    assert result.returncode == 0, result.stderr
    rows = rtrain.reports()
    assert len(rows) == (2 if template in ("gpt", "blank") else 1)
    assert all(0 < row["loss"] < 10 for row in rows)
    (*_, newest) = rtrain.json("checkpoint", "ls", "last")
    saved = {"cifar": "train_state.pt", "pretrain": "model.safetensors"}.get(template, "model.pt")
    assert saved in [path.name for path in (rtrain.storage / newest["path"]).iterdir()]
    named = re.findall(r"^\| `(\w+)` \| `", readme, re.MULTILINE)
    assert {"lr", "seed"} < set(named) and not re.search("@\\w+@", readme)
    assert sorted(named) == sorted(rtrain.json("show", "last")["config"]), "README.md names what the script takes"
    # With two workers the metrics are means over the test rows of both, each of them once: their number is odd.
    if template == "pretrain":
        written = rtrain("predict", "last:latest", "--prompt", "1 plus", "--set", "max_new_tokens=3")
        assert written.returncode == 0 and "GPT2LMHeadModel on cpu: 3 tokens, " in written.stderr
    elif workers == "1" or template in ("mnist", "cifar", "tabular"):
        check_predictions(rtrain, template, result.stdout)


# How the script of a template opens its test images.
IMAGES = """
    local torch, data, datasets = require 'torch', require 'rtrain.data', require 'vision.datasets'
    local loaders, found, set = require 'torch.utils.data', false, nil
    for _, name in ipairs {arg[1] == 'mnist' and 'MNIST' or 'CIFAR10', arg[1] == 'mnist' and 'FashionMNIST' or nil} do
      if not found then found, set = pcall(datasets[name], {train = false}) end
    end
    if not found then
      local options = {train = false, n = 1000}
      if arg[1] == 'mnist' then options.size, options.channels = 28, 1 end
      set = datasets.shapes10(options)
    end
    for image, label in loaders.DataLoader(loaders.Subset(set, torch.arange(63):tolist()), {batch_size = 64}) do
      data.from_tensors {image = image, label = label}:write_parquet 'images'
    end
"""


def table_of(template):
    """Returns a script that writes the test rows of a template to rows.csv."""
    text = (SOURCE / "examples/templates" / f"{template}.lua").read_text()
    make_table = re.search(r"^local function make_table.*?^end$", text, re.MULTILINE | re.DOTALL).group()
    return f"local data = require 'rtrain.data'\n{make_table}\nmake_table(500, 2):write_csv 'rows'\n"


def predictions(rtrain, *args):
    result = rtrain("predict", "last:latest", *args)
    assert result.returncode == 0, result.stderr
    assert "training changes its inputs" not in result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def check_predictions(rtrain, template, printed):
    """predict reproduces the metrics of the last checkpoint, as it prepares the inputs like the training."""
    reported = rtrain.reports()[-1]
    if template in ("mnist", "cifar"):
        assert rtrain("exec", rtrain.script(IMAGES, "images.lua"), template).returncode == 0
        rows, said = predictions(rtrain, "images", "--keep", "label", "--classes")
        assert "63 rows, inputs by transform" in said
        assert sum(row["label"] == row["class"] for row in rows) / 63 == pytest.approx(reported["accuracy"])
    elif template == "tabular":
        assert rtrain("exec", rtrain.script(table_of(template), "rows.lua")).returncode == 0
        rows, said = predictions(rtrain, "rows", "--keep", "price")
        assert "inputs by preprocess" in said and len(rows) == 500
        assert sum(abs(row["prediction"] - row["price"]) for row in rows) / 500 == pytest.approx(
            reported["error"], rel=1e-4
        )
    elif template == "gpt":
        (rtrain.folder / "texts.csv").write_text("text\n7+5=\n1+1=\n")
        rows, said = predictions(rtrain, "texts.csv")
        assert "inputs by preprocess" in said
        following = [max(range(256), key=row["prediction"][-1].__getitem__) for row in rows]
        assert f"7+5={chr(following[0])}".strip() in printed.splitlines()[-1]
    else:
        (rtrain.folder / "points.csv").write_text(
            "x,y\n" + "".join(f"{i / 10 - 1},{j / 10 - 1}\n" for i in range(21) for j in range(21))
        )
        rows, _ = predictions(rtrain, "points.csv", "--keep", "x", "--keep", "y", "--columns", "x", "--columns", "y")
        inside = sum((row["prediction"] > 0) == (row["x"] ** 2 + row["y"] ** 2 < 0.6) for row in rows) / len(rows)
        assert inside > reported["accuracy"] - 0.2


def test_blank_learns_what_its_readme_says_it_does(rtrain, project):
    project("blank")
    assert rtrain("run", "train.lua").returncode == 0
    assert rtrain.reports()[-1]["accuracy"] > 0.9


def test_the_files_are_listed_with_the_next_command(rtrain, project):
    lines = project("mnist").splitlines()
    assert lines[0] == "mnist/hello"
    assert [line.split()[0] for line in lines[1:-1]] == [*FILES, ".rtrain/stubs/"]
    assert lines[-1] == "next: cd mnist/hello && rtrain run train.lua"
    assert sorted(path.name for path in rtrain.folder.iterdir()) == sorted([*FILES, ".rtrain"])


def test_an_editor_finds_the_declarations_of_the_library(rtrain, project):
    project("blank")
    (library,) = json.loads((rtrain.folder / ".luarc.json").read_text())["workspace.library"]
    declared = "".join(path.read_text() for path in (rtrain.folder / library).rglob("*.lua"))
    assert "---@meta" in declared and "function torch.matmul(" in declared and "ScalingConfig" in declared
    assert ".rtrain/" in (rtrain.folder / ".gitignore").read_text().splitlines()


def test_a_folder_with_one_of_the_files_is_left_alone(rtrain):
    folder = rtrain.folder / "mine"
    folder.mkdir()
    (folder / "train.lua").write_text("-- mine")
    result = rtrain("init", "blank", "mine")
    assert result.returncode == 2
    assert "'mine' has train.lua already: nothing was written" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["train.lua"]
    assert (folder / "train.lua").read_text() == "-- mine"
    (folder / "train.lua").rename(folder / "other.lua")
    assert rtrain("init", "blank", "mine").returncode == 0
    assert (folder / "other.lua").read_text() == "-- mine" and (folder / "train.lua").exists()


def test_one_argument_is_the_folder(rtrain):
    assert rtrain("init", "gpt").returncode == 0
    assert "GPT" in (rtrain.folder / "gpt" / "train.lua").read_text()
    result = rtrain("init", "deep/er place/")
    assert result.returncode == 0 and "next: cd 'deep/er place' && rtrain run train.lua" in result.stdout
    assert (rtrain.folder / "deep/er place/README.md").read_text().startswith("# er place\n")


def test_wrong_requests_are_refused(rtrain):
    unknown = rtrain("init", "mnits", "hello")
    assert unknown.returncode == 2 and "unknown template 'mnits': did you mean 'mnist'?" in unknown.stderr
    assert not (rtrain.folder / "hello").exists()
    (rtrain.folder / "file").write_text("")
    assert rtrain("init", "blank", "file").returncode == 2
    assert rtrain("init").returncode == 2
    help_text = rtrain("init", "--help").stdout
    assert all(template in help_text for template in FEW_STEPS)


def test_cifar_shows_its_progress_as_numbers(rtrain, project):
    project("cifar")
    given = ["--set", "limit=320", "--set", "batch_size=8", *settings("cifar")[:2], *settings("cifar")[4:]]
    result = rtrain("run", "train.lua", *given)
    assert result.returncode == 0, result.stderr
    assert re.search(r"epoch 0  20/40  [\d.]+ it/s  loss=[\d.]+$", result.stdout, re.MULTILINE), result.stdout
