"""A metric in a nested table is named by its path, `val/loss`, in every command that names or shows metrics."""

import csv

import pytest

from conftest import Rtrain, refused
from test_export import scalars

SCRIPT = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function(config)
    for epoch = 0, 2 do
      train.report {loss = 1, val = {loss = config.scale / 2 ^ epoch, ['top/5'] = {acc = epoch}},
                    odd = {x = epoch == 1 and 0/0 or 1/0}}
    end
  end,
  train_loop_config = {scale = 1},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()
"""
NAMES = ["loss", "odd/x", "val/loss", "val/top/5/acc"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the runs small, middle and large, named by their val/loss; and flat, whose metric names contain a
    slash."""
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    for name, scale in (("middle", 2), ("large", 4), ("small", 1)):
        rtrain.run_ok(SCRIPT, "--name", name, "--set", f"scale={scale}", "-q")
    rtrain.run_ok(
        "local train = require 'rtrain'\ntrain.DataParallelTrainer {train_loop_per_worker = function() "
        "train.report {['val/loss'] = 8, a = 6, b = 3} end}:fit()",
        "--name",
        "flat",
        "-q",
    )
    return rtrain.storage


def points(rtrain, *args):
    [curve] = rtrain.json("plot", *args)
    return curve["points"]


def test_plot_draws_it(trained):
    assert points(trained, "middle", "val/loss") == [[0, 2], [1, 1], [2, 0.5]]
    assert points(trained, "middle", "val/top/5/acc", "--rank", "1") == [[0, 0], [1, 1], [2, 2]]
    assert points(trained, "middle", "odd/x") == [[0, "Infinity"], [1, "NaN"], [2, "Infinity"]]
    assert points(trained, "flat", "val/loss") == [[0, 8]]
    refused(trained("plot", "middle", "val/lss"), "did you mean 'val/loss'?")
    refused(trained("plot", "middle", "val"), "valid names: " + ", ".join(NAMES))


def test_runs_are_found_and_sorted_by_it(trained):
    def names(*args):
        return [run["name"] for run in trained.json("ls", *args)]

    assert names("--sort", "val/loss") == ["small", "middle", "large", "flat"]
    assert names("--sort", "-val/loss", "--limit", "2") == ["flat", "large"]
    for where in (
        "val/loss < 0.6 AND val/loss>0.3",
        '"val/loss" BETWEEN 0.3 AND 0.6',
        '"VAL/Loss" = .5 OR 0.5 = [val/loss]',
    ):
        assert names("--where", where) == ["middle"], where
    assert names("--where", "\"val/top/5/acc\" = 2 AND name = 'small'") == ["small"]
    assert names("--where", "a/b = 2") == ["flat"], "a division, where there is no such metric"
    assert names("--where", "loss / val/loss = 4 AND status = 'FINISHED'") == ["small"]
    refused(trained("ls", "--sort", "val/los"), "did you mean 'val/loss'?")
    for where in ("[val/los] = 1", "val/los = 1"):
        refused(trained("ls", "--where", where), "val/los", "did you mean 'val/loss'?")
    assert trained.json("show", "best:val/loss:min")["name"] == "small"
    assert trained.json("show", "best:val/loss:max")["name"] == "flat"
    refused(trained("show", "best:val/lss:max"), "did you mean 'val/loss'?")
    starred = [line.split()[0] for line in trained("ls", "--sort", "-val/loss").stdout.splitlines() if " * " in line]
    assert starred == ["flat"]


def test_exports_have_it(trained):
    assert trained("export", "small", "--format", "tensorboard", "-o", "tb").returncode == 0
    (path,) = (trained.folder / "tb/small").iterdir()
    found = scalars(path)
    assert sorted(found) == NAMES
    assert [(step, value) for step, _, value in found["val/loss"]] == [(0, 1), (1, 0.5), (2, 0.25)]
    rows = list(csv.DictReader(trained("export", "small").stdout.splitlines()))
    assert set(rows[0]) == {"run", "index", "attempt", "time", *NAMES}
    assert [float(row["val/loss"]) for row in rows] == [1, 0.5, 0.25]


def test_listings_show_it(trained):
    assert set(NAMES) < set(trained("ls").stdout.split("\n")[0].split())
    assert "val/loss 0.25" in trained("show", "small").stdout
    assert set(NAMES) < set(trained("metrics", "small").stdout.split("\n")[0].split())
    assert trained.json("diff", "small", "large")["metrics"]["val/loss"] == {"a": 0.25, "b": 1.0, "delta": 0.75}
    assert trained("--complete", "metrics", "val/", "plot", "small").stdout.split() == ["val/loss", "val/top/5/acc"]
