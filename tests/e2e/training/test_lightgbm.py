"""The module lightgbm and train.LightGBMTrainer, compared with Python's lightgbm on the same rows."""

import pytest

from conftest import nightly, sockets_of, tcp_listeners
from tree_runs import (
    NAMES,
    check_error_of_one_rank,
    check_killed_rank,
    check_message,
    check_missing_library,
    rows,
    shown_by,
    waits,
)

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM's wheel is not here: scripts/test --oracle installs it")
import numpy as np  # tree_runs has found it

pytestmark = nightly

PARAMS = {
    "objective": "binary",
    "metric": ["binary_logloss", "auc"],
    "num_leaves": 15,
    "verbosity": -1,
    "num_threads": 2,
    "seed": 1,
}
LUA_PARAMS = (
    "{objective = 'binary', metric = {'binary_logloss', 'auc'}, num_leaves = 15, verbosity = -1, "
    "num_threads = 2, seed = 1}"
)


def python_model(x, y, num_rounds):
    data = lightgbm.Dataset(x, y, feature_name=NAMES)
    result = {}
    model = lightgbm.train(PARAMS, data, num_rounds, valid_sets=[data], callbacks=[lightgbm.record_evaluation(result)])
    return model, result["training"]


TRAIN = """
    local data, lightgbm, train = require 'rtrain.data', require 'lightgbm', require 'rtrain'
    local Callback = train.lightgbm.RayTrainReportCallback
    train.LightGBMTrainer({
      train_loop_per_worker = function(config)
        local rank = train.get_context():get_world_rank()
        local checkpoint = train.get_checkpoint()
        local model = checkpoint and Callback.get_model(checkpoint)
        local first = model and model:current_iteration() or 0
        local dtrain = lightgbm.Dataset(train.get_dataset_shard('train'), {label = 'y'})
        local function hook(env)
          AFTER_ROUND
        end
        lightgbm.train(PARAMS, dtrain, {
          num_boost_round = config.rounds - first, init_model = model, valid_sets = {dtrain},
          callbacks = {Callback {frequency = config.frequency}, hook},
        })
      end,
      train_loop_config = {rounds = 10, frequency = 3},
      datasets = {train = data.read_parquet('train.parquet')},
      scaling_config = train.ScalingConfig {num_workers = 2},
    }):fit()
"""


def script_of(after_round=""):
    return TRAIN.replace("PARAMS", LUA_PARAMS).replace("AFTER_ROUND", after_round)


def model_of(rtrain, run="last"):
    """Returns the model of the run's last checkpoint, read by Python's lightgbm."""
    return lightgbm.Booster(model_file=rtrain.json("show", run)["checkpoints"][-1]["path"] + "/model.txt")


def splits(model):
    """Returns features and thresholds of all trees, and separately their leaves.

    Where no row of a node lacks the value, rounding would decide the default direction, so it is left out.
    """
    places, leaves = [], []

    def walk(node):
        if "leaf_value" in node:
            leaves.append(node["leaf_value"])
        else:
            places.append((node["split_feature"], node["threshold"], node["missing_type"]))
            walk(node["left_child"])
            walk(node["right_child"])

    for tree in model.dump_model()["tree_info"]:
        places.append("tree")
        walk(tree["tree_structure"])
    return places, np.array(leaves)


def trees_text(model):
    """Returns the model's text without the parameters, which include the number of machines."""
    return model.model_to_string().split("parameters:")[0]


def test_one_rank_gives_pythons_model(rtrain):
    x, y = rows(rtrain.folder, 3000, is_discrete=False)
    expected, metrics = python_model(x, y, 10)
    rtrain.run_ok(script_of(), "-n", "1")
    assert trees_text(model_of(rtrain)) == trees_text(expected)
    assert [row["training-binary_logloss"] for row in rtrain.reports()] == pytest.approx(
        metrics["binary_logloss"], abs=1e-12
    )
    assert [row["training-auc"] for row in rtrain.reports()] == pytest.approx(metrics["auc"], abs=1e-12)


def test_two_ranks_give_the_trees_of_one_on_all_rows(rtrain):
    x, y = rows(rtrain.folder, 3000, is_discrete=True)
    expected, metrics = python_model(x, y, 10)
    rtrain.run_ok(script_of())
    places, leaves = splits(model_of(rtrain))
    expected_places, expected_leaves = splits(expected)
    # Rounding decides between two splits of equal gain, and all later trees would differ; the first trees have no such
    # splits.
    count = 5 * (1 + 14)
    assert places[:count] == expected_places[:count]
    assert np.allclose(leaves[: 5 * 15], expected_leaves[: 5 * 15], rtol=1e-4, atol=1e-6)
    assert [row["training-binary_logloss"] for row in rtrain.reports()] == pytest.approx(
        metrics["binary_logloss"], abs=1e-3
    )
    assert [row["training-binary_logloss"] for row in rtrain.reports()][:5] == pytest.approx(
        metrics["binary_logloss"][:5], abs=1e-6
    )


def test_two_ranks_give_nearly_the_metrics_of_one_where_bins_are_estimated(rtrain):
    """The process group is Gloo's; its threads end before LightGBM creates its own."""
    x, y = rows(rtrain.folder, 8000, is_discrete=False)
    _, metrics = python_model(x, y, 10)
    rtrain.run_ok(script_of().replace("num_workers = 2},", "num_workers = 2}, torch_config = {backend = 'gloo'},"))
    assert abs(rtrain.reports()[-1]["training-binary_logloss"] - metrics["binary_logloss"][-1]) < 1e-3


# Rank 0 has the small values of a, rank 1 the large ones: after a split of a, one rank has no row of a node.
APART = """
    local lightgbm, torch, train = require 'lightgbm', require 'torch', require 'rtrain'
    train.LightGBMTrainer({
      train_loop_per_worker = function()
        local rank = train.get_context():get_world_rank()
        local all = require('rtrain.data').read_numpy('rows.npy'):take_batch(4000).data
        local own = rank == 0 and all:narrow(0, 0, SHARE) or all:narrow(0, SHARE, 4000 - SHARE)
        local dtrain = lightgbm.Dataset(own:narrow(1, 0, 4), own:select(1, 4), {categorical_feature = {2}})
        lightgbm.train(PARAMS, dtrain, {
          num_boost_round = 10, valid_sets = {dtrain}, callbacks = {train.lightgbm.RayTrainReportCallback()}})
      end,
      scaling_config = train.ScalingConfig {num_workers = 2},
    }):fit()
"""


def bins_of(model):
    """Returns the line with the bins' ranges of numbers and orders of categories."""
    (line,) = [line for line in model.model_to_string().splitlines() if line.startswith("feature_infos=")]
    return line


@pytest.mark.parametrize("share, sample_cnt", [(2000, 200000), (2500, 1000)])
def test_bins_are_those_of_all_rows_however_the_ranks_share_them(rtrain, share, sample_cnt):
    """The ranks have disjoint values, missing values on one rank only, different categories, and unequal numbers of
    rows."""
    random = np.random.default_rng(1)
    x = random.normal(size=(4000, 4))
    x[:, 0].sort()
    x[3000:, 1][random.random(1000) < 0.2] = np.nan
    x[:, 2] = np.where(np.arange(4000) < share, random.integers(0, 5, 4000), random.integers(5, 10, 4000))
    y = np.round(x[:, 0] * 5) % 3 + np.nan_to_num(x[:, 1], nan=4) + x[:, 2] % 4 + random.normal(size=4000) / 10
    x, y = x.astype("float32"), y.astype("float32")
    np.save(rtrain.folder / "rows.npy", np.column_stack([x, y]))
    params = {
        "objective": "regression",
        "metric": ["l2", "rmse", "l1"],
        "num_leaves": 31,
        "verbosity": -1,
        "seed": 1,
        "min_data_in_leaf": 5,
        "num_threads": 2,
        "bin_construct_sample_cnt": sample_cnt,
    }
    data, metrics = lightgbm.Dataset(x, y, categorical_feature=[2]), {}
    expected = lightgbm.train(params, data, 10, valid_sets=[data], callbacks=[lightgbm.record_evaluation(metrics)])
    lua = "{%s}" % ", ".join(
        f"{name} = {{'l2', 'rmse', 'l1'}}" if name == "metric" else f"{name} = {value!r}"
        for name, value in params.items()
    )
    rtrain.run_ok(APART.replace("PARAMS", lua).replace("SHARE", str(share)))
    model, last = model_of(rtrain), rtrain.reports()[-1]
    assert bins_of(model) == bins_of(expected)
    error = model.predict(x) - y
    assert [last[f"training-{name}"] for name in ("l2", "rmse", "l1")] == pytest.approx(
        [np.mean(error**2), np.sqrt(np.mean(error**2)), np.mean(np.abs(error))], rel=1e-6
    )
    if share == 2000:  # with unequal shares LightGBM starts from another score: the mean of the ranks' means
        assert splits(model)[0][: 3 * 31] == splits(expected)[0][: 3 * 31]
        assert last["training-l2"] == pytest.approx(metrics["training"]["l2"][-1], rel=1e-3)


# fault: SIGKILL of a rank that trains trees with LightGBM
def test_a_killed_rank_changes_no_tree(rtrain):
    rows(rtrain.folder, 2000, is_discrete=False)
    check_killed_rank(rtrain, script_of, "env.iteration")
    assert trees_text(model_of(rtrain, "killed")) == trees_text(model_of(rtrain, "calm"))


def test_an_error_of_one_rank_is_the_runs_error(rtrain):
    rows(rtrain.folder, 1000, is_discrete=True)
    check_error_of_one_rank(rtrain, script_of, "env.iteration")


def test_no_rank_listens_at_a_port(rtrain):
    rows(rtrain.folder, 1000, is_discrete=True)
    running = rtrain.started("run", rtrain.script(script_of(waits("env.iteration"))), "--name", "run", reports=2)
    pids = rtrain.pids("run")
    listeners = tcp_listeners(sockets_of(pids))
    stacks = rtrain("stack", "run")
    (rtrain.folder / "go").write_text("")
    assert running.wait().returncode == 0, running.stderr
    assert len(pids) == 2 and listeners == [] and stacks.returncode == 0


def test_models_go_from_python_to_lua_and_back(rtrain):
    x, y = rows(rtrain.folder, 500, is_discrete=False)
    model, _ = python_model(x, y, 5)
    model.save_model(rtrain.folder / "model.txt")
    np.save(rtrain.folder / "x.npy", x)
    lua = """
        local lightgbm = require 'lightgbm'
        local x = require('rtrain.data').read_numpy('x.npy'):take_batch(500).data
        local model = lightgbm.Booster {model_file = 'model.txt'}
        local columns = {}
        for i, name in ipairs(model:feature_name()) do columns[name] = x:select(1, i - 1) end
        print(require('base._system').to_json {
          value = model:predict(x):tolist(), by_name = model:predict(columns):tolist(),
          leaf = model:predict(x, {pred_leaf = true}):tolist(), shap = model:predict(x, {pred_contrib = true}):tolist(),
          first = model:predict(x, {num_iteration = 2, raw_score = true}):tolist(),
          gain = model:feature_importance {importance_type = 'gain'}:tolist(), names = model:feature_name()})
        model:save_model('again.txt')
    """
    shown = shown_by(rtrain, lua)
    assert shown["value"] == model.predict(x).tolist() == shown["by_name"]
    assert shown["leaf"] == model.predict(x, pred_leaf=True).tolist()
    assert shown["shap"] == model.predict(x, pred_contrib=True).tolist()
    assert shown["first"] == model.predict(x, num_iteration=2, raw_score=True).tolist()
    assert shown["gain"] == pytest.approx(model.feature_importance("gain").tolist()) and shown["names"] == NAMES
    assert trees_text(lightgbm.Booster(model_file=rtrain.folder / "again.txt")) == trees_text(model)


def test_early_stopping_classes_and_an_objective_of_ones_own(rtrain):
    x, y = rows(rtrain.folder, 2000, is_discrete=False)
    lua = """
        local data, lightgbm, torch = require 'rtrain.data', require 'lightgbm', require 'torch'
        local whole = data.read_parquet('train.parquet'):take_batch(2000)
        local first, last = {}, {}
        for name, column in pairs(whole) do first[name], last[name] = column:narrow(0, 0, 1500), column:narrow(0, 1500, 500) end
        local dtrain = lightgbm.Dataset(first, {label = 'y'})
        local result = {}
        local booster = lightgbm.train(PARAMS, dtrain, {
          num_boost_round = 100, valid_sets = {dtrain:create_valid(last, {label = 'y'})}, valid_names = {'valid'},
          callbacks = {lightgbm.early_stopping(5), lightgbm.record_evaluation(result)}})
        local function squares(preds, data) return preds - data:get_label(), torch.ones_like(preds) end
        local own = lightgbm.train({objective = squares, num_leaves = 7, verbosity = -1, num_threads = 2},
          lightgbm.Dataset(first, {label = 'y'}), {num_boost_round = 5})
        local classes = lightgbm.train({objective = 'multiclass', num_class = 3, verbosity = -1, num_threads = 2},
          lightgbm.Dataset(first.a:nan_to_num():view(-1, 1), first.a:nan_to_num():sign():add(1)), {num_boost_round = 3})
        print(require('base._system').to_json {
          best = booster.best_iteration, score = booster.best_score.valid, rounds = #result.valid.auc,
          text = booster:model_to_string(), own = own:model_to_string(),
          shape = {classes:predict(torch.zeros(4, 1)):size(0), classes:predict(torch.zeros(4, 1)):size(1)},
          trees = classes:num_trees()})
    """.replace("PARAMS", LUA_PARAMS)
    shown = shown_by(rtrain, lua)
    dtrain = lightgbm.Dataset(x[:1500], y[:1500], feature_name=NAMES)
    result = {}
    expected = lightgbm.train(
        PARAMS,
        dtrain,
        100,
        valid_sets=[dtrain.create_valid(x[1500:], y[1500:])],
        valid_names=["valid"],
        callbacks=[lightgbm.early_stopping(5, verbose=False), lightgbm.record_evaluation(result)],
    )
    assert (shown["best"], shown["rounds"]) == (expected.best_iteration, len(result["valid"]["auc"]))
    assert shown["score"] == pytest.approx(dict(expected.best_score["valid"]))
    assert shown["text"].split("parameters:")[0] == expected.model_to_string().split("parameters:")[0]

    def squares(preds, data):
        return preds - data.get_label(), np.ones_like(preds)

    own = lightgbm.train(
        {"objective": squares, "num_leaves": 7, "verbosity": -1, "num_threads": 2},
        lightgbm.Dataset(x[:1500], y[:1500], feature_name=NAMES),
        5,
    )
    assert splits(lightgbm.Booster(model_str=shown["own"]))[0] == splits(own)[0]
    assert shown["shape"] == [4, 3] and shown["trees"] == 9


@pytest.mark.parametrize(
    "code, says",
    [
        ("lightgbm.train({num_leafs = 3}, d)", ["unknown parameter 'num_leafs': did you mean"]),
        ("lightgbm.train({num_leaves = 'many'}, d)", ["lightgbm.train", "num_leaves", "many"]),
        ("lightgbm.train({objective = 'binarry'}, d)", ["Unknown objective type name: binarry"]),
        ("lightgbm.Dataset(x, {1, 2}):construct()", ["label has 2 values, the data have 4 rows"]),
        ("lightgbm.Dataset(x, {0, 1, 0 / 0, 1}):construct()", ["label holds NaN"]),
        ("lightgbm.Dataset({a = {'red', 'blue'}}):construct()", ["column 'a'", "strings, expected numbers"]),
        (
            "lightgbm.Dataset({a = {1, 2}, y = {0, 1}}, {label = 'z'}):construct()",
            ["there is no such column", "there are: a, y"],
        ),
        ("lightgbm.Dataset(x, {lable = {1, 2, 3, 4}})", ["did you mean 'label'"]),
        (
            "lightgbm.train({early_stopping_round = 2}, d, {num_boost_round = 3, valid_sets = {d}})",
            ["early_stopping needs data"],
        ),
        (
            "lightgbm.train({min_data_in_leaf = 1}, d, {num_boost_round = 1}):predict(torch.zeros(2, 5))",
            ["have 5 features, the model 2"],
        ),
        ("lightgbm.Booster {model_file = 'nothing.txt'}", ["there is no file nothing.txt"]),
        ("lightgbm.cv({}, d)", ["lightgbm.cv is not in this version"]),
    ],
)
def test_what_is_wrong_is_said_where_it_is(rtrain, code, says):
    lua = f"""
        local torch, lightgbm = require 'torch', require 'lightgbm'
        local x = torch.arange(8):view(4, 2)
        local d = lightgbm.Dataset(x, {{0, 1, 0, 1}}, {{feature_name = {{'p', 'q'}}}})
        {code}
    """
    check_message(rtrain, lua, says)


def test_a_machine_without_the_library(rtrain):
    rtrain.env["RTRAIN_LIGHTGBM"] = str(rtrain.folder)
    script = rtrain.script("require('lightgbm').Dataset(require('torch').zeros(2, 2), {0, 1}):construct()")
    says = ["no usable LightGBM 4.x found", "(RTRAIN_LIGHTGBM): no lib_lightgbm.so", "pip install 'lightgbm>=4,<5'"]
    check_missing_library(rtrain, script, says)
