"""Python's torch reads files of torch.save, and torch.load reads Python's files."""

import collections
import pathlib
import pickle
import zipfile

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

numpy = pytest.importorskip("numpy", reason="Python's torch comes with it: scripts/test --oracle installs both")

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
    "complex32",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
]


def execute(rtrain, text, *args):
    result = rtrain("exec", rtrain.script(text), *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def load_error(rtrain, path):
    """Returns code and message of the error when the file is loaded."""
    return execute(
        rtrain,
        """
        local torch = require 'torch'
        local ok, err = pcall(torch.load, arg[1])
        assert(not ok)
        io.write(err.code, '\\n', err.message)
    """,
        path,
    ).split("\n", 1)


def test_python_reads_what_rtrain_saves(rtrain):
    path = rtrain.folder / "x.pt"
    execute(
        rtrain,
        """
        local ordered = require 'base.ordered'
        local torch = require 'torch'
        local nn = require 'torch.nn'
        local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
        local value = {turned = x:t(), whole = x, count = 3, big = 2 ^ 40, negative = -5, rate = 0.5, on = true, name = 'häß',
                       binary = '\\255\\0x', list = {1, {2, 'three'}}, empty = torch.list{}, map = {},
                       order = ordered.new{{'z', 1}, {'a', 2}}, model = nn.Linear(2, 1):state_dict(),
                       parameter = torch.ones(2):requires_grad_()}
        for _, dtype in ipairs{%s} do value[dtype] = torch.ones(2):to(dtype) end
        value.coo, value.csr, value.csc = x:to_sparse(), x:to_sparse_csr(), x:to_sparse_csc()
        value.complex, value.integer = 2i, 9007199254740993LL
        torch.save(value, arg[1])
    """
        % ", ".join(f"'{name}'" for name in DTYPES),
        path,
    )
    value = torch.load(path, weights_only=True)
    assert value["whole"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert value["turned"].untyped_storage().data_ptr() == value["whole"].untyped_storage().data_ptr()
    plain = {key: value[key] for key in ("count", "big", "negative", "rate", "on", "name", "list", "empty", "map")}
    assert plain == {
        "count": 3,
        "big": 2**40,
        "negative": -5,
        "rate": 0.5,
        "on": True,
        "name": "häß",
        "list": [1, [2, "three"]],
        "empty": [],
        "map": {},
    }
    assert value["binary"] == b"\xff\x00x"
    assert list(value["order"].items()) == [("z", 1), ("a", 2)]
    assert list(value["model"]) == ["weight", "bias"]
    assert torch.nn.Linear(2, 1).load_state_dict(value["model"])
    assert value["parameter"].requires_grad
    for name in DTYPES:
        assert value[name].dtype == getattr(torch, name)
        assert torch.equal(value[name].to(torch.complex128), torch.ones(2, dtype=torch.complex128))
    for name in ("coo", "csr", "csc"):
        assert value[name].layout == getattr(torch, f"sparse_{name}")
        assert torch.equal(value[name].to_dense(), value["whole"])
    assert value["complex"] == 2j and value["integer"] == 2**53 + 1


def test_rtrain_reads_what_python_saves(rtrain):
    path = rtrain.folder / "x.pt"
    base = torch.arange(6.0).view(2, 3)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.25)
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    tagged, tagged_parameter = torch.ones(3), torch.nn.Parameter(torch.ones(3))
    tagged.tag = tagged_parameter.tag = "text"
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "whole": base,
            "turned": base.t(),
            "parameter": torch.nn.Parameter(torch.ones(2)),
            "big": 2**40,
            "negative": -(2**35),
            "rate": 0.1,
            "on": True,
            "none": None,
            "text": "häß",
            "tuple": (1, (2, "x")),
            "size": base.size(),
            "dtype": torch.float16,
            "device": torch.device("cuda", 1),
            "numbers": {3: "three", 10: "ten"},
            "empty": [],
            "order": collections.OrderedDict(z=1, a=2),
            **{name: torch.ones(2).to(getattr(torch, name)) for name in DTYPES},
            "integer": -(2**62) - 1,
            "complex": 1 + 2j,
            "bytes": b"a\xff\x00",
            "no_bytes": b"",
            "bytearray": bytearray(b"\xfe"),
            "set": {5},
            "counter": collections.Counter("aab"),
            "default": collections.defaultdict(list, {"a": [1]}),
            "layout": torch.sparse_coo,
            "conj": torch.tensor([1 + 2j]).conj(),
            "neg": torch.tensor([1 + 2j]).conj().imag,
            "coo": base.to_sparse(),
            "csr": base.to_sparse_csr(),
            "bsr": base.to_sparse_bsr((1, 3)),
            "tagged": tagged,
            "tagged_parameter": tagged_parameter,
            "expanded": torch.tensor([3.0]).expand(4),
            "strided": base[:, ::2],
            "inside": [None, (None,), {"deep": [base[1]]}],
        },
        path,
    )
    execute(
        rtrain,
        """
        local lu = require 'luaunit'
        local ordered = require 'base.ordered'
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
          lu.assertEquals(value[dtype]:to 'complex128'.real:tolist(), {1, 1})
        end
        lu.assertEquals(value.integer, -4611686018427387905LL)
        lu.assertEquals({value.complex.re, value.complex.im}, {1, 2})
        lu.assertEquals({value.bytes, value.no_bytes, value.bytearray}, {'a\\255\\0', '', '\\254'})
        lu.assertEquals({value.set[1], value.counter.a, value.default.a[1]}, {5, 2, 1})
        lu.assertEquals(value.layout, 'sparse_coo')
        lu.assertEquals(value.conj.imag:item(), -2)
        lu.assertEquals(value.neg:item(), -2)
        lu.assertEquals(value.expanded:tolist(), {3, 3, 3, 3})
        lu.assertEquals(value.strided:tolist(), {{7, 7}, {7, 7}})
        lu.assertEquals({value.coo.layout, value.csr.layout, value.bsr.layout}, {'sparse_coo', 'sparse_csr', 'sparse_bsr'})
        for _, name in ipairs{'coo', 'csr', 'bsr'} do lu.assertEquals(value[name]:to_dense()[1]:tolist(), {3, 4, 5}) end
        lu.assertEquals(value.tagged:tolist(), {1, 1, 1})
        lu.assertTrue(value.tagged_parameter.requires_grad)
        lu.assertIs(value.inside[1], torch.none)
        lu.assertEquals(value.inside[3].deep[1]:tolist(), {7, 7, 7})
        local mapped = torch.load(arg[1], {mmap = true})
        for name, tensor in require('base.ordered').items(mapped.model) do
          lu.assertTrue(tensor:equal(value.model[name]))
        end
        torch.save(value, arg[2])
    """
        % ", ".join(f"'{name}'" for name in DTYPES),
        path,
        rtrain.folder / "y.pt",
    )
    again = torch.load(rtrain.folder / "y.pt", weights_only=True)
    assert again["numbers"] == {3: "three", 10: "ten"}
    model.load_state_dict(again["model"])
    optimizer.load_state_dict(again["optimizer"])


def test_integers_of_64_bits_both_ways(rtrain):
    integers = [0, 5, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -1, -(2**53) - 1, -(2**63)]
    path, copy, written = (rtrain.folder / name for name in ("x.pt", "copy.pt", "written.pt"))
    torch.save(integers, path)
    execute(
        rtrain,
        """
        local torch = require 'torch'
        local value = torch.load(arg[1])
        for i, text in ipairs{'0', '5', '9007199254740992', '9007199254740993LL', '9223372036854775807LL',
                              '9223372036854775808ULL', '18446744073709551615ULL', '-1', '-9007199254740993LL',
                              '-9223372036854775808LL'} do
          assert((tostring(value[i]):gsub('^9.007.*e%+15$', '9007199254740992')) == text, text .. ' ' .. tostring(value[i]))
        end
        torch.save(value, arg[2])
        torch.save({5ULL, 9007199254740993ULL, 9223372036854775807ULL, torch.iinfo('uint64').max}, arg[3])
    """,
        path,
        copy,
        written,
    )
    assert torch.load(copy, weights_only=True) == integers
    assert torch.load(written, weights_only=True) == [5, 2**53 + 1, 2**63 - 1, 2**64 - 1]


class Foreign:
    """A class that is defined only in this file."""


@pytest.mark.parametrize(
    "value, name",
    [
        (Foreign(), "Foreign"),
        (torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"),
        (print, "__builtin__.print"),
        (numpy.float64(1), "numpy._core.multiarray.scalar"),
        (numpy.ones(2), "numpy._core.multiarray._reconstruct"),
        (pathlib.Path("x"), "pathlib."),
        (torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "torch._utils._rebuild_qtensor"),
        (torch.ones(2, device="meta"), "torch._utils._rebuild_meta_tensor_no_storage"),
        (2**80, "an integer beyond 64 bits"),
        (2**64, "an integer beyond 64 bits"),
        (-(2**63) - 1, "an integer beyond 64 bits"),
        ({(1, 2): 3}, "neither a string nor an integer"),
        ({1.5: 3}, "neither a string nor an integer"),
    ],
)
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
    assert "format from before 1.6" in load_error(rtrain, path)[1]
    path.write_bytes(pickle.dumps({"a": 1}))
    assert "not an archive of torch.save" in load_error(rtrain, path)[1]
    torch.save({"a": 1}, path, pickle_protocol=4)
    assert "protocol 4" in load_error(rtrain, path)[1]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x/version", "3")
        file.writestr("x/data.pkl", b"\x80\x02K\x07." * 100)
    assert "compressed" in load_error(rtrain, path)[1]
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(path))
    assert "TorchScript" in load_error(rtrain, path)[1]


def test_damaged_tensors_are_refused(rtrain):
    path = rtrain.folder / "x.pt"
    torch.save({"w": torch.arange(1000.0)}, path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert "damaged zip archive: it does not end with a directory" in load_error(rtrain, path)[1]
