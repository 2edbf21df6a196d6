"""train.log and train.annotate: points and notes stored next to the reports, read by the command line and by SQL."""

import json
import math

from conftest import wait_until

FIT = """
train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  run_config = train.RunConfig{name = 'run', failure_config = train.FailureConfig{max_failures = 1}},
}:fit()
"""


def script(body, workers=2):
    return (
        "local train = require 'rtrain'\nlocal function train_func()\n"
        "  local rank = train.get_context():get_world_rank()\n"
        + body
        + "\nend\n"
        + FIT.replace("@WORKERS@", str(workers))
    )


def points(rtrain, key, *args):
    return rtrain.json("metrics", "run", "--series", key, *args)


def test_every_point_of_every_rank_comes_back(rtrain):
    rtrain.run_ok(
        script("""
      local torch = require 'torch'
      for step = 1, 10000 do
        train.log({loss = torch.tensor(1 / step + rank), ['lr/group 0'] = 0.1}, {step = step})
      end
      if rank == 0 then
        for _, value in ipairs{0 / 0, math.huge, -math.huge, 2^53} do train.log{odd = value} end
      end
    """)
    )
    for rank in (0, 1):
        mine = [row for row in points(rtrain, "loss") if row["rank"] == rank]
        assert [row["step"] for row in mine] == list(range(1, 10001))
        assert all(math.isclose(row["value"], 1 / row["step"] + rank, rel_tol=1e-6) for row in mine)
        assert set(mine[0]) == {"step", "time", "rank", "value"}
        assert [row["time"] for row in mine] == sorted(row["time"] for row in mine)
    odd = points(rtrain, "odd")
    assert [row["value"] for row in odd] == ["NaN", "Infinity", "-Infinity", 2.0**53]
    assert [row["step"] for row in odd] == [10001, 10002, 10003, 10004], "one more than the step before"
    with rtrain.database() as db:
        rows = db.execute(
            "SELECT key, rank, attempt, points, first_step, last_step, bytes FROM series_list "
            "WHERE run = 'run' ORDER BY key, rank"
        ).fetchall()
    assert [row[:6] for row in rows] == [
        ("loss", 0, 1, 10000, 1, 10000),
        ("loss", 1, 1, 10000, 1, 10000),
        ("lr/group 0", 0, 1, 10000, 1, 10000),
        ("lr/group 0", 1, 1, 10000, 1, 10000),
        ("odd", 0, 1, 4, 10001, 10004),
    ]
    assert all(row[6] <= 5 * row[3] for row in rows if row[0] != "odd"), "five bytes a point (P61)"
    shown = rtrain("metrics", "run", "--series", "odd")
    assert shown.returncode == 0 and "STEP" in shown.stdout and "10004" in shown.stdout
    wrong = rtrain("metrics", "run", "--series", "los")
    assert wrong.returncode == 2 and "did you mean 'loss'" in wrong.stderr


def test_points_are_seen_while_the_run_goes_on_and_survive_its_death(rtrain):
    running = rtrain.start(
        "run",
        rtrain.script(
            script(
                """
      for step = 0, math.huge do
        train.log{seen = step}
        if step == 0 then train.report{} end
        os.execute('sleep 0.02')
      end
    """,
                workers=1,
            )
        ),
    )

    def count():
        result = rtrain("metrics", "run", "--series", "seen", "--json")
        return len(json.loads(result.stdout)) if result.returncode == 0 else 0

    wait_until(lambda: count() >= 10, message="ten points in the store")
    running.kill()
    rows = points(rtrain, "seen")
    assert [row["value"] for row in rows] == list(range(len(rows))) and len(rows) >= 10


def test_a_later_attempt_supersedes_what_it_logs_again(rtrain):
    rtrain.run_ok(
        script(
            """
      local attempt = io.open('second') and 2 or 1
      for step = attempt == 1 and 0 or 5, 9 do
        train.log({x = 100 * attempt + step}, {step = step})
      end
      if attempt == 1 then
        io.open('second', 'w'):close()
        error('once')
      end
      train.report{}
    """,
            workers=1,
        )
    )
    assert [row["value"] for row in points(rtrain, "x")] == [100, 101, 102, 103, 104, 205, 206, 207, 208, 209]
    every = points(rtrain, "x", "--all")
    assert [row["value"] for row in every if row["superseded"]] == [105, 106, 107, 108, 109]
    assert {row["attempt"] for row in every} == {1, 2}


def test_a_million_points_are_neither_waited_for_nor_lost_silently(rtrain):
    result = rtrain.run_ok(
        script("""
      for step = 1, 500000 do train.log({a = step, b = -step}, {step = step}) end
    """)
    )
    with rtrain.database() as db:
        stored = db.execute("SELECT sum(points) FROM series_list").fetchone()[0]
        dropped = [row[0] for row in db.execute("SELECT text FROM events WHERE text LIKE '%train.log dropped%'")]
    lost = sum(int(text.split("dropped ")[1].split()[0]) for text in dropped)
    assert stored + lost == 2 * 2 * 500000
    assert all(text in result.stderr for text in dropped)


def test_wrong_logs_and_notes_are_refused_by_name(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      local errors, within_itself = {}, {a = torch.tensor(1)}
      within_itself.b = within_itself
      for _, call in ipairs{
        {train.log, 7}, {train.log, {loss = 'low'}}, {train.log, {loss = torch.zeros(2)}}, {train.log, {1, 2}},
        {train.log, {x = 1}, {step = 1.5}}, {train.log, {x = 1}, {stp = 1}}, {train.log, {[('k'):rep(300)] = 1}},
        {train.annotate, ''}, {train.annotate, 'x', {severity = 'warn'}}, {train.annotate, ('x'):rep(70000)},
        {train.log, {val = {loss = 'low'}}}, {train.log, {val = {x = 1}, ['val/x'] = 2}}, {train.log, {val = {1, 2}}},
        {train.log, {val = {[('k'):rep(255)] = 1}}}, {train.log, within_itself}, {train.report, within_itself},
        {train.log, {id = 9007199254740993LL}},
        {train.log, {id = -9007199254740992LL, seed = 0x8000000000000000ULL}, {step = 4LL}},
      } do
        local ok, err = pcall(unpack(call))
        errors[#errors + 1] = ok and 'no error' or tostring(err)
      end
      train.report{errors = errors}
    """,
            workers=1,
        )
    )
    errors = rtrain.reports("run")[0]["errors"]
    expected = [
        "got number",
        "metrics.loss is a string",
        "metrics.loss is a tensor of shape {2}",
        "the metrics are a list",
        "step = 1.5",
        "did you mean 'step'",
        "300 bytes",
        "an empty one",
        "'warn'",
        "70000 bytes",
        "metrics.val/loss is a string",
        "two metrics with the name 'val/x'",
        "metrics.val is a table",
        "259 bytes",
        "nested too deeply, or a table within itself",
        "nested too deeply, or a table within itself",
        "metrics.id = 9007199254740993 has more digits",
        "no error",
    ]
    assert len(errors) == len(expected)
    for error, word in zip(errors, expected):
        assert word in error
    outside = rtrain.run("require('rtrain').log{x = 1}")
    assert outside.returncode == 1 and "train function only" in outside.stderr


def test_nested_tables_are_called_by_their_paths_as_those_of_reports(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      for step = 1, 3 do
        train.log({loss = step, val = {loss = torch.tensor(step / 2), top = {acc = step / 4}}}, {step = step})
        train.report {loss = step, val = {loss = step / 2, top = {acc = step / 4}}}
      end
    """,
            workers=1,
        )
    )
    for name, factor in [("loss", 1), ("val/loss", 1 / 2), ("val/top/acc", 1 / 4)]:
        points = rtrain.json("metrics", "run", "--series", name)
        assert [(point["step"], point["value"]) for point in points] == [(step, step * factor) for step in [1, 2, 3]], (
            name
        )


def test_annotations_are_listed_with_their_run(rtrain):
    rtrain.run_ok(
        script("""
      train.annotate('begins')
      train.annotate('lr halved', {severity = 'warning'})
      train.annotate('by rank ' .. rank, {severity = 'error', rank_zero_only = false})
      train.report{}
    """)
    )
    notes = rtrain.json("show", "run")["annotations"]
    assert all(set(note) == {"time", "attempt", "rank", "severity", "text"} for note in notes)
    assert [(note["rank"], note["severity"], note["text"]) for note in notes if note["rank"] == 0] == [
        (0, "info", "begins"),
        (0, "warning", "lr halved"),
        (0, "error", "by rank 0"),
    ]
    assert [note["text"] for note in notes if note["rank"] == 1] == ["by rank 1"]
    shown = rtrain("show", "run").stdout
    assert "annotations" in shown and "rank 0  warning: lr halved" in shown
