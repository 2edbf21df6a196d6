"""fit() in a cell of a notebook, and pictures: what is shown, and where."""

import base64
import re
import time
import xml.etree.ElementTree as ElementTree

from kernels import notebook, shared  # noqa: F401  (fixtures)

RUN = """
r = train.TorchTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    for epoch = 1, 4 do
      print('epoch', epoch)
      if rank == 0 then
        train.log_image('sample', torch.full({3, 4, 6}, 0.25 * epoch))
        train.log_histogram('weights', torch.arange(100))
        train.log_table('worst', {columns = {'name', 'loss'}, rows = {{'<a>', 2}, {'b', 1}}})
        train.log_text('said', 'once & again')
      end
      os.execute 'sleep 0.3'
      train.report{epoch = epoch, loss = 1 / epoch}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'seen'},
}:fit()
r
"""


def table_of(text):
    """The rows of the first table of an HTML text."""
    table = re.search(r"<table>.*?</table>", text, re.DOTALL)[0]
    return [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(table).iter("tr")]


def pictures_of(svg):
    """(width, height) of the PNG files in a picture, and its captions."""
    root = ElementTree.fromstring(svg)
    files = [
        base64.b64decode(item.get("href").partition(",")[2]) for item in root.iter("{http://www.w3.org/2000/svg}image")
    ]
    assert all(file.startswith(b"\x89PNG") for file in files)
    sizes = [(int.from_bytes(file[16:20], "big"), int.from_bytes(file[20:24], "big")) for file in files]
    return sizes, [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_run_is_one_output_that_ends_with_metrics_and_curves(rtrain, notebook):
    times = []

    def see(kind, content):
        if kind in ("display_data", "update_display_data") and content.get("transient"):
            times.append(time.monotonic())

    cell = notebook.run(RUN, on_message=see)
    assert cell.status == "ok", cell.traceback
    view, *others = cell.of("display_data")
    updates = cell.of("update_display_data")
    display_id = view["transient"]["display_id"]
    assert updates and {content["transient"]["display_id"] for content in updates} == {display_id}
    assert len(times) <= 4 * (times[-1] - times[0]) + 3, "at most four states a second, and the last one"
    assert any("RUNNING" in content["data"]["text/plain"] for content in [view, *updates])
    last = updates[-1]["data"]
    assert last["text/plain"].startswith("run seen FINISHED after") and "4 reports" in last["text/plain"]
    rows = table_of(last["text/html"])
    assert rows[0] == ["report", "epoch", "loss"]
    assert [row[1:] for row in rows[1:]] == [["1", "1"], ["2", "0.5"], ["3", "0.33333"], ["4", "0.25"]]
    (curve,) = re.findall(r"<svg.*?</svg>", last["text/html"], re.DOTALL)
    assert "loss" in curve and "<polyline" in curve
    lines = cell.stream("stdout").splitlines()
    assert {f"[rank {rank}] epoch\t{epoch}" for rank in (0, 1) for epoch in range(1, 5)} <= set(lines)
    assert not [line for line in lines if line.startswith("report")]
    assert cell.stream("stderr") == ""

    shown = {content["data"]["text/plain"].partition(",")[0]: content["data"] for content in others}
    assert set(shown) == {"image sample", "histogram weights", "table worst", "text said"}
    assert pictures_of(shown["image sample"]["image/svg+xml"]) == ([(6, 4)], ["image sample, step 3"])
    assert table_of(shown["table worst"]["text/html"]) == [["name", "loss"], ["<a>", "2"], ["b", "1"]]
    assert "<polyline" in shown["histogram weights"]["image/svg+xml"]
    assert "once &amp; again" in shown["text said"]["text/html"]

    assert dict(table_of(cell.result["text/html"])[1:])["loss"] == "0.25"
    assert cell.text.startswith("Result(metrics={epoch=4 loss=0.25}")
    frame = notebook.run("r.metrics_dataframe").result
    assert [row[2] for row in table_of(frame["text/html"])] == ["loss", "1", "0.5", "0.33333", "0.25"]
    assert rtrain.statuses("seen") == ["FINISHED"]


def test_a_failed_run_has_the_line_of_the_cell(notebook):
    cell = notebook.run("""
train.TorchTrainer{
  train_loop_per_worker = function()
    train.report{loss = 1}
    error 'no more'
  end,
}:fit()""")
    assert cell.status == "error" and "cell 1:5: no more" in cell.error
    assert "ERRORED" in cell.of("update_display_data")[-1]["data"]["text/plain"]
    local = notebook.run("""
train.TorchTrainer{
  train_loop_per_worker = function() print 'here'; train.report{loss = 1} end,
  scaling_config = train.ScalingConfig{num_workers = 0},
}:fit().metrics.loss""")
    assert local.text == "1" and "here\n" in local.stream("stdout")


def test_pictures(rtrain, shared):
    (shown,) = shared.run("""
images = torch.rand(3, 1, 5, 7) * 2 - 1
train.display_images(images, {captions = {'a', '<b>', 3}, value_range = {-1, 1}, width = 50})""").of("display_data")
    assert pictures_of(shown["data"]["image/svg+xml"]) == ([(7, 5)] * 3, ["a", "<b>", "3"])
    assert shown["data"]["text/plain"] == "3 images: a, <b>, 3"
    (shown,) = shared.run("train.display_images(images[0])").of("display_data")
    assert pictures_of(shown["data"]["image/svg+xml"]) == ([(7, 5)], [])
    (shown,) = shared.run("train.display('<p>x</p>', {mime = 'text/html'})").of("display_data")
    assert shown["data"]["text/html"] == "<p>x</p>"
    (shown,) = shared.run("train.display('\\137\\0', {mime = 'image/png'})").of("display_data")
    assert base64.b64decode(shown["data"]["image/png"]) == b"\x89\0"
    assert "display_images: expected a tensor, got number" in shared.run("train.display_images{1}").error
    assert "would have 5 channels" in shared.run("train.display_images(torch.rand(5, 3, 3))").error
    # Without a notebook there is only text.
    printed = rtrain.run_ok("""
        require('rtrain').display_images(require('torch').rand(2, 1, 3, 3), {captions = {'a', 'b'}})
        require('rtrain').display{1, 2}
    """)
    assert printed.stdout == "2 images: a, b\n{1, 2}\n"
