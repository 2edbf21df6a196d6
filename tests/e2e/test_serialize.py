"""Files of torch.save read by Python's torch, and Python's files read by torch.load."""

import collections
import pickle

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
          "complex128"]


def execute(rtrain, text, *args):
    result = rtrain("exec", rtrain.script(text), *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def load_error(rtrain, path):
    """Code and message of loading the file."""
    return execute(rtrain, """
        local torch = require 'torch'
        local ok, err = pcall(torch.load, arg[1])
        assert(not ok)
        io.write(err.code, '\\n', err.message)
    """, path).split("\n", 1)


def test_python_reads_what_rtrain_saves(rtrain):
    path = rtrain.folder / "x.pt"
    execute(rtrain, """
        local ordered = require 'rtrain.ordered'
        local torch = require 'torch'
        local nn = require 'torch.nn'
        local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
        local value = {turned = x:t(), whole = x, count = 3, big = 2 ^ 40, negative = -5, rate = 0.5, on = true, name = 'häß',
                       binary = '\\255\\0x', list = {1, {2, 'three'}}, empty = torch.list{}, map = {},
                       order = ordered.new{{'z', 1}, {'a', 2}}, model = nn.Linear(2, 1):state_dict(),
                       parameter = torch.ones(2):requires_grad_()}
        for _, dtype in ipairs{%s} do value[dtype] = torch.ones(2, {dtype = dtype}) end
        torch.save(value, arg[1])
    """ % ", ".join(f"'{name}'" for name in DTYPES), path)
    value = torch.load(path, weights_only=True)
    assert value["whole"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert value["turned"].untyped_storage().data_ptr() == value["whole"].untyped_storage().data_ptr()
    plain = {key: value[key] for key in ("count", "big", "negative", "rate", "on", "name", "list", "empty", "map")}
    assert plain == {"count": 3, "big": 2**40, "negative": -5, "rate": 0.5, "on": True, "name": "häß",
                     "list": [1, [2, "three"]], "empty": [], "map": {}}
    assert value["binary"] == b"\xff\x00x"
    assert list(value["order"].items()) == [("z", 1), ("a", 2)]
    assert list(value["model"]) == ["weight", "bias"]
    assert torch.nn.Linear(2, 1).load_state_dict(value["model"])
    assert value["parameter"].requires_grad
    for name in DTYPES:
        assert value[name].dtype == getattr(torch, name)
        assert torch.equal(value[name], torch.ones(2, dtype=value[name].dtype))


def test_rtrain_reads_what_python_saves(rtrain):
    path = rtrain.folder / "x.pt"
    base = torch.arange(6.0).view(2, 3)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.25)
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    torch.save({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "whole": base, "turned": base.t(),
        "parameter": torch.nn.Parameter(torch.ones(2)), "big": 2**40, "negative": -(2**35), "rate": 0.1, "on": True,
        "none": None, "text": "häß", "tuple": (1, (2, "x")), "size": base.size(), "dtype": torch.float16,
        "device": torch.device("cuda", 1), "numbers": {3: "three", 10: "ten"}, "empty": [],
        "order": collections.OrderedDict(z=1, a=2), **{name: torch.ones(2, dtype=getattr(torch, name)) for name in DTYPES},
    }, path)
    execute(rtrain, """
        local lu = require 'luaunit'
        local ordered = require 'rtrain.ordered'
        local torch = require 'torch'
        local value = torch.load(arg[1])
        lu.assertEquals(ordered.keys(value.model), {'0.weight', '0.bias', '1.weight', '1.bias', '1.running_mean',
          '1.running_var', '1.num_batches_tracked'})
        lu.assertEquals(value.model['1.num_batches_tracked']:item(), 1)
        local group = value.optimizer.param_groups[1]
        lu.assertEquals(group.lr, 0.25)
        lu.assertEquals(group.params, {0, 1, 2, 3})
        lu.assertEquals(value.optimizer.state[0].step:item(), 1)
        lu.assertEquals(value.turned:tolist(), {{0, 3}, {1, 4}, {2, 5}})
        value.whole:fill_(7)
        lu.assertEquals(value.turned:tolist(), {{7, 7}, {7, 7}, {7, 7}})
        lu.assertTrue(value.parameter.requires_grad)
        lu.assertEquals({value.big, value.negative, value.rate, value.on, value.text}, {2 ^ 40, -2 ^ 35, 0.1, true, 'häß'})
        lu.assertNil(value.none)
        lu.assertEquals(value.tuple, {1, {2, 'x'}})
        lu.assertEquals(value.size, {2, 3})
        lu.assertEquals({value.dtype, value.device}, {'float16', 'cuda:1'})
        lu.assertEquals(value.numbers[3] .. value.numbers[10], 'threeten')
        lu.assertEquals(#value.empty, 0)
        lu.assertEquals(ordered.keys(value.order), {'z', 'a'})
        for _, dtype in ipairs{%s} do
          lu.assertEquals(value[dtype].dtype, dtype)
          lu.assertTrue(value[dtype]:equal(torch.ones(2, {dtype = dtype})))
        end
        torch.save(value, arg[2])
    """ % ", ".join(f"'{name}'" for name in DTYPES), path, rtrain.folder / "y.pt")
    again = torch.load(rtrain.folder / "y.pt", weights_only=True)
    assert again["numbers"] == {3: "three", 10: "ten"}
    model.load_state_dict(again["model"])
    optimizer.load_state_dict(again["optimizer"])


class Foreign:
    """A class that only this file knows."""


@pytest.mark.parametrize("value, name", [
    (Foreign(), "Foreign"),
    (torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"),
    ({1, 2}, "__builtin__.set"),
    (print, "__builtin__.print"),
])
def test_code_and_objects_are_refused_by_name(rtrain, value, name):
    path = rtrain.folder / "x.pt"
    torch.save({"value": value}, path)
    code, message = load_error(rtrain, path)
    assert code == "argument"
    assert name in message and str(path) in message


def test_a_pickle_that_calls_a_function_does_nothing(rtrain):
    class Call:
        def __reduce__(self):
            return (open, (str(rtrain.folder / "made"), "w"))

    path = rtrain.folder / "x.pt"
    torch.save(Call(), path)
    assert "io.open" in load_error(rtrain, path)[1]
    assert not (rtrain.folder / "made").exists()


def test_other_formats_are_refused(rtrain):
    path = rtrain.folder / "x.pt"
    torch.save(torch.ones(1), path, _use_new_zipfile_serialization=False)
    assert "no archive of torch.save" in load_error(rtrain, path)[1]
    path.write_bytes(pickle.dumps({"a": 1}))
    assert "no archive of torch.save" in load_error(rtrain, path)[1]
    torch.save({"a": 1}, path, pickle_protocol=4)
    assert "protocol 4" in load_error(rtrain, path)[1]
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(path))
    assert "TorchScript" in load_error(rtrain, path)[1]


def test_damaged_tensors_are_refused(rtrain):
    path = rtrain.folder / "x.pt"
    torch.save({"w": torch.arange(1000.0)}, path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert "no archive of torch.save, or damaged" in load_error(rtrain, path)[1]
