"""Parquet, JSON and Arrow files that pyarrow wrote, read by rtrain; its memory and threads."""

import json
import os
import pathlib

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
pq = pytest.importorskip("pyarrow.parquet")
from arrow_tables import NUMBERS, PEAK, execute, expected_rows, plain, table_of_all_types

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


def read_parquet(rtrain, path):
    return json.loads(execute(rtrain, READ_PARQUET, path))


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


def test_json_lists_that_begin_with_null(rtrain):
    """Arrow finds the type of the items behind the nulls."""
    path = rtrain.folder / "x.jsonl"
    rows = [
        {"a": [None, "q"], "b": {"e": [None, None, 2**63]}, "c": [[None, 1.5]], "d": [None, {"k": [None, True]}]},
        {"a": ["r"], "b": {"e": []}, "c": [], "d": [{"k": [False]}]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(
        execute(
            rtrain,
            """
        local dump = dofile 'dump.lua'
        local cursor = require('base._arrow').open_json(arg[1], {block_bytes = 1000})
        for batch in function() return cursor:next() end do dump.add(batch) end
        dump.print()
    """,
            path,
        )
    )
    for name in "abcd":
        assert found[name][1] == [plain(row[name]) for row in rows]


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
