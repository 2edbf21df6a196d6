"""Parquet, CSV, JSON and Arrow files between rtrain and pyarrow, both ways."""

import datetime
import decimal
import json
import math
import os
import pathlib

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1000
NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]

# Prints the rows of all batches as JSON, one list for each column. Bytes are printed in hexadecimal, NaN as null.
DUMP = """
local torch = require 'torch'
local data = require('torch._C').data

local function text(v)
  local kind = type(v)
  if v == nil or v == torch.none or v ~= v then return 'null' end
  if kind == 'number' then return string.format('%.17g', v) end
  if kind == 'boolean' then return tostring(v) end
  if kind == 'cdata' then return (tostring(v):gsub('U?LL$', '')) end
  if kind == 'string' then return '"' .. v:gsub('.', function(c) return string.format('%02x', c:byte()) end) .. '"' end
  local parts = {}
  if #v > 0 or next(v) == nil then
    for i = 1, #v do parts[i] = text(v[i]) end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  local keys = {}
  for key in next, v do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do parts[i] = string.format('%q:%s', key, text(v[key])) end
  return '{' .. table.concat(parts, ',') .. '}'
end

local function rows_of(column)
  local rows = {}
  if type(column) ~= 'table' then
    for i, value in ipairs(column:tolist()) do rows[i] = text(value) end
  elseif column.kind == 'masked' then
    local valid = column.valid:tolist()
    for i, value in ipairs(column.values:tolist()) do rows[i] = valid[i] and text(value) or 'null' end
  elseif column.kind == 'objects' then
    for i = 1, column.n do rows[i] = text(column.values[i]) end
  else
    local offsets, values, parts = column.offsets:tolist(), column.bytes:tolist(), {}
    for i = 1, #values, 4096 do parts[#parts + 1] = string.char(unpack(values, i, math.min(i + 4095, #values))) end
    local bytes = table.concat(parts)
    for i = 1, #offsets - 1 do
      local valid = not column.valid or column.valid[i - 1]:item()
      rows[i] = valid and text(bytes:sub(offsets[i] + 1, offsets[i + 1])) or 'null'
    end
  end
  return rows
end

local columns, order, kinds = {}, {}, {}
return {
  add = function(batch)
    local names, values = data.from_arrow(batch)
    for i, name in ipairs(names) do
      if not columns[name] then columns[name], order[#order + 1] = {}, name end
      local value = values[i]
      kinds[name] = type(value) == 'table' and value.kind or value.dtype
      for _, row in ipairs(rows_of(value)) do table.insert(columns[name], row) end
    end
  end,
  print = function()
    for i, name in ipairs(order) do
      io.write(i > 1 and ',\\n' or '{\\n', string.format('%q', name), ': ["', kinds[name], '", [',
        table.concat(columns[name], ','), ']]')
    end
    print '}'
  end,
}
"""

READ_PARQUET = """
local dump = dofile 'dump.lua'
local reader = require('base._arrow').open_parquet(arg[1])
for group = 0, reader:num_row_groups() - 1 do
  local cursor = reader:read(group, nil, 128)
  for batch in function() return cursor:next() end do
    assert(batch:num_rows() <= 128)
    dump.add(batch)
  end
end
dump.print()
"""


# Reads with one function of base._arrow and writes every batch, by way of tensors, with another one.
COPY = """
local arrow, data = require 'base._arrow', require('torch._C').data
local from, to, read, write = arg[1], arg[2], arg[3], arg[4]
local options = loadstring('return ' .. (arg[5] or '{}'))()
local function batches()
  if read ~= 'open_parquet' then
    local cursor = arrow[read](from)
    return function() return cursor:next() end
  end
  local reader, group, cursor = arrow.open_parquet(from), -1, nil
  return function()
    while true do
      local batch = cursor and cursor:next()
      if batch then return batch end
      group = group + 1
      if group == reader:num_row_groups() then return nil end
      cursor = reader:read(group)
    end
  end
end
local writer = arrow[write](to, options)
for batch in batches() do writer:write(data.to_arrow(data.from_arrow(batch))) end
writer:close()
"""


def execute(rtrain, text, *args):
    rtrain.script(DUMP, "dump.lua")
    result = rtrain("exec", rtrain.script(text), *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def read_parquet(rtrain, path):
    return json.loads(execute(rtrain, READ_PARQUET, path))


def plain(value):
    """Returns a value of pyarrow in the form that the dump prints."""
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def some_nulls(values, dtype):
    return pa.array([None if i % 7 == 3 else value for i, value in enumerate(values)], dtype)


def table_of_all_types():
    rng = np.random.default_rng(0)
    columns = {}
    for name in NUMBERS:
        values = rng.integers(0, 100, ROWS).astype(name)
        columns[name] = pa.array(values)
        columns[name + "_null"] = some_nulls(values.tolist(), columns[name].type)
    columns["int64_large"] = pa.array([2**62 + i for i in range(ROWS)])
    columns["float16"] = pa.array(np.arange(ROWS).astype("float16"))
    columns["bool"] = pa.array([i % 3 == 0 for i in range(ROWS)])
    columns["bool_null"] = some_nulls([i % 3 == 0 for i in range(ROWS)], pa.bool_())
    texts = [f"söme text {i}" * (i % 4) for i in range(ROWS)]
    columns["string"] = pa.array(texts)
    columns["string_null"] = some_nulls(texts, pa.string())
    columns["large_string"] = pa.array(texts, pa.large_string())
    columns["string_view"] = pa.array(texts, pa.string_view())
    columns["binary"] = pa.array([bytes([i % 256]) * (i % 5) for i in range(ROWS)], pa.binary())
    columns["fixed_binary"] = pa.array([i.to_bytes(4, "big") for i in range(ROWS)], pa.binary(4))
    columns["dictionary"] = pa.array([f"c{i % 5}" for i in range(ROWS)]).dictionary_encode()
    columns["dictionary_null"] = some_nulls([f"c{i % 5}" for i in range(ROWS)], pa.string()).dictionary_encode()
    columns["dictionary_int"] = pa.array([i % 5 for i in range(ROWS)]).dictionary_encode()
    columns["decimal"] = pa.array([decimal.Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(10, 2))
    columns["timestamp"] = pa.array(np.arange(ROWS).astype("datetime64[us]"))
    columns["date"] = pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(ROWS)])
    columns["list"] = pa.array(
        [[float(j) if j % 3 else None for j in range(i % 4)] if i % 5 else None for i in range(ROWS)],
        pa.list_(pa.float32()),
    )
    columns["struct"] = pa.array([{"a": i, "b": f"s{i}" if i % 3 else None, "c": [{"d": i}]} for i in range(ROWS)])
    columns["map"] = pa.array([[(f"k{i}", i)] * (i % 3) for i in range(ROWS)], pa.map_(pa.string(), pa.int32()))
    columns["image"] = pa.array(
        [{"bytes": b"abc" * (i % 3), "path": None} if i % 9 else None for i in range(ROWS)],
        pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
    )
    columns["fixed_list"] = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(ROWS * 4, dtype="float32")), 4)
    columns["tensor"] = pa.FixedShapeTensorArray.from_numpy_ndarray(
        np.arange(ROWS * 24, dtype="float32").reshape(ROWS, 2, 3, 4)
    )
    columns["null"] = pa.nulls(ROWS)
    return pa.table(columns)


def expected_rows(column, name):
    if name == "tensor":
        return column.combine_chunks().to_numpy_ndarray().tolist()
    if name == "image":
        return [plain(row["bytes"]) if row else None for row in column.to_pylist()]
    if name == "map":
        return [[{"key": plain(key), "value": value} for key, value in row] for row in column.to_pylist()]
    if name in ("timestamp", "date"):
        return column.cast(pa.int32() if name == "date" else pa.int64()).to_pylist()
    return plain(column.to_pylist())


@pytest.mark.parametrize(
    "compression, version",
    [("none", "1.0"), ("snappy", "2.0"), ("gzip", "1.0"), ("zstd", "2.0"), ("lz4", "1.0"), ("brotli", "2.0")],
)
def test_every_type_and_codec_of_parquet(rtrain, compression, version):
    path = rtrain.folder / "all.parquet"
    table = table_of_all_types()
    pq.write_table(table, path, row_group_size=300, compression=compression, data_page_version=version)
    found = read_parquet(rtrain, path)
    assert list(found) == table.column_names
    for name in table.column_names:
        assert found[name][1] == expected_rows(table[name], name), name
    kinds = {name: kind for name, (kind, _) in found.items()}
    for name in NUMBERS:
        assert kinds[name] == name
        assert kinds[name + "_null"] == (name if name.startswith("float") else "masked")
    assert {kinds[name] for name in ("string", "large_string", "dictionary", "string_view")} == {"strings"}
    assert (kinds["image"], kinds["binary"], kinds["bool"], kinds["bool_null"]) == ("image", "binary", "bool", "masked")


def test_a_schema_needs_no_libtorch(rtrain):
    path = rtrain.folder / "x.parquet"
    pq.write_table(table_of_all_types(), path, row_group_size=400)
    out = execute(
        rtrain,
        """
        local reader = require('base._arrow').open_parquet(arg[1])
        local types = {}
        for i, column in ipairs(reader:schema()) do types[i] = column.name .. '=' .. column.type end
        print(table.concat(types, '; '))
        print(reader:num_rows(), reader:num_row_groups(), reader:row_group_rows(2), reader:row_group_bytes(0) > 1000)
        local maps = io.open '/proc/self/maps':read '*a'
        print(maps:find 'libarrow' ~= nil, maps:find 'libtorch' ~= nil)
    """,
        path,
    ).splitlines()
    types = dict(item.split("=", 1) for item in out[0].split("; "))
    assert types["int8"] == "int8" and types["float16"] == "float16" and types["dictionary"] == "string"
    assert types["image"] == "image" and types["list"] == "list<float32>" and types["timestamp"] == "timestamp[us]"
    assert types["tensor"] == "tensor<float32>[2,3,4]" and types["decimal"] == "decimal128(10, 2)"
    assert types["struct"] == "struct<a: int64, b: string, c: list<struct<d: int64>>>"
    assert out[1].split() == ["1000", "3", "200", "true"]
    assert out[2].split() == ["true", "false"]


def test_columns_may_be_chosen(rtrain):
    path = rtrain.folder / "x.parquet"
    pq.write_table(table_of_all_types(), path)
    out = execute(
        rtrain,
        """
        local dump = dofile 'dump.lua'
        local reader = require('base._arrow').open_parquet(arg[1])
        local cursor = reader:read(0, {'struct', 'image', 'int8'}, 10)
        dump.add(cursor:next())
        dump.print()
        print(pcall(reader.read, reader, 0, {'imgae'}))
        print(pcall(reader.read, reader, 1))
        local none, rows = reader:read(0, {}), 0
        for batch in function() return none:next() end do rows = rows + batch:num_rows() end
        assert(rows == 1000)
    """,
        path,
    )
    document, _, errors = out.rpartition("}\n")
    found = json.loads(document + "}")
    assert list(found) == ["struct", "image", "int8"] and len(found["int8"][1]) == 10
    assert "has no column 'imgae': did you mean 'image'?" in errors
    assert "has 1 row groups, counted from 0: there is no 1" in errors


def test_cifar10(rtrain):
    if "RTRAIN_DATA" not in os.environ:
        pytest.skip("RTRAIN_DATA is not set")
    path = sorted(pathlib.Path(os.environ["RTRAIN_DATA"], "cifar10").glob("test*.parquet"))[0]
    found = read_parquet(rtrain, path)
    table = pq.read_table(path)
    assert list(found) == table.column_names
    for name in found:
        rows = table[name].to_pylist()
        assert found[name][1] == [plain(row["bytes"]) if isinstance(row, dict) else plain(row) for row in rows]
    assert {kind for kind, _ in found.values()} == {"image", "int64"}


@pytest.mark.parametrize(
    "data, says",
    [
        (b"", "it is 0 bytes"),
        (b"PAR1", "Parquet"),
        (b"x" * 100, "Parquet magic bytes not found"),
        (b"PAR1" + b"\xff" * 50 + b"\x20\0\0\0PAR1", "cannot read"),
    ],
)
def test_what_is_no_parquet_is_refused(rtrain, data, says):
    path = rtrain.folder / "bad.parquet"
    path.write_bytes(data)
    out = execute(rtrain, "print(pcall(require('base._arrow').open_parquet, arg[1]))", path)
    assert out.startswith("false") and str(path) in out and "\n" not in out.strip(), out


def copied_rows(table, name):
    """Returns what pyarrow reads of a column that was written from tensors."""
    column = table[name]
    if name == "tensor":
        return column.combine_chunks().to_numpy_ndarray().tolist()
    if name == "fixed_list":
        return column.combine_chunks().to_numpy_ndarray().tolist()
    return plain(column.to_pylist())


def compare_copy(table, copy):
    assert copy.column_names == table.column_names and copy.num_rows == table.num_rows
    for name in table.column_names:
        expected = expected_rows(table[name], name)
        if name == "image":
            expected = plain(table[name].to_pylist())
        if name == "struct":
            expected = [{key: item for key, item in row.items() if item is not None} for row in expected]
        assert copied_rows(copy, name) == expected, name


@pytest.mark.parametrize(
    "options",
    [
        "{}",
        "{compression='zstd', compression_level=9, row_group_size=300}",
        "{compression='gzip'}",
        "{compression='lz4', use_dictionary=false}",
        "{compression='none', row_group_bytes=1}",
        "{compression='brotli'}",
    ],
)
def test_pyarrow_reads_parquet_that_rtrain_wrote(rtrain, options):
    table = table_of_all_types()
    source, path = rtrain.folder / "source.parquet", rtrain.folder / "copy.parquet"
    pq.write_table(table, source, row_group_size=400)
    execute(rtrain, COPY, source, path, "open_parquet", "parquet_writer", options)
    compare_copy(table, pq.read_table(path))
    metadata = pq.ParquetFile(path).metadata
    assert metadata.num_row_groups == {"row_group_size=300": 4, "row_group_bytes=1": 3}.get(
        options.strip("{}").split(", ")[-1], 1
    )
    codec = options.split("'")[1] if "'" in options else "snappy"
    assert metadata.row_group(0).column(0).compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert str(pq.read_schema(path).field("tensor").type) == (
        "extension<arrow.fixed_shape_tensor[value_type=float, shape=[2,3,4]]>"
    )


@pytest.mark.parametrize("options", ["{}", "{stream=true}", "{compression='lz4'}", "{stream=true, compression='zstd'}"])
def test_ipc_both_ways(rtrain, options):
    table = table_of_all_types()
    source, path = rtrain.folder / "source.arrow", rtrain.folder / "copy.arrow"
    stream = "stream" in options
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(source, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    execute(rtrain, COPY, source, path, "open_ipc", "ipc_writer", options)
    with (pa.ipc.open_stream if stream else pa.ipc.open_file)(path) as reader:
        compare_copy(table, reader.read_all())


def test_csv_both_ways(rtrain):
    csv = pytest.importorskip("pyarrow.csv")
    names = [*NUMBERS, "int64_large", "bool", "string", "large_string", "float64_null", "string_null", "dictionary"]
    table = table_of_all_types().select(names)
    table = table.append_column("quoted", pa.array([f'a "{i}", b\nc' for i in range(ROWS)]))
    source, path = rtrain.folder / "source.csv", rtrain.folder / "copy.csv"
    csv.write_csv(
        pa.table(
            {
                name: column.cast(pa.string()) if name == "dictionary" else column
                for name, column in zip(table.column_names, table.columns)
            }
        ),
        source,
    )
    execute(rtrain, COPY, source, path, "open_csv", "csv_writer")
    copy = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(null_values=["", "nan"]),
    )
    assert copy.column_names == table.column_names
    for name in table.column_names:
        expected = table[name].to_pylist()
        if name == "string_null":
            expected = [item or "" for item in expected]
        assert copy[name].to_pylist() == expected, name


def test_json_lines(rtrain):
    path = rtrain.folder / "x.jsonl"
    rows = [
        {"a": i, "b": i / 4, "c": f"söme {i}", "d": [i, i + 1], "e": {"f": None if i % 3 else i, "g": [{"h": True}]}}
        for i in range(5000)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = json.loads(
        execute(
            rtrain,
            """
        local dump = dofile 'dump.lua'
        local cursor = require('base._arrow').open_json(arg[1], {block_bytes = 1000})
        local types = {}
        for i, column in ipairs(cursor:schema()) do types[i] = column.type end
        assert(table.concat(types, ' ') == 'int64 float64 string list<int64> struct<f: int64, g: list<struct<h: bool>>>')
        for batch in function() return cursor:next() end do dump.add(batch) end
        dump.print()
    """,
            path,
        )
    )
    for name in "abcde":
        assert found[name][1] == [plain(row[name]) for row in rows]


PEAK = """
local function peak()
  for line in io.lines '/proc/self/status' do
    local found = line:match '^VmHWM:%s*(%d+) kB'
    if found then return found / 1024 end
  end
end
"""


def test_a_large_row_group_is_read_in_little_memory(rtrain):
    path = rtrain.folder / "large.parquet"
    rng = np.random.default_rng(0)
    rows = 2_000_000
    table = pa.table(
        {
            **{f"x{i}": rng.standard_normal(rows) for i in range(12)},
            "text": pa.array(["0123456789" * (i % 5) for i in range(rows)]),
        }
    )
    pq.write_table(table, path, row_group_size=rows, compression="none", use_dictionary=False)
    out = execute(
        rtrain,
        PEAK
        + """
        local reader = require('base._arrow').open_parquet(arg[1])
        local before = peak()
        local cursor, rows = reader:read(0, nil, 4096), 0
        for batch in function() return cursor:next() end do rows = rows + batch:num_rows() end
        print(reader:row_group_bytes(0) / 2 ^ 20, rows, peak() - before)
    """,
        path,
    )
    row_group_mib, found, grown_mib = map(float, out.split())
    assert row_group_mib > 200 and found == rows
    assert grown_mib < 100


def test_writing_takes_little_memory(rtrain):
    path = rtrain.folder / "large.parquet"
    out = execute(
        rtrain,
        PEAK
        + """
        local arrow, data, torch = require 'base._arrow', require('torch._C').data, require 'torch'
        local writer = arrow.parquet_writer(arg[1], {compression = 'none', row_group_bytes = 16 * 2 ^ 20})
        local x = torch.rand(1024, 1024)
        local before = peak()
        for _ = 1, 100 do writer:write(data.to_arrow({'x'}, {x})) end
        writer:close()
        print(peak() - before)
    """,
        path,
    )
    metadata = pq.ParquetFile(path).metadata
    assert metadata.num_rows == 100 * 1024 and metadata.num_row_groups == 25
    assert path.stat().st_size > 400 * 2**20
    assert float(out) < 120


def test_a_full_disk_is_an_error_that_leaves_no_file(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local arrow, data, torch = require 'base._arrow', require('torch._C').data, require 'torch'
        local ffi = require 'ffi'
        ffi.cdef 'int setrlimit(int, const uint64_t *); void (*signal(int, void (*)(int)))(int);'
        ffi.C.signal(25, ffi.cast('void (*)(int)', 1))  -- SIGXFSZ is ignored: writing fails with an error
        ffi.C.setrlimit(1, ffi.new('uint64_t[2]', 100000, 100000))
        for _, name in ipairs{'parquet_writer', 'csv_writer', 'ipc_writer'} do
          local ok, err = pcall(function()
            local writer = arrow[name]('x.out')
            for _ = 1, 100 do writer:write(data.to_arrow({'x'}, {torch.rand(10000)})) end
            writer:close()
          end)
          print(ok, err.code, err.message)
        end
        collectgarbage()
        collectgarbage()
    """),
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith("false\tenvironment\tcannot write 'x.out'") and "File too large" in line, line
    assert not list(rtrain.folder.glob("x.out*"))


def test_threads_and_states_read_at_once(rtrain):
    path = rtrain.folder / "x.parquet"
    pq.write_table(table_of_all_types(), path, row_group_size=100)
    out = execute(
        rtrain,
        """
        local torch = require 'torch'
        local path = arg[1]
        local blob = require('base._closure').dump(function(group)
          local cursor = require('base._arrow').open_parquet(path):read(group)
          local total = 0
          for batch in function() return cursor:next() end do
            local names, columns = require('torch._C').data.from_arrow(batch)
            for i, name in ipairs(names) do
              if name == 'int32' then total = total + columns[i]:sum():item() end
            end
          end
          return total
        end)
        local pool = require('torch._C').data.Pool{blob = blob, num_workers = 4, capacity = 40}
        for round = 1, 4 do
          for group = 0, 9 do assert(pool:submit(group)) end
        end
        local total = 0
        for _ = 1, 40 do total = total + pool:next() end
        pool:close()
        print(total / 4)
    """,
        path,
    )
    assert float(out) == sum(table_of_all_types()["int32"].to_pylist())


def test_a_missing_arrow_is_told_with_every_place(rtrain):
    rtrain.env["RTRAIN_ARROW"] = "/no/arrow/here"
    out = execute(rtrain, "print(pcall(require, 'base._arrow'))")
    assert "no usable Apache Arrow 26.0 found" in out and "/no/arrow/here (RTRAIN_ARROW): no libarrow.so.2600" in out
    rtrain.env["RTRAIN_ARROW"] = str(rtrain.folder)
    (rtrain.folder / "libarrow.so.2500").touch()
    assert "version 25.0, need 26.0" in execute(rtrain, "print(pcall(require, 'base._arrow'))")
