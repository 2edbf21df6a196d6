"""rtrain.data.read_arrow and from_huggingface: IPC files and streams, Feather, folders of save_to_disk, by pyarrow."""

import io
import json
import shutil

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
import pyarrow.feather as feather
import pyarrow.ipc as ipc

from arrow_tables import expected_rows, table_of_all_types
from data_sources import check_workers, read, refused


def write(path, table, rows=300, stream=False, compression=None):
    options = ipc.IpcWriteOptions(compression=compression)
    with (ipc.new_stream if stream else ipc.new_file)(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


WRITERS = {
    "a.arrow": lambda path, table: write(path, table),
    "b.arrow": lambda path, table: write(path, table, stream=True),
    "c.ipc": lambda path, table: write(path, table, compression="zstd"),
    "d.ipc": lambda path, table: write(path, table, stream=True, compression="lz4"),
    "e.feather": lambda path, table: feather.write_feather(table, path, compression="lz4"),
    "f.feather": lambda path, table: feather.write_feather(table, path, compression="zstd", chunksize=64),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_type_in_every_format(rtrain, name):
    table = table_of_all_types().drop_columns(["image"])
    WRITERS[name](rtrain.folder / name, table)
    types, rows = read(rtrain, f"data.read_arrow '{name}'")
    assert list(types) == table.column_names
    for column in table.column_names:
        assert [row[column] for row in rows] == expected_rows(table[column], column), column


def test_a_file_is_shown_by_peek(rtrain):
    write(rtrain.folder / "a.feather", pa.table({"x": [1, 2, 3]}))
    shown = rtrain.json("peek", "a.feather", "--rows", "2")
    assert (shown["format"], shown["num_rows"], shown["rows"]) == ("arrow", 3, [{"x": 1}, {"x": 2}])


def test_peek_shows_nulls_in_lists_and_empty_lists(rtrain):
    columns = {"a": [[1, None, 3], []], "b": [None, 2], "c": [[["p", None], None], [[]]]}
    write(rtrain.folder / "a.arrow", pa.table(columns))
    rows = rtrain.json("peek", "a.arrow")["rows"]
    assert rows == [{"a": [1, None, 3], "c": [["p", None], None]}, {"a": [], "b": 2, "c": [[]]}]
    shown = rtrain("peek", "a.arrow").stdout.splitlines()
    assert [line.split() for line in shown[-2:]] == [["0", "[1,null,3]", '[["p",null],null]'], ["1", "[]", "2", "[[]]"]]


def test_formats_in_one_folder_and_chosen_columns(rtrain):
    (rtrain.folder / "in").mkdir()
    table = pa.table({"id": range(90), "name": [f"row {i}" for i in range(90)], "x": [i / 2 for i in range(90)]})
    for i, name in enumerate(WRITERS):
        WRITERS[name](rtrain.folder / "in" / name, table.slice(15 * i, 15))
    _, rows = read(rtrain, "data.read_arrow('in', {columns = {'x', 'id'}})")
    assert rows == [{"x": i / 2, "id": i} for i in range(90)]
    _, rows = read(rtrain, "data.read_arrow('in/a.arrow', {include_paths = true}):select_columns {'path', 'x'}")
    assert rows[3] == {"path": str(rtrain.folder / "in/a.arrow").encode().hex(), "x": 1.5}
    assert "no column 'nmae': did you mean 'name'?" in refused(rtrain, "data.read_arrow('in', {columns = {'nmae'}})")


def dictionary(values, words):
    return pa.DictionaryArray.from_arrays(pa.array(values, pa.int8()), pa.array(words))


@pytest.mark.parametrize("deltas", [True, False])
def test_dictionaries_that_grow_or_are_replaced(rtrain, deltas):
    batches = [
        dictionary([0, 1, None], ["a", "b"]),
        dictionary([2, 0, 1], ["a", "b", "c"]),
        dictionary([3, 2, 0], ["a", "b", "c", "d"] if deltas else ["x", "y", "z", "w"]),
    ]
    schema = pa.schema([("word", batches[0].type), ("id", pa.int64())])
    options = ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
    with ipc.new_stream(rtrain.folder / "a.arrow", schema, options=options) as writer:
        for i, batch in enumerate(batches):
            writer.write_batch(pa.record_batch([batch, pa.array(range(3 * i, 3 * i + 3))], schema=schema))
    expected = [word and word.encode().hex() for batch in batches for word in batch.to_pylist()]
    _, rows = read(rtrain, "data.read_arrow 'a.arrow'")
    assert [row["word"] for row in rows] == expected
    # Only the last batch, with all dictionaries before it.
    _, rows = read(rtrain, "data.read_arrow('a.arrow'):split_at_indices({6})[2]")
    assert [row["word"] for row in rows] == expected[6:]


def test_a_batch_much_larger_than_a_block(rtrain):
    table = pa.table({"id": range(100_000), "name": [f"row {i}" for i in range(100_000)]})
    write(rtrain.folder / "a.arrow", table, rows=100_000)
    read_rows = """(function()
      data.DataContext.get_current().target_max_block_size = 2 ^ 16
      return data.read_arrow('a.arrow'):map_batches(function(batch) return {rows = torch.tensor {#batch.id}} end)
    end)()"""
    _, rows = read(rtrain, read_rows)
    assert len(rows) > 20 and sum(row["rows"] for row in rows) == 100_000


def test_files_without_rows(rtrain):
    empty = pa.table({"id": pa.array([], pa.int64()), "s": pa.array([], pa.string())})
    for name, stream in (("1.arrow", False), ("2.arrow", True)):
        write(rtrain.folder / name, empty, stream=stream)
    write(rtrain.folder / "3.arrow", pa.table({"id": [7], "s": ["a"]}))
    types, rows = read(rtrain, "data.read_arrow {'1.arrow', '2.arrow', '3.arrow'}")
    assert types == {"id": "int64", "s": "string"} and rows == [{"id": 7, "s": b"a".hex()}]


def test_parts_that_are_missing_are_named(rtrain):
    table = pa.table({"id": range(1000)})
    for name, stream in (("file.arrow", False), ("stream.arrow", True)):
        path = rtrain.folder / name
        write(path, table, rows=250, stream=stream)
        whole = path.read_bytes()
        path.write_bytes(whole[:-2600])
        message = refused(rtrain, f"data.read_arrow '{name}'")
        assert f"{name}'" in message and "its end is missing" in message
        if stream:
            assert ", batch 2, whose message is at byte " in message
    for content, said in ((b"", "it is empty"), (b"not an Arrow file", "it is not an Arrow file or stream")):
        path.write_bytes(content)
        assert said in refused(rtrain, f"data.read_arrow '{name}'")


def test_feather_of_version_1_is_refused(rtrain):
    (rtrain.folder / "a.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    assert "a.feather': it is Feather of version 1" in refused(rtrain, "data.read_arrow 'a.feather'")


def test_damaged_data_are_named_with_their_batch(rtrain):
    table = pa.table({"s": [f"text {i}" for i in range(1000)]})
    path = rtrain.folder / "a.arrow"
    write(path, table, rows=250, stream=True)
    content = bytearray(path.read_bytes())
    # The offsets of the last batch: that of its second text leads out of it.
    place = content.rindex(bytes([0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0]))
    content[place + 7] = 0x7F
    path.write_bytes(content)
    message = refused(rtrain, "data.read_arrow 'a.arrow'")
    assert "a.arrow', batch 3, at byte " in message and "it is damaged" in message


def test_workers_share_batches_and_go_on_where_they_stopped(rtrain):
    table = pa.table({"id": range(100), "words": [[f"w{i}"] * (i % 3) for i in range(100)]})
    write(rtrain.folder / "1.arrow", table.slice(0, 60), rows=11, stream=True)
    write(rtrain.folder / "2.arrow", table.slice(60), rows=9)
    check_workers(rtrain, "data.read_arrow {'1.arrow', '2.arrow'}", "id", 100)


def save_to_disk(folder, tables, split=None):
    """Writes what Hugging Face's Dataset.save_to_disk writes."""
    folder.mkdir(parents=True)
    names = [f"data-{i:05}-of-{len(tables):05}.arrow" for i in range(len(tables))]
    for name, table in zip(names, tables):
        write(folder / name, table, rows=10, stream=True)
    state = {"_data_files": [{"filename": name} for name in names], "_split": split, "_format_columns": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": {}}))


def test_folders_of_hugging_face(rtrain):
    table = pa.table({"id": range(90), "label": [i % 2 for i in range(90)]})
    parts = [table.slice(30 * i, 30) for i in range(3)]
    save_to_disk(rtrain.folder / "one", parts)
    _, rows = read(rtrain, "data.from_huggingface 'one'")
    assert rows == table.to_pylist()
    for split, part in zip(("train", "test"), parts):
        save_to_disk(rtrain.folder / "all" / split, [part], split)
    (rtrain.folder / "all/dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    _, rows = read(rtrain, "data.from_huggingface('all', {split = 'test', columns = {'id'}})")
    assert rows == [{"id": i} for i in range(30, 60)]
    assert "say split, one of 'train', 'test'" in refused(rtrain, "data.from_huggingface 'all'")
    assert "did you mean 'test'?" in refused(rtrain, "data.from_huggingface('all', {split = 'tset'})")
    assert "leave split out" in refused(rtrain, "data.from_huggingface('one', {split = 'train'})")
    (rtrain.folder / "one/data-00001-of-00003.arrow").unlink()
    assert "data-00001-of-00003.arrow" in refused(rtrain, "data.from_huggingface 'one'")
    shutil.rmtree(rtrain.folder / "all/train")
    assert "has no state.json" in refused(rtrain, "data.from_huggingface('all', {split = 'train'})")
    assert "no such folder: 'nothing'" in refused(rtrain, "data.from_huggingface 'nothing'")


def test_images_of_hugging_face_are_decoded(rtrain):
    image = pytest.importorskip("PIL.Image")

    def png(shade):
        out = io.BytesIO()
        image.new("RGB", (2, 3), (shade, 0, 255)).save(out, "png")
        return out.getvalue()

    images = [None if i == 4 else {"bytes": png(i), "path": None} for i in range(9)]
    column = pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    save_to_disk(rtrain.folder / "a", [pa.table({"image": column})])
    types, rows = read(rtrain, "data.from_huggingface 'a'")
    assert types == {"image": "image"}
    assert [row["image"] for row in rows] == [None if i == 4 else [[[i, 0, 255]] * 2] * 3 for i in range(9)]
