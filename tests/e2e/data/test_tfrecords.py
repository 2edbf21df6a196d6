"""rtrain.data.read_tfrecords: files that a writer of a few lines made, by the format's description."""

import gzip
import subprocess

import pytest

from data_sources import check_workers, read, refused
from tfrecords import example, record, write


def features(i):
    out = {
        "id": [i],
        "image": [i + 0.5, -1.0, 2.0],
        "name": [f"näme {i}".encode()],
        "words": list(range(i % 4)),
        "large": [2**63 - 1 - i],
        "parts": [bytes([i % 256]), b""],
    }
    if i % 3:
        out["rare"] = [i / 4]
    if i % 5 == 0:
        out["count"] = [-i]
    return dict(sorted(out.items(), key=lambda item: hash((item[0], i))))  # an order of its own in each record


def expected(i):
    out = {"id": i, "image": [i + 0.5, -1.0, 2.0], "name": f"näme {i}".encode().hex(), "words": list(range(i % 4))}
    out |= {"large": 2**63 - 1 - i, "parts": [bytes([i % 256]).hex(), ""]}
    return out | {"rare": i / 4 if i % 3 else None, "count": -i if i % 5 == 0 else None}


TYPES = {
    "count": "int64",
    "id": "int64",
    "image": "tensor<float32>[3]",
    "large": "int64",
    "name": "binary",
    "parts": "list<binary>",
    "rare": "float32",
    "words": "list<int64>",
}


def test_records_are_shown_by_peek(rtrain):
    write(rtrain.folder / "a.tfrecord", [{"x": [i], "y": [0.5, i / 1]} for i in range(7)])
    shown = rtrain.json("peek", "a.tfrecord", "--rows", "2")
    assert (shown["format"], shown["num_rows"]) == ("tfrecord", 7)
    assert shown["rows"] == [{"x": 0, "y": [0.5, 0]}, {"x": 1, "y": [0.5, 1]}]


@pytest.mark.parametrize("packed", [True, False])
def test_every_kind_of_feature(rtrain, packed):
    write(rtrain.folder / "a.tfrecord", [features(i) for i in range(300)], packed)
    types, rows = read(rtrain, "data.read_tfrecords 'a.tfrecord'")
    assert types == TYPES and list(types) == sorted(types)
    assert rows == [expected(i) for i in range(300)]


def test_packed_files_and_folders(rtrain):
    write(rtrain.folder / "plain", [features(i) for i in range(40)])
    plain = (rtrain.folder / "plain").read_bytes()
    (rtrain.folder / "in").mkdir()
    (rtrain.folder / "in/1.tfrecord.gz").write_bytes(gzip.compress(plain))
    zstd = subprocess.run(["zstd", "-q", "-c"], input=plain, stdout=subprocess.PIPE, check=True).stdout
    (rtrain.folder / "in/2.tfrecords.zst").write_bytes(zstd)
    (rtrain.folder / "in/3.tfrecords").write_bytes(plain)
    (rtrain.folder / "in/4.txt").write_text("left out")
    _, rows = read(rtrain, "data.read_tfrecords 'in'")
    assert rows == [expected(i) for i in range(40)] * 3


def test_a_length_that_looks_like_gzip(rtrain):
    size = 0x088B1F
    overhead = len(example({"x": [b"a" * size]})) - size
    (rtrain.folder / "a.tfrecord").write_bytes(record(example({"x": [b"a" * (size - overhead)]})) * 2)
    _, rows = read(rtrain, "data.read_tfrecords('a.tfrecord'):map(function(row) return {size = #row.x} end)")
    assert [row["size"] for row in rows] == [size - overhead] * 2


def test_column_types(rtrain):
    write(rtrain.folder / "a.tfrecord", [{"x": [1.0] * 6, "s": [b"text"], "n": [3]}] * 2)
    types, rows = read(
        rtrain,
        "data.read_tfrecords('a.tfrecord', {column_types = {x = 'tensor<float32>[2,3]', s = 'string', n = 'list<int64>'}})",
    )
    assert types == {"n": "list<int64>", "s": "string", "x": "tensor<float32>[2,3]"}
    assert rows[1] == {"n": [3], "s": b"text".hex(), "x": [[1.0] * 3] * 2}
    message = refused(rtrain, "data.read_tfrecords('a.tfrecord', {column_types = {n = 'float64'}})")
    assert "column_types.n: 'float64' is not a type of a feature" in message


# A feature that the sample has not shown as it is later.
@pytest.mark.parametrize(
    "late, said, better",
    [
        ({"x": [1, 2]}, "feature 'x' has 2 values", "list<int64>"),
        ({"x": [1.5]}, "feature 'x' holds float32", "float32"),
        ({"x": [1], "v": [1.0]}, "feature 'v' has 1 value", "list<float32>"),
        ({"x": [1], "new": [b"a"]}, "feature 'new' is not in the first 1000 records", "binary"),
    ],
)
def test_a_later_feature_of_another_form_is_named(rtrain, late, said, better):
    rows = [{"x": [i], "v": [1.0, 2.0]} for i in range(1001)]
    write(rtrain.folder / "a.tfrecord", [*rows, {"v": [1.0, 2.0]} | late])
    message = refused(rtrain, "data.read_tfrecords 'a.tfrecord'")
    assert "a.tfrecord', record 1001 at byte " in message
    assert said in message and f"'] = '{better}'}}" in message


def test_columns_that_are_not_selected_are_not_looked_at(rtrain):
    rows = [{"x": [i], "v": [1.0, 2.0]} for i in range(1001)]
    write(rtrain.folder / "a.tfrecord", [*rows, {"x": [1001], "v": [1.0]}])
    _, found = read(rtrain, "data.read_tfrecords('a.tfrecord'):select_columns {'x'}")
    assert [row["x"] for row in found] == list(range(1002))


def test_damaged_files_are_named_with_record_and_byte(rtrain):
    one = record(example({"x": [7]}))
    path = rtrain.folder / "a.tfrecord"
    second = len(one)
    flipped = bytearray(one * 3)
    flipped[second + 14] ^= 1
    length = bytearray(one * 3)
    length[second] ^= 1
    for content, place, said in [
        (bytes(flipped), f"record 1 at byte {second}", "its checksum is wrong"),
        (bytes(length), f"record 1 at byte {second}", "the checksum of its length is wrong"),
        ((one * 3)[:-1], f"record 2 at byte {2 * second}", "its end is missing"),
        (one * 2 + one[:5], f"record 2 at byte {2 * second}", "its end is missing"),
        (b"not a record at all", "record 0 at byte 0", "it is not a TFRecord file"),
        (record(b"\xff\xff"), "record 0 at byte 0", "it is not a tf.train.Example"),
        (b"", "", "it has no record with a feature"),
    ]:
        path.write_bytes(content)
        message = refused(rtrain, "data.read_tfrecords 'a.tfrecord'")
        assert "a.tfrecord'" in message and place in message and said in message, message
    path.rename(rtrain.folder / "b.tfrecord.gz")
    (rtrain.folder / "b.tfrecord.gz").write_bytes(gzip.compress((one * 3)[:-1]))
    message = refused(rtrain, "data.read_tfrecords 'b.tfrecord.gz'")
    assert f"record 2 at byte {2 * second} of the unpacked data: its end is missing" in message


def test_workers_share_files_and_go_on_where_they_stopped(rtrain):
    write(rtrain.folder / "1.tfrecord", [{"id": [i], "other": [1.0] * (i % 3)} for i in range(70)])
    write(rtrain.folder / "2.tfrecord", [{"id": [i], "other": [1.0] * (i % 3)} for i in range(70, 100)])
    check_workers(rtrain, "data.read_tfrecords {'1.tfrecord', '2.tfrecord'}", "id", 100)
