"""The module xgboost and train.XGBoostTrainer, compared with Python's xgboost on the same rows."""

import json
import os
import signal

import pytest

from conftest import nightly, wait_until
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

xgboost = pytest.importorskip("xgboost", reason="XGBoost's wheel is not here: scripts/test --oracle installs it")
import numpy as np  # tree_runs has found it

pytestmark = nightly

PARAMS = {
    "objective": "binary:logistic",
    "eval_metric": ["logloss", "auc"],
    "max_depth": 4,
    "eta": 0.3,
    "tree_method": "hist",
    "seed": 1,
}
LUA_PARAMS = (
    "{objective = 'binary:logistic', eval_metric = {'logloss', 'auc'}, max_depth = 4, eta = 0.3, "
    "tree_method = 'hist', seed = 1}"
)


def python_model(x, y, num_rounds, **params):
    data = xgboost.QuantileDMatrix(x, label=y, feature_names=NAMES)
    result = {}
    model = xgboost.train(
        {**PARAMS, **params}, data, num_rounds, evals=[(data, "train")], evals_result=result, verbose_eval=False
    )
    return model, result["train"]


TRAIN = """
    local data, train, xgboost = require 'rtrain.data', require 'rtrain', require 'xgboost'
    local Callback = train.xgboost.RayTrainReportCallback
    train.XGBoostTrainer({
      train_loop_per_worker = function(config)
        local rank = train.get_context():get_world_rank()
        local checkpoint = train.get_checkpoint()
        local model = checkpoint and Callback.get_model(checkpoint)
        local first = model and model:num_boosted_rounds() or 0
        local dtrain = xgboost.QuantileDMatrix(train.get_dataset_shard('train'), {label = 'y'})
        local Hook = xgboost.callback.TrainingCallback:extend('Hook')
        function Hook:before_iteration(_, epoch)
          BEFORE_ROUND
        end
        xgboost.train(PARAMS, dtrain, {
          num_boost_round = config.rounds - first, xgb_model = model, evals = {{dtrain, 'train'}}, verbose_eval = false,
          callbacks = {Callback {frequency = config.frequency}, Hook()},
        })
      end,
      train_loop_config = {rounds = 10, frequency = 3},
      datasets = {train = data.read_parquet('train.parquet')},
      scaling_config = train.ScalingConfig {num_workers = 2},
    }):fit()
"""


def script_of(before_round=""):
    return TRAIN.replace("PARAMS", LUA_PARAMS).replace("BEFORE_ROUND", before_round)


def model_of(rtrain, run="last"):
    """Returns the model of the run's last checkpoint, read by Python's xgboost, and its bytes."""
    path = rtrain.json("show", run)["checkpoints"][-1]["path"] + "/model.ubj"
    model = xgboost.Booster()
    model.load_model(path)
    with open(path, "rb") as file:
        return model, file.read()


def splits(model):
    """Returns features and thresholds of all trees, and separately their leaves."""
    places, leaves = [], []

    def walk(node):
        if "leaf" in node:
            leaves.append(node["leaf"])
        else:
            places.append((node["split"], node["split_condition"], node["yes"], node["no"], node["missing"]))
            for child in node["children"]:
                walk(child)

    for tree in model.get_dump(dump_format="json"):
        places.append("tree")
        walk(json.loads(tree))
    return places, np.array(leaves)


def test_one_rank_gives_pythons_model(rtrain):
    x, y = rows(rtrain.folder, 3000, is_discrete=False)
    expected, metrics = python_model(x, y, 10)
    rtrain.run_ok(script_of(), "-n", "1")
    model, _ = model_of(rtrain)
    assert model.feature_names == NAMES and model.get_dump() == expected.get_dump()
    reports = rtrain.reports()
    assert [row["train-logloss"] for row in reports] == metrics["logloss"]
    assert [row["train-auc"] for row in reports] == metrics["auc"]


def test_two_ranks_give_the_trees_of_one_on_all_rows(rtrain):
    x, y = rows(rtrain.folder, 3000, is_discrete=True)
    expected, metrics = python_model(x, y, 10)
    rtrain.run_ok(script_of())
    model, _ = model_of(rtrain)
    places, leaves = splits(model)
    expected_places, expected_leaves = splits(expected)
    assert places == expected_places
    assert np.allclose(leaves, expected_leaves, rtol=1e-4, atol=1e-6)
    assert np.allclose([row["train-logloss"] for row in rtrain.reports()], metrics["logloss"], atol=1e-6)


def test_two_ranks_give_nearly_the_metrics_of_one_where_bins_are_estimated(rtrain):
    x, y = rows(rtrain.folder, 6000, is_discrete=False)
    _, metrics = python_model(x, y, 10)
    rtrain.run_ok(script_of())
    last = rtrain.reports()[-1]
    assert abs(last["train-logloss"] - metrics["logloss"][-1]) < 1e-3
    assert abs(last["train-auc"] - metrics["auc"][-1]) < 1e-3


# fault: SIGKILL of a rank that trains trees
def test_a_killed_rank_changes_no_tree(rtrain):
    rows(rtrain.folder, 2000, is_discrete=False)
    check_killed_rank(rtrain, script_of, "epoch")
    _, calm = model_of(rtrain, "calm")
    _, killed = model_of(rtrain, "killed")
    assert killed == calm
    assert rtrain.reports("killed") == rtrain.reports("calm")


def test_an_error_of_one_rank_is_the_runs_error(rtrain):
    rows(rtrain.folder, 1000, is_discrete=True)
    check_error_of_one_rank(rtrain, script_of, "epoch")


# fault: a signal while a rank waits in XGBoost for another one
def test_stacks_can_be_asked_for_while_a_rank_waits_for_another(rtrain):
    """XGBoost reports a system call that a signal interrupts as an error."""
    rows(rtrain.folder, 1000, is_discrete=True)
    hook = f"if rank == 1 then {waits('epoch')} end"
    running = rtrain.started("run", rtrain.script(script_of(hook)), "--name", "run", reports=2)
    for _ in range(3):
        result = rtrain("stack", "run")
        assert result.returncode == 0, result.stderr
    (rtrain.folder / "go").write_text("")
    assert running.wait().returncode == 0, running.stderr
    assert len(rtrain.reports()) == 10


def test_a_stop_saves_and_a_resumed_run_gives_the_model_of_one_that_was_not_stopped(rtrain):
    rows(rtrain.folder, 1000, is_discrete=False)
    rtrain.run_ok(script_of(), "--name", "calm")
    script = rtrain.script(script_of(waits("epoch")))
    running = rtrain.started("run", script, "--name", "run", reports=10 + 2)
    running.send(signal.SIGTERM)
    wait_until(lambda: "SIGTERM: the run stops" in running.stderr, message="the stop")
    (rtrain.folder / "go").write_text("")
    assert running.wait().returncode == 75, running.stderr  # preempted, with a checkpoint
    assert 2 < model_of(rtrain, "run")[0].num_boosted_rounds() < 10
    rtrain.run_ok(script_of(), "--name", "run", "--resume", "auto")
    assert model_of(rtrain, "run")[1] == model_of(rtrain, "calm")[1]


def test_models_go_from_python_to_lua_and_back(rtrain):
    x, y = rows(rtrain.folder, 500, is_discrete=False)
    model, _ = python_model(x, y, 5)
    for name in ("model.json", "model.ubj"):
        model.save_model(rtrain.folder / name)
    np.save(rtrain.folder / "x.npy", x)
    lua = """
        local torch, xgboost = require 'torch', require 'xgboost'
        local x = torch.tensor(require('rtrain.data').read_numpy('x.npy'):take_batch(500).data)
        local models = {}
        for i, name in ipairs {'model.json', 'model.ubj'} do
          models[i] = xgboost.Booster()
          models[i]:load_model(name)
        end
        local data = xgboost.DMatrix(x, {feature_names = models[1].feature_names})
        local out = models[1]:predict(data)
        assert(torch.equal(out, models[2]:inplace_predict(x)))
        print(require('base._system').to_json {
          value = out:tolist(), leaf = models[1]:predict(data, {pred_leaf = true}):tolist(),
          shap = models[1]:predict(data, {pred_contribs = true}):tolist(),
          first = models[1]:predict(data, {iteration_range = {0, 2}}):tolist(),
          gain = models[1]:get_score {importance_type = 'total_gain'},
        })
        models[1]:save_model('again.json')
    """
    shown = shown_by(rtrain, lua)
    data = xgboost.DMatrix(x, feature_names=NAMES)
    assert np.array_equal(np.float32(shown["value"]), model.predict(data))
    assert np.array_equal(np.float32(shown["leaf"]), model.predict(data, pred_leaf=True))
    assert np.array_equal(np.float32(shown["shap"]), model.predict(data, pred_contribs=True))
    assert np.array_equal(np.float32(shown["first"]), model.predict(data, iteration_range=(0, 2)))
    assert shown["gain"] == pytest.approx(model.get_score(importance_type="total_gain"))
    again = xgboost.Booster(model_file=str(rtrain.folder / "again.json"))
    assert again.get_dump() == model.get_dump()


def test_early_stopping_constraints_and_an_objective_of_ones_own(rtrain):
    x, y = rows(rtrain.folder, 2000, is_discrete=False)
    lua = """
        local data, torch, xgboost = require 'rtrain.data', require 'torch', require 'xgboost'
        local rows = data.read_parquet('train.parquet'):materialize()
        local dtrain = xgboost.QuantileDMatrix(rows:limit(1500), {label = 'y'})
        local rest = rows:filter(function(row) return true end):take_batch(2000)
        for name, column in pairs(rest) do rest[name] = column:narrow(0, 1500, 500) end
        local dvalid = xgboost.QuantileDMatrix(rest, {label = 'y', feature_names = dtrain.feature_names, ref = dtrain})
        local params = PARAMS
        params.monotone_constraints = {a = 1, b = 1}
        local booster = xgboost.train(params, dtrain, {
          num_boost_round = 100, evals = {{dtrain, 'train'}, {dvalid, 'valid'}},
          early_stopping_rounds = 4, verbose_eval = false})
        local function squares(predt, matrix) return predt - matrix:get_label(), torch.ones_like(predt) end
        local result = {}
        local own = xgboost.train({max_depth = 3, base_score = 0.5}, dtrain, {
          num_boost_round = 5, obj = squares, evals = {{dtrain, 'train'}}, evals_result = result, verbose_eval = false,
          custom_metric = function(predt, matrix)
            return 'wrong', (predt:gt(0):ne(matrix:get_label():gt(0))):double():mean():item()
          end})
        print(require('base._system').to_json {
          rounds = booster:num_boosted_rounds(), best = booster.best_iteration, score = booster.best_score,
          dump = booster:get_dump(), own = own:get_dump(), wrong = result.train.wrong})
    """.replace("PARAMS", LUA_PARAMS)
    shown = shown_by(rtrain, lua)
    dtrain = xgboost.QuantileDMatrix(x[:1500], label=y[:1500], feature_names=NAMES)
    dvalid = xgboost.QuantileDMatrix(x[1500:], label=y[1500:], feature_names=NAMES, ref=dtrain)
    expected = xgboost.train(
        {**PARAMS, "monotone_constraints": {"a": 1, "b": 1}},
        dtrain,
        100,
        early_stopping_rounds=4,
        evals=[(dtrain, "train"), (dvalid, "valid")],
        verbose_eval=False,
    )
    assert (shown["rounds"], shown["best"]) == (expected.num_boosted_rounds(), expected.best_iteration)
    assert shown["score"] == expected.best_score and shown["dump"] == expected.get_dump()

    def squares(predt, matrix):
        return predt - matrix.get_label(), np.ones_like(predt)

    result = {}
    own = xgboost.train(
        {"max_depth": 3, "base_score": 0.5},
        dtrain,
        5,
        obj=squares,
        evals=[(dtrain, "train")],
        evals_result=result,
        verbose_eval=False,
        custom_metric=lambda p, m: ("wrong", float(((p > 0) != (m.get_label() > 0)).mean())),
    )
    assert shown["own"] == own.get_dump()
    assert np.allclose(shown["wrong"], result["train"]["wrong"], atol=1e-6)


def test_rows_whose_number_nobody_knows_and_data_on_disk(rtrain):
    """Ranks with filtered datasets get equal numbers of rows in each pass, and the bins may be kept on the disk."""
    rows(rtrain.folder, 2000, is_discrete=True)
    result = rtrain.run_ok("""
        local data, train, xgboost = require 'rtrain.data', require 'rtrain', require 'xgboost'
        local result = train.XGBoostTrainer({
          train_loop_per_worker = function()
            local shard = train.get_dataset_shard()
            train.tempdir(function(folder)
              local dtrain = xgboost.ExtMemQuantileDMatrix(shard, {label = 'y', cache_prefix = folder .. '/cache'})
              local booster = xgboost.train({max_depth = 3}, dtrain, {num_boost_round = 3})
              train.report {rows = dtrain:num_row(), rounds = booster:num_boosted_rounds()}
              dtrain, booster = nil, nil
              collectgarbage()
            end)
          end,
          datasets = {train = data.read_parquet('train.parquet'):filter(function(row) return row.a == row.a and row.a > 0 end)},
          scaling_config = train.ScalingConfig {num_workers = 2},
        }):fit()
        assert(result.metrics.rows > 300 and result.metrics.rounds == 3)
    """)
    assert result.returncode == 0
    assert len({row["rows"] for row in rtrain.reports("last", "--ranks")}) == 1


def test_null_of_integers_is_missing(rtrain):
    a = [None if i % 5 == 2 else i % 7 for i in range(200)]
    (rtrain.folder / "rows.csv").write_text(
        "a,y\n" + "".join(f"{'' if v is None else v},{i % 2}\n" for i, v in enumerate(a))
    )
    result = rtrain(
        "exec",
        rtrain.script("""
        local data, xgboost = require 'rtrain.data', require 'xgboost'
        local dtrain = xgboost.QuantileDMatrix(data.read_csv('rows.csv'), {label = 'y'})
        print(dtrain:num_row(), dtrain:num_nonmissing())
    """),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["200", str(200 - a.count(None))]


@pytest.mark.parametrize(
    "code, says",
    [
        ("xgboost.train({max_dept = 3}, d)", ["unknown parameter 'max_dept': did you mean 'max_depth'?"]),
        ("xgboost.train({max_depth = 'deep'}, d)", ["xgboost.train", "max_depth", "deep"]),
        (
            "xgboost.train({objective = 'binary:logistik'}, d)",
            ["Unknown objective function", "there are: ", "binary:logistic"],
        ),
        (
            "xgboost.train({objective = 'binary:logistic'}, xgboost.DMatrix(x, {1, 2, 3, 4}))",
            ["xgboost.train: base_score must be in (0,1)"],
        ),
        ("xgboost.train({}, xgboost.DMatrix(x, {0, 1, 0 / 0, 1}))", ["Label contains NaN"]),
        ("xgboost.DMatrix(x, {1, 2})", ["label has 2 values, the data have 4 rows"]),
        ("xgboost.DMatrix(torch.zeros(4))", ["data has 1 dimensions"]),
        ("xgboost.DMatrix({a = {'red', 'blue'}})", ["column 'a'", "strings, expected numbers"]),
        (
            "xgboost.QuantileDMatrix({a = {1, 2}, y = {0, 1}}, {label = 'z'})",
            ["there is no such column", "there are: a, y"],
        ),
        ("xgboost.DMatrix(x, {lable = {1, 2, 3, 4}})", ["did you mean 'label'"]),
        ("xgboost.train({}, d, {evals = {{d, 'a-b'}}})", ["evals[1]", "'a-b'"]),
        ("xgboost.train({}, d, {early_stopping_rounds = 2})", ["early stopping needs data to evaluate"]),
        ("xgboost.train({}, d):predict(xgboost.DMatrix(x))", ["no feature names", "p, q"]),
        ("xgboost.Booster():load_model('nothing.json')", ["there is no file nothing.json"]),
        ("xgboost.cv({}, d)", ["xgboost.cv is not in this version"]),
        ("xgboost.train({}, d).best_iteration:x()", ["only after early stopping"]),
    ],
)
def test_what_is_wrong_is_said_where_it_is(rtrain, code, says):
    lua = f"""
        local torch, xgboost = require 'torch', require 'xgboost'
        local x = torch.arange(8):view(4, 2)
        local d = xgboost.DMatrix(x, {{label = {{0, 1, 0, 1}}, feature_names = {{'p', 'q'}}}})
        {code}
    """
    check_message(rtrain, lua, says)


def test_a_machine_without_the_library(rtrain):
    rtrain.env["RTRAIN_XGBOOST"] = str(rtrain.folder)
    script = rtrain.script("require('xgboost').DMatrix(require('torch').zeros(2, 2))")
    says = ["no usable XGBoost 3.x found", "(RTRAIN_XGBOOST): no libxgboost.so", "pip install 'xgboost-cpu>=3,<4'"]
    check_missing_library(rtrain, script, says)
    assert "XGBoost   none found: pip install" in rtrain("env").stdout
    (rtrain.folder / "lib").mkdir()
    (rtrain.folder / "lib" / "libxgboost.so").write_text("")
    (rtrain.folder / "VERSION").write_text("1.7.4")
    assert "version 1.7.4, need 3.x" in rtrain("exec", script).stderr


def test_env_names_the_library(rtrain):
    [found] = [library for library in rtrain.json("env")["trees"] if library["name"] == "XGBoost"]
    assert found["version"] == xgboost.__version__ and os.path.exists(found["path"])
