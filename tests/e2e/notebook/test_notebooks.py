"""The notebooks of examples/notebooks: as they are stored, and executed by scripts/notebooks with fewer images."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import SOURCE, sample
from kernels import environment
from test_examples import with_images

pytest.importorskip("nbclient", reason="nbclient is missing: scripts/setup --oracle installs it")

FOLDER = SOURCE / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# A notebook and the number of images that it trains on.
CASES = [("vision_transformer", 64), ("deep_dive", 1000), ("introduction", 200)]
MOST_BYTES = 300_000


def outputs_of(path):
    """The outputs of all cells."""
    cells = json.loads(path.read_text())["cells"]
    return [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]


def shown(outputs, kind):
    """The texts of that MIME type."""
    texts = [output.get("data", {}).get(kind, []) for output in outputs]
    return [text if isinstance(text, str) else "".join(text) for text in texts if text]


def test_each_notebook_is_listed_and_tested():
    readme = (SOURCE / "examples" / "README.md").read_text()
    assert {name for name, _ in CASES} == {path.stem for path in NOTEBOOKS}
    assert all(f"`notebooks/{path.name}`" in readme for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_is_small_and_has_its_outputs(path):
    import nbformat

    text = path.read_text()
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert len(text) < MOST_BYTES
    assert not re.search(r"/(tmp|root|home|work|builds?)/", text), "paths of a machine"
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "scripts/notebooks writes it"
    assert all(output["output_type"] != "error" for output in outputs_of(path))
    assert max(len(line) for cell in cells for line in cell["source"]) <= 129, "with its end"


@pytest.mark.parametrize("name,images", sample(*CASES), ids=lambda value: str(value))
def test_a_notebook_runs(rtrain, tmp_path, name, images):
    folder = pathlib.Path(os.environ.get("RTRAIN_DATA", "/nonexistent"))
    if not (folder / "cifar10").is_dir():
        if name == "vision_transformer":
            pytest.skip("$RTRAIN_DATA has no cifar10")
        with_images(rtrain, images, images)
    done = subprocess.run(
        [sys.executable, SOURCE / "scripts" / "notebooks", "--out", tmp_path / "out", name],
        env={**environment(rtrain), "RTRAIN_IMAGES": str(images)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    outputs = outputs_of(tmp_path / "out" / f"{name}.ipynb")
    # Images with their labels at the beginning, with the model's predictions at the end.
    first, *_, last = shown(outputs, "image/svg+xml")
    assert first.count("<image") >= 8 and last.count("<image") == 8
    assert last.count("<text") == 8
    runs = [text for text in shown(outputs, "text/plain") if " FINISHED after " in text]
    assert len(runs) == (2 if name == "vision_transformer" else 1)
    assert any("<table>" in text and "<svg" in text for text in shown(outputs, "text/html")) or len(runs) == 2
    if name == "deep_dive":
        streams = "".join("".join(output.get("text", [])) for output in outputs)
        assert "attempt 1 failed: cell 4:" in streams and "resuming from epoch 1" in streams
    if name != "vision_transformer":
        accuracy = re.search(r"accuracy on \d+ new images: ([0-9.]+)", shown(outputs, "text/plain")[-1])[1]
        # The introduction's network has seen too few images here.
        assert float(accuracy) > (0.6 if name == "deep_dive" else 0)
