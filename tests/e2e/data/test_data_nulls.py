"""Integers and booleans with null in rtrain.data against pyarrow."""

import json
import math

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from arrow_scripts import MEMORY, lua, read
from conftest import nightly

pytestmark = nightly

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
IDS = [2**53 + 1 + 2 * i for i in range(8)]


def columns_with_nulls(count, nulls):
    """Returns a column of each type with null in these rows; the values include the type's limits."""
    columns = {"row": pa.array(range(count), pa.int64())}
    for name in INTEGERS:
        limits = np.iinfo(name)
        values = [[limits.max, limits.min, limits.max - 1, 1, 0][i % 5] for i in range(count)]
        columns[name] = pa.array(
            [None if i in nulls else value for i, value in enumerate(values)], pa.type_for_alias(name)
        )
    columns["bool"] = pa.array([None if i in nulls else i % 2 == 0 for i in range(count)])
    return pa.table(columns)


NULLS = {"none": set(), "first": {0}, "late": {5}, "all": set(range(8)), "all_of_a_row_group": {4, 5, 6, 7}}

COPIES = """
local copies = {
  plain = function(ds) return ds end,
  filter = function(ds) return ds:filter(function() return true end) end,
  kept = function(ds) return ds:filter(function(row) return row.row % 2 == 0 end) end,
  map = function(ds) return ds:map(function(row) return row end) end,
  map_batches = function(ds) return ds:map_batches(function(batch) return batch end, {batch_size = 3}) end,
  sort = function(ds) return ds:random_shuffle{seed = 1}:sort 'row' end,
  down = function(ds) return ds:sort('row', true) end,
  batches = function(ds) return ds:repartition(3) end,
  memory = function(ds) return ds:materialize() end,
}
for name, copy in pairs(copies) do copy(data.read_parquet 'in.parquet'):write_parquet(name) end
"""


@pytest.mark.parametrize("nulls", NULLS.values(), ids=NULLS)
def test_a_copy_has_the_types_and_values(rtrain, nulls):
    table = columns_with_nulls(8, nulls)
    pq.write_table(table, rtrain.folder / "in.parquet", row_group_size=4)
    lua(rtrain, COPIES)
    for name in ["plain", "filter", "map", "map_batches", "sort", "batches", "memory"]:
        assert read(rtrain.folder / name).equals(table), name
    assert read(rtrain.folder / "kept").equals(table.take([0, 2, 4, 6]))
    assert read(rtrain.folder / "down").equals(table.take(list(reversed(range(8)))))


@MEMORY
def test_rows_with_nulls_go_through_files(rtrain, memory_bytes):
    table = columns_with_nulls(40000, set(range(3, 40000, 7)))
    pq.write_table(table, rtrain.folder / "in.parquet", row_group_size=5000)
    lua(
        rtrain,
        f"""
data.DataContext.get_current().memory_bytes = {memory_bytes}
data.read_parquet('in.parquet'):random_shuffle{{seed = 3}}:sort{{'row'}}:write_parquet 'out'
""",
    )
    assert read(rtrain.folder / "out").equals(table)


@pytest.mark.parametrize("name", [*INTEGERS, "bool"])
def test_null_stands_last_in_either_order(rtrain, name):
    table = columns_with_nulls(50, {0, 7, 20, 49})
    pq.write_table(table, rtrain.folder / "in.parquet", row_group_size=20)
    lua(
        rtrain,
        f"""
local ds = data.read_parquet('in.parquet')
ds:sort('{name}'):write_parquet 'up'
ds:sort('{name}', true):write_parquet 'down'
""",
    )
    for folder, order in [("up", "ascending"), ("down", "descending")]:
        keys = table.select(["row"]).append_column(
            "key", pc.cast(table[name], pa.uint8()) if name == "bool" else table[name]
        )
        places = pc.sort_indices(keys, sort_keys=[("key", order), ("row", "ascending")])
        assert read(rtrain.folder / folder).equals(table.take(places)), folder


@pytest.mark.parametrize("nulls", [{0}, {5}, {2, 6}], ids=["first", "late", "both"])
def test_different_ids_stay_different(rtrain, nulls):
    ids = [None if i in nulls else value for i, value in enumerate(IDS)]
    pq.write_table(
        pa.table({"id": pa.array(ids + ids, pa.int64()), "x": pa.array(range(16))}),
        rtrain.folder / "in.parquet",
        row_group_size=4,
    )
    out = lua(
        rtrain,
        """
local ds = data.read_parquet 'in.parquet'
local text = require('rtrain.data.files.json_text').of
print(text(ds:unique 'id'))
print(text(ds:aggregate(data.aggregate.Unique('id'), data.aggregate.Count('id'))))
ds:groupby('id'):sum('x'):write_parquet 'groups'
ds:join(ds:rename_columns{x = 'y'}, 'inner', {on = 'id'}):write_parquet 'join'
""",
    ).splitlines()
    different = sorted({value for value in ids if value is not None})
    assert sorted(json.loads(out[0]), key=lambda value: value or 0) == [None, *different]
    assert json.loads(out[1]) == {
        "unique(id)": [value for value in ids if value is not None],
        "count(id)": 16 - 2 * len(nulls),
    }
    groups = read(rtrain.folder / "groups")
    assert groups.schema.types == [pa.int64(), pa.int64()]
    expected = {value: i + i + 8 for i, value in enumerate(ids) if value is not None}
    expected[None] = sum(i + i + 8 for i in nulls)
    assert dict(zip(*(column.to_pylist() for column in groups.columns))) == expected
    joined = read(rtrain.folder / "join")
    assert joined.schema.field("id").type == pa.int64() and joined.num_rows == 4 * len(different)
    assert set(joined["id"].to_pylist()) == set(different)


@MEMORY
@pytest.mark.parametrize("name", INTEGERS)
def test_aggregates_are_those_of_pyarrow(rtrain, memory_bytes, name):
    rng = np.random.default_rng(4)
    values = rng.integers(0, 100, 3000).tolist()
    group = rng.integers(0, 300, 3000).tolist()
    table = pa.table(
        {
            "k": pa.array([None if k % 50 == 3 else k for k in group], pa.int32()),
            "x": pa.array(
                [None if k < 20 or i % 9 == 0 else v for i, (k, v) in enumerate(zip(group, values))],
                pa.type_for_alias(name),
            ),
        }
    )
    pq.write_table(table, rtrain.folder / "in.parquet", row_group_size=700)
    lua(
        rtrain,
        f"""
data.DataContext.get_current().memory_bytes = {memory_bytes}
local A = data.aggregate
data.read_parquet('in.parquet'):groupby('k'):aggregate(A.Count('x'), A.Sum('x'), A.Min('x'), A.Max('x'), A.Mean('x'),
  A.Std('x', {{ddof = 0}}), A.Quantile('x'), A.AbsMax('x')):write_parquet 'out'
local all = data.read_parquet('in.parquet')
assert(all:sum('x', {{ignore_nulls = false}}) == nil and all:max('x', {{ignore_nulls = false}}) == nil)
""",
    )
    found = read(rtrain.folder / "out")
    assert found.schema.field("sum(x)").type == pa.int64()
    assert {str(found.schema.field(f"{key}(x)").type) for key in ("min", "max", "abs_max")} == {name}
    expected = table.group_by("k").aggregate(
        [("x", "count"), ("x", "sum"), ("x", "min"), ("x", "max"), ("x", "mean"), ("x", "stddev")]
    )
    by_key = {row["k"]: row for row in expected.to_pylist()}
    assert len(by_key) == found.num_rows

    def number(value):
        return None if value is None or math.isnan(value) else pytest.approx(value, rel=1e-12)

    for row in found.to_pylist():
        right = by_key[row["k"]]
        assert [row["count(x)"], row["sum(x)"], row["min(x)"], row["max(x)"], row["abs_max(x)"]] == [
            right["x_count"],
            right["x_sum"],
            right["x_min"],
            right["x_max"],
            right["x_max"],
        ]
        assert number(row["mean(x)"]) == right["x_mean"]
        assert number(row["std(x)"]) == right["x_stddev"]
    low = [row for row in found.to_pylist() if row["k"] is not None and row["k"] < 20 and row["k"] != 3]
    assert low and all(math.isnan(row["quantile(x)"]) and row["sum(x)"] is None for row in low)


def test_joins_keep_integers_where_rows_are_missing(rtrain):
    left = pa.table({"id": pa.array([*IDS[:4], None], pa.int64()), "a": pa.array([1, None, 3, 4, 5], pa.int16())})
    right = pa.table(
        {
            "id": pa.array([*IDS[2:6], None], pa.int64()),
            "b": pa.array([True, None, False, True, True]),
            "c": pa.array([2**64 - 1, 2, 3, None, 5], pa.uint64()),
        }
    )
    pq.write_table(left, rtrain.folder / "left.parquet")
    pq.write_table(right, rtrain.folder / "right.parquet")
    types = ["inner", "left_outer", "right_outer", "full_outer"]
    lua(
        rtrain,
        "".join(
            f"""
data.read_parquet('left.parquet'):join(data.read_parquet('right.parquet'), '{name}', {{on = 'id'}}):write_parquet '{name}'
"""
            for name in types
        ),
    )
    for name in types:
        found = read(rtrain.folder / name)
        expected = left.join(right, "id", join_type=name.replace("_", " "))
        assert found.schema.equals(expected.schema), name

        def rows(table):
            return sorted(table.to_pylist(), key=lambda row: [(value is None, value or 0) for value in row.values()])

        assert rows(found) == rows(expected), name


def test_shards_without_a_value_in_a_column(rtrain):
    """The other files decide the column's type, whichever file is read first."""
    for kind, values in {
        "int64": IDS[:2],
        "uint8": [3, 4],
        "float64": [0.5, 1.5],
        "bool": [True, False],
        "string": ["a", "b"],
    }.items():
        for first in (0, 1):
            folder = rtrain.folder / f"{kind}{first}"
            for form in ("parquet", "csv", "json"):
                (folder / form).mkdir(parents=True)
            tables = [
                pa.table({"x": pa.nulls(2), "y": [0, 1]}),
                pa.table({"x": pa.array(values, pa.type_for_alias(kind)), "y": [2, 3]}),
            ]
            for i, table in enumerate(tables if first == 0 else reversed(tables)):
                pq.write_table(table, folder / f"parquet/{i}.parquet")
                pyarrow.csv.write_csv(table, folder / f"csv/{i}.csv")
                (folder / f"json/{i}.json").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
            out = lua(
                rtrain,
                f"""
for _, form in ipairs{{'parquet', 'csv', 'json'}} do
  local ds = data['read_' .. form]('{folder}/' .. form, {{file_extensions = {{form}}}})
  print(ds:schema().types[1])
  ds:map(function(row) return row end):sort('y'):write_parquet('{folder}/out_' .. form)
  ds:sort('y'):write_csv('{folder}/csv_' .. form)
  ds:sort('y'):write_json('{folder}/json_' .. form)
end
""",
            ).split()
            for form, type_name in zip(("parquet", "csv", "json"), out, strict=True):
                # CSV and JSON do not store types.
                expected = "int64" if form != "parquet" and kind == "uint8" else kind
                assert type_name == expected
                found = read(folder / f"out_{form}")["x"]
                assert found.type == (pa.large_string() if kind == "string" else pa.type_for_alias(expected)), form
                nulls = [math.nan if kind == "float64" else None] * 2
                assert str(found.to_pylist()) == str([*nulls, *values]), form
                lines = [
                    json.loads(line) for file in sorted((folder / f"json_{form}").iterdir()) for line in open(file)
                ]
                assert [row["x"] for row in lines][2:] == values
                table = pyarrow.csv.read_csv(sorted((folder / f"csv_{form}").iterdir())[0])
                assert table["x"].to_pylist()[2:] == values or kind == "float64"


def test_json_lines_without_an_optional_key(rtrain):
    (rtrain.folder / "json").mkdir()
    (rtrain.folder / "json/0.json").write_text('{"id": 9007199254740993, "tag": "a", "x": 1}\n')
    (rtrain.folder / "json/1.json").write_text('{"x": 2}\n{"x": 3}\n')
    lua(
        rtrain,
        """
local ds = data.read_json('json')
ds:write_parquet 'out'
ds:sort('x', true):write_parquet 'sorted'
assert(ds:columns()[1] == 'id' and ds:unique('tag')[2] == torch.none)
""",
    )
    expected = {"id": [2**53 + 1, None, None], "tag": ["a", None, None], "x": [1, 2, 3]}
    assert read(rtrain.folder / "out").to_pydict() == expected
    assert read(rtrain.folder / "sorted").to_pydict() == {name: values[::-1] for name, values in expected.items()}


def test_batches_have_one_dtype(rtrain):
    late = list(IDS)
    late[5] = None
    pq.write_table(pa.table({"id": pa.array(late, pa.int64())}), rtrain.folder / "late.parquet", row_group_size=4)
    pq.write_table(pa.table({"b": [True, None, False]}), rtrain.folder / "bool.parquet")
    pq.write_table(pa.table({"x": [1.0, None, 3.0]}), rtrain.folder / "float.parquet")
    out = lua(
        rtrain,
        """
local function try(ds, options)
  local dtypes = {}
  local ok, err = pcall(function()
    for batch in ds:iter_torch_batches(options) do dtypes[#dtypes + 1] = batch.id.dtype end
  end)
  print(table.concat(dtypes, ' '), ok or err.code .. ' ' .. err.message)
end
local ds = data.read_parquet 'late.parquet'
try(ds, {batch_size = 4})
try(ds, {batch_size = 4, dtypes = {id = 'int64'}})
try(ds, {batch_size = 4, dtypes = 'float32'})
try(ds, {batch_size = 4, dtypes = {id = torch.double}})
try(ds:map(function(row) row.id = row.id or 0 return row end), {batch_size = 8})
try(ds:filter(function(row) return row.id ~= nil end), {batch_size = 8})
try(data.read_parquet('bool.parquet'):rename_columns{b = 'id'})
try(data.read_parquet('float.parquet'):rename_columns{x = 'id'}, {dtypes = 'long'})
for batch in data.read_parquet('bool.parquet'):iter_torch_batches{dtypes = 'float32'} do
  print(table.concat(batch.b:tolist(), ' '))
end
for batch in ds:iter_batches{batch_size = 8} do print(#batch.id, batch.id[6] == torch.none, batch.id[8]) end
""",
    ).splitlines()
    place = f"row 1 of the batch (row 1 of {rtrain.folder}/%s.parquet, row group %d)"
    told = f"argument iter_torch_batches: column 'id' is int64, and {place % ('late', 1)} is null"
    assert out[0].startswith(f"int64\t{told}") and "dtypes = {['id'] = 'float32'}" in out[0]
    assert out[1].startswith(f"int64\t{told}")
    assert out[2:6] == ["float32 float32\ttrue", "float64 float64\ttrue", "int64\ttrue", "int64\ttrue"]
    assert out[6].startswith(f"\targument iter_torch_batches: column 'id' is bool, and {place % ('bool', 0)} is null")
    assert out[7].startswith(
        f"\targument iter_torch_batches: column 'id' is to be int64, and {place % ('float', 0)} has a value "
        "that is null, NaN or infinite"
    )
    assert out[8].replace("-", "") == "1 nan 0"
    assert out[9] == f"8\ttrue\t{IDS[7]}LL"


def test_counts_leave_out_null_of_every_type(rtrain):
    table = pa.table(
        {
            "list": pa.array([[1], None, []]),
            "text": ["a", None, "b"],
            "null": pa.nulls(3),
            "int": [None, 1, None],
            "float": [None, None, 0.5],
            "bool": [True, None, None],
            "struct": [{"a": 1}, None, None],
        }
    )
    pq.write_table(table, rtrain.folder / "in.parquet", row_group_size=2)
    names = "".join(f", A.Count('{name}')" for name in table.column_names)
    out = json.loads(
        lua(
            rtrain,
            f"""
local A = data.aggregate
print(require('rtrain.data.files.json_text').of(data.read_parquet('in.parquet'):aggregate(A.Count(){names})))
""",
        )
    )
    assert out == {"count()": 3, **{f"count({name})": 3 - table[name].null_count for name in table.column_names}}
