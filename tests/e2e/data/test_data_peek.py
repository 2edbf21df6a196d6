"""`rtrain peek FILE` shows the content of a data file."""

import gzip
import json
import re
import struct

import pytest

from conftest import nightly
from test_terminal import OnTerminal

pytestmark = nightly

WRITE = """
local data, torch = require 'rtrain.data', require 'torch'
local image = torch.zeros({10, 20, 3}, {dtype = 'uint8'})
image:select(2, 0):fill_(255)
local rows = data.from_items {{id = 1, name = 'a', x = 0.5}, {id = 2, name = 'b, "c"', x = 1.5}, {id = 3, name = 'd', x = -2}}
rows:write_parquet 'parquet'
rows:write_csv 'csv'
rows:write_json 'json'
torch.save({model = {w = torch.zeros(2, 3), b = torch.ones({2}, {dtype = 'int64'})}, epoch = 3, list = {torch.ones(1), 'x'}},
  'm.pt')
local function map(items) return setmetatable(items, torch._intmap_meta) end  -- as Python's dicts with integer keys are read
torch.save({a = map {[0] = 3, [1] = 'x'}, b = map {torch.ones(1), 'y'}}, 'keys.pt')
torch.save_safetensors({w = torch.zeros(4, 5), s = torch.tensor(1)}, 'm.safetensors', {metadata = {format = 'pt'}})
local vision = require 'vision.io'
vision.write_png(image:permute(2, 0, 1):contiguous(), 'i.png')
"""


@pytest.fixture
def files(rtrain):
    result = rtrain("exec", rtrain.script(WRITE))
    assert result.returncode == 0, result.stderr
    for kind in ("parquet", "csv", "json"):
        [path] = (rtrain.folder / kind).iterdir()
        path.rename(rtrain.folder / f"t.{kind}")
    with gzip.open(rtrain.folder / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(struct.pack(">IIII", 2051, 7, 28, 28) + bytes([200]) * 7 * 784)
    return rtrain


def peek(rtrain, *args):
    result = rtrain("peek", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_integers_keep_all_digits(rtrain):
    (rtrain.folder / "t.csv").write_text("id,u\n9007199254740993,1\n,18446744073709551615\n")
    result = rtrain(
        "exec",
        rtrain.script("""
        local data = require 'rtrain.data'
        data.read_csv('t.csv', {column_types = {u = 'uint64'}}):write_parquet 'parquet'
    """),
    )
    assert result.returncode == 0, result.stderr
    [path] = (rtrain.folder / "parquet").iterdir()
    document = json.loads(peek(rtrain, path, "--json"))
    assert document["rows"] == [{"id": 2**53 + 1, "u": 1}, {"u": 2**64 - 1}]
    assert "9007199254740993" in peek(rtrain, path) and "18446744073709551615" in peek(rtrain, path)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_tables(files, kind):
    document = json.loads(peek(files, f"t.{kind}", "--json"))
    assert (document["path"], document["format"], document["num_rows"]) == (f"t.{kind}", kind, 3)
    assert {column["name"]: column["type"] for column in document["columns"]} == {
        "id": "int64",
        "name": "string",
        "x": "float64",
    }
    assert document["rows"] == [
        {"id": 1, "name": "a", "x": 0.5},
        {"id": 2, "name": 'b, "c"', "x": 1.5},
        {"id": 3, "name": "d", "x": -2},
    ]
    assert json.loads(peek(files, f"t.{kind}", "--json", "--rows", 1))["rows"] == document["rows"][:1]
    text = peek(files, f"t.{kind}", "--rows", 2)
    assert f"t.{kind}  {kind}, 3 rows, 3 columns" in text
    assert re.search(r"^name +string$", text, re.M) and re.search(r'^ +1  2 +b, "c" +1.5$', text, re.M)
    assert "  d  " not in text and "ROW" not in peek(files, f"t.{kind}", "--rows", 0)


def test_arrays(files):
    document = json.loads(peek(files, "train-images-idx3-ubyte.gz", "--json", "--rows", 2))
    assert (document["format"], document["num_rows"]) == ("idx", 7)
    assert document["rows"] == [{"data": {"shape": [28, 28], "dtype": "uint8"}}] * 2
    assert "0  uint8 (28, 28)" in peek(files, "train-images-idx3-ubyte.gz")


def test_tensors(files):
    document = json.loads(peek(files, "m.pt", "--json"))
    assert document["tensors"] == [
        {"name": "list.0", "shape": [1], "dtype": "float32"},
        {"name": "model.b", "shape": [2], "dtype": "int64"},
        {"name": "model.w", "shape": [2, 3], "dtype": "float32"},
    ]
    assert document["values"] == {"epoch": 3, "list.1": "x"}
    text = peek(files, "m.pt")
    assert "m.pt  pt, 3 tensors of 9 numbers" in text and re.search(r"^model.w +\(2, 3\) +float32$", text, re.M)
    document = json.loads(peek(files, "m.safetensors", "--json"))
    assert {tensor["name"]: tensor["shape"] for tensor in document["tensors"]} == {"s": [], "w": [4, 5]}
    assert document["metadata"] == {"format": "pt"}


def test_integer_keys_are_those_of_the_file(files):
    document = json.loads(peek(files, "keys.pt", "--json"))
    assert document["values"] == {"a.0": 3, "a.1": "x", "b.2": "y"}
    assert [tensor["name"] for tensor in document["tensors"]] == ["b.1"]


def test_images_are_shown_where_there_are_colours(files):
    assert json.loads(peek(files, "i.png", "--json")) == {
        "path": "i.png",
        "format": "image",
        "shape": [10, 20, 3],
        "dtype": "uint8",
    }
    assert peek(files, "i.png") == "i.png  image, uint8 (10, 20, 3)\n"
    del files.env["NO_COLOR"]
    files.env.update(TERM="xterm", COLORTERM="truecolor")
    lines = OnTerminal(files, "peek", "i.png").end().decode().splitlines()
    assert lines[2:] == ["i.png"] + ["\x1b[38;2;255;0;0;48;2;255;0;0m" + "▀" * 20 + "\x1b[0m"] * 5
    del files.env["COLORTERM"]
    screen = OnTerminal(files, "peek", "train-images-idx3-ubyte.gz", "--rows", 2).end().decode()
    assert screen.count("▀") == 2 * 28 * 14 and "row 1, data" in screen and "\x1b[38;5;" in screen
    narrow = OnTerminal(files, "peek", "i.png", columns=11).end().decode()
    assert narrow.count("▀") == 10 * 3, "ten pixels wide and five high"
    files.env["NO_COLOR"] = "1"
    assert b"\x1b" not in OnTerminal(files, "peek", "i.png").end()


def test_what_cannot_be_read_is_said(files):
    for args, words in (
        (["none.csv"], "there is no such file"),
        (["train.lua"], "say --as, one of csv"),
        (["t.csv", "--as", "xls"], "xls"),
        (["t.csv", "--rows", "-1"], "--rows"),
    ):
        result = files("peek", *args)
        assert result.returncode == 2 and words in result.stderr, result.stderr
    result = files("peek", "t.csv", "--as", "parquet")
    assert result.returncode != 0 and "t.csv" in result.stderr
    (files.folder / "plain").write_text("a,b\n1,2\n")
    assert "plain  csv, 1 row, 2 columns" in peek(files, "plain", "--as", "csv")
