"""Parquet, CSV, JSON and Arrow files that rtrain writes, read by pyarrow."""

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
pytest.importorskip("numpy")
pq = pytest.importorskip("pyarrow.parquet")
from arrow_tables import NUMBERS, PEAK, ROWS, execute, expected_rows, plain, table_of_all_types
from conftest import nightly

pytestmark = nightly

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
