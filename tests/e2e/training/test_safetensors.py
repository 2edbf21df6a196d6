"""Python's safetensors reads files of torch.save_safetensors, and torch.load_safetensors reads Python's files."""

import json
import struct

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
safetensors = pytest.importorskip("safetensors.torch", reason="Python's safetensors is not here: scripts/test --oracle")
SafetensorError = pytest.importorskip("safetensors").SafetensorError

DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex64",
]


def execute(rtrain, text, *args):
    result = rtrain("exec", rtrain.script(text), *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_python_reads_what_rtrain_saves(rtrain):
    path = rtrain.folder / "x.safetensors"
    execute(
        rtrain,
        """
        local torch = require 'torch'
        local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
        local tensors = {turned = x:t(), ['"ä\\n"'] = torch.zeros(0, 3), scalar = torch.tensor(2.5)}
        for _, dtype in ipairs{%s} do tensors[dtype] = torch.ones(2):to(dtype) end
        torch.save_safetensors(tensors, arg[1], {metadata = {format = 'pt', note = 'häß'}})
    """
        % ", ".join(f"'{name}'" for name in DTYPES),
        path,
    )
    value = safetensors.load_file(path)
    assert value.keys() == {"turned", '"ä\n"', "scalar", *DTYPES}
    assert value["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert value['"ä\n"'].shape == (0, 3)
    assert value["scalar"].item() == 2.5
    for name in DTYPES:
        assert value[name].dtype == getattr(torch, name)
        assert torch.equal(value[name].to(torch.complex128), torch.ones(2, dtype=torch.complex128))
    with safetensors.safe_open(path, framework="pt") as file:
        assert file.metadata() == {"format": "pt", "note": "häß"}


def test_rtrain_reads_what_python_saves(rtrain):
    path = rtrain.folder / "x.safetensors"
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    tensors = {
        **model.state_dict(),
        "empty": torch.zeros(3, 0),
        **{name: torch.ones(2, dtype=torch.float32).to(getattr(torch, name)) for name in DTYPES},
    }
    safetensors.save_file(tensors, path, metadata={"step": "7"})
    execute(
        rtrain,
        """
        local torch = require 'torch'
        for _, mmap in ipairs{false, true} do
          local value, metadata = torch.load_safetensors(arg[1], {mmap = mmap, metadata = true})
          assert(metadata.step == '7')
          assert(value.empty.shape[1] == 3 and value.empty:numel() == 0)
          assert(value['1.num_batches_tracked']:item() == 0 and value['1.num_batches_tracked'].dtype == 'int64')
          for _, dtype in ipairs{%s} do
            assert(value[dtype].dtype == dtype)
            assert(value[dtype]:to 'float64':sum():item() == 2)
          end
          value['0.weight']:mul_(2)
          if mmap then torch.save_safetensors({w = value['0.weight'], b = value['0.bias']}, arg[2]) end
        end
    """
        % ", ".join(f"'{name}'" for name in DTYPES),
        path,
        rtrain.folder / "y.safetensors",
    )
    again = safetensors.load_file(rtrain.folder / "y.safetensors")
    assert torch.equal(again["w"], model[0].weight.detach() * 2)
    assert torch.equal(again["b"], model[0].bias.detach())
    assert torch.equal(safetensors.load_file(path)["0.weight"], model[0].weight.detach())


HEADERS = {
    "good": '{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}',
    "padded": '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}      ',
    "swapped": '{"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}',
    "overlap": '{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}',
    "hole": '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}',
    "tail": '{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}',
    "beyond": '{"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}}',
    "mismatch": '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}',
    "overflow": '{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]}}',
    "negative": '{"a":{"dtype":"U8","shape":[4],"data_offsets":[-1,4]}}',
    "fraction": '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0.0,4]}}',
    "reversed": '{"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}}',
    "dtype": '{"a":{"dtype":"X9","shape":[4],"data_offsets":[0,4]}}',
    "list": "[]",
    "metadata": '{"__metadata__":{"a":1},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
}


@pytest.mark.parametrize("name", HEADERS)
def test_both_take_and_refuse_the_same_headers(rtrain, name):
    path = rtrain.folder / "x.safetensors"
    header = HEADERS[name].encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\1\2\3\4")
    try:
        expected = {key: value.tolist() for key, value in safetensors.load_file(path).items()}
    except SafetensorError:
        expected = None
    output = execute(
        rtrain,
        """
        local torch = require 'torch'
        local ok, value = pcall(torch.load_safetensors, arg[1])
        if not ok then
          assert(value.code == 'argument')
          return print 'null'
        end
        local parts = {}
        for key, tensor in require('base.ordered').items(value) do
          parts[#parts + 1] = ('"%s": [%s]'):format(key, table.concat(tensor:tolist(), ','))
        end
        print('{' .. table.concat(parts, ',') .. '}')
    """,
        path,
    )
    assert json.loads(output) == expected
