"""Images, audio, histograms, tables and texts in the API of rtrain dash."""

from dash_server import dash, results  # noqa: F401  (fixtures)
from test_series import script

TYPES = {"image": "image/png", "audio": "audio/wav", "text": "text/plain; charset=utf-8"}


def test_a_run_lists_what_it_has_logged(dash, trained):
    server = dash()
    answer = server.json("/api/runs/two/media")
    listed = trained.json("show", "two", "--media")
    assert answer["media"] == [{key: value for key, value in row.items() if key != "path"} for row in listed]
    assert answer["total"] == len(listed) == 12
    samples = [row for row in answer["media"] if row["name"] == "samples"]
    assert server.json("/api/runs/two/media", name="samples", offset=4, limit=9)["media"] == samples[4:]
    for row in answer["media"]:
        content = server.ask(f"/api/runs/two/media/content?hash={row['hash']}")
        assert content.status == 200 and len(content.body) == row["bytes"]
        assert content.getheader("Content-Type") == TYPES.get(row["kind"], "application/json")
        assert content.getheader("X-Content-Type-Options") == "nosniff"
    assert server.error("/api/runs/two/media/content") == (400, "usage")
    assert server.error("/api/runs/one/media/content?hash=" + answer["media"][-1]["hash"]) == (404, "not_found"), (
        "of another run"
    )


def test_audio_is_a_wav_file(dash, trained):
    trained.run_ok(
        script("train.log_audio('tone', require('torch').zeros(800), {sample_rate = 8000}) train.report {}", workers=1)
    )
    server = dash()
    [row] = server.json("/api/runs/run/media")["media"]
    content = server.ask(f"/api/runs/run/media/content?hash={row['hash']}")
    assert row["kind"] == "audio" and row["bytes"] == len(content.body) == 44 + 2 * 800
    assert content.getheader("Content-Type") == TYPES["audio"] and content.body.startswith(b"RIFF")
    assert "media-src 'self'" in content.getheader("Content-Security-Policy")


def test_a_player_gets_a_part_of_audio(dash, trained):
    trained.run_ok(
        script("train.log_audio('tone', require('torch').ones(800), {sample_rate = 8000}) train.report {}", workers=1)
    )
    server = dash()
    [row] = server.json("/api/runs/run/media")["media"]
    path = f"/api/runs/run/media/content?hash={row['hash']}"
    whole = server.ask(path, Accept_Encoding="gzip")
    assert whole.getheader("Accept-Ranges") == "bytes" and whole.getheader("Content-Encoding") is None
    for asked, begin, end in (
        ("bytes=0-", 0, 1644),
        ("bytes=0-3", 0, 4),
        ("bytes=44-45", 44, 46),
        ("bytes=-2", 1642, 1644),
    ):
        part = server.ask(path, Range=asked)
        assert (part.status, part.body) == (206, whole.body[begin:end]), asked
        assert part.getheader("Content-Range") == f"bytes {begin}-{end - 1}/1644"
    beyond = server.ask(path, Range="bytes=1644-")
    assert (beyond.status, beyond.body, beyond.getheader("Content-Range")) == (416, b"", "bytes */1644")
    assert server.ask(path, Range="bytes=0-3", If_Range='"another"').body == whole.body
    known = server.ask(path, If_None_Match=whole.getheader("ETag"))
    assert (known.status, known.body) == (304, b"")


def test_histograms_of_a_name_over_the_steps(dash, trained):
    trained.run_ok(
        script("""
      if rank == 1 then train.log_histogram('a', {1}, {step = 7}) end
      for step = 0, 299 do
        if rank == 0 then train.log_histogram('a', {step, step + 1}, {step = 3 * step, bins = 2}) end
      end
      train.log_histogram('b', {1}, {step = 5})
      train.log_histogram('b', {2}, {step = 5})
      train.log_text('b', 'not one', {step = 6})
      train.report {}
    """)
    )
    server = dash()
    answer = server.json("/api/runs/run/media/histograms", name="a")
    assert (answer["total"], len(answer["histograms"])) == (300, 150)
    steps = [each["step"] for each in answer["histograms"]]
    assert (steps[0], steps[-1]) == (0, 897) and {b - a for a, b in zip(steps, steps[1:])} == {6, 9}
    for each in answer["histograms"]:
        assert (each["min"], each["max"], each["num"], each["counts"]) == (
            each["step"] / 3,
            each["step"] / 3 + 1,
            2,
            [1, 1],
        )
    of_rank_1 = server.json("/api/runs/run/media/histograms", name="a", rank=1)
    assert [(each["step"], each["num"]) for each in of_rank_1["histograms"]] == [(7, 1)] and of_rank_1["total"] == 1
    [last] = server.json("/api/runs/run/media/histograms", name="b")["histograms"]
    assert (last["step"], last["min"]) == (5, 2), "of a step the last one"
    assert server.json("/api/runs/run/media/histograms", name="c") == {"histograms": [], "total": 0}
    assert server.error("/api/runs/run/media/histograms") == (400, "usage")
    assert server.error("/api/runs/run/media/histograms?name=a&rank=x") == (400, "usage")
