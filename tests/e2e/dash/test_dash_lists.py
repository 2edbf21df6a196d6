"""Lists of runs that rtrain dash answers: columns, search, groups, names; and the name of a run that is changed."""

import concurrent.futures
import json
import statistics

import pytest

from conftest import Rtrain, wait_until
from dash_server import Dash
from test_watch import Stepped

SEEDED = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    for step = 1, 4 do
      train.log({speed = config.seed * 10 + step}, {step = step})
      train.report {loss = math.abs(step - 3) + config.lr + config.seed / 100, val = {top = step * config.seed}}
    end
  end,
  train_loop_config = {lr = 0.1, seed = 1, model = {kind = 'plain'}},
}:fit()
"""
RUNS = {f"lr{lr}-s{seed}": (lr, seed) for lr in (0.1, 0.5) for seed in (1, 2, 3)}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    """A server over six runs: three seeds of each of two learning rates."""
    runner = Rtrain(tmp_path_factory.mktemp("seeded"))
    script = runner.script(SEEDED)
    for name, (lr, seed) in RUNS.items():
        note = ["--note", "Looks 100% good"] if name == "lr0.5-s2" else []
        tags = ["--tag", "fast"] if seed == 1 else []
        result = runner("run", script, "--name", name, "--set", f"lr={lr}", "--set", f"seed={seed}", *note, *tags, "-q")
        assert result.returncode == 0, result.stderr
    server = Dash(runner)
    yield server
    assert server.stop().returncode == 0


def names(answer):
    return [run["name"] for run in answer["runs"]]


def test_columns_have_the_values_of_runs(seeded):
    columns = [
        "config.lr",
        "config.model.kind",
        "min(loss)",
        "max(loss)",
        "last(speed)",
        "max(speed)",
        "val/top",
        "note",
    ]
    answer = seeded.json("/api/runs", column=[*columns, "hostname", "unknown", "min(unknown)"], text="lr0.5-s2")
    (run,) = answer["runs"]
    low, high = 0.52, 2.52  # |step - 3| + lr + seed / 100
    assert run["cells"][0] == 0.5 and run["cells"][1] == "plain" and run["cells"][2:4] == [low, high]
    assert run["cells"][4:8] == [24, 24, 8, "Looks 100% good"]
    assert run["cells"][8] and run["cells"][9:] == [None, None], "a column that no run has is empty"
    assert "cells" not in seeded.json("/api/runs")["runs"][0]


def test_an_order_may_be_of_the_least_value(seeded):
    best = sorted(RUNS, key=lambda name: (RUNS[name][0] + RUNS[name][1] / 100, name))
    assert names(seeded.json("/api/runs", sort="min(loss)")) == best
    assert names(seeded.json("/api/runs", sort="-min(loss)")) == best[::-1]
    by_speed = sorted(RUNS, key=lambda name: (RUNS[name][1], name))
    assert names(seeded.json("/api/runs", sort="last(speed)")) == by_speed
    assert seeded.error("/api/runs?sort=min(unknown)") == (400, "usage")


def test_the_least_value_of_a_live_run_is_the_newest(rtrain):
    server = Dash(rtrain)
    run = Stepped(rtrain, "live")

    def least():
        return server.json("/api/runs", column="min(loss)")["runs"][0]["cells"][0]

    assert least() == 1
    run.go_to(4)
    wait_until(lambda: least() == 0.25, message="the least value of four reports")
    run.end()
    assert server.stop().returncode == 0


@pytest.mark.parametrize(
    "text, found",
    [
        ("lr0.1", 3),
        ("LOOKS", 1),
        ("100% good", 1),
        ("100_", 0),
        ("fast lr0.5", 1),
        ("plain", 6),
        ("'", 0),
        ("nothing", 0),
    ],
)
def test_words_are_found_in_names_tags_config_and_notes(seeded, text, found):
    assert seeded.json("/api/runs", text=text)["total"] == found


def test_filters_are_combined(seeded):
    assert names(seeded.json("/api/runs", tag="fast", key="config.lr", value="0.5")) == ["lr0.5-s1"]
    assert seeded.json("/api/runs", status=["FINISHED", "ERRORED"])["total"] == 6
    assert seeded.json("/api/runs", status="ERRORED")["total"] == 0
    two = {"key": ["config.lr", "config.seed"], "value": ["0.1", "2"]}
    assert names(seeded.json("/api/runs", **two)) == ["lr0.1-s2"]
    for query in ("value=1", "key=config.lr&value=[1]", "key=config.lr&value=nonsense", "key=unknown&value=1"):
        assert seeded.error(f"/api/runs?{query}")[0] == 400, query


def test_groups_have_means_and_deviations(seeded):
    answer = seeded.json("/api/groups", key="config.lr", column=["min(loss)", "config.lr", "tags"], sort="-min(loss)")
    assert answer["total"] == 2 and [group["values"] for group in answer["groups"]] == [[0.5], [0.1]]
    for group, lr in zip(answer["groups"], (0.5, 0.1)):
        least = [lr + seed / 100 for seed in (1, 2, 3)]
        cell = group["cells"][0]
        assert group["runs"] == cell["count"] == 3
        assert cell["mean"] == pytest.approx(statistics.mean(least))
        assert cell["deviation"] == pytest.approx(statistics.stdev(least))
        assert group["cells"][1:] == [{"value": lr}, {}]
        assert [member["name"] for member in group["members"]] == [f"lr{lr}-s{seed}" for seed in (3, 2, 1)]
    filtered = seeded.json("/api/groups", key=["config.lr", "config.seed"], tag="fast")
    assert sorted(group["values"] for group in filtered["groups"]) == [[0.1, 1], [0.5, 1]]
    assert seeded.json("/api/groups", key="config.seed", limit=1, offset=1, sort="config.seed")["groups"][0][
        "values"
    ] == [2]


def test_columns_that_may_be_chosen(seeded):
    answer = seeded.json("/api/columns")
    assert {"name", "status", "note", "hostname", "git_commit"} < set(answer["own"])
    assert answer["reported"] == ["loss", "val/top"] and "speed" in answer["logged"]
    assert answer["config"] == ["config.lr", "config.model.kind", "config.seed"]


def test_a_run_gets_another_name(rtrain):
    rtrain.run_ok(SEEDED, "--name", "first", "-q")
    server = Dash(rtrain)
    assert server.json("/api/columns")["reported"] == ["loss", "val/top"]
    answer = server.post("/api/runs/first/name", {"name": "second"})
    assert json.loads(answer.body)["name"] == "second" and names(server.json("/api/runs")) == ["second"]
    for name in ("", "../up", "a/b"):
        assert server.post("/api/runs/second/name", {"name": name}).status == 400, name
    viewer = server.post("/api/runs/second/name", {"name": "third"}, Authorization=f"Bearer {server.viewer()}")
    assert viewer.status == 403 and names(server.json("/api/runs")) == ["second"]
    assert server.stop().returncode == 0


def test_an_empty_storage_has_no_groups_and_columns(rtrain):
    server = Dash(rtrain)
    assert server.json("/api/groups", key="config.lr")["total"] == 0
    assert server.json("/api/columns")["reported"] == []
    assert server.stop().returncode == 0


def test_views_are_kept_next_to_the_runs(rtrain):
    server = Dash(rtrain)
    assert server.json("/api/views") == {"views": []}
    names = ["best", "../../etc/passwd", "a/b", ".", "<b>é</b>"]
    for name in names:
        assert server.post("/api/views", {"name": name, "address": "?sort=loss"}).status == 200, name
    assert sorted(view["name"] for view in server.json("/api/views")["views"]) == sorted(names)
    files = list(rtrain.storage.rglob("*.json"))
    assert len(files) == len(names) and {file.parent for file in files} == {rtrain.storage / ".views"}
    server.post("/api/views", {"name": "best", "address": "?sort=-acc"})
    (rtrain.storage / ".views" / "62.json").write_text("{")
    (rtrain.storage / ".views" / "63.json").write_text('{"name": 3}')
    views = {view["name"]: view["address"] for view in server.json("/api/views")["views"]}
    assert len(views) == len(names) and views["best"] == "?sort=-acc", "replaced, and what cannot be read is left out"
    for name in names:
        assert server.post("/api/views", {"name": name}).status == 200
    assert server.json("/api/views") == {"views": []}
    assert server.post("/api/views", {"name": "best"}).status == 404
    for wrong in (
        {"name": "", "address": "?"},
        {"name": "x" * 101, "address": "?"},
        {"name": "x", "address": "y" * 20_000},
    ):
        assert server.post("/api/views", wrong).status == 400
    viewer = server.post("/api/views", {"name": "x", "address": "?"}, Authorization=f"Bearer {server.viewer()}")
    assert viewer.status == 403
    assert server.stop().returncode == 0


def test_several_writers_leave_whole_views(rtrain):
    servers = [Dash(rtrain), Dash(rtrain)]
    addresses = [f"?text={character * 5000}" for character in "abcdefgh"]

    def save(at):
        for _ in range(5):
            assert servers[at % 2].post("/api/views", {"name": "one", "address": addresses[at]}).status == 200
            (view,) = servers[(at + 1) % 2].json("/api/views")["views"]
            assert view["address"] in addresses

    with concurrent.futures.ThreadPoolExecutor() as threads:
        list(threads.map(save, range(len(addresses))))
    for server in servers:
        assert server.stop().returncode == 0


def test_a_file_has_the_views(rtrain):
    rtrain.run_ok(SEEDED, "--name", "one", "-q")
    server = Dash(rtrain)
    server.post("/api/views", {"name": "</script>", "address": "?sort=loss"})
    page = rtrain("export", "one", "--html").stdout
    answers = json.loads(page.split('id="stored">')[1].split("</script>")[0])["answers"]
    assert [view["name"] for view in answers["api/views"]["views"]] == ["</script>"]
    assert server.stop().returncode == 0
