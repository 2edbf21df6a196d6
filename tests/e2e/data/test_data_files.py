"""rtrain.data and pyarrow read the files that the other one writes; memory while data streams."""

import fnmatch
import glob
import json
import os

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq


def lua(rtrain, text):
    result = rtrain("exec", rtrain.script("local data = require 'rtrain.data'\nlocal torch = require 'torch'\n" + text))
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


ROWS = """
local ds = data.range(1000, {override_num_blocks = 7}):map(function(row)
  return {id = row.id, name = 'row ' .. row.id, even = row.id % 2 == 0, half = row.id / 2,
          point = torch.full({2, 3}, row.id), tags = {row.id, row.id + 1}}
end, {dtypes = {half = 'float64'}})
"""


def test_pyarrow_reads_what_write_parquet_wrote(rtrain):
    for compression in ["snappy", "zstd", "none"]:
        folder = rtrain.folder / compression
        lua(rtrain, ROWS + f"ds:write_parquet('{folder}', {{compression = '{compression}', min_rows_per_file = 300}})")
        files = sorted(folder.iterdir())
        assert len(files) > 1 and all(file.name.startswith("part-") for file in files)
        table = pa.concat_tables([pq.read_table(file) for file in files])
        assert table.schema.field("id").type == pa.int64() and table.schema.field("half").type == pa.float64()
        rows = table.drop_columns("point").to_pylist()
        assert rows == [
            {"id": i, "name": f"row {i}", "even": i % 2 == 0, "half": i / 2, "tags": [i, i + 1]} for i in range(1000)
        ]
        points = table.column("point").combine_chunks().to_numpy_ndarray()
        assert points.dtype == np.float32 and points.shape == (1000, 2, 3)
        assert (points == np.arange(1000).reshape(1000, 1, 1)).all()


def test_python_reads_what_write_csv_json_and_numpy_wrote(rtrain):
    lua(
        rtrain,
        ROWS
        + f"""
ds:drop_columns{{'point', 'tags'}}:write_csv('{rtrain.folder}/csv')
ds:write_json('{rtrain.folder}/json')
ds:write_numpy('{rtrain.folder}/numpy', {{column = 'point'}})
""",
    )
    table = pa.concat_tables([pyarrow.csv.read_csv(file) for file in sorted((rtrain.folder / "csv").iterdir())])
    assert table.column("name").to_pylist() == [f"row {i}" for i in range(1000)]
    assert table.column("half").to_pylist() == [i / 2 for i in range(1000)]
    rows = [json.loads(line) for file in sorted((rtrain.folder / "json").iterdir()) for line in open(file)]
    assert rows == [
        {"id": i, "name": f"row {i}", "even": i % 2 == 0, "half": i / 2, "tags": [i, i + 1], "point": [[i] * 3] * 2}
        for i in range(1000)
    ]
    points = np.concatenate([np.load(file) for file in sorted((rtrain.folder / "numpy").iterdir())])
    assert points.dtype == np.float32 and (points == np.arange(1000).reshape(1000, 1, 1)).all()


def test_read_parquet_reads_what_pyarrow_wrote(rtrain):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(5000)
    labels = rng.integers(0, 10, 5000)
    table = pa.table(
        {
            "x": pa.array([None if i % 7 == 0 else v for i, v in enumerate(values)]),
            "label": labels,
            "word": pa.array([f"w{i}" for i in labels]).dictionary_encode(),
            "nested": pa.array([{"a": int(i), "b": [str(i)]} for i in labels]),
            "at": pa.FixedShapeTensorArray.from_numpy_ndarray(rng.random((5000, 2, 2), dtype=np.float32)),
        }
    )
    for i in range(5):
        pq.write_table(table.slice(1000 * i, 1000), rtrain.folder / f"{i}.parquet", row_group_size=300)
    out = json.loads(
        lua(
            rtrain,
            f"""
local ds = data.read_parquet('{rtrain.folder}')
local row = ds:random_shuffle{{seed = 1}}:filter(function(row) return row.label == 3 end):sort('x'):take(1)[1]
local words = ds:unique('word')
table.sort(words)
print(require('rtrain.data.files.json_text').of{{
  count = ds:count(), mean = ds:mean('x'), std = ds:std('x'), low = ds:min('x'), sum = ds:sum('label'), words = words,
  x = row.x, a = row.nested.a, b = row.nested.b, total = ds:select_columns{{'at'}}:sum('at')}})
""",
        )
    )
    x = np.array([v for i, v in enumerate(values) if i % 7])
    assert out["count"] == 5000 and out["sum"] == labels.sum()
    assert out["mean"] == pytest.approx(x.mean(), abs=1e-12) and out["std"] == pytest.approx(x.std(ddof=1), rel=1e-12)
    assert out["low"] == x.min() and out["words"] == sorted({f"w{i}" for i in labels})
    assert out["x"] == min(v for i, v in enumerate(values) if i % 7 and labels[i] == 3)
    assert out["a"] == 3 and out["b"] == ["3"]
    total = table.column("at").combine_chunks().to_numpy_ndarray().astype(np.float64).sum()
    assert out["total"] == pytest.approx(total, rel=1e-6)


def dictionary_columns(rows):
    """Returns dictionary-encoded columns, with each value type that can have a dictionary: Arrow types and their
    values."""
    words = [f"c{i % 5}" for i in range(rows)]

    def encode(values, dtype):
        return pa.array(values, dtype).dictionary_encode()

    out = {
        "word": encode(words, pa.string()),
        "small_index": encode(words, pa.string()).cast(pa.dictionary(pa.int8(), pa.string())),
        "ordered": pa.DictionaryArray.from_arrays(
            pa.array([i % 3 for i in range(rows)], pa.int8()), ["low", "mid", "high"], ordered=True
        ),
        "absent": encode([None if i % 7 == 3 else f"c{i % 5}" for i in range(rows)], pa.string()),
        "large": encode(words, pa.large_string()),
        "bytes": encode([word.encode() for word in words], pa.binary()),
        "many": encode(
            [f"{i * 7919 % rows:040d}" for i in range(rows)], pa.string()
        ),  # too many values: the writer falls back from the dictionary
        "int": encode([i % 5 * 7 for i in range(rows)], pa.int64()),
        "int_absent": encode([None if i % 7 == 3 else i % 5 for i in range(rows)], pa.int16()),
        "float": encode([i % 5 / 4 for i in range(rows)], pa.float32()),
        "list": pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), encode(words, pa.string())),
        "struct": pa.StructArray.from_arrays([encode(words, pa.string())], ["k"]),
        "map": pa.MapArray.from_arrays(pa.array(range(rows + 1), pa.int32()), words, encode(words, pa.string())),
    }
    return pa.table({"id": pa.array(range(rows)), **out})


def test_columns_of_dictionaries_are_columns_of_their_values(rtrain):
    """Holds for each way to read the rows, which are compared with pyarrow's by their id."""
    rows = 3000
    table = dictionary_columns(rows)
    expected = table.set_column(
        table.column_names.index("bytes"), "bytes", table["bytes"].cast(pa.binary()).cast(pa.string())
    ).to_pylist()
    for row in expected:
        row["map"] = [{"key": key, "value": value} for key, value in row["map"]]
    path = rtrain.folder / "x.parquet"
    pq.write_table(table, path, row_group_size=1000, dictionary_pagesize_limit=4096, data_page_size=2048)
    assert pq.read_schema(path).field("word").type == pa.dictionary(pa.int32(), pa.string())
    out = lua(
        rtrain,
        f"""
        local text_of = require('rtrain.data.files.json_text').of
        local context = data.DataContext.get_current()
        local read = function() return data.read_parquet('{path}') end
        local function tell(name, rows)
          for _, row in ipairs(rows) do print(name, text_of(row)) end
        end
        tell('schema', {{read():schema().types}})
        tell('all', read():take_all())
        tell('take', read():take(3))
        tell('limit', read():limit(1100):take_all())
        tell('shuffle', read():random_shuffle{{seed = 1}}:take_all())
        for _, shard in ipairs(read():split(3)) do tell('split', shard:take_all()) end
        tell('columns', read():select_columns{{'id', 'absent', 'list'}}:take(5))
        tell('filter', read():filter(function(row) return row.word == 'c3' end):take_all())
        context.target_max_block_size = 4096
        tell('blocks', read():take_all())
        for batch in read():iter_batches{{batch_size = 17}} do
          local ids, words, ints = batch.id:tolist(), batch.word, batch.int:tolist()
          for i, id in ipairs(ids) do tell('batches', {{{{id = id, word = words[i], int = ints[i]}}}}) end
        end
        """,
    )
    found = {}
    for line in out.splitlines():
        name, row = line.split("\t")
        found.setdefault(name, []).append(json.loads(row))
    types = found.pop("schema")[0]
    assert types[:5] == ["int64"] + ["string"] * 4 and types[-2:] == ["struct<k: string>", "map<string, string>"]
    counts = {name: len(of) for name, of in found.items()}
    assert counts == dict(
        all=rows, take=3, limit=1100, shuffle=rows, split=rows, columns=5, filter=rows // 5, blocks=rows, batches=rows
    )
    for name, of in found.items():
        assert len({row["id"] for row in of}) == len(of), name
        for row in of:
            # JSON may leave out null values of an object.
            right = {key: value for key, value in expected[row["id"]].items() if value is not None or key in row}
            if name in ("columns", "batches"):
                right = {key: right[key] for key in row}
            assert row == right, name
    shown = rtrain("peek", path, "--rows", "3", "--json")
    assert shown.returncode == 0, shown.stderr
    assert "c2" in shown.stdout and "high" in shown.stdout


def test_patterns_mean_what_they_mean_in_python(rtrain):
    random = np.random.default_rng(3)
    pieces = [
        "a",
        "b",
        "-",
        ".",
        "x",
        "*",
        "?",
        "[a-c]",
        "[!a-b]",
        "[]-a]",
        "[z-a]",
        "[!z-a]",
        "[",
        "]",
        "!",
        "^",
        "\\",
        "é",
        "**",
    ]
    names = {"".join(random.choice(list("abcx.-^é"), size=random.integers(1, 5))) for _ in range(60)}
    names = sorted(names - {".", ".."})
    tree = rtrain.folder / "tree"
    folders = [tree, tree / "a", tree / "b/c", tree / ".h"]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        for name in names:
            if not (folder / name).is_dir():
                (folder / name).write_text("")
    patterns = ["".join(random.choice(pieces, size=random.integers(1, 5))) for _ in range(300)]
    patterns += ["*/*", "**/a*", "a/**", "**/c/**", "[ab]/?", ".*/*", "*/[!a]*", "**/.*", "b/**/x*", "**"]
    (rtrain.folder / "patterns").write_text("\n".join(patterns))
    found = lua(
        rtrain,
        f"""
local glob, fnmatch = require 'rtrain.data.files.glob', require 'base.fnmatch'
local names = {{{", ".join(f"'{name}'" for name in names)}}}
for pattern in io.lines '{rtrain.folder}/patterns' do
  local files, same = glob.files('{tree}/' .. pattern), {{}}
  for _, name in ipairs(names) do if fnmatch(name, pattern) then same[#same + 1] = name end end
  print(table.concat(same, ' ') .. '\t' .. table.concat(files, ' '))
end
""",
    ).splitlines()
    for pattern, line in zip(patterns, found, strict=True):
        same, files = line.split("\t")
        assert same.split() == [name for name in names if fnmatch.fnmatchcase(name, pattern)], pattern
        if glob.has_magic(pattern):
            right = [path for path in glob.glob(f"{tree}/{pattern}", recursive=True) if os.path.isfile(path)]
            assert sorted(files.split()) == sorted(set(right)), pattern


def test_a_damaged_row_group_is_named(rtrain):
    path = rtrain.folder / "x.parquet"
    pq.write_table(
        pa.table({"x": np.random.default_rng(0).integers(0, 1 << 60, 4000)}),
        path,
        row_group_size=1000,
        compression="zstd",
        use_dictionary=False,
    )
    with open(path, "r+b") as file:
        file.seek(pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset + 40)
        file.write(b"\xff" * 200)
    result = rtrain("exec", rtrain.script(f"require('rtrain.data').read_parquet('{path}'):materialize()"))
    assert result.returncode == 1
    assert str(path) in result.stderr and "row group 2" in result.stderr


# 100 MB and 400 MB of images take the same memory; tests/bench measures the full size.
def test_streaming_stays_under_a_bound(rtrain):
    rows = 1000
    table = pa.table(
        {
            "image": pa.FixedShapeTensorArray.from_numpy_ndarray(
                np.random.default_rng(0).random((rows, 3, 64, 64), dtype=np.float32)
            ),
            "label": np.arange(rows) % 10,
        }
    )
    pq.write_table(table, rtrain.folder / "part.parquet", row_group_size=250, compression="none")
    body = f"""
local context = data.DataContext.get_current()
context.memory_bytes, context.target_max_block_size, context.num_threads = 32 * 2 ^ 20, 2 ^ 20, 2
local list = {{}}
for i = 1, COUNT do list[i] = '{rtrain.folder}/part.parquet' end
local model = torch.nn.Linear(3 * 64 * 64, 10)
local seen = 0
for batch in data.read_parquet(list):iter_torch_batches{{batch_size = 100}} do
  torch.nn.functional.cross_entropy(model(batch.image:flatten(1)), batch.label):backward()
  seen = seen + #batch.label
end
assert(seen == COUNT * {rows})
print(io.open('/proc/self/status'):read('*a'):match('VmHWM:%s*(%d+) kB'))
"""
    short, long = (int(lua(rtrain, body.replace("COUNT", str(n)))) / 1024 for n in (2, 8))
    assert long < 600 and long < short + 100, (short, long)


def test_a_json_array_whose_copy_has_no_room_is_an_error(rtrain):
    """The rows that were copied before the disk was full would look valid."""
    path = rtrain.folder / "array.json"
    path.write_text(json.dumps([{"id": i} for i in range(10000)]))
    out = lua(
        rtrain,
        f"""
        require 'base._arrow'  -- loaded before the limit: its library is a file too
        local ffi = require 'ffi'
        ffi.cdef 'int setrlimit(int, const uint64_t *);'
        ffi.C.setrlimit(1, ffi.new('uint64_t[2]', 50000, 50000))
        local ok, err = pcall(function() return data.read_json('{path}'):count() end)
        print(ok, err.code, err.message)
    """,
    )
    assert out.startswith("false\tenvironment\tcannot write a copy of the JSON array to /tmp: File too large"), out


def test_folders_of_hive_are_columns_as_for_pyarrow(rtrain):
    table = pa.table(
        {"x": [1, 2, 3, 4], "year": ["2023", "2023", "2024", "2024"], "m": ["01", "02", "01", "02"], "z": [5.0] * 4}
    )
    pq.write_to_dataset(table, str(rtrain.folder / "in"), partition_cols=["year", "m"])
    expected = (
        pa.dataset.dataset(
            str(rtrain.folder / "in"),
            partitioning=pa.dataset.partitioning(pa.schema([("year", pa.string()), ("m", pa.string())]), flavor="hive"),
        )
        .to_table()
        .sort_by("x")
    )
    out = json.loads(
        lua(
            rtrain,
            """
local json = require 'json'
local ds = data.read_parquet('in')
print(json.encode {
  columns = ds:columns(), rows = ds:sort('x'):take_all(), count = ds:count(), types = ds:schema().types,
  selected = ds:select_columns{'m', 'z'}:take_all()[2], names = ds:select_columns{'m', 'z'}:columns(),
  asked = data.read_parquet('in', {columns = {'m', 'x'}}):columns(),
  none = data.read_parquet('in', {partitioning = false}):columns(),
  alone = data.read_parquet('in', {columns = {'year'}}):take_all(),
  paths = data.read_parquet('in', {columns = {'x', 'year'}, include_paths = true}):columns(),
})
""",
        )
    )
    assert out["columns"] == expected.column_names and out["types"] == ["int64", "float64", "string", "string"]
    assert out["rows"] == expected.to_pylist() and out["count"] == 4
    assert out["selected"] == {"m": "02", "z": 5.0} and out["names"] == ["m", "z"] and out["asked"] == ["m", "x"]
    assert out["none"] == ["x", "z"] and out["alone"] == [{"year": year} for year in ["2023", "2023", "2024", "2024"]]
    assert out["paths"] == ["x", "year", "path"]


def test_rows_of_files_that_do_not_go_together_are_named(rtrain):
    folder = rtrain.folder
    np.save(folder / "a.npy", np.zeros((3, 4), np.float32))
    np.save(folder / "b.npy", np.zeros((3, 5), np.float32))
    np.save(folder / "y.npy", np.zeros(3))
    (folder / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (folder / "b.csv").write_text("x,y\n5,six\n")
    (folder / "c.jsonl").write_text('{"x": 1, "y": 2.5}\n{"x": 2, "y": "three"}\n')
    text = """
local function message(ds)
  local ok, err = pcall(function() for _ in ds:iter_torch_batches{batch_size = 8} do end end)
  print((not ok and tostring(err) or 'no error'):gsub('\\n', ' '), '')
end
message(data.read_numpy{'a.npy', 'b.npy'})
message(data.read_numpy{x = {'a.npy', 'b.npy'}, y = {'y.npy', 'y.npy'}})
message(data.read_csv{'a.csv', 'b.csv'})
message(data.read_json 'c.jsonl')
"""
    arrays, pairs, kinds, changed = lua(rtrain, text).splitlines()
    assert "column 'data' make no tensor" in arrays, arrays
    assert f"row 0 of the batch (row 0 of {folder}/a.npy) is float32 [4]" in arrays, arrays
    assert f"row 3 of the batch (row 0 of {folder}/b.npy) is float32 [5]" in arrays, arrays
    assert f"(row 0 of {folder}/b.npy and {folder}/y.npy) is float32 [5]" in pairs, pairs
    assert (
        f"column 'y' make no tensor: row 0 of the batch (row 0 of {folder}/a.csv) is a number, row 2 of the " in kinds
    )
    assert f"batch (row 0 of {folder}/b.csv) is a string: give the column one type" in kinds, kinds
    assert f"cannot read '{folder}/c.jsonl', line 2: " in changed and "first rows do not have" not in changed, changed
    assert "/y" in changed and "from number to string" in changed, changed


def test_what_makes_no_tensor_names_its_file_row_and_column(rtrain):
    (rtrain.folder / "in").mkdir()
    for name, rows in {"a": [[1, 2]] * 3, "b": [[3, 4], [5, 6, 7]], "c": [[8, 9]] * 3}.items():
        (rtrain.folder / "in" / f"{name}.jsonl").write_text(
            "".join(json.dumps({"x": row, "i": 1.5}) + "\n" for row in rows)
        )
    text = """
local function message(ds, options)
  local ok, err = pcall(function() for _ in ds:iter_torch_batches(options) do end end)
  return not ok and tostring(err) or 'no error'
end
local ds = data.read_json('in'):map(function(row) row.x = torch.tensor(row.x) return row end)
print((message(ds, {batch_size = 8}):gsub('\\n', ' ')))
local nulls = data.read_json('in'):map(function(row) return {i = #row.x < 3 and row.i or nil} end)
print((message(nulls, {batch_size = 8, dtypes = {i = 'int64'}}):gsub('\\n', ' ')))
print((message(data.read_json('in'):filter(function(row) return #row.x == 3 end):map(function(row)
  return {x = row.x}
end), {batch_size = 8}):gsub('\\n', ' ')))
"""
    shapes, null, filtered = lua(rtrain, text).splitlines()
    folder = rtrain.folder / "in"
    assert (
        "column 'x' make no tensor, since they differ in shape or are not tensors: row 0 of the batch (row 0 "
        f"of {folder}/a.jsonl) "
        f"is float32 [2], row 4 of the batch (row 1 of {folder}/b.jsonl) is float32 [3]" in shapes
    )
    assert f"column 'i' is to be int64, and row 4 of the batch (row 1 of {folder}/b.jsonl)" in null
    assert "row 0 of the batch is a table" in filtered
