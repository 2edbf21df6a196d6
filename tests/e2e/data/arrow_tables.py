"""A table of all types of Arrow, and Lua scripts that read and copy such tables."""

import datetime
import decimal
import math

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")


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
  if kind == 'userdata' then return text(v:tolist()) end
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
  text = text,
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


def execute(rtrain, text, *args):
    rtrain.script(DUMP, "dump.lua")
    result = rtrain("exec", rtrain.script(text), *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


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


PEAK = """
local function peak()
  for line in io.lines '/proc/self/status' do
    local found = line:match '^VmHWM:%s*(%d+) kB'
    if found then return found / 1024 end
  end
end
"""
