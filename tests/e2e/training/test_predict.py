"""rtrain predict: applies the model of a checkpoint to data files."""

import csv
import io
import json
import os
import shutil
import signal
import struct
import zipfile
import zlib

import pytest

from conftest import wait_until

# A network for drawn shapes. The accuracy covers all images of the test set, which is written as Parquet and idx.
SCRIPT = """
    local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'
    local datasets = require 'vision.datasets'
    local nn, F = torch.nn, torch.nn.functional

    local ConvNet = nn.Module:extend 'ConvNet'
    function ConvNet:init()
      self.conv, self.norm, self.fc = nn.Conv2d(1, 8, 5), nn.BatchNorm2d(8), nn.Linear(8 * 6 * 6, 10)
      self.dropout = nn.Dropout(0.2)
    end
    function ConvNet:forward(x)
      x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 4)
      return self.fc(self.dropout(torch.flatten(x, 1)))
    end

    local function images_of(is_train)
      local set = datasets.shapes10{train = is_train, n = is_train and 1200 or 333, size = 28, channels = 1}
      return set.data:view(-1, 28, 28), set.targets
    end

    local function preprocess(batch) return batch.image:unsqueeze(1):float():div(255) end

    local function train_func(config)
      torch.manual_seed(1)
      torch.set_num_threads(1)
      local x, y = images_of(true)
      local net = ConvNet()
      local model = train.torch.prepare_model(net)
      local optimizer = torch.optim.Adam(model:parameters(), {lr = config.lr})
      local rank = train.get_context():get_world_rank()
      for epoch = 1, config.epochs do
        model:train()
        for at = rank * 60, 1140, 120 do
          local loss = F.cross_entropy(model(preprocess{image = x:narrow(0, at, 60)}), y:narrow(0, at, 60))
          optimizer:zero_grad()
          loss:backward()
          optimizer:step()
        end
        model:eval()
        local tx, ty = images_of(false)
        local right = torch.no_grad(function() return net(preprocess{image = tx}):argmax(1):eq(ty):sum():item() end)
        train.tempdir(function(dir)
          if rank > 0 then return train.report{right = right} end
          torch.save({model = model:state_dict(), epoch = epoch}, dir .. '/model.pt')
          train.report({right = right}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
      end
    end

    local tx, ty = images_of(false)
    data.from_tensors{image = tx, label = ty}:write_parquet(arg[1] .. '/test', {mode = 'ignore'})
    train.TorchTrainer{
      train_loop_per_worker = train_func,
      train_loop_config = {lr = 0.01, epochs = 5},
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{name = 'shapes', checkpoint_config = {checkpoint_score_attribute = 'right'}},
    }:fit()
    """


@pytest.fixture
def trained(rtrain):
    """A run whose script was deleted, and the predictions that it reported for its best checkpoint."""
    script = rtrain.script(SCRIPT)
    result = rtrain("run", script, "--", rtrain.folder)
    assert result.returncode == 0, result.stdout + result.stderr
    script.unlink()
    best = next(row for row in json.loads(rtrain("checkpoint", "ls", "shapes", "--json").stdout) if row["best"])
    return best["metrics"]["right"]


def predict(rtrain, *args):
    result = rtrain("predict", *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def test_the_predictions_are_as_right_as_the_run_has_reported(rtrain, trained):
    # Model, script and config come from the run: the script is deleted, and its fit() does not train again.
    result = predict(rtrain, "shapes", rtrain.folder / "test", "--classes", "--keep", "label", "--batch-size", "50")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert "ConvNet on cpu: 333 rows" in result.stderr
    assert len(rows) == 333 and list(rows[0]) == ["label", "prediction", "class"] and len(rows[0]["prediction"]) == 10
    assert sum(row["label"] == row["class"] for row in rows) == trained
    assert all(max(range(10), key=row["prediction"].__getitem__) == row["class"] for row in rows)
    assert rtrain("ls", "--names").stdout.split() == ["shapes"]


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


WRONG = {
    ("nothing", "test"): "nothing",
    ("shapes:lates", "test"): "the run 'shapes' has no checkpoint 'lates'",
    ("shapes", "no-such.parquet"): "there is no such file or folder",
    ("shapes", "test", "--model", "ConvNe"): "did you mean 'ConvNet'?",
    ("shapes", "test", "--model", "images_of"): "'images_of' returned Tensor, expected a model",
    ("shapes", "test", "--transform", "proprocess"): "did you mean 'preprocess'?",
    ("shapes", "test", "--keep", "lable"): "did you mean 'label'?",
    ("shapes", "test", "--keep", "label", "--columns", "imge"): "did you mean 'image'?",
    ("shapes", "test", "--keep", "label", "--part", "epok"): "has no part 'epok'",
    ("shapes", "test", "--keep", "label", "-o", "x.txt"): "predictions are written as JSON lines, CSV or Parquet",
    ("./shapes", "test"): "there is no such folder",
    ("./test", "test"): "no script is kept with it: name the one that makes its model, --script FILE",
}


def test_what_is_wrong_is_said_with_its_name(rtrain, trained):
    for (model, data, *options), text in WRONG.items():
        result = rtrain("predict", model, data, *options)
        assert result.returncode == 2, (model, data, options, result.stdout, result.stderr)
        assert text in result.stderr, (model, data, options, result.stderr)
    assert not list(rtrain.folder.glob("x.txt*"))


def test_an_error_in_the_middle_leaves_no_file(rtrain, trained):
    script = rtrain.script(
        SCRIPT.replace(
            "local function preprocess(batch)",
            "local seen = 0\n    local function preprocess(batch)\n"
            "      seen = seen + 1\n      if seen > 3 then error('no more') end\n     ",
        )
    )
    path = next(row["path"] for row in json.loads(rtrain("checkpoint", "ls", "shapes", "--json").stdout) if row["best"])
    out = rtrain.folder / "out.json"
    result = rtrain(
        "predict",
        path,
        rtrain.folder / "test",
        "--script",
        script,
        "--transform",
        "preprocess",
        "-o",
        out,
        "--batch-size",
        "32",
        "--",
        rtrain.folder,
    )
    assert result.returncode == 1 and "no more" in result.stderr
    assert not out.exists() and not list(rtrain.folder.glob(".out*"))


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


# A model with two features, and checkpoints of its state dict, by the name of their folder.
TINY = """
    local torch, train = require 'torch', require 'rtrain'
    local function build_model() return torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 3)) end
    if arg[1] ~= 'make' then return {build_model = build_model} end
    local os = require 'os'
    local function save(name, value)
      os.execute("mkdir '" .. name .. "'")
      if value ~= nil then torch.save(value, name .. '/model.pt') end
    end
    local function changed(name, value)
      local out = build_model():state_dict()
      out[name] = value
      return out
    end
    save('good', build_model():state_dict())
    save('list', {1, 2})
    save('numbers', setmetatable({[3] = torch.zeros(2)}, torch._intmap_meta))
    save('number', 3)
    save('text', changed('0.weight', 'abc'))
    save('shape', changed('0.weight', torch.zeros(9, 9)))
    save('missing', changed('1.bias', nil))
    save('more', changed('other', torch.zeros(1)))
    save('none')
"""

LOADING = "cannot load {folder}/{name}/model.pt: "
CHECKPOINTS = {
    "list": (1, LOADING + "load_state_dict: expected a state_dict, whose keys are names, got a list with the key"),
    "numbers": (
        1,
        LOADING + "load_state_dict: expected a state_dict, whose keys are names, got a table with the key 3",
    ),
    "number": (2, "3 is not a state dict: name the part of model.pt that is, --part"),
    "text": (
        1,
        LOADING + 'Error(s) in loading state_dict for Sequential:\n\tWhile copying the parameter named "0.weight"',
    ),
    "shape": (1, LOADING + "Error(s) in loading state_dict for Sequential:\n\tsize mismatch for 0.weight"),
    "missing": (
        1,
        LOADING + 'Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "1.bias"',
    ),
    "more": (1, LOADING + 'Error(s) in loading state_dict for Sequential:\n\tUnexpected key(s) in state_dict: "other"'),
    "none": (2, "the checkpoint has no file of tensors (.pt, .pth, .safetensors): it is empty"),
    "cut": (1, "model.pt': damaged zip archive: it does not end with a directory"),
    "begun": (1, "model.pt': damaged zip archive: it does not end with a directory"),
    "empty": (1, "model.pt': it is not an archive of torch.save"),
    "other": (1, "model.pt': it is not an archive of torch.save"),
    "bomb": (1, "model.pt': its record archive/data/0 is compressed, which torch.save never does"),
}


@pytest.fixture
def tiny(rtrain):
    """Fixture: returns the exit code and error of `rtrain predict` with a checkpoint's folder. The command leaves no
    file."""
    script = rtrain.script(TINY)
    made = rtrain("exec", script, "make")
    assert made.returncode == 0, made.stderr
    (rtrain.folder / "good.csv").write_text("x,y\n1,2\n3,4\n")

    def predict(checkpoint, data, *options, out="out.jsonl"):
        options = ["--script", script, "--model", "build_model", "-o", out, *options]
        result = rtrain("predict", f"./{checkpoint}/", data, *options)
        left = [path.name for path in rtrain.folder.iterdir() if "out." in path.name]
        assert left == ([out] if result.returncode == 0 else []), (left, result.stderr)
        for name in left:
            (rtrain.folder / name).unlink()
        return result.returncode, result.stderr

    return predict


# fault: a damaged checkpoint, one of another model, or one that is an attack
def test_a_checkpoint_that_is_not_the_models_is_said_with_its_file(rtrain, tiny):
    assert tiny("good", "good.csv")[0] == 0
    whole = (rtrain.folder / "good" / "model.pt").read_bytes()
    bytes_of = {"cut": whole[:-50], "begun": whole[:200], "empty": b"", "other": b"hello" * 20}
    for name, content in bytes_of.items():
        (rtrain.folder / name).mkdir()
        (rtrain.folder / name / "model.pt").write_bytes(content)
    (rtrain.folder / "bomb").mkdir()
    with zipfile.ZipFile(rtrain.folder / "good" / "model.pt") as archive:
        root = archive.namelist()[0].split("/")[0]
        pickle = archive.read(f"{root}/data.pkl")
    with zipfile.ZipFile(rtrain.folder / "bomb" / "model.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data/0", bytes(50_000_000), compress_type=zipfile.ZIP_DEFLATED)
    for name, (code, text) in CHECKPOINTS.items():
        found, error = tiny(name, "good.csv")
        assert found == code and text.format(folder=rtrain.folder, name=name) in error, (name, found, error)


def npy(shape, values=bytes(64)):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values


def png(width, height, data):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


# File name → its bytes, the exit code, the message.
DATA = {
    "empty.csv": (b"", 1, "it is empty"),
    "ragged.csv": (b"x,y\n1,2\n3\n", 1, "ragged.csv', line 3: Expected 2 columns, got 1"),
    "one.csv": (b"x\n1\n2\n", 1, "(rows 0 to 1 of one.csv, which has the column x)"),
    "three.csv": (b"x,y,z\n1,2,3\n", 1, "(rows 0 to 0 of three.csv, which has the columns x, y, z)"),
    "text.csv": (b"x,y\na,b\n", 2, "column 'x' is not of numbers"),
    "late.csv": (b"x,y\n" + b"1,2\n" * 300_000 + b"a,b\n", 1, "late.csv', line 300002: column 'x'"),
    "null.jsonl": (b'{"x": null, "y": 1}\n', 2, "column 'x': row 0 of the batch is null"),
    "bad.jsonl": (b'{"x": 1, "y": 2}\n{"x":\n', 1, "bad.jsonl', line 2: it is not one JSON object"),
    "deep.jsonl": (
        b'{"x": ' + b"[" * 10000 + b"]" * 10000 + b"}\n",
        1,
        "it is not one JSON object of at most 100 levels",
    ),
    "huge.jsonl": (b'{"x": 1e999, "y": 1}\n', 1, "Number too big to be stored in double"),
    "cut.parquet": (b"PAR1" + bytes(60), 1, "cannot read '{folder}/cut.parquet': it is damaged"),
    "text.parquet": (b"hello" * 100, 1, "cannot read '{folder}/text.parquet': it is damaged"),
    "wide.npy": (npy("2, 5", bytes(40)), 1, "(rows 0 to 1 of wide.npy, which has the column data)"),
    "large.npy": (npy("4611686018427387904, 2"), 1, "it is truncated: its header promises far more bytes of values"),
    "negative.npy": (npy("-1, 2"), 1, "malformed .npy header"),
    "deep.npy": (npy("1, " * 100), 1, "it has more than 64 dimensions"),
    "large.idx": (struct.pack(">BBBBI", 0, 0, 8, 1, 2**32 - 1), 1, "its header promises more than its 8 bytes hold"),
    "deep.idx": (struct.pack(">BBBB", 0, 0, 8, 255) + bytes(99), 1, "it has 255 dimensions"),
    "text.png": (b"hello", 1, "it is not an image; JPEG and PNG are read"),
    "cut.png": (png(8, 8, zlib.compress(bytes(8 * 25)))[:60], 1, "damaged PNG: it is truncated"),
    "large.png": (png(60000, 60000, b""), 1, "it has 60000 × 60000 pixels, more than max_pixels"),
    "cut.jpg": (b"\xff\xd8\xff\xe0" + bytes(50), 1, "damaged JPEG"),
    "some.gif": (b"GIF89a" + bytes(10), 2, "cannot tell from its name what some.gif is: say --as"),
}


# fault: hostile data
def test_data_that_no_model_can_take_are_said_with_their_file(rtrain, tiny):
    for name, (content, code, text) in DATA.items():
        (rtrain.folder / name).write_bytes(content)
        found, error = tiny("good", name)
        assert found == code and text.format(folder=rtrain.folder) in error, (name, found, error)
    (rtrain.folder / "folder").mkdir()
    found, error = tiny("good", "folder")
    assert found == 2 and "folder: no file in the folder has a name that says what it is: say --as" in error, error
    (rtrain.folder / "head.csv").write_text("x,y\n")
    for out in ("out.jsonl", "out.csv", "out.parquet"):
        found, error = tiny("good", "head.csv", out=out)
        assert found == (0 if out == "out.jsonl" else 2), error
        assert found == 0 or f"head.csv has no rows, and without one the columns of {out} are not known" in error, error
        found, error = tiny("good", "late.csv", "--batch-size", "1000", out=out)
        assert found == 1 and "line 300002" in error, error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_prediction_that_is_stopped_leaves_no_file(rtrain, tiny, number):
    (rtrain.folder / "many.csv").write_text("x,y\n" + "1,2\n" * 400_000)
    script = ["--script", "train.lua", "--model", "build_model", "--batch-size", "1"]
    for out in ("out.jsonl", "out.csv", "out.parquet"):
        running = rtrain.start("predict", "./good/", "many.csv", *script, "-o", out)

        def left():
            return [path for path in rtrain.folder.iterdir() if "out." in path.name]

        wait_until(lambda: left() or not running.running, message="the first rows")
        os.kill(running.pid, number)
        result = running.wait()
        assert result.returncode == 130 and "interrupted" in result.stderr, result.stderr
        assert left() == []
