"""rtrain predict: what is wrong with its arguments, checkpoints and data, and a prediction that is stopped."""

import json
import os
import signal
import struct
import zipfile
import zlib

import pytest

from conftest import nightly, sample, wait_until
from predictions import SCRIPT, predict, trained  # noqa: F401  (a fixture)

pytestmark = nightly

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


@pytest.mark.parametrize("number", sample(signal.SIGINT, signal.SIGTERM), ids=lambda number: number.name)
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
