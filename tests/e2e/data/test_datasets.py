"""vision.datasets against torchvision.datasets on the same folders, and CIFAR from Parquet files that pyarrow wrote."""

import io

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not here: scripts/test --oracle installs it")
tv = pytest.importorskip("torchvision.datasets", reason="torchvision is not here: scripts/test --oracle installs it")


def ours(rtrain, text):
    prelude = "local torch = require 'torch'\nlocal datasets = require 'vision.datasets'\n"
    result = rtrain("exec", rtrain.script(prelude + text, "datasets.lua"))
    assert result.returncode == 0, result.stdout + result.stderr
    return torch.load(rtrain.folder / "ours.pt", weights_only=True)


def encoded(image, suffix="PNG"):
    out = io.BytesIO()
    image.save(out, suffix)
    return out.getvalue()


def test_fake_data_is_torchvisions(rtrain):
    theirs = tv.FakeData(size=6, image_size=(3, 8, 5), num_classes=7, random_offset=3)
    images, labels = ours(
        rtrain,
        """
local set = datasets.FakeData{size = 6, image_size = {3, 8, 5}, num_classes = 7, random_offset = 3}
local images, labels = {}, {}
for i = 0, 5 do images[i + 1], labels[i + 1] = set:get(i) end
torch.save({images, labels}, 'ours.pt')""",
    )
    for i in range(6):
        image, label = theirs[i]
        assert torch.equal(images[i], torch.from_numpy(np.asarray(image).copy()))
        assert labels[i] == label


def test_image_folder_finds_what_torchvision_finds(rtrain):
    rng = np.random.default_rng(0)
    names = [
        "b/2.png",
        "b/1.JPG",
        "a/x/3.jpeg",
        "a/x-1/4.png",
        "a/x/y/5.png",
        "a/0.png",
        "Ä/1.png",
        "C/6.png",
        "C/Ü.png",
        "C/z.png",
        "b/.hidden.png",
        "b/notes.txt",
        "b/7.png.txt",
    ]
    for name in names:
        path = rtrain.folder / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (5, 4, 3), dtype=np.uint8)
        suffix = "JPEG" if path.suffix.lower() in (".jpg", ".jpeg") else "PNG"
        path.write_bytes(b"text" if path.suffix == ".txt" else encoded(Image.fromarray(pixels), suffix))
    (rtrain.folder / "images" / "top.png").write_bytes(b"")
    (rtrain.folder / "images" / "linked").symlink_to("b")
    theirs = tv.ImageFolder(str(rtrain.folder / "images"))
    found = ours(
        rtrain,
        """
local set = datasets.ImageFolder('images')
local images = {}
for i = 0, #set - 1 do images[i + 1] = set:get(i) end
torch.save({classes = set.classes, class_to_idx = set.class_to_idx, samples = set.samples, targets = set.targets,
            images = images}, 'ours.pt')""",
    )
    assert found["classes"] == theirs.classes
    assert dict(found["class_to_idx"]) == theirs.class_to_idx
    assert [(str(rtrain.folder / path), label) for path, label in found["samples"]] == theirs.samples
    assert found["targets"].tolist() == theirs.targets
    for i, image in enumerate(found["images"]):
        expected = torch.from_numpy(np.asarray(theirs[i][0]).copy())
        assert (image.int() - expected.int()).abs().max() <= 2


def cifar_rows(count, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, count)


def test_cifar_from_parquet_files(rtrain):
    """Reads several files and row groups, ignores other columns, and decodes PNG as Hugging Face stores it."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not here: scripts/test --oracle installs it")
    import pyarrow.parquet as pq

    (rtrain.folder / "cifar10").mkdir()
    pixels, labels = cifar_rows(25, 1)
    for part, rows in enumerate((slice(0, 16), slice(16, 25))):
        images = [
            {"bytes": encoded(Image.fromarray(image)), "path": f"{i}.png"} for i, image in enumerate(pixels[rows])
        ]
        table = pa.table(
            {
                "img": pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
                "note": ["x"] * len(images),
                "label": labels[rows].astype("int64"),
            }
        )
        pq.write_table(
            table, rtrain.folder / f"cifar10/train-{part:05}-of-00002.parquet", row_group_size=7, compression="zstd"
        )
    rtrain.env["RTRAIN_DATA"] = str(rtrain.folder)
    data, targets = ours(rtrain, "local set = datasets.CIFAR10()\ntorch.save({set.data, set.targets}, 'ours.pt')")
    assert torch.equal(data, torch.from_numpy(pixels))
    assert targets.tolist() == labels.tolist()

    images[3]["bytes"] = images[3]["bytes"][:100]
    table = pa.table(
        {
            "img": pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            "label": labels[rows].astype("int64"),
        }
    )
    pq.write_table(table, rtrain.folder / "cifar10/train-00001-of-00002.parquet")
    result = rtrain("exec", rtrain.script("require('vision.datasets').CIFAR10()"))
    assert result.returncode == 4
    assert "train-00001-of-00002.parquet" in result.stderr
    assert "row group 0, rows from 0 on: image 3: damaged PNG" in result.stderr


def test_cifar_from_binary_batches(rtrain):
    (rtrain.folder / "cifar-10-batches-bin").mkdir()
    pixels, labels = cifar_rows(11, 2)
    for i in range(1, 6):
        rows = [bytes([label]) + image.transpose(2, 0, 1).tobytes() for image, label in zip(pixels, labels)]
        (rtrain.folder / f"cifar-10-batches-bin/data_batch_{i}.bin").write_bytes(b"".join(rows))
    data, targets = ours(rtrain, "local set = datasets.CIFAR10('.')\ntorch.save({set.data, set.targets}, 'ours.pt')")
    assert torch.equal(data, torch.from_numpy(np.concatenate([pixels] * 5)))
    assert targets.tolist() == labels.tolist() * 5
