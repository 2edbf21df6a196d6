"""rtrain predict: applies the model of a checkpoint to data files."""

import csv
import io
import json
import shutil

import pytest

from predictions import SCRIPT, predict, trained  # noqa: F401  (a fixture)


def test_the_predictions_are_as_right_as_the_run_has_reported(rtrain, trained):
    # Model, script and config come from the run: the script is deleted, and its fit() does not train again.
    result = predict(rtrain, "shapes", rtrain.folder / "test", "--classes", "--keep", "label", "--batch-size", "50")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert "ConvNet on cpu: 333 rows" in result.stderr
    assert len(rows) == 333 and list(rows[0]) == ["label", "prediction", "class"] and len(rows[0]["prediction"]) == 10
    assert sum(row["label"] == row["class"] for row in rows) == trained
    assert all(max(range(10), key=row["prediction"].__getitem__) == row["class"] for row in rows)
    assert rtrain("ls", "--names").stdout.split() == ["shapes"]


def test_a_compiled_model_predicts_the_same(rtrain, trained):
    arguments = ("shapes", rtrain.folder / "test", "--batch-size", "30", "--keep", "label")
    compiled = predict(rtrain, *arguments, "--compile")
    assert compiled.stdout == predict(rtrain, *arguments).stdout and len(compiled.stdout.splitlines()) == 333
    assert "ConvNet on cpu: 333 rows" in compiled.stderr and "warning" not in compiled.stderr


def test_every_format_and_way_to_name_the_model_gives_the_same(rtrain, trained):
    test = rtrain.folder / "test"
    wanted = [json.loads(line) for line in predict(rtrain, "shapes", test, "--keep", "label").stdout.splitlines()]
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")
    predict(
        rtrain,
        "shapes:best",
        test,
        "--model",
        "ConvNet",
        "--transform",
        "preprocess",
        "-o",
        rtrain.folder / "out.parquet",
    )
    table = pyarrow.read_table(rtrain.folder / "out.parquet")
    assert table.column_names == ["prediction"] and table.num_rows == 333
    values = table.column("prediction").combine_chunks()
    values = values.storage if hasattr(values, "storage") else values
    for got, row in zip(values.to_pylist(), wanted):
        assert got == pytest.approx(row["prediction"], abs=1e-5)
    predict(
        rtrain,
        "last:best",
        test,
        "--columns",
        "image",
        "--keep",
        "label",
        "-o",
        rtrain.folder / "out.csv",
        "--rows",
        "40",
    )
    rows = list(csv.DictReader(io.StringIO((rtrain.folder / "out.csv").read_text())))
    assert len(rows) == 40 and list(rows[0]) == ["label", *(f"prediction_{i}" for i in range(10))]
    assert [int(row["label"]) for row in rows] == [row["label"] for row in wanted[:40]]
    assert float(rows[7]["prediction_3"]) == pytest.approx(wanted[7]["prediction"][3], abs=1e-5)
    # A checkpoint's folder, with the script that builds its model.
    path = next(row["path"] for row in json.loads(rtrain("checkpoint", "ls", "shapes", "--json").stdout) if row["best"])
    script = rtrain.script(SCRIPT)
    result = predict(
        rtrain,
        path,
        test,
        "--keep",
        "label",
        "--script",
        script,
        "-o",
        rtrain.folder / "out.jsonl",
        "--",
        rtrain.folder,
    )
    assert [json.loads(line) for line in (rtrain.folder / "out.jsonl").read_text().splitlines()] == wanted
    assert result.stdout == ""


def test_features_of_a_table_and_a_model_that_the_config_describes(rtrain):
    (rtrain.folder / "rows.csv").write_text("name,a,b,y\n" + "".join(f"r{i},{i},{2 * i},{3 * i}\n" for i in range(5)))
    result = rtrain(
        "run",
        rtrain.script("""
        local torch, train = require 'torch', require 'rtrain'
        local function build_model(config)
          local layer = torch.nn.Linear(2, config.outputs)
          return config.outputs == 1 and layer or torch.nn.Sequential(layer)
        end
        train.TorchTrainer{
          train_loop_per_worker = function(config)
            local model = build_model(config)
            torch.no_grad(function() model.weight:fill_(1); model.bias:fill_(0.5) end)
            train.tempdir(function(dir)
              torch.save_safetensors(model:state_dict(), dir .. '/model.safetensors')
              train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
          end,
          train_loop_config = {outputs = 3},
          run_config = train.RunConfig{name = 'sum'},
        }:fit()
    """),
        "--set",
        "outputs=1",
    )
    assert result.returncode == 0, result.stderr
    rows = predict(rtrain, "sum", rtrain.folder / "rows.csv", "--keep", "name", "--keep", "y").stdout.splitlines()
    assert [json.loads(row) for row in rows] == [
        {"name": f"r{i}", "y": 3 * i, "prediction": 3 * i + 0.5} for i in range(5)
    ]
    result = rtrain("predict", "sum", rtrain.folder / "rows.csv", "--keep", "y")
    assert result.returncode == 2 and "column 'name' is not of numbers" in result.stderr
    ids = [2**53 + 1, None, 2**53 + 3]
    table = rtrain.folder / "ids.csv"
    table.write_text("id,a,b,c\n" + "".join(f"{value or ''},{i or ''},1,2\n" for i, value in enumerate(ids)))
    rows = predict(rtrain, "sum", table, "--keep", "id", "--columns", "b", "--columns", "c").stdout
    assert [json.loads(row)["id"] for row in rows.splitlines()] == ids
    result = rtrain("predict", "sum", table, "--keep", "id", "--columns", "a", "--columns", "b")
    assert result.returncode == 2 and "column 'a': row 0 of the batch is null" in result.stderr


def test_images_of_a_folder(rtrain, trained):
    folder = rtrain.folder / "images"
    result = rtrain(
        "exec",
        rtrain.script("""
        local torch, data = require 'torch', require 'rtrain.data'
        local io_ = require 'vision.io'
        os.execute('mkdir -p ' .. arg[1])
        local i = 0
        for row in data.read_parquet(arg[2]):limit(12):iter_rows() do
          io_.write_png(row.image:unsqueeze(0):contiguous(), ('%s/%02d.png'):format(arg[1], i))
          i = i + 1
        end
    """),
        folder,
        rtrain.folder / "test",
    )
    assert result.returncode == 0, result.stderr
    wanted = [
        json.loads(row)
        for row in predict(
            rtrain, "shapes", rtrain.folder / "test", "--keep", "label", "--rows", "12"
        ).stdout.splitlines()
    ]
    # The script's function does not accept images as (h, w, c).
    result = rtrain("predict", "shapes", folder)
    assert result.returncode == 1 and "made by preprocess of the script; --transform none" in result.stderr
    rows = [json.loads(row) for row in predict(rtrain, "shapes", folder, "--transform", "none").stdout.splitlines()]
    assert len(rows) == 12
    for row, other in zip(rows, wanted):
        assert row["prediction"] == pytest.approx(other["prediction"], abs=1e-5)


def test_a_transform_is_found_and_one_that_is_not_is_warned_of(rtrain):
    """The model is the identity, so its outputs show its inputs."""
    script = """
        local torch, train, T = require 'torch', require 'rtrain', require 'vision.transforms'
        local Same = torch.nn.Module:extend 'Same'
        function Same:init() self.scale = torch.nn.Parameter(torch.ones(1)) end
        function Same:forward(x) return x:flatten(1) * self.scale end
        local train_transform = T.Compose {T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize({0.5}, {0.25})}
        local NAME = T.Compose {T.ToTensor(), T.Normalize({0.5}, {0.25})}
        train.TorchTrainer{
          train_loop_per_worker = function()
            local model = Same()
            train.tempdir(function(dir)
              torch.save(model:state_dict(), dir .. '/model.pt')
              train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
          end,
          run_config = train.RunConfig{name = 'NAME'},
        }:fit()
    """
    assert (
        rtrain(
            "exec",
            rtrain.script("""
        local torch, data = require 'torch', require 'rtrain.data'
        data.from_tensors {image = torch.tensor({{{0, 255}, {51, 204}}}, {dtype = 'uint8'})}:write_parquet 'image'
    """),
        ).returncode
        == 0
    )
    shown = {}
    for name in ("transform", "other"):
        rtrain.run_ok(script.replace("NAME", name))
        result = predict(rtrain, name, "image")
        shown[name] = json.loads(result.stdout)["prediction"], result.stderr
    assert shown["transform"][0] == pytest.approx([-2, 2, -1.2, 1.2]) and "warn" not in shown["transform"][1]
    values, said = shown["other"]
    assert values == pytest.approx([0, 1, 0.2, 0.8])
    assert (
        "training changes its inputs" in said
        and "train.lua:6: local other = T.Compose" in said
        and "--transform NAME" in said
    )
    named = predict(rtrain, "other", "image", "--transform", "other")
    assert (
        json.loads(named.stdout)["prediction"] == pytest.approx([-2, 2, -1.2, 1.2])
        and "training changes" not in named.stderr
    )
    assert "training changes" not in predict(rtrain, "other", "image", "--transform", "none").stderr


def test_a_checkpoint_of_trees_needs_no_script(rtrain):
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not here: scripts/test --oracle installs it")
    numpy = pytest.importorskip("numpy")
    script = rtrain.script("""
        local data, train, xgboost = require 'rtrain.data', require 'rtrain', require 'xgboost'
        train.XGBoostTrainer({
          train_loop_per_worker = function(config)
            local dtrain = xgboost.QuantileDMatrix(train.get_dataset_shard('train'), {label = 'y'})
            xgboost.train({objective = 'reg:squarederror', max_depth = 3}, dtrain, {num_boost_round = 5, verbose_eval = false,
              evals = {{dtrain, 'train'}}, callbacks = {train.xgboost.RayTrainReportCallback()}})
          end,
          datasets = {train = data.range(500):map(function(row)
            return {a = row.id % 37, b = row.id % 11, y = row.id % 37 * 2}
          end)},
          scaling_config = train.ScalingConfig{num_workers = 1},
          run_config = train.RunConfig{name = 'trees'},
        }):fit()
    """)
    result = rtrain("run", script)
    assert result.returncode == 0, result.stderr
    script.unlink()
    table = rtrain.folder / "rows.csv"
    table.write_text("id,b,a\n" + "".join(f"n{i},{i % 11},{i % 37 if i % 10 else ''}\n" for i in range(100)))
    result = predict(rtrain, "trees", table, "--keep", "id")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert "Booster on cpu: 100 rows" in result.stderr and [row["id"] for row in rows] == [f"n{i}" for i in range(100)]
    path = next(row["path"] for row in json.loads(rtrain("checkpoint", "ls", "trees", "--json").stdout) if row["best"])
    booster = xgboost.Booster(model_file=f"{path}/model.ubj")
    features = numpy.array([[i % 37 if i % 10 else numpy.nan, i % 11] for i in range(100)], dtype="float32")
    wanted = booster.predict(xgboost.DMatrix(features, feature_names=["a", "b"]))
    assert [row["prediction"] for row in rows] == pytest.approx(wanted.tolist(), abs=1e-5)
    # A copy is another checkpoint, whose files must match its manifest: XGBoost itself may crash on damaged files.
    copy = rtrain.folder / "copy"
    shutil.copytree(path, copy)
    assert predict(rtrain, "./copy/", table, "--keep", "id").stdout == result.stdout
    model = bytearray((copy / "model.ubj").read_bytes())
    model[len(model) // 2] ^= 0xFF
    (copy / "model.ubj").write_bytes(model)
    damaged = rtrain("predict", "./copy/", table, "--keep", "id", "-o", "out.jsonl")
    assert damaged.returncode == 4 and "model.ubj" in damaged.stderr and "damaged" in damaged.stderr, damaged.stderr
    assert not (rtrain.folder / "out.jsonl").exists()
