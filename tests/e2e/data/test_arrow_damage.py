"""Damaged Parquet, Arrow, CSV and JSON files give an error that names the file, or values, but never a crash or high
memory."""

import io
import tarfile

import pytest

import tfrecords
from conftest import nightly

pytestmark = nightly

# Writes small files with many kinds of columns: Parquet with each codec, Arrow's two formats, CSV.
MAKE_SEEDS = """
local arrow, data, torch = require 'base._arrow', require('torch._C').data, require 'torch'
torch.manual_seed(0)
local function strings(kind)
  local offsets, bytes = {0}, {}
  for i = 1, 40 do
    for _ = 1, i % 5 do bytes[#bytes + 1] = 97 + i % 3 end
    offsets[i + 1] = #bytes
  end
  return {kind = kind, offsets = torch.tensor(offsets, {dtype = 'int64'}), bytes = torch.tensor(bytes, {dtype = 'uint8'}),
    valid = torch.arange(40):remainder(7):ne(0)}
end
local lists, tables, numbers = {}, {}, {}
for i = 1, 40 do
  lists[i] = i % 4 > 0 and {i, i + 1} or nil
  tables[i] = {a = i % 3 > 0 and i or nil, b = {{c = 'x'}, {}}}
  numbers[i] = i % 5 > 0 and i / 2 or nil
end
local flat = {'i', 'f', 'b', 's', 'n'}
local flat_columns = {torch.arange(40), torch.rand(40), torch.rand(40):gt(0.5), strings 'strings',
  {kind = 'objects', n = 40, values = numbers}}
local names = {'i', 'f', 'b', 's', 'n', 'r', 'p', 't', 'l', 'o'}
local columns = {unpack(flat_columns)}
for i, column in ipairs{strings 'binary', strings 'image', torch.rand(40, 2, 3), {kind = 'objects', n = 40, values = lists},
  {kind = 'objects', n = 40, values = tables}} do columns[5 + i] = column end
local function write(name, writer, n, c, options)
  local out = arrow[writer](name, options)
  out:write(data.to_arrow(n, c))
  out:write(data.to_arrow(n, c))
  out:close()
end
for _, codec in ipairs{'none', 'snappy', 'gzip', 'zstd', 'lz4', 'brotli'} do
  write(codec .. '.parquet', 'parquet_writer', names, columns, {compression = codec, row_group_bytes = 1})
end
write('plain.arrow', 'ipc_writer', names, columns)
write('zstd.arrow', 'ipc_writer', names, columns, {stream = true, compression = 'zstd'})
write('x.csv', 'csv_writer', flat, flat_columns)
"""

# Reads COUNT damaged variants of the file arg[2] with the reader arg[1].
READ_DAMAGED = """
local arrow, data, bit = require 'base._arrow', require('torch._C').data, require 'bit'
local open, count, path = arg[1], tonumber(arg[3]), 'damaged'
math.randomseed(11)
local file = assert(io.open(arg[2], 'rb'))
local bytes = file:read '*a'
file:close()

-- Flips bits; sometimes removes, inserts or truncates a piece. Most damage is near the end, where the metadata is.
local function damaged()
  local out = bytes
  for _ = 1, math.random(1, 3) do
    local at = math.random() < 0.5 and math.random(1, #out) or math.random(math.max(1, #out - 2000), #out)
    local kind = math.random(10)
    if kind == 1 then
      out = out:sub(1, at) .. out:sub(at + math.random(1, 50))
    elseif kind == 2 then
      out = out:sub(1, at) .. string.char(math.random(0, 255)):rep(math.random(1, 20)) .. out:sub(at + 1)
    elseif kind == 3 then
      out = out:sub(1, at)
    else
      local byte = kind < 8 and bit.bxor(out:byte(at), 2 ^ math.random(0, 7)) or math.random(0, 255)
      out = out:sub(1, at - 1) .. string.char(byte) .. out:sub(at + 1)
    end
  end
  return out
end

local function read_all()
  local cursors = {}
  if open == 'open_parquet' then
    local reader = arrow.open_parquet(path)
    for group = 0, reader:num_row_groups() - 1 do cursors[group + 1] = reader:read(group) end
  elseif open == 'open_ipc_batches' then
    local reader = arrow.open_ipc_batches(path)
    for batch = reader:num_batches() - 1, 0, -1 do cursors[#cursors + 1] = reader:read(batch, 1) end
  elseif open ~= 'tar' then
    cursors[1] = arrow[open](path)
  end
  if open == 'tar' then
    local tar = require 'rtrain.data.files.tar'(path)
    while tar:next() do tar:read() end
  end
  for _, cursor in ipairs(cursors) do
    local rows = 0
    for batch in function() return rows < 1e6 and cursor:next() or nil end do
      data.from_arrow(batch)
      rows = rows + batch:num_rows()
    end
  end
end

local errors = 0
local function read_damaged()
  for _ = 1, count do
    local out = assert(io.open(path, 'wb'))
    out:write(damaged())
    out:close()
    local ok, err = pcall(read_all)
    if not ok then
      errors = errors + 1
      local code = err.code == 'argument' or err.code == 'unsupported' or err.code == 'out_of_memory'
      assert(code and err.message:find(path, 1, true) and not err.message:find '\\n', tostring(err))
    end
  end
end
-- Runs on its own coroutine: dead stack slots of this one would keep values from being collected.
coroutine.wrap(read_damaged)()
collectgarbage()
collectgarbage()
for line in io.lines '/proc/self/status' do
  local peak = line:match '^VmHWM:%s*(%d+) kB'
  if peak then print(errors, peak, arrow.bytes_allocated()) end
end
"""


def read_damaged(rtrain, reader, file, count):
    result = rtrain("exec", rtrain.script(READ_DAMAGED), reader, file, str(count))
    assert result.returncode == 0, result.stdout + result.stderr
    errors, peak_kb, bytes_left = map(int, result.stdout.split())
    assert errors > count / 10
    # A dead slot of a stack or a trace may keep the last batch; a leak in every file would be far larger.
    assert peak_kb < 600_000 and bytes_left < 10 * count


@pytest.mark.parametrize(
    "reader, file",
    [
        *[("open_parquet", f"{codec}.parquet") for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli")],
        ("open_ipc", "plain.arrow"),
        ("open_ipc", "zstd.arrow"),
        ("open_ipc_batches", "plain.arrow"),
        ("open_ipc_batches", "zstd.arrow"),
        ("open_csv", "x.csv"),
    ],
)
def test_damaged_files_of_our_writers(rtrain, reader, file):
    assert rtrain("exec", rtrain.script(MAKE_SEEDS)).returncode == 0
    read_damaged(rtrain, reader, file, 400)


def test_damaged_json(rtrain):
    lines = ['{"a": %d, "b": "%s", "c": [%d, 1], "d": {"e": %s}}' % (i, "x" * i, i, i / 3) for i in range(30)]
    (rtrain.folder / "x.jsonl").write_text("\n".join(lines))
    read_damaged(rtrain, "open_json", "x.jsonl", 400)


def test_damaged_records(rtrain):
    rows = [{"a": [i], "b": [b"x" * i], "c": [0.5] * (i % 3), "d": [1.0, 2.0]} for i in range(30)]
    tfrecords.write(rtrain.folder / "x.tfrecord", rows)
    read_damaged(rtrain, "open_tfrecords", "x.tfrecord", 400)


def test_damaged_archives(rtrain):
    with tarfile.open(rtrain.folder / "x.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        for i in range(20):
            info = tarfile.TarInfo(f"{'long/' * 30}ä{i}.txt")
            info.size = i
            tar.addfile(info, io.BytesIO(b"x" * i))
    read_damaged(rtrain, "tar", "x.tar", 400)


def test_damaged_files_of_pyarrow(rtrain):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
    pq = pytest.importorskip("pyarrow.parquet")
    texts = pa.array([f"c{i % 5}" for i in range(40)])
    table = pa.table(
        {
            "dictionary": texts.dictionary_encode(),
            "fixed": pa.array([b"abcd"] * 40, pa.binary(4)),
            "decimal": pa.array(range(40), pa.decimal128(20, 2)),
            "map": pa.array([[("k", i)] for i in range(40)], pa.map_(pa.string(), pa.int32())),
            "view": texts.cast(pa.string_view()),
            "half": pa.array(range(40), pa.int32()).cast(pa.float16()),
            "time": pa.array(range(40), pa.time32("s")),
            "stamp": pa.array(range(40), pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, rtrain.folder / "v2.parquet", row_group_size=20, data_page_version="2.0", compression="zstd")
    pq.write_table(
        table,
        rtrain.folder / "delta.parquet",
        use_dictionary=False,
        column_encoding={"view": "DELTA_BYTE_ARRAY", "time": "DELTA_BINARY_PACKED", "fixed": "BYTE_STREAM_SPLIT"},
    )
    with pa.ipc.new_file(rtrain.folder / "x.arrow", table.schema) as writer:
        writer.write_table(table)
    for reader, file in (("open_parquet", "v2.parquet"), ("open_parquet", "delta.parquet"), ("open_ipc", "x.arrow")):
        read_damaged(rtrain, reader, file, 400)
