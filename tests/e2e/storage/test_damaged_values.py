"""Values of a store that another program has changed, and run texts with control characters: messages, not internal
errors."""

import sqlite3

import pytest

SCRIPT = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    train.report {loss = 1, name = 'a\\27[31mred\\7', ['m\\27[2J'] = 2}
    train.log_text('t\\27[2J', 'hello \\27[2J\\nworld')
  end,
  train_loop_config = {lr = 0.1},
}:fit()
"""


@pytest.fixture
def run(rtrain):
    result = rtrain.run_ok(SCRIPT, "--name", "a")
    return rtrain, result


@pytest.mark.parametrize(
    ("column", "value"),
    [("runs.tags", "x"), ("runs.tags", "[1]"), ("runs.tags", '{"a": 1}'), ("runs.config", "x"), ("runs.owner", "x")],
)
def test_a_value_of_another_kind_is_damage(run, column, value):
    rtrain, _ = run
    table, name = column.split(".")
    with sqlite3.connect(rtrain.storage / "rtrain.db") as store:
        store.execute("PRAGMA ignore_check_constraints = 1")
        store.execute(f"UPDATE {table} SET {name} = ?", (value,))
    failed = 0
    for args in (
        ("ls",),
        ("show", "a"),
        ("show", "a", "--json"),
        ("diff", "a", "a"),
        ("logs", "a"),
        ("metrics", "a"),
        ("export", "a"),
    ):
        result = rtrain(*args)
        assert result.returncode in (0, 4), (args, result.stderr)
        if result.returncode == 4:
            assert "the store is damaged" in result.stderr and "rtrain gc --rebuild" in result.stderr
            failed += 1
    assert failed > 0


def test_control_characters_of_names_and_texts_do_not_reach_a_pipe(run):
    rtrain, result = run
    assert "m\\x1b[2J=2" in result.stderr and "name=a\\x1b[31mred\\x07" in result.stderr
    shown = [result.stdout + result.stderr]
    for args in (
        ("plot", "a", "nope"),
        ("plot", "a", "no\x1b[2J"),
        ("show", "a", "--media"),
        ("show", "a"),
        ("ls",),
        ("metrics", "a"),
    ):
        one = rtrain(*args)
        shown.append(one.stdout + one.stderr)
    assert not [text for text in shown if "\x1b[2J" in text or "\x07" in text]
    assert "hello " in shown[3] and "world" in shown[3]


def test_a_name_of_a_gradient_that_is_not_finite_is_escaped(rtrain):
    result = rtrain.run_ok(SCRIPT.replace("loss = 1,", "['n\\27[2J'] = 0/0,"))
    assert "\x1b[2J" not in result.stderr and "n\\x1b[2J" in result.stderr


def test_media_of_an_unknown_kind_ends_the_worker_alone(rtrain):
    call = "require('rtrain._worker').log_media('movie', 'a', 1, 'x')"
    result = rtrain.run(SCRIPT.replace("train.log_text(", f"{call}; train.log_text("))
    assert result.returncode == 5, result.stderr
    assert "unknown kind of media 'movie'" in result.stderr and "constraint" not in result.stderr
