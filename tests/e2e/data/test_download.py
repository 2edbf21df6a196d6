"""`download = true` of vision.datasets: files are fetched once from the mirror that the user names, and their MD5 is
checked."""

import gzip
import hashlib
import http.server
import io
import struct
import tarfile
import threading

import pytest

from conftest import nightly

pytestmark = nightly

FILES = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]


@pytest.fixture
def mirror(tmp_path):
    """A folder with a server for it: the folder, the server's address, and the list of requested paths."""
    folder, asked = tmp_path / "mirror", []
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=folder, **kwargs)

        def log_message(self, *args):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def idx(kind, *shape):
    count = 1
    for size in shape:
        count *= size
    return gzip.compress(
        struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape) + bytes(i % 10 for i in range(count)), mtime=0
    )


def mnist(folder):
    """Writes three images in MNIST's format; returns Lua that registers their files and checksums in each process."""
    (folder / "mnist").mkdir()
    lines = ["local datasets = require 'vision.datasets'", "local function know()"]
    for name, data in zip(FILES, [idx(8, 3, 28, 28), idx(8, 3)]):
        (folder / "mnist" / f"{name}.gz").write_bytes(data)
        lines.append(f"datasets.MNIST._md5['{name}'] = '{hashlib.md5(data).hexdigest()}'")
    return "\n".join(lines) + "\nend\n"


def test_workers_fetch_each_file_once(rtrain, mirror):
    folder, url, asked = mirror
    text = (
        mnist(folder)
        + """
local train = require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function()
    know()
    local set = datasets.MNIST{root = 'images', train = true, download = true}
    train.report{count = #set, folder = set.folder, label = set.targets[2]:item()}
  end,
  scaling_config = train.ScalingConfig{num_workers = 3},
}):fit()"""
    )
    rtrain.env["RTRAIN_DATA_URL"] = url + "/"
    rtrain.run_ok(text)
    assert sorted(asked) == sorted(f"/mnist/{name}.gz" for name in FILES)
    ranks = rtrain.json("metrics", "last", "--ranks")[0]["ranks"]
    assert ranks == [{"count": 3, "folder": "images/mnist", "label": 2}] * 3
    rtrain.run_ok(text)
    assert len(asked) == 2
    assert {p.name for p in (rtrain.folder / "images" / "mnist").iterdir()} == {
        ".download.lock",
        *(f"{n}.gz" for n in FILES),
    }


def fetch(rtrain, text):
    result = rtrain("exec", rtrain.script(text, "fetch.lua"))
    return result.returncode, result.stdout + result.stderr


# fault: a download that is another file than expected
def test_what_is_fetched_must_be_the_file(rtrain, mirror):
    folder, url, _ = mirror
    text = mnist(folder) + "know() print(#datasets.MNIST{root = 'images', download = true})"
    code, said = fetch(rtrain, text)
    assert code == 1 and "set RTRAIN_DATA_URL to the address below which it has them" in said, said
    rtrain.env["RTRAIN_DATA_URL"] = url
    whole = (folder / "mnist" / f"{FILES[1]}.gz").read_bytes()
    (folder / "mnist" / f"{FILES[1]}.gz").write_bytes(whole[:-1])
    code, said = fetch(rtrain, text)
    assert (
        code == 4
        and f"{url}/mnist/{FILES[1]}.gz: it has the MD5 {hashlib.md5(whole[:-1]).hexdigest()}, and not" in said
    ), said
    (folder / "mnist" / f"{FILES[1]}.gz").unlink()
    code, said = fetch(rtrain, text)
    assert code == 4 and "it cannot be fetched" in said and "404" in said, said
    assert {p.name for p in (rtrain.folder / "images" / "mnist").iterdir()} == {".download.lock", f"{FILES[0]}.gz"}
    (folder / "mnist" / f"{FILES[1]}.gz").write_bytes(whole)
    assert fetch(rtrain, text) == (0, "3\n")


def test_an_archive_is_unpacked(rtrain, mirror):
    folder, url, asked = mirror
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = 2 * 3073
            archive.addfile(info, io.BytesIO(bytes([3]) + bytes(3072) + bytes([9]) + bytes(3072)))
    (folder / "cifar10").mkdir()
    (folder / "cifar10" / "cifar-10-binary.tar.gz").write_bytes(data.getvalue())
    rtrain.env.update(RTRAIN_DATA_URL=url, RTRAIN_DATA=str(rtrain.folder / "images"))
    text = f"""
local datasets = require 'vision.datasets'
datasets.CIFAR10._md5 = '{hashlib.md5(data.getvalue()).hexdigest()}'
print(#datasets.CIFAR10{{download = true}}, #datasets.CIFAR10{{train = false, download = true}})"""
    assert fetch(rtrain, text) == (0, "10\t2\n")
    assert fetch(rtrain, text) == (0, "10\t2\n") and len(asked) == 1


def test_the_md5_are_torchvisions(rtrain):
    tv = pytest.importorskip(
        "torchvision.datasets", reason="torchvision is not here: scripts/test --oracle installs it"
    )
    code, said = fetch(
        rtrain,
        """
local datasets = require 'vision.datasets'
for _, name in ipairs{'MNIST', 'FashionMNIST', 'KMNIST'} do
  for _, file in ipairs{'train-images-idx3', 'train-labels-idx1', 't10k-images-idx3', 't10k-labels-idx1'} do
    print(name, file .. '-ubyte.gz', datasets[name]._md5[file .. '-ubyte'])
  end
end""",
    )
    ours = {tuple(line.split("\t")) for line in said.splitlines()}
    theirs = {(name, *entry) for name in ["MNIST", "FashionMNIST", "KMNIST"] for entry in getattr(tv, name).resources}
    assert code == 0 and ours == theirs, said
