"""Integers and booleans with null, and unsigned ones, in rtrain.data against pyarrow."""

import datetime
import decimal
import json
import math

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

# In the second case, the smallest memory that is allowed, most rows are spilled to files.
MEMORY = pytest.mark.parametrize("memory_bytes", [2**27, 2**20], ids=["memory", "files"])
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
IDS = [2**53 + 1 + 2 * i for i in range(8)]


def lua(rtrain, text, *args):
    script = rtrain.script("local data, torch = require 'rtrain.data', require 'torch'\n" + text)
    result = rtrain("exec", script, *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def error(rtrain, text):
    result = rtrain("exec", rtrain.script("local data, torch = require 'rtrain.data', require 'torch'\n" + text))
    assert result.returncode != 0, result.stdout
    return result.stdout + result.stderr


def read(folder):
    return pa.concat_tables([pq.read_table(file) for file in sorted(folder.iterdir())])


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


def test_times_and_decimals(rtrain):
    whole = [decimal.Decimal(value) for value in (2**53 + 1, -(2**62), 10**18)]
    pq.write_table(
        pa.table(
            {
                "time": pa.array([None, 10**15 + 1, -1], pa.timestamp("us")),
                "date": pa.array([datetime.date(2020, 1, 2), None, datetime.date(1969, 12, 31)]),
                "whole": pa.array([*whole], pa.decimal128(20, 0)),
                "gap": pa.array([whole[0], None, whole[2]], pa.decimal128(38, 0)),
                "price": pa.array([decimal.Decimal("0.10"), None, decimal.Decimal("3.25")], pa.decimal128(10, 2)),
                "list": pa.array([[whole[0]], [], None], pa.list_(pa.decimal128(20, 0))),
            }
        ),
        rtrain.folder / "in.parquet",
    )
    lua(rtrain, "data.read_parquet('in.parquet'):map(function(row) return row end):write_parquet 'out'")
    found = read(rtrain.folder / "out")
    assert found["time"].to_pylist() == [None, 10**15 + 1, -1] and found["date"].to_pylist() == [18263, None, -1]
    assert found["whole"].to_pylist() == [int(value) for value in whole]
    assert found["gap"].to_pylist() == [int(whole[0]), None, int(whole[2])]
    assert found["list"].to_pylist() == [[int(whole[0])], [], None]
    assert str(found["price"].to_pylist()) == "[0.1, nan, 3.25]"
    assert [str(type_) for type_ in found.schema.types[:4]] == ["int64"] * 4
    pq.write_table(
        pa.table({"d": pa.array([decimal.Decimal(2**63)], pa.decimal128(20, 0))}), rtrain.folder / "beyond.parquet"
    )
    told = error(rtrain, "data.read_parquet('beyond.parquet'):take_all()")
    assert "beyond.parquet', row group 0, column 'd': it is of type decimal128(20, 0) with values beyond int64" in told


def test_int96_beyond_nanoseconds_is_an_error(rtrain):
    def write(name, times):
        pq.write_table(
            pa.table({"i": pa.array(range(len(times))), "t": pa.array(times, pa.timestamp("us"))}),
            rtrain.folder / name,
            use_deprecated_int96_timestamps=True,
            row_group_size=2,
        )

    seconds = 253402300799
    good = [0, None, 10**15 + 7, -(10**15)]
    write("good.parquet", good)
    write("bad.parquet", [0, 1, 2, seconds * 10**6])
    lua(rtrain, "data.read_parquet('good.parquet'):write_parquet 'out'")
    assert read(rtrain.folder / "out")["t"].to_pylist() == [value and value * 1000 for value in good]
    assert lua(rtrain, "print(#data.read_parquet('bad.parquet', {columns = {'i'}}):take_all())").strip() == "4"
    told = error(rtrain, "data.read_parquet('bad.parquet'):take_all()")
    assert "bad.parquet', row group 1, column 't': it has INT96 times outside of the years 1677 to 2262" in told


@MEMORY
@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_unsigned_columns(rtrain, memory_bytes, name):
    """LibTorch implements few operators for unsigned types."""
    rng = np.random.default_rng(5)
    most = np.iinfo(name).max
    values = [int(v) for v in rng.integers(0, most, 20000, dtype=name, endpoint=True)]
    values[:3] = [most, 0, most // 2 + 1]
    table = pa.table({"u": pa.array(values, pa.type_for_alias(name)), "row": pa.array(range(20000))})
    pq.write_table(table, rtrain.folder / "in.parquet", row_group_size=3000)
    out = lua(
        rtrain,
        f"""
data.DataContext.get_current().memory_bytes = {memory_bytes}
local ds = data.read_parquet('in.parquet')
ds:map(function(row) return row end):write_parquet 'map'
ds:filter(function(row) return row.row % 3 == 0 end):write_parquet 'filter'
ds:sort('u'):write_parquet 'sort'
ds:random_shuffle{{seed = 1}}:sort('row'):write_parquet 'shuffle'
ds:groupby('u'):count():write_parquet 'groups'
ds:join(ds:rename_columns{{row = 'other'}}, 'inner', {{on = 'u'}}):write_parquet 'join'
ds:limit(100):write_csv 'csv'
ds:limit(100):write_json 'json'
print(ds:min 'u', ds:max 'u', #ds:unique 'u')
local rows = 0
for batch in ds:iter_torch_batches{{batch_size = 999, local_shuffle_buffer_size = 3000}} do
  assert(batch.u.dtype == '{name}')
  rows = rows + #batch.u
end
assert(rows == 20000)
""",
    ).split()
    folder = rtrain.folder
    assert read(folder / "map").equals(table) and read(folder / "shuffle").equals(table)
    assert read(folder / "filter").equals(table.take(list(range(0, 20000, 3))))
    assert read(folder / "sort").equals(table.take(pc.sort_indices(table, [("u", "ascending"), ("row", "ascending")])))
    counts = {value: values.count(value) for value in values[:20]}
    groups = dict(zip(*(column.to_pylist() for column in read(folder / "groups").columns)))
    assert len(groups) == len(set(values)) and {value: groups[value] for value in counts} == counts
    joined = read(folder / "join")
    assert joined["u"].type == table["u"].type
    assert joined.num_rows == sum(count * count for count in groups.values())
    lines = [json.loads(line)["u"] for file in sorted((folder / "json").iterdir()) for line in open(file)]
    cells = pyarrow.csv.read_csv(
        sorted((folder / "csv").iterdir())[0],
        convert_options=pyarrow.csv.ConvertOptions(column_types={"u": table["u"].type}),
    )
    assert lines == values[:100] and cells["u"].to_pylist() == values[:100]
    assert [int(text.rstrip("UL")) for text in out] == [0, most, len(set(values))]


def test_lists_of_uint64_keep_all_digits(rtrain):
    rows = [[2**64 - 1, 1], [], [2**63], None, [2**53 + 1]]
    pq.write_table(
        pa.table(
            {
                "list": pa.array(rows, pa.list_(pa.uint64())),
                "fixed": pa.array([[1, None], [3, 4], None, [5, 6], [7, 2**53 + 1]], pa.list_(pa.int64(), 2)),
            }
        ),
        rtrain.folder / "in.parquet",
    )
    lua(
        rtrain,
        """
local ds = data.read_parquet('in.parquet')
ds:map(function(row) return row end):write_parquet 'out'
ds:random_shuffle{seed = 1}:write_parquet 'shuffled'
""",
    )
    found = read(rtrain.folder / "out")
    assert found["list"].to_pylist() == rows and found["list"].type.value_type == pa.uint64()
    assert found["fixed"].to_pylist() == [[1, None], [3, 4], None, [5, 6], [7, 2**53 + 1]]
    assert sorted(map(str, read(rtrain.folder / "shuffled")["list"].to_pylist())) == sorted(map(str, rows))


def test_csv_has_integers_beyond_int64(rtrain):
    (rtrain.folder / "in.csv").write_text("u,x\n18446744073709551615,1\n,2\n7,3\n")
    lua(rtrain, "data.read_csv('in.csv'):write_parquet 'out'")
    table = read(rtrain.folder / "out")
    assert table["u"].to_pylist() == [2**64 - 1, None, 7] and table["u"].type == pa.uint64()
    assert table["x"].type == pa.int64()


def test_json_has_integers_beyond_int64(rtrain):
    """As with CSV: uint64 keeps all digits if it can hold the whole column; otherwise the column has floats."""
    rows = [
        {
            "u": 2**64 - 1,
            "x": 1,
            "list": [2**63, 1],
            "struct": {"k": 2**63 + 1},
            "low": -1,
            "far": 2**64,
            "float": 1e19,
        },
        {"u": None, "x": 2, "list": [], "struct": {"k": 2}, "low": 2**63, "far": 1, "float": 1.0},
        {"u": 7, "x": 3, "list": [2**53 + 1], "struct": None, "low": 1, "far": 2, "float": 2.0},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (rtrain.folder / "in.jsonl").write_text(text)
    (rtrain.folder / "array.json").write_text(json.dumps(rows))
    for name in ("in.jsonl", "array.json"):
        lua(rtrain, f"data.read_json('{name}'):write_parquet '{name}-out'")
        table = read(rtrain.folder / f"{name}-out")
        for column in ("u", "x", "list", "struct"):
            assert table[column].to_pylist() == [row[column] for row in rows], column
        assert table["u"].type == pa.uint64() and table["x"].type == pa.int64()
        assert table["list"].type.value_type == pa.uint64()
        for column in ("low", "far", "float"):
            assert table[column].type == pa.float64(), column
            assert table[column].to_pylist() == [float(row[column]) for row in rows], column
    # The first rows decide the type for the whole file.
    for first, later in ((1, 2**63), (2**63, -1), (2**63, 2**64)):
        lines = [f'{{"x": {first}}}\n'] * 150_000 + [f'{{"x": {later}}}\n']
        (rtrain.folder / "late.jsonl").write_text("".join(lines))
        out = lua(
            rtrain, "print(select(2, pcall(function() return data.read_json('late.jsonl'):materialize() end)).message)"
        )
        assert f"cannot read '{rtrain.folder}/late.jsonl', line 150001: " in out and str(later) in out, out
        assert "column_types" in out, out


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


def test_sums_of_uint64_beyond_int64_are_refused(rtrain):
    pq.write_table(pa.table({"u": pa.array([2**63, 1], pa.uint64())}), rtrain.folder / "in.parquet")
    told = error(rtrain, "data.read_parquet('in.parquet'):sum('u')")
    assert "Sum: column 'u' holds uint64 beyond 2^63" in told
