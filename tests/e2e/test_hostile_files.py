"""Small files that ask for much: an error that names the file, or values, within bounded memory, and never a crash."""

import struct
import zipfile

import pytest

# Reads each of the files arg[2…] with the expression arg[1] of `path`: what came of it and the peak of the memory.
READ = """
local torch, data = require 'torch', require 'rtrain.data'
local read = assert(loadstring('return function(path, torch, data) ' .. arg[1] .. ' end'))()
for i = 2, #arg do
  local ok, err = pcall(read, arg[i], torch, data)
  print(arg[i]:match '[^/]*$', ok and 'value' or err.code or 'plain', ok and tostring(err) or err.message:gsub('\\n', ' '), '')
  collectgarbage()
end
for line in io.lines '/proc/self/status' do
  local peak = line:match '^VmHWM:%s*(%d+) kB'
  if peak then print(math.floor(peak / 1024)) end
end
"""


def read(rtrain, expression, *paths):
    """By a file's name: the code of its error, or 'value', and the message; and the peak in MB."""
    result = rtrain("exec", rtrain.script(READ, "read.lua"), expression, *paths)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr
    *lines, peak_mb = result.stdout.splitlines()
    found = {}
    for line in lines:
        name, code, message, _ = line.split("\t")
        found[name] = code, message
    assert len(found) == len(paths)
    return found, int(peak_mb)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def integer(value):
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)


def storage(kind="Float", key="0", location="cpu", numel=4):
    return (
        b"("
        + text("storage")
        + f"ctorch\n{kind}Storage\n".encode()
        + text(key)
        + text(location)
        + integer(numel)
        + b"tQ"
    )


def tensor(of=None, offset=0, sizes=(4,), strides=(1,)):
    return b"".join(
        [
            b"ctorch._utils\n_rebuild_tensor_v2\n(",
            of or storage(),
            integer(offset),
            b"(",
            *map(integer, sizes),
            b"t(",
            *map(integer, strides),
            b"t\x89}tR",
        ]
    )


def sparse(size):
    indices = tensor(storage("Long", "1", numel=1), sizes=(1, 1), strides=(1, 1))
    return b"".join(
        [
            b"ctorch._utils\n_rebuild_sparse_tensor\n",
            text("sparse_coo"),
            b"(",
            indices,
            tensor(storage(numel=1), sizes=(1,)),
            b"ctorch\nSize\n(",
            *map(integer, size),
            b"t\x85R\x89t\x86R",
        ]
    )


# The body of a pickle, and what its error says; None: it is read.
PICKLES = {
    "storage_larger_than_its_record": (tensor(storage(numel=1 << 50)), "record data/0 is missing or has another size"),
    "stride_beyond_the_storage": (tensor(sizes=(2, 3), strides=(1 << 40, 1)), "reaches outside its storage"),
    "offset_beyond_the_storage": (tensor(offset=1 << 40), "reaches outside its storage"),
    "sizes_that_overflow": (tensor(sizes=(1 << 40, 1 << 40), strides=(0, 0)), "a tensor's shape"),
    "one_element_2^40_times": (tensor(sizes=(1 << 40,), strides=(0,)), None),
    "a_large_sparse_tensor": (sparse([1 << 58]), None),
    "a_sparse_tensor_that_overflows": (sparse([1 << 40, 1 << 40]), ""),
    "a_device_that_is_not_here": (tensor(storage(location="cuda:99")), "'cuda:99' cannot be used here"),
    "a_device_without_memory": (tensor(storage(location="meta")), "'meta' cannot be used here"),
    "deep_dicts": ((b"}" + text("a")) * 300000 + b"N" + b"s" * 300000, "nested too deeply"),
    "deep_tuples": (b")" + b"\x85" * 1000000, "nested too deeply"),
    "lists_twice_in_lists": (b"]q\0000" + b"](h\0h\0eq\0000" * 90 + b"h\0", "nested too deeply"),
    "lists_twice_in_lists_less_deep": (b"]q\0000" + b"](h\0h\0eq\0000" * 30 + b"h\0", None),
    "a_million_marks": (b"(" * 1000000, "a bare storage or mark"),
    "a_million_notes": (b"]" + b"".join(b"r" + struct.pack("<I", i) for i in range(1000000)), None),
    "a_million_equal_keys": (b"}(" + (text("a") + b"N") * 1000000 + b"u", None),
    "many_tensors_of_one_storage": (b"(" + tensor() * 10000 + b"t", None),
    "text_many_times": (b"](" + text("x" * 65536) + b"q\0" + b"h\0" * 5000 + b"e", "repeats too much text"),
    "a_count_without_items": (b"X\xff\xff\xff\xff", "ends too early"),
    "a_python_function": (b"cos\nsystem\n(" + text("true") + b"tR", "the Python name os.system, which is refused"),
}


def write_archive(path, body, packing=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("x/version", "3", zipfile.ZIP_STORED)
        archive.writestr("x/data.pkl", b"\x80\x02" + body + b".")
        archive.writestr("x/data/0", bytes(4 if b"sparse" in body else 16))
        archive.writestr("x/data/1", bytes(8))


# fault: a hostile .pt
def test_archives_that_ask_for_much(rtrain):
    paths = []
    for name, (body, _) in PICKLES.items():
        paths.append(rtrain.folder / f"{name}.pt")
        write_archive(paths[-1], body)
    found, peak_mb = read(rtrain, "return (tostring(torch.load(path)):sub(1, 200):gsub('\\n', ' '))", *paths)
    for name, (_, expected) in PICKLES.items():
        code, message = found[f"{name}.pt"]
        if expected is None:
            assert code == "value", f"{name}: {message}"
        else:
            assert code in ("argument", "environment"), f"{name}: {code} {message}"
            assert f"cannot load '{rtrain.folder / name}.pt'" in message and expected in message, f"{name}: {message}"
            assert len(message) < 1000, name
    assert peak_mb < 900


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")


# fault: a hostile Parquet file
def test_parquet_files_that_ask_for_much(rtrain, parquet):
    import pyarrow as pa

    def write(name, table, **options):
        parquet.write_table(table, rtrain.folder / f"{name}.parquet", **options)
        return rtrain.folder / f"{name}.parquet"

    deep = pa.int8()
    for _ in range(300):
        deep = pa.list_(deep)
    paths = [
        write("pages", pa.table({"z": pa.array(["x" * (1 << 24)] * 4)}), compression="zstd", use_dictionary=False),
        write("nulls", pa.table({"n": pa.nulls(50_000_000, pa.int8())}), row_group_size=50_000_000),
        write("columns", pa.table({f"c{i}": pa.array([1]) for i in range(3000)})),
        write("deep", pa.table({"d": pa.nulls(1, deep)}), store_schema=False),
    ]
    found, peak_mb = read(rtrain, "return #data.read_parquet(path):take(3)", *paths)
    assert found["deep.parquet"][0] == "argument" and "nested" in found["deep.parquet"][1]
    assert [found[f"{name}.parquet"] for name in ("pages", "nulls", "columns")] == [
        ("value", "3"),
        ("value", "3"),
        ("value", "1"),
    ]
    assert peak_mb < 1500
