"""Times, decimals, and unsigned and large integers in rtrain.data against pyarrow."""

import datetime
import decimal
import json

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from arrow_scripts import MEMORY, lua, read
from conftest import nightly

pytestmark = nightly


def error(rtrain, text):
    result = rtrain("exec", rtrain.script("local data, torch = require 'rtrain.data', require 'torch'\n" + text))
    assert result.returncode != 0, result.stdout
    return result.stdout + result.stderr


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


def test_sums_of_uint64_beyond_int64_are_refused(rtrain):
    pq.write_table(pa.table({"u": pa.array([2**63, 1], pa.uint64())}), rtrain.folder / "in.parquet")
    told = error(rtrain, "data.read_parquet('in.parquet'):sum('u')")
    assert "Sum: column 'u' holds uint64 beyond 2^63" in told
