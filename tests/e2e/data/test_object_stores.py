"""rtrain.data with files of an S3 store: boto3 writes the files that rtrain reads, and reads those that rtrain
writes."""

import gzip
import io
import json
import lzma
import re
import socket
import tarfile
import time

import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")
pytest.importorskip("moto", reason="moto is not here: scripts/test --oracle installs it")
import pyarrow as pa

import tfrecords
from conftest import nightly
from s3_server import s3, server  # noqa: F401  (fixtures)

pytestmark = nightly

DATA = "local data = require 'rtrain.data'\n"
ROWS = (
    DATA
    + """
local ds = data.range(90, {override_num_blocks = 3}):map(function(row) return {id = row.id, name = 'row ' .. row.id} end)
"""
)


def lua(rtrain, text):
    result = rtrain("exec", rtrain.script(text))
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def refused(rtrain, text):
    result = rtrain("exec", rtrain.script(text))
    assert result.returncode != 0, result.stdout
    return result.stderr


EXPECTED = [{"id": i, "name": f"row {i}"} for i in range(90)]


def rows_of_parquet(content):
    return pq.read_table(io.BytesIO(content)).to_pylist()


def rows_of_json(content):
    return [json.loads(line) for line in content.splitlines()]


def rows_of_csv(content):
    lines = content.decode().splitlines()
    assert lines[0] == '"id","name"'
    return [
        {"id": int(number), "name": name}
        for number, name in re.findall(r'^(\d+),"(.*)"$', "\n".join(lines[1:]), re.MULTILINE)
    ]


@pytest.mark.parametrize("kind, rows_of", [("parquet", rows_of_parquet), ("json", rows_of_json), ("csv", rows_of_csv)])
def test_what_is_written_is_there_and_is_read_again(rtrain, s3, kind, rows_of):
    lua(rtrain, ROWS + f"ds:write_{kind}('s3://bucket/deep/er', {{min_rows_per_file = 40}})")
    keys = s3.keys("deep/er/")
    assert len(keys) == 2 and all(key.endswith(f".{kind}") for key in keys)
    assert [row for key in keys for row in rows_of(s3.get(key))] == EXPECTED
    assert lua(rtrain, DATA + f"print(data.read_{kind}('s3://bucket/deep'):sum 'id')") == f"{sum(range(90))}\n"


def test_folders_patterns_and_single_files(rtrain, s3):
    for key in ["in/a.txt", "in/deep/b.txt", "in/_hidden.txt", "in/.dot/c.txt", "in/x.log", "inside.txt"]:
        s3.put(key, key)
    for given, found in [
        ("in", ["a.txt", "deep/b.txt", "x.log"]),
        ("in/", ["a.txt", "deep/b.txt", "x.log"]),
        ("in/*.txt", ["a.txt"]),
        ("in/**/*.txt", ["a.txt", "deep/b.txt"]),
        ("in/x.log", ["x.log"]),
    ]:
        read = DATA + (
            f"for row in data.read_text('s3://bucket/{given}', {{include_paths = true}}):iter_rows() "
            "do print(row.path, row.text) end"
        )
        assert lua(rtrain, read) == "".join(f"s3://bucket/in/{name}\tin/{name}\n" for name in found)
    assert lua(rtrain, DATA + "print(data.read_binary_files('s3://bucket/in/*'):take(1)[1].bytes)") == "in/a.txt\n"


def test_a_folder_with_options_of_its_store_is_read_by_extension(rtrain, s3):
    for key in ["in/a.csv", "in/deep/B.CSV", "in/_hidden.csv", "in/c.txt"]:
        s3.put(key, "key\n" + key)
    uri = "s3://bucket/in?region=us-east-1"
    assert (
        lua(rtrain, DATA + f"for row in data.read_csv('{uri}'):iter_rows() do print(row.key) end")
        == "in/a.csv\nin/deep/B.CSV\n"
    )
    text = refused(rtrain, DATA + f"data.read_parquet '{uri}'")
    assert f"no files with the extension parquet in the folder '{uri}'" in text


def test_a_json_array_is_read(rtrain, s3):
    s3.put("array.json", json.dumps(EXPECTED))
    assert lua(rtrain, DATA + "print(data.read_json('s3://bucket/array.json'):count())") == "90\n"


def test_packed_objects_are_unpacked_and_folders_are_columns(rtrain, s3):
    lines = "".join(f"{i}\n" for i in range(200_000))
    s3.put("packed/day=1/a.csv.gz", gzip.compress(("x\n" + lines).encode()))
    s3.put("packed/day=2/b.csv.xz", lzma.compress(b"x\n-1\n"))
    s3.put("packed/c.txt.gz", gzip.compress(lines.encode()))
    s3.put("packed/d.json.gz", gzip.compress(b'[{"y": 1}, {"y": 2}]'))
    s3.put("packed/half.csv.gz", gzip.compress(("x\n" + lines).encode())[:3000])
    assert lua(
        rtrain,
        DATA
        + """
      local ds = data.read_csv{'s3://bucket/packed/day=1', 's3://bucket/packed/day=2'}
      print(ds:count(), ds:take(1)[1].day, ('%d'):format(ds:sum 'x'), data.read_text('s3://bucket/packed/c.txt.gz'):count())
      print(data.read_json('s3://bucket/packed'):sum 'y')
    """,
    ).split() == ["200001", "1", str(sum(range(200_000)) - 1), "200000", "3"]
    message = refused(rtrain, DATA + "data.read_csv('s3://bucket/packed/half.csv.gz'):take_all()")
    assert "cannot read 's3://bucket/packed/half.csv.gz': it is packed with gzip and has no end" in message


def test_arrow_files_records_and_archives_are_read(rtrain, s3):
    table = pa.table({"id": range(90)})
    for name, opened in (("a.arrow", pa.ipc.new_stream), ("b.arrow", pa.ipc.new_file)):
        out = io.BytesIO()
        with opened(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
        s3.put(f"in/{name}", out.getvalue())
    s3.put("in/state.json", json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    records = b"".join(tfrecords.record(tfrecords.example({"id": [i], "text": [b"a" * 9000]})) for i in range(90))
    s3.put("in/c.tfrecord", records)
    s3.put("in/c.tfrecord.gz", gzip.compress(records))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for i in range(90):
            for name, content in ((f"{i}.txt", b"a" * 9000), (f"{i}.cls", str(i).encode())):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    s3.put("in/d.tar", out.getvalue())
    s3.put("in/d.tar.xz", lzma.compress(out.getvalue()))
    for dataset, column in (
        ("read_arrow 's3://bucket/in'", "id"),
        ("from_huggingface 's3://bucket/in'", "id"),
        ("read_tfrecords 's3://bucket/in'", "id"),
        ("read_webdataset 's3://bucket/in'", "cls"),
    ):
        files = 1 if dataset.startswith("from") else 2
        found = lua(
            rtrain,
            DATA
            + f"""
            local ds = data.{dataset}
            local rest = ds:split_at_indices({{85}})[2]
            print(ds:count(), ('%d'):format(ds:sum '{column}'), rest:take(1)[1].{column}, rest:count())
            """,
        )
        assert found.split() == [str(90 * files), str(files * sum(range(90))), "85", str(90 * files - 85)]
    s3.put("in/d.tar", out.getvalue()[:50_000])
    message = refused(rtrain, DATA + "data.read_webdataset('s3://bucket/in/d.tar'):take_all()")
    assert "cannot read 's3://bucket/in/d.tar', at byte " in message and "the end of this file is missing" in message


def test_workers_train_on_it(rtrain, s3):
    lua(rtrain, ROWS + "ds:write_parquet('s3://bucket/rows', {min_rows_per_file = 30})")
    rtrain.run_ok("""
        local data, train = require 'rtrain.data', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local sum = 0
            for batch in train.get_dataset_shard('train'):iter_torch_batches{batch_size = 8} do
              sum = sum + batch.id:sum():item()
            end
            train.report{sum = sum}
          end,
          datasets = {train = data.read_parquet 's3://bucket/rows'},
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'run'},
        }:fit()
    """)
    sums = rtrain.query("SELECT metrics ->> 'sum' FROM reports")
    assert len(sums) == 2 and sum(value for (value,) in sums) == sum(range(90))


# Faults


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_dataset_that_fails_leaves_nothing(rtrain, s3, kind):
    text = refused(
        rtrain,
        ROWS
        + f"""
        ds:map(function(row) if row.id == 70 then error 'no luck' end return row end)
          :write_{kind}('s3://bucket/out', {{min_rows_per_file = 30}})
    """,
    )
    assert "no luck" in text
    assert s3.keys("out") in ([], ["out/"]) and s3.uploads() == []  # Arrow keeps a folder after removing its last file


def test_what_is_missing_is_named(rtrain, s3):
    assert "read_parquet: no such file or folder: 's3://bucket/none'" in refused(
        rtrain, DATA + "data.read_parquet 's3://bucket/none'"
    )
    text = refused(rtrain, ROWS + "ds:write_csv 's3://no-such-bucket/out'")
    assert re.search(r"train.lua:\d+: cannot write 's3://no-such-bucket/out/part-.*NO_SUCH_BUCKET", text), text
    s3.put("broken.parquet", b"PAR1 and no more")
    assert "cannot read 's3://bucket/broken.parquet'" in refused(
        rtrain, DATA + "print(data.read_parquet('s3://bucket/broken.parquet'):count())"
    )


# fault: an object store that does not answer
def test_a_store_that_does_not_answer_is_an_error(rtrain, s3):
    rtrain.env.update(AWS_ENDPOINT_URL="http://127.0.0.1:1", RTRAIN_STORE_PATIENCE_S="1")
    text = refused(rtrain, DATA + "data.read_parquet 's3://bucket/rows'")
    assert "cannot read 's3://bucket/rows': " in text and "NETWORK_CONNECTION" in text


# fault: an object store that accepts connections and is silent
def test_a_store_that_is_silent_is_said_and_given_up(rtrain, s3):
    """AWS's own client would retry ten times within 99 s."""
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "4"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        rtrain.env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        text = refused(rtrain, DATA + "data.read_parquet 's3://bucket/rows'")
        listed = rtrain("ls", "--storage", "s3://bucket/results")
    assert time.monotonic() - began < 60
    assert "the object store does not answer; it is asked again for up to 4 s" in text
    assert "cannot read 's3://bucket/rows': " in text and "Timeout was reached" in text
    assert listed.returncode == 4 and "Timeout was reached" in listed.stderr
