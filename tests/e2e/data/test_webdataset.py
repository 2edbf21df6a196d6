"""rtrain.data.read_webdataset: archives that Python's tarfile wrote, decoded as Python does."""

import gzip
import io
import json
import lzma
import subprocess
import tarfile

import pytest

np = pytest.importorskip("numpy")
from data_sources import check_workers, read, refused


def write(path, members, tar_format=tarfile.PAX_FORMAT):
    """Writes (name, bytes) in this order."""
    with tarfile.open(path, "w", format=tar_format) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def samples(count, first=0):
    for i in range(first, first + count):
        yield f"train/{i:04}.txt", f"täxt {i}".encode()
        yield f"train/{i:04}.cls", f"{i - 3}\n".encode()
        if i % 3:
            yield f"train/{i:04}.json", json.dumps({"i": i, "list": [1, None, "a"], "none": None}).encode()
        yield f"train/{i:04}.seg.npy", npy(np.arange(i, i + 4, dtype="int16").reshape(2, 2))
        if i % 2:
            yield f"train/{i:04}.bin", bytes([i % 256]) * (i % 600)


def expected(i, path):
    return {
        "__key__": f"train/{i:04}".encode().hex(),
        "txt": f"täxt {i}".encode().hex(),
        "cls": i - 3,
        "json": {"i": i, "list": [1, None, b"a".hex()]} if i % 3 else None,
        "seg.npy": [[i, i + 1], [i + 2, i + 3]],
        "bin": (bytes([i % 256]) * (i % 600)).hex() if i % 2 else None,
        "__url__": str(path).encode().hex(),
    }


TYPES = {"__key__": "string", "txt": "string", "cls": "int64", "seg.npy": "tensor<int16>[2,2]", "json": "object"}
TYPES |= {"bin": "binary", "__url__": "string"}


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize(
    "name, pack",
    [
        ("a.tar", bytes),
        ("a.tar.gz", gzip.compress),
        ("a.tgz", gzip.compress),
        ("a.tar.zst", zstd),
        ("a.tar.xz", lzma.compress),
    ],
)
def test_members_are_grouped_and_decoded(rtrain, name, pack):
    path = rtrain.folder / name
    write(path, samples(300))
    path.write_bytes(pack(path.read_bytes()))
    types, rows = read(rtrain, f"data.read_webdataset '{name}'")
    assert types == TYPES
    assert rows == [expected(i, path) for i in range(300)]


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_other_members(rtrain, tar_format):
    folder = "f" * 90 + "/" + ("g" * 40 if tar_format == tarfile.USTAR_FORMAT else "g" * 150)
    path = rtrain.folder / "a.tar"
    with tarfile.open(path, "w", format=tar_format) as tar:
        for name, kind in ((folder, tarfile.DIRTYPE), ("link.txt", tarfile.SYMTYPE), ("pipe.txt", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "elsewhere" if kind == tarfile.SYMTYPE else ""
            tar.addfile(info)
        for name in (f"{folder}/ä.v1.txt", f"{folder}/ä.cls", "without_a_dot", "b.c/x.txt"):
            content = b"3" if name.endswith("cls") else name.encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    _, rows = read(rtrain, "data.read_webdataset('a.tar'):drop_columns {'__url__'}")
    long = f"{folder}/ä"
    assert rows == [
        {"__key__": long.encode().hex(), "v1.txt": f"{long}.v1.txt".encode().hex(), "cls": 3, "txt": None},
        {"__key__": b"b.c/x".hex(), "v1.txt": None, "cls": None, "txt": b"b.c/x.txt".hex()},
    ]


def test_images(rtrain):
    image = pytest.importorskip("PIL.Image")
    pictures = np.random.default_rng(0).integers(0, 256, (5, 6, 4, 3), dtype="uint8")

    def png(array):
        out = io.BytesIO()
        image.fromarray(array).save(out, "png")
        return out.getvalue()

    write(rtrain.folder / "a.tar", [(f"{i}.png", png(array)) for i, array in enumerate(pictures)])
    types, rows = read(rtrain, "data.read_webdataset 'a.tar'")
    assert types["png"] == "tensor<uint8>[6,4,3]"
    assert [row["png"] for row in rows] == pictures.tolist()
    write(rtrain.folder / "b.tar", [("0.png", png(pictures[0])), ("1.txt", b"a"), ("2.png", b"not a picture")])
    assert "b.tar', the file '2.png': " in refused(rtrain, "data.read_webdataset 'b.tar'")


def test_decoders_and_choices(rtrain):
    write(rtrain.folder / "a.tar", samples(20))
    _, rows = read(rtrain, "data.read_webdataset('a.tar', {decoder = false, suffixes = {'cls'}})")
    assert [row["cls"] for row in rows] == [f"{i - 3}\n".encode().hex() for i in range(20)]
    double = "function(row) return {key = row.__key__, twice = 2 * CLASS} end"
    for decoder, value in (("FUNCTION", "tonumber(row.cls)"), ("{true, FUNCTION}", "row.cls")):
        decoder = decoder.replace("FUNCTION", double.replace("CLASS", value))
        _, rows = read(rtrain, f"data.read_webdataset('a.tar', {{decoder = {decoder}}})")
        assert [row["twice"] for row in rows] == [2 * (i - 3) for i in range(20)]
    types, rows = read(
        rtrain,
        """data.read_webdataset('a.tar', {suffixes = {'*.npy', '.txt'}, fileselect = function(name)
             return name:find '[02468]%.' end, filerename = function(name) return (name:gsub('^train/', '')) end})""",
    )
    assert list(types) == ["__key__", "txt", "seg.npy", "__url__"]
    assert [row["__key__"] for row in rows] == [f"{i:04}".encode().hex() for i in range(0, 20, 2)]
    types, rows = read(rtrain, "data.read_webdataset('a.tar', {suffixes = {'bin', 'other.cls'}, include_paths = true})")
    assert types == {"__key__": "string", "bin": "binary", "other.cls": "int64", "__url__": "string", "path": "string"}
    assert rows[2]["other.cls"] is None and len(rows) == 20


def test_an_archive_is_shown_by_peek(rtrain):
    write(rtrain.folder / "a.tar", samples(7))
    shown = rtrain.json("peek", "a.tar", "--rows", "2")
    assert (shown["format"], shown["num_rows"]) == ("webdataset", 7)
    assert shown["rows"][1]["txt"] == "täxt 1" and shown["rows"][1]["cls"] == -2


def test_a_later_suffix_has_to_be_named(rtrain):
    members = [(f"{i}.txt", b"a") for i in range(1001)]
    write(rtrain.folder / "a.tar", [*members, ("1001.cls", b"1")])
    message = refused(rtrain, "data.read_webdataset 'a.tar'")
    assert "the file '1001.cls' at byte 1025024: the first 1000 samples have no file 'cls'" in message
    assert "suffixes = {'cls', …}" in message
    _, rows = read(rtrain, "data.read_webdataset('a.tar', {suffixes = {'txt', 'cls'}})")
    assert rows[1000]["cls"] is None and rows[1001]["cls"] == 1


def test_damaged_archives_are_named_with_the_byte(rtrain):
    path = rtrain.folder / "a.tar"
    write(path, [(f"{i}.txt", b"text") for i in range(5)])
    whole = path.read_bytes()
    wrong_sum = whole[:2048] + b"X" + whole[2049:]
    for content, said in [
        (whole[: 2048 + 100], "at byte 2048: the end of a header is missing"),
        (whole[: 2048 + 514], "at byte 2048: the end of this file is missing"),
        (wrong_sum, "at byte 2048: the checksum of a header is wrong"),
        (b"no archive, but long enough for a header".ljust(600), "at byte 0: it is not a tar archive"),
        (b"", "at byte 0: it is empty"),
    ]:
        path.write_bytes(content)
        message = refused(rtrain, "data.read_webdataset 'a.tar'")
        assert "a.tar', " + said in message, message
    (rtrain.folder / "b.tar.gz").write_bytes(gzip.compress(whole[: 2048 + 514]))
    message = refused(rtrain, "data.read_webdataset 'b.tar.gz'")
    assert "at byte 2048 of the unpacked archive: the end of this file is missing" in message
    write(path, [("1.txt", b"a"), ("1.txt", b"b")])
    assert "the sample '1' has two files 'txt'" in refused(rtrain, "data.read_webdataset 'a.tar'")
    for name, content, said in [
        ("1.cls", b"cat", "'cat' is not an integer"),
        ("1.json", b"{", "json"),
        ("1.npy", b"x", ""),
    ]:
        write(path, [("0.txt", b"a"), (name, content)])
        message = refused(rtrain, "data.read_webdataset 'a.tar'")
        assert f"a.tar', the file '{name}': " in message and said in message


def test_wrong_arguments_are_refused(rtrain):
    write(rtrain.folder / "a.tar", samples(1))
    for options, said in [
        ("decoder = 'PIL'", "decoder is true, false, a function"),
        ("suffixes = 'txt'", "suffixes is a function or a list of names and patterns"),
        ("filerename = {'a'}", "filerename is a function or a list of functions"),
        ("filerename = function() end", "filerename returned a nil"),
        ("sufixes = {'txt'}", "did you mean 'suffixes'?"),
    ]:
        assert said in refused(rtrain, f"data.read_webdataset('a.tar', {{{options}}})")


@pytest.mark.parametrize("options", ["", "fileselect = function(name) return not name:find 'bin' end"])
def test_workers_share_archives_and_go_on_where_they_stopped(rtrain, options):
    for name, first, count in (("1.tar", 0, 64), ("2.tar", 64, 36)):
        write(
            rtrain.folder / name,
            (
                (f"{i:03}.{end}", content)
                for i in range(first, first + count)
                for end, content in (("bin", b"0"), ("cls", b"%d" % i))
            ),
        )
    check_workers(rtrain, f"data.read_webdataset({{'1.tar', '2.tar'}}, {{{options}}})", "cls", 100)
