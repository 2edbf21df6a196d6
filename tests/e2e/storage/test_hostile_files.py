"""Small files that claim to be huge: an error that names the file, or values, within bounded memory, and never a
crash."""

import gzip
import struct
import zipfile

import pytest

from conftest import nightly

pytestmark = nightly

# Reads each of the files arg[2…] with the expression arg[1] of `path`; prints the outcome and the peak of the memory.
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
    """Returns, by file name, the code of its error or 'value' with the message or value; and the peak in MB."""
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


# The body of a pickle → its error message; None: the file is valid.
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
    "a_device_of_a_long_name": (tensor(storage(location="x" * 100000)), "has more than 200 bytes"),
    "a_storage_of_a_long_name": (tensor(storage(key="../" * 100000)), "has more than 200 bytes"),
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


def write_sparse_archive(path, records, hole, size):
    """Writes a zip64 archive whose last record, of that size, is a hole in the file."""
    with open(path, "wb") as file:
        entries = b""
        for name, data in [*records.items(), (hole, None)]:
            at, length, name = file.tell(), size if data is None else len(data), name.encode()
            extra = struct.pack("<HHQQ", 1, 16, length, length)
            file.write(
                struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, 0, 2**32 - 1, 2**32 - 1, len(name), len(extra))
            )
            file.write(name + extra)
            if data is None:
                file.seek(size, 1)
            else:
                file.write(data)
            entries += (
                struct.pack(
                    "<IHHHHHHIIIHHHHHII",
                    0x02014B50,
                    45,
                    45,
                    0,
                    0,
                    0,
                    0,
                    0,
                    2**32 - 1,
                    2**32 - 1,
                    len(name),
                    len(extra),
                    0,
                    0,
                    0,
                    0,
                    at,
                )
                + name
                + extra
            )
        begin = file.tell()
        file.write(entries)
        end, count = file.tell(), len(records) + 1
        file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, end - begin, begin))
        file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0))


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


# fault: a hostile .pt
def test_archives_that_are_packed_or_have_holes(rtrain):
    packed, pickle, values = (rtrain.folder / f"{name}.pt" for name in ("packed", "pickle", "values"))
    write_archive(packed, b"]" * (1 << 26), zipfile.ZIP_DEFLATED)
    write_sparse_archive(pickle, {"x/version": b"3"}, "x/data.pkl", 1 << 40)
    numel = 1 << 40
    body = b"\x80\x02" + tensor(storage(numel=numel), sizes=(numel,)) + b"."
    write_sparse_archive(values, {"x/version": b"3", "x/data.pkl": body}, "x/data/0", 4 * numel)
    found, peak_mb = read(rtrain, "return torch.load(path)", packed, pickle, values)
    assert (
        found["packed.pt"][0] == "argument"
        and "data.pkl is compressed, which torch.save never does" in found["packed.pt"][1]
    )
    assert found["pickle.pt"][0] == "argument" and "data.pkl has 1099511627776 bytes: at most" in found["pickle.pt"][1]
    assert found["values.pt"][0] == "out_of_memory" and "Tried to allocate 4.00 TiB" in found["values.pt"][1]
    for name, (_, message) in found.items():
        assert f"cannot load '{rtrain.folder / name}'" in message, message
    assert peak_mb < 300
    result = rtrain("exec", rtrain.script("require('torch').load(arg[1])"), pickle)
    assert result.returncode == 1 and f"cannot load '{pickle}'" in result.stderr
    result = rtrain("exec", rtrain.script("require('torch').load(arg[1])"), values)
    assert result.returncode == 4 and f"cannot load '{values}'" in result.stderr
    # A mapped file takes no memory, and only the values that are used are read.
    numel = 1 << 29
    body = b"\x80\x02" + tensor(storage(numel=numel), sizes=(numel,)) + b"."
    write_sparse_archive(values, {"x/version": b"3", "x/data.pkl": body}, "x/data/0", 4 * numel)
    found, peak_mb = read(rtrain, "return torch.load(path, {mmap = true})[7]:item()", values)
    assert found["values.pt"] == ("value", "0") and peak_mb < 300
    result = rtrain("peek", values, "--json")
    assert result.returncode == 0 and str(numel) in result.stdout, result.stderr


# fault: a hostile NumPy file
def test_arrays_that_unpack_to_more_than_there_is(rtrain):
    """A .npz states its size: an array larger than the machine's memory is refused before it is unpacked."""
    path = rtrain.folder / "x.npz"
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % (1 << 40)
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n"
    size = len(header) + (1 << 40)
    write_sparse_archive(path, {}, "x.npy", 1 << 30)
    data = path.read_bytes()[:60]
    assert data  # the header of the record
    with open(path, "r+b") as file:  # marked as deflated, and as 1,024 times its size
        content = file.read(30)
        file.seek(0)
        file.write(content[:8] + b"\x08" + content[9:])
        at = data.index(struct.pack("<HH", 1, 16))
        file.seek(at + 4)
        file.write(struct.pack("<Q", size))
        file.seek(-(22 + 20 + 56), 2)
        end = file.tell()
        entry_size = 46 + len("x.npy") + 20
        file.seek(end - entry_size + 10)
        file.write(b"\x08")
        file.seek(end - entry_size + 46 + len("x.npy") + 4)
        file.write(struct.pack("<Q", size))
    found, peak_mb = read(rtrain, "return torch.load_numpy(path)", path)
    code, message = found["x.npz"]
    assert code == "out_of_memory" and f"cannot read '{path}'" in message and "Tried to allocate 1.00 TiB" in message
    assert peak_mb < 300


def peak_of_peek(rtrain, path, *args):
    result = rtrain(
        "exec",
        rtrain.script("""
        local document = require('rtrain.data.peek').look {path = arg[1], rows = 3}
        print(document.num_rows, #document.rows, document.columns[1].type)
        print(io.open('/proc/self/status'):read('*a'):match('VmHWM:%s*(%d+) kB'))
    """),
        path,
    )
    assert result.returncode == 0, result.stderr
    shown, peak_kb = result.stdout.splitlines()
    return shown.split("\t"), int(peak_kb) / 1024


def test_peek_unpacks_what_it_shows(rtrain):
    """Only the first rows of a compressed idx file or of a .npy are unpacked."""
    count = 400_000
    path = rtrain.folder / "train-images-idx3-ubyte.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(struct.pack(">BBBBIII", 0, 0, 8, 3, count, 28, 28))
        for _ in range(count // 10000):
            file.write(bytes(784 * 10000))
    (rows, shown, _), peak_mb = peak_of_peek(rtrain, path)
    assert (int(rows), int(shown)) == (count, 3) and peak_mb < 250, peak_mb
    path = rtrain.folder / "x.npy"
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 784), }\n" % (1 << 30)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.seek(784 << 30, 1)
        file.truncate()
    (rows, shown, _), peak_mb = peak_of_peek(rtrain, path)
    assert (int(rows), int(shown)) == (1 << 30, 3) and peak_mb < 250, peak_mb


def test_a_short_idx_file_is_shown_as_before(rtrain):
    path = rtrain.folder / "x-idx1-ubyte"
    path.write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, 2) + b"ab")
    assert peak_of_peek(rtrain, path)[0][:2] == ["2", "2"]
    path.write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, 2) + b"abc")
    result = rtrain("data", "peek", path)
    assert result.returncode == 1 and f"cannot read '{path}': it is longer than its header says" in result.stderr


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")


# fault: a hostile Parquet file
@pytest.mark.parametrize("is_dictionary", [False, True], ids=["strings", "dictionary"])
def test_a_dictionary_that_makes_gigabytes(rtrain, parquet, is_dictionary):
    """One megabyte of file has 100 GB of values: they are read in batches of few rows, also for a column that was
    written from a dictionary. Arrow could read such a column as a dictionary only for all rows of a row group at
    once."""
    import pyarrow as pa

    path = rtrain.folder / "x.parquet"
    values = pa.array(["x" * (1 << 20), "short"])
    indices = pa.array(([1] * 5000 + [0] * 100_000), pa.int32())
    parquet.write_table(
        pa.table({"n": pa.array(range(len(indices))), "s": pa.DictionaryArray.from_arrays(indices, values)}),
        path,
        compression="none",
        store_schema=is_dictionary,
        row_group_size=200_000,
    )
    assert path.stat().st_size < 3 << 20
    found, peak_mb = read(
        rtrain,
        """
        local rows, last = 0, -1
        for batch in data.read_parquet(path):iter_batches {batch_size = 100} do
          for i = 1, #batch.s do
            local n = batch.n[i - 1]
            n = type(n) == 'number' and n or n:item()
            assert(n == last + 1 and #batch.s[i] == (n < 5000 and 5 or 2 ^ 20), n)
            last = n
          end
          if last > 5500 then return last end
        end
        """,
        path,
    )
    assert found["x.parquet"][0] == "value", found
    assert peak_mb < 4000
    found, peak_mb = read(rtrain, "assert(#data.read_parquet(path):take(3)[3].s == 5)", path)
    assert found["x.parquet"][0] == "value", found
    assert peak_mb < 1000


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
