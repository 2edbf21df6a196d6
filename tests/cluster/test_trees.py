"""Trees over two nodes, with a rank on each: XGBoost over its own sockets, LightGBM over Gloo."""

import pytest

pytest.importorskip("xgboost", reason="XGBoost's wheel is not here: scripts/test --oracle installs it")
pytest.importorskip("lightgbm", reason="LightGBM's wheel is not here: scripts/test --oracle installs it")
import test_lightgbm
import test_xgboost
from tree_runs import kills, rows

KITS = {"xgboost": test_xgboost, "lightgbm": test_lightgbm}
ROUND = {"xgboost": "epoch", "lightgbm": "env.iteration"}
ONE_HOST, TWO_HOSTS = "{num_workers = 2}", "{num_workers = 2, placement_strategy = 'SPREAD'}"


def script(rtrain, kit, hook=""):
    """Writes a script of ten rounds that has a rank on each of two nodes."""
    text = kit.script_of(hook)
    assert ONE_HOST in text
    return rtrain.script(text.replace(ONE_HOST, TWO_HOSTS))


def run_on_two_nodes(rtrain, job, path, *args):
    for result in job("run", path, "--name", "two", *args).wait():
        assert result.returncode == 0, result.stderr
    for attempt in rtrain.json("show", "two")["attempts"]:
        assert [worker["host"] for worker in attempt["workers"]] == ["n0", "n1"]


def trees_of(rtrain, kit, run):
    """Returns the part of the model that must be equal: all its bytes, or only its trees if the bytes contain the
    number of machines.
    """
    model = kit.model_of(rtrain, run)
    return model[1] if isinstance(model, tuple) else kit.trees_text(model)


@pytest.mark.parametrize("kind", KITS)
def test_the_model_is_that_of_one_node(rtrain, job, kind):
    kit = KITS[kind]
    rows(rtrain.folder, 3000, is_discrete=True)
    path = script(rtrain, kit)
    run_on_two_nodes(rtrain, job, path)
    assert rtrain("run", path, "--name", "one", "--oversubscribe").returncode == 0
    assert trees_of(rtrain, kit, "two") == trees_of(rtrain, kit, "one")
    assert rtrain.reports("two") == rtrain.reports("one")


@pytest.mark.parametrize("kind", KITS)
def test_a_killed_rank_of_the_other_node_changes_no_tree(rtrain, job, kind):
    kit = KITS[kind]
    rows(rtrain.folder, 3000, is_discrete=False)
    run_on_two_nodes(rtrain, job, script(rtrain, kit, kills(ROUND[kind])), "--max-failures", "1")
    assert rtrain.statuses("two") == ["ERRORED", "FINISHED"]
    assert rtrain("run", script(rtrain, kit), "--name", "one", "--oversubscribe").returncode == 0
    assert trees_of(rtrain, kit, "two") == trees_of(rtrain, kit, "one")
    assert rtrain.reports("two") == rtrain.reports("one")
