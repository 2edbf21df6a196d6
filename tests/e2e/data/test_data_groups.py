"""groupby, aggregate, map_groups and join of rtrain.data against pyarrow, in memory and through temporary files."""

import math

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conftest import nightly, sample

pytestmark = nightly

# In the second case, the smallest memory that is allowed, most rows are spilled to files.
MEMORY = pytest.mark.parametrize("memory_bytes", sample(2**27, 2**20), ids=sample("memory", "files"))
COUNT, KEYS = 20000, 4000


def rows_of(table):
    """Returns the rows sorted, with NaN as None and floats rounded to 12 digits."""

    def plain(value):
        if isinstance(value, float):
            return None if math.isnan(value) else float(f"{value:.12g}")
        return sorted(value) if isinstance(value, list) else value

    rows = [tuple(plain(value) for value in row.values()) for row in table.to_pylist()]
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row])


def with_nulls(values, rng):
    return [None if drop else value for value, drop in zip(values, rng.random(len(values)) < 0.1)]


def table(seed, count):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, KEYS, count)
    return pa.table(
        {
            "k": pa.array(numbers, pa.int64()),
            "s": pa.array(with_nulls([f"key {i % 17}" for i in numbers.tolist()], rng)),
            "x": pa.array(rng.integers(-1000, 1000, count), pa.int64()),
            "y": pa.array(with_nulls(rng.normal(size=count).tolist(), rng), pa.float64()),
            "z": pa.array(with_nulls(rng.normal(size=count).astype(np.float32).tolist(), rng), pa.float32()),
        }
    )


def lua(rtrain, memory_bytes, text):
    """Returns the rows of the dataset `out` of the script."""
    result = rtrain(
        "exec",
        rtrain.script(f"""
local data, torch = require 'rtrain.data', require 'torch'
local A = data.aggregate
data.DataContext.get_current().memory_bytes = {memory_bytes}
local left, right = data.read_parquet 'left', data.read_parquet 'right'
local out
{text}
out:write_parquet 'out'
"""),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return pa.concat_tables([pq.read_table(file) for file in sorted((rtrain.folder / "out").iterdir())])


@pytest.fixture
def tables(rtrain):
    made = {}
    for seed, side in enumerate(["left", "right"]):
        made[side] = table(seed, COUNT if side == "left" else 6000)
        (rtrain.folder / side).mkdir()
        for part in range(3):
            pq.write_table(
                made[side].take(pa.array(range(part, len(made[side]), 3))),
                rtrain.folder / side / f"{part}.parquet",
                row_group_size=3000,
            )
    return made["left"], made["right"].rename_columns(["k", "s", "u", "v", "w"])


@MEMORY
@pytest.mark.parametrize("keys", sample(["k"], ["s"], ["s", "k"]), ids=sample("k", "s", "sk"))
def test_aggregates_of_groups(rtrain, tables, memory_bytes, keys):
    text = ", ".join(f"'{key}'" for key in keys)
    found = lua(
        rtrain,
        memory_bytes,
        f"""
out = left:groupby{{{text}}}:aggregate(A.Count(), A.Count('y'), A.Sum('x'), A.Sum('y'), A.Mean('z'), A.Std('y'), A.Min('x'),
  A.Max('y'), A.Min('z'))""",
    )
    wanted = (
        tables[0]
        .group_by(keys)
        .aggregate(
            [
                ([], "count_all"),
                ("y", "count"),
                ("x", "sum"),
                ("y", "sum"),
                ("z", "mean"),
                ("y", "stddev", pc.VarianceOptions(ddof=1)),
                ("x", "min"),
                ("y", "max"),
                ("z", "min"),
            ]
        )
    )
    assert found.column_names == [
        *keys,
        "count()",
        "count(y)",
        "sum(x)",
        "sum(y)",
        "mean(z)",
        "std(y)",
        "min(x)",
        "max(y)",
        "min(z)",
    ]
    assert [str(found.schema.field(name).type) for name in ("count()", "sum(x)", "sum(y)", "min(z)")] == [
        "int64",
        "int64",
        "double",
        "float",
    ]
    for ours, theirs in zip(rows_of(found), rows_of(wanted), strict=True):
        assert ours[: len(keys)] == theirs[: len(keys)]
        # Within a group pyarrow adds in another order.
        assert [value or 0 for value in ours[len(keys) :]] == pytest.approx(
            [value or 0 for value in theirs[len(keys) :]], abs=1e-9
        )


@MEMORY
def test_other_aggregates(rtrain, tables, memory_bytes):
    found = lua(
        rtrain,
        memory_bytes,
        """
out = left:groupby('s'):aggregate(A.AbsMax('x'), A.Quantile('y'), A.Quantile('x', {q = 0.9, alias_name = 'q90'}), A.Unique('k'),
  A.Max('s', {alias_name = 'last'}))""",
    )
    columns = {}
    for row in tables[0].to_pylist():
        columns.setdefault(row["s"], []).append(row)
    wanted = []
    for key in sorted(key for key in columns if key is not None) + [None]:
        rows = columns[key]
        wanted.append(
            {
                "s": key,
                "abs_max(x)": max(abs(row["x"]) for row in rows),
                "quantile(y)": float(np.quantile([row["y"] for row in rows if row["y"] is not None], 0.5)),
                "q90": float(np.quantile([row["x"] for row in rows], 0.9)),
                "unique(k)": sorted({row["k"] for row in rows}),
                "last": key,
            }
        )
    rows = found.to_pylist()
    assert [row["s"] for row in rows] == [row["s"] for row in wanted]
    for row, other in zip(rows, wanted, strict=True):
        assert sorted(row["unique(k)"]) == other["unique(k)"] and row["last"] == other["last"]
        for name in ("abs_max(x)", "quantile(y)", "q90"):
            assert row[name] == pytest.approx(other[name], abs=1e-12)


def test_aggregates_of_all_rows(rtrain, tables):
    found = lua(
        rtrain,
        2**27,
        """
local row = left:aggregate(A.Count(), A.Sum('x'), A.Mean('y'), A.Std('z', {ddof = 0}), A.Min('y'), A.Max('x'))
out = data.from_items{{count = row['count()'], sum = row['sum(x)'], mean = row['mean(y)'], std = row['std(z)'],
  min = row['min(y)'], max = row['max(x)']}}""",
    )
    y, x, z = (tables[0].column(name) for name in "yxz")
    assert found.to_pylist()[0] == pytest.approx(
        {
            "count": COUNT,
            "sum": pc.sum(x).as_py(),
            "mean": pc.mean(y).as_py(),
            "std": pc.stddev(z.cast(pa.float64())).as_py(),
            "min": pc.min(y).as_py(),
            "max": pc.max(x).as_py(),
        },
        abs=1e-9,
    )


@MEMORY
def test_a_function_for_each_group(rtrain, tables, memory_bytes):
    found = lua(
        rtrain,
        memory_bytes,
        """
out = left:groupby('k'):map_groups(function(group)
  local best = group.x:argmax():item()
  return {k = group.k:narrow(0, 0, 1), n = {#group.k}, best = group.x:narrow(0, best, 1)}
end, {dtypes = {n = 'int64'}})""",
    )
    wanted = tables[0].group_by("k").aggregate([([], "count_all"), ("x", "max")])
    assert rows_of(found.select(["k", "n", "best"])) == rows_of(wanted)


JOINS = ["inner", "left_outer", "right_outer", "full_outer", "left_semi", "right_semi", "left_anti", "right_anti"]


@MEMORY
@pytest.mark.parametrize("join_type", JOINS)
def test_joins(rtrain, tables, memory_bytes, join_type):
    """One key is a string column with nulls, which match no row; the key names differ between the tables."""
    left, right = tables[0], tables[1].rename_columns(["key", "text", "u", "v", "w"])
    found = lua(
        rtrain,
        memory_bytes,
        f"""
right = right:rename_columns{{'key', 'text', 'u', 'v', 'w'}}
out = left:join(right, '{join_type}', {{on = {{'k', 's'}}, right_on = {{'key', 'text'}}}})""",
    )
    wanted = left.join(right, ["k", "s"], ["key", "text"], join_type.replace("_", " "))
    assert found.column_names == wanted.column_names
    assert rows_of(found) == rows_of(wanted)


@pytest.mark.parametrize("join_type", ["inner", "full_outer"])
def test_columns_that_both_sides_have(rtrain, tables, join_type):
    left, right = (
        tables[0].select(["k", "x", "y"]).slice(0, 500),
        tables[1].select(["k", "u"]).rename_columns(["k", "x"]),
    )
    for side, rows in (("a", left), ("b", right)):
        pq.write_table(rows, rtrain.folder / f"{side}.parquet")
    found = lua(
        rtrain,
        2**27,
        f"""
local a, b = data.read_parquet 'a.parquet', data.read_parquet 'b.parquet'
out = a:join(b, '{join_type}', {{on = 'k', left_suffix = '_l', right_suffix = '_r'}})""",
    )
    wanted = left.join(right, "k", join_type=join_type.replace("_", " "), left_suffix="_l", right_suffix="_r")
    assert found.column_names == wanted.column_names
    assert rows_of(found) == rows_of(wanted)


def test_groups_reach_the_workers_once(rtrain, tables):
    rtrain.run_ok(
        """
        local data, train = require 'rtrain.data', require 'rtrain'
        local counts, means = data.read_parquet 'left':groupby 'k':count(), data.read_parquet 'right':groupby 'k':mean 'x'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            local keys = {}
            for batch in train.get_dataset_shard 'train':iter_batches {batch_size = 16} do
              for _, key in ipairs(batch.k:tolist()) do keys[#keys + 1] = key end
            end
            train.report {rows = #keys, first = keys[1]}
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          datasets = {train = counts:join(means, 'inner', {on = 'k'})},
        }):fit()
    """,
        "-q",
    )
    ranks = rtrain.json("metrics", "last", "--ranks")[0]["ranks"]
    keys = len(set(tables[0].column("k").to_pylist()) & set(tables[1].column("k").to_pylist()))
    assert ranks[0]["rows"] == ranks[1]["rows"] == keys // 2
    assert ranks[0]["first"] != ranks[1]["first"]


def test_groups_and_joins_stay_under_a_bound(rtrain):
    """1.6 million rows of 136 bytes are 218 MB; sorting them in memory would take twice that."""
    result = rtrain(
        "exec",
        rtrain.script("""
local data = require 'rtrain.data'
local function peak_mb() return tonumber(io.open('/proc/self/status'):read('*a'):match('VmHWM:%s*(%d+) kB')) / 1024 end
local context = data.DataContext.get_current()
context.memory_bytes, context.target_max_block_size, context.num_threads = 16 * 2 ^ 20, 2 ^ 20, 1
local function wide(count)
  return data.range(count):map_batches(function(batch)
    return {k = (batch.id * 7919) % 20011, x = batch.id:double():unsqueeze(1):expand(-1, 16):contiguous()}
  end)
end
local function count(ds)
  local rows = 0
  for block in ds:execute() do rows = rows + block:num_rows() end
  return rows
end
local function run(rows)
  local first = wide(rows):groupby('k'):map_groups(function(group) return {k = group.k:narrow(0, 0, 1)} end)
  return count(first), count(wide(rows):join(data.range(20011), 'left_outer', {on = 'k', right_on = 'id'}))
end
run(40000)
local before = peak_mb()
print(run(1600000))
print(math.ceil(peak_mb() - before))
"""),
    )
    assert result.returncode == 0, result.stderr
    rows, grown = result.stdout.split("\n")[:2]
    assert rows == "20011\t1600000" and int(grown) < 220
