"""Files compressed with gzip, Zstandard, bzip2 or xz, written by Python's and by the original compressors."""

import bz2
import gzip
import json
import lzma
import subprocess

import pytest

from conftest import RTRAIN, nightly

pytestmark = nightly


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}
NUMBER = 20000


def lua(rtrain, text):
    script = rtrain.script("local data = require 'rtrain.data'\n" + text)
    return rtrain("exec", script)


def printed(rtrain, text):
    result = lua(rtrain, text)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


def refused(rtrain, text):
    result = lua(rtrain, text)
    assert result.returncode != 0, result.stdout
    return result.stderr


def csv_bytes(first=0, count=NUMBER):
    rows = "".join(f"{i},row {i} {i * 7919 % 10007}\n" for i in range(first, first + count))
    return ("id,name\n" + rows).encode()


def json_bytes():
    return "".join(json.dumps({"id": i, "name": f"row {i}"}) + "\n" for i in range(NUMBER)).encode()


def text_bytes():
    return "".join(f"line {i}\n" for i in range(NUMBER)).encode()


SUM = """
local ds = data.{read}('{path}')
local rows = ds:take_all()
local sum = 0
for _, row in ipairs(rows) do sum = sum + ({value}) end
print(#rows, ('%d'):format(sum))
"""


@pytest.mark.parametrize("ending", PACKERS)
def test_rows_of_packed_files_are_those_of_plain_ones(rtrain, ending):
    pack, total = PACKERS[ending], sum(range(NUMBER))
    for name, content, read, value in [
        ("a.csv", csv_bytes(), "read_csv", "row.id"),
        ("a.jsonl", json_bytes(), "read_json", "row.id"),
        ("b.json", b"[" + json_bytes().replace(b"\n", b",")[:-1] + b"]", "read_json", "row.id"),
        ("a.txt", text_bytes(), "read_text", "tonumber(row.text:match '%d+')"),
    ]:
        path = rtrain.folder / f"{name}.{ending}"
        path.write_bytes(pack(content))
        assert printed(rtrain, SUM.format(read=read, path=path, value=value)).split() == [str(NUMBER), str(total)], name


def test_content_counts_more_than_the_name(rtrain):
    (rtrain.folder / "plain.csv").write_bytes(gzip.compress(csv_bytes(count=3)))
    (rtrain.folder / "other.csv.gz").write_bytes(zstd(csv_bytes(count=4)))
    assert (
        printed(rtrain, "print(#data.read_csv('plain.csv'):take_all(), #data.read_csv('other.csv.gz'):take_all())")
        == "3\t4"
    )
    (rtrain.folder / "said.csv.gz").write_bytes(csv_bytes(count=3))
    for read in ["read_csv", "read_json", "read_text"]:
        message = refused(rtrain, f"data.{read}('said.csv.gz'):take_all()")
        assert "said.csv.gz': its name says that it is packed with gzip, and it is not" in message
    # A text file whose first bytes are those of a bzip2 file.
    (rtrain.folder / "c.csv").write_text("BZh9 code,n\nx,1\n")
    assert printed(rtrain, "print(data.read_csv('c.csv'):take_all()[1].n)") == "1"


def test_several_files_packed_behind_each_other(rtrain):
    first, second = csv_bytes(count=500), csv_bytes(500, 500)[len(b"id,name\n") :]
    for ending, pack in PACKERS.items():
        (rtrain.folder / f"a.csv.{ending}").write_bytes(pack(first) + pack(second) + b"\0" * 512)
        assert printed(rtrain, f"print(data.read_csv('a.csv.{ending}'):sum('id'))") == str(sum(range(1000)))
    # Empty frames, as pzstd writes them.
    (rtrain.folder / "b.csv.zst").write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd(first))
    assert printed(rtrain, "print(data.read_csv('b.csv.zst'):count())") == "500"


def test_a_folder_has_its_packed_files_too(rtrain):
    (rtrain.folder / "in").mkdir()
    (rtrain.folder / "in" / "a.csv").write_bytes(csv_bytes(count=10))
    for k, (ending, pack) in enumerate(PACKERS.items(), 1):
        (rtrain.folder / "in" / f"b.csv.{ending}").write_bytes(pack(csv_bytes(10 * k, 10)))
    (rtrain.folder / "in" / "c.json.gz").write_bytes(gzip.compress(b'{"id": 1000}\n'))
    assert (
        printed(rtrain, "print(data.read_csv('in'):count(), data.read_csv('in'):sum('id'))") == f"50\t{sum(range(50))}"
    )
    assert printed(rtrain, "print(data.read_json('in'):sum('id'))") == "1000"
    assert printed(rtrain, "print(data.read_csv('in', {file_extensions = {'csv'}}):count())") == "10"


@pytest.mark.parametrize("ending", PACKERS)
def test_a_damaged_packed_file_is_named(rtrain, ending):
    name = {"gz": "gzip", "zst": "Zstandard"}.get(ending, ending if ending == "xz" else "bzip2")
    whole = PACKERS[ending](csv_bytes())
    path = rtrain.folder / f"a.csv.{ending}"
    path.write_bytes(whole[: len(whole) // 2])
    assert f"a.csv.{ending}': it is packed with {name} and has no end" in refused(
        rtrain, f"data.read_csv('{path}'):take_all()"
    )
    assert f"a.csv.{ending}': it is packed with {name} and has no end" in refused(
        rtrain, f"data.read_text('{path}'):take_all()"
    )
    middle = bytearray(whole)
    for i in range(len(whole) // 2, len(whole) // 2 + 200):
        middle[i] ^= 0x5A
    path.write_bytes(middle)
    message = refused(rtrain, f"data.read_csv('{path}'):take_all()")
    assert f"a.csv.{ending}" in message and (f"its {name} data are damaged" in message or "has no end" in message)
    path.write_bytes(whole + b"garbage behind it")
    assert f"its {name} data are damaged" in refused(rtrain, f"data.read_csv('{path}'):take_all()")


def test_a_small_file_that_unpacks_to_much_takes_little_memory(rtrain):
    (rtrain.folder / "zeros.csv.gz").write_bytes(gzip.compress(bytes(100 << 20), 1) * 40)
    result = subprocess.run(
        [
            "bash",
            "-c",
            'ulimit -v 6000000; exec "$0" exec "$1"',
            RTRAIN,
            str(rtrain.script("require 'rtrain.data'.read_csv('zeros.csv.gz'):take_all()")),
        ],
        cwd=rtrain.folder,
        capture_output=True,
        text=True,
    )
    assert "zeros.csv.gz', line 1: it is longer than 256 MiB: is it text?" in result.stderr
    # A text of many lines is streamed: only a few blocks are in memory.
    lines = gzip.compress(b"1234567,abcdefgh\n" * 60000, 1)
    (rtrain.folder / "many.csv.gz").write_bytes(gzip.compress(b"id,name\n") + lines * 500)
    script = rtrain.script("""
      local data = require 'rtrain.data'
      data.DataContext.get_current().num_threads = 2
      local rows = 0
      for block in data.read_csv('many.csv.gz'):execute() do rows = rows + block:num_rows() end
      local peak
      for line in io.lines '/proc/self/status' do peak = peak or line:match 'VmHWM:%s*(%d+)' end
      print(rows, peak)
    """)
    result = rtrain("exec", script)
    rows, peak = map(int, result.stdout.split())
    assert rows == 500 * 60000
    assert peak < 400_000, "the file has 510 MB when it is unpacked"


def test_xz_that_needs_much_memory_is_refused(rtrain):
    made = subprocess.run(
        ["xz", "-c", "--lzma2=preset=0,dict=512MiB"], input=csv_bytes(count=3), stdout=subprocess.PIPE
    )
    if made.returncode != 0:
        pytest.skip("xz has not enough memory for a dictionary of 512 MiB")
    (rtrain.folder / "a.csv.xz").write_bytes(made.stdout)
    assert "a.csv.xz': it needs more memory to be unpacked than is allowed" in refused(
        rtrain, "data.read_csv('a.csv.xz'):take_all()"
    )


def test_a_position_in_a_packed_file_is_gone_on_from(rtrain):
    (rtrain.folder / "in").mkdir()
    for k in range(3):
        (rtrain.folder / "in" / f"{k}.csv.gz").write_bytes(gzip.compress(csv_bytes(1000 * k, 1000)))
    result = rtrain(
        "exec",
        rtrain.script("""
      local data, train = require 'rtrain.data', require 'rtrain'
      local function train_func(config)
        local shard, seen = train.get_dataset_shard 'rows', {}
        if config.state then shard:load_state(config.state) end
        local state
        for batch in shard:iter_torch_batches {batch_size = 50} do
          for _, id in ipairs(batch.id:tolist()) do seen[#seen + 1] = id end
          if #seen == config.most then
            state = shard:state()
            break
          end
        end
        local file = assert(io.open('seen', 'a'))
        file:write(table.concat(seen, '\\n'), '\\n')
        file:close()
        return state
      end
      local function run(workers, most, state)
        return train.TorchTrainer {
          train_loop_per_worker = train_func, train_loop_config = {most = most, state = state},
          datasets = {rows = data.read_csv('in')}, scaling_config = train.ScalingConfig {num_workers = workers},
        }:fit().return_value
      end
      run(4, -1, run(2, 350))
    """),
    )
    assert result.returncode == 0, result.stderr
    assert sorted(map(int, (rtrain.folder / "seen").read_text().split())) == list(range(3000))


def test_peek_shows_what_is_packed(rtrain):
    for ending, pack in PACKERS.items():
        (rtrain.folder / f"a.csv.{ending}").write_bytes(pack(csv_bytes(count=5)))
        document = rtrain.json("peek", f"a.csv.{ending}")
        assert document["format"] == "csv" and document["num_rows"] == 5
        assert document["rows"][1] == {"id": 1, "name": "row 1 7919"}


def test_empty_files_are_left_out(rtrain):
    (rtrain.folder / "json").mkdir()
    for name, text in {
        "a.json": "",
        "b.json": '{"x": 1}\n',
        "c.json": "[]",
        "d.json": " \n\n",
        "e.json": '{"x": 2}\n',
    }.items():
        (rtrain.folder / "json" / name).write_text(text)
    (rtrain.folder / "json" / "f.json.gz").write_bytes(gzip.compress(b""))
    (rtrain.folder / "csv").mkdir()
    for name, text in {"a.csv": "", "b.csv": "x\n1\n", "c.csv": "\n\n", "d.csv": "x\n2\n", "e.csv": "x\n"}.items():
        (rtrain.folder / "csv" / name).write_text(text)
    for read in ["json", "csv"]:
        assert printed(
            rtrain,
            f"""
          local ds = data.read_{read}('{read}')
          print(ds:sum 'x', ds:count(), ds:schema().types[1], #ds:take_all())
        """,
        ).split() == ["3", "2", "int64", "2"]
        assert f"a.{read}': it is empty" in refused(rtrain, f"data.read_{read}('{read}/a.{read}'):take_all()")
    message = refused(rtrain, "print(data.read_csv({'csv/a.csv', 'csv/c.csv'}):schema())")
    assert "a.csv': it is empty, and so are the other files" in message


def test_a_key_that_comes_late_is_named(rtrain):
    lines = "".join(f'{{"i": {i}, "o": {{"p": 1}}}}\n' for i in range(100000))
    (rtrain.folder / "late.json").write_text(lines + '{"i": 1, "new": 2.5}\n')
    message = refused(rtrain, "data.read_json('late.json'):take_all()")
    assert (
        "late.json', line 100001: it has a key 'new', which the file's first rows do not have: give the column's type with "
        "column_types = {['new'] = 'string'} or another" in message
    )
    assert printed(
        rtrain,
        """
      local rows = data.read_json('late.json', {column_types = {new = 'float64'}}):take_all()
      print(#rows, rows[100001].new, rows[1].new ~= rows[1].new or rows[1].new == nil)
    """,
    ).split() == ["100001", "2.5", "true"]
    (rtrain.folder / "inner.json").write_text(lines + '{"i": 1, "o": {"p": 1, "q": 2}}\n')
    assert "line 100001: it has a key 'o.q', which the file's first rows do not have" in refused(
        rtrain, "data.read_json('inner.json'):take_all()"
    )


def test_folders_give_columns(rtrain):
    for year in [2023, 2024]:
        for place in ["a%2Fb", "__HIVE_DEFAULT_PARTITION__"]:
            at = rtrain.folder / "in" / f"year={year}" / f"place={place}"
            at.mkdir(parents=True)
            (at / "x.csv").write_text(f"x\n{year}\n{year + 0.5}\n")
            (at / "x.jsonl").write_text(f'{{"x": {year}.0}}\n{{"x": {year}.5}}\n')
    rows = [
        f"{number}\t{year}\t{place}"
        for year in [2023, 2024]
        for place in ["nil", "a/b"]
        for number in [year, year + 0.5]
    ]
    for read in ["read_csv", "read_json"]:
        out = printed(
            rtrain,
            f"""
          local ds = data.{read}('in')
          print(table.concat(ds:columns(), ' '))
          for _, row in ipairs(ds:take_all()) do print(row.x, row.year, row.place) end
          print(ds:filter(function(row) return row.year == '2024' end):count())
          print(table.concat(data.{read}('in', {{include_paths = true}}):columns(), ' '))
          print(table.concat(data.{read}('in', {{partitioning = false}}):columns(), ' '))
          print(ds:select_columns{{'place', 'x'}}:take_all()[4].place)
          for batch in ds:iter_torch_batches{{batch_size = 8}} do print(#batch.x, batch.year[5]) end
        """,
        ).split("\n")
        assert out == ["x year place", *rows, "4", "x year place path", "x", "a/b", "8\t2024"], read
    assert printed(
        rtrain,
        """
      local ds = data.read_csv('in', {columns = {'place', 'x'}})
      print(table.concat(ds:columns(), ' '), ds:take_all()[4].place)
      local years = data.read_csv('in', {columns = {'year'}})
      print(table.concat(years:columns(), ' '), #years:take_all(), years:take_all()[8].year)
    """,
    ).split("\n") == ["place x\ta/b", "year\t8\t2024"]


def test_a_column_of_the_file_counts_more_than_its_folder(rtrain):
    (rtrain.folder / "in" / "x=7").mkdir(parents=True)
    (rtrain.folder / "in" / "x=7" / "a.csv").write_text("x,y\n1,2\n")
    assert (
        printed(
            rtrain,
            """
      local row = data.read_csv('in'):take_all()[1]
      print(row.x, row.y, table.concat(data.read_csv('in'):columns(), ' '))
    """,
        )
        == "1\t2\tx y"
    )


def test_files_whose_folders_differ_are_refused(rtrain):
    for folder in ["in/year=2023", "in"]:
        (rtrain.folder / folder).mkdir(parents=True, exist_ok=True)
        (rtrain.folder / folder / "a.csv").write_text("x\n1\n")
    message = refused(rtrain, "data.read_csv('in')")
    assert "name the columns ()" in message and "(year)" in message and "partitioning = false" in message
    assert printed(rtrain, "print(data.read_csv('in', {partitioning = false}):count())") == "2"
    assert "partitioning is 'hive' or false, got dir" in refused(rtrain, "data.read_csv('in', {partitioning = 'dir'})")
