"""Spares of train.elastic: a process that has run the train function before a rank is lost takes the lost rank's place."""

import os
import re
import signal

import pytest

from conftest import nightly, wait_until
from test_heal import check_random_kills

# Each process adds its pid to `made` when its train function begins, and to `ready` before it asks for its rank. In each step
# `@AT_STEP@` runs, in a process that is the third one `@IN_SPARE@`.
SCRIPT = """
local ffi = require 'ffi'
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'

local function add(name)
  local file = assert(io.open(name, 'a'))
  file:write(ffi.C.getpid(), '\\n')
  file:close()
end

local function count(name)
  local found = 0
  for _ in io.lines(name) do found = found + 1 end
  return found
end

local function train_func()
  ffi.cdef 'int getpid(void); int usleep(unsigned);'
  add 'made'
  print('HELLO')
  if count 'made' == 3 then @IN_SPARE@ end
  torch.manual_seed(5)
  local x = torch.randn({64, 4}, {generator = torch.Generator(1)})
  local net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
  add 'ready'
  local rank = @RANK@
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local state = train.state {model = model, optimizer = optimizer, step = 0}
  train.elastic(state, function()
    while state.step < 12 do
      optimizer:zero_grad()
      local loss = model(x + rank):pow(2):mean()
      if state.step == 5 then @AT_STEP@ end
      if state.step == 9 then @LATER@ end
      loss:backward()
      optimizer:step()
      state.step = state.step + 1
      train.report {step = state.step}
      state:commit()
    end
  end)
  local sum = 0
  for _, param in ipairs(net:parameters()) do sum = sum + param:double():abs():sum():item() end
  print(('END rank %s, %s: %d steps %.17g'):format(rank, os.getenv 'RANK', state.step, sum))
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {name = '@NAME@'},
}:fit()
"""
LOSE = "if rank == {rank} and files.once '{name}' then {until_} os.execute 'kill -9 $PPID' end"
# Blocks without asking for a rank.
WAIT = "while {condition} do ffi.C.usleep(20000) end"
SPARE_READY = WAIT.format(condition="count 'ready' < {}")


def script(name="healed", **places):
    text = SCRIPT.replace("@NAME@", name)
    places = {"rank": "train.get_context():get_world_rank()", **places}
    for place in ("IN_SPARE", "RANK", "AT_STEP", "LATER"):
        text = text.replace(f"@{place}@", places.get(place.lower(), ""))
    return text


def lose(rank, until="", name="lost"):
    return LOSE.format(rank=rank, until_=until, name=name)


def ends(result):
    return sorted(re.findall(r"\[rank (\d)\] END (.*)", result.stdout + result.stderr))


def calm(rtrain):
    wanted = ends(rtrain.run_ok(script("calm")))
    assert [rank for rank, _ in wanted] == ["0", "1"]
    for name in ("made", "ready"):
        (rtrain.folder / name).unlink()
    return wanted


def pids_in(rtrain, name):
    path = rtrain.folder / name
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def workers(rtrain):
    rows = rtrain.query(
        "SELECT attempt, rank, pid FROM workers JOIN runs USING(run_id) WHERE name = 'healed' ORDER BY attempt, rank"
    )
    attempts = {}
    for attempt, rank, pid in rows:
        attempts.setdefault(attempt, {})[rank] = pid
    return attempts


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("asked", ["train.get_context():get_world_rank()", "tonumber(os.getenv 'RANK')"])
def test_a_spare_takes_the_place_of_whichever_rank_is_lost(rtrain, rank, asked):
    wanted = calm(rtrain)
    text = script(rank=asked, at_step=lose(rank, SPARE_READY.format(3)))
    result = rtrain.run_ok(text)
    assert ends(result) == wanted
    spare = pids_in(rtrain, "ready")[2]
    first, second = workers(rtrain).values()
    assert set(first) == set(second) == {0, 1}, "a spare is not a rank"
    assert spare not in first.values()
    assert second[rank] == spare and second[1 - rank] == first[1 - rank]
    assert len(re.findall(rf"\[rank {rank}\] HELLO", result.stdout + result.stderr)) == 2
    assert len(re.findall(r"HELLO", result.stdout + result.stderr)) == 3


def test_a_next_spare_is_made_after_a_heal(rtrain):
    wanted = calm(rtrain)
    first, second = lose(1, SPARE_READY.format(3)), lose(0, SPARE_READY.format(4), "again")
    assert ends(rtrain.run_ok(script(at_step=first, later=second))) == wanted
    third, fourth = pids_in(rtrain, "ready")[2:4]
    attempts = workers(rtrain)
    assert attempts[2][1] == attempts[3][1] == third and attempts[3][0] == fourth


def test_a_loss_while_the_spare_is_being_made(rtrain):
    wanted = calm(rtrain)
    text = script(
        in_spare=WAIT.format(condition="not files.exists 'go'"),
        at_step=lose(1, WAIT.format(condition="count 'made' < 3")),
    )
    running = rtrain.start("run", rtrain.script(text))
    wait_until(lambda: "it is replaced" in running.stderr, message="the loss")
    (rtrain.folder / "go").touch()
    assert ends(running.wait()) == wanted
    assert workers(rtrain)[2][1] == pids_in(rtrain, "made")[2]


def test_a_spare_that_is_lost_itself_changes_nothing(rtrain):
    wanted = calm(rtrain)
    text = script(at_step="if rank == 1 then " + WAIT.format(condition="not files.exists 'go'") + " end " + lose(1))
    running = rtrain.start("run", rtrain.script(text))
    wait_until(lambda: len(pids_in(rtrain, "ready")) == 3, message="the spare")
    spare = pids_in(rtrain, "ready")[2]
    os.kill(spare, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{spare}"), message="the spare's end")
    (rtrain.folder / "go").touch()
    assert ends(running.wait()) == wanted
    assert "spare" not in running.stderr
    assert spare not in [pid for ranks in workers(rtrain).values() for pid in ranks.values()]


def test_a_train_function_that_fails_in_the_spare_fails_no_run(rtrain):
    wanted = calm(rtrain)
    text = script(
        in_spare="files.write('failed', ''); error('not in a third process')",
        at_step="if rank == 0 then " + WAIT.format(condition="not files.exists 'failed'") + " end",
    )
    result = rtrain.run_ok(text)
    assert ends(result) == wanted
    assert "not in a third process" not in result.stdout + result.stderr
    assert list(workers(rtrain)) == [1]


def test_no_spare_is_made_where_no_loss_will_be_healed(rtrain):
    text = script(at_step="ffi.C.usleep(2500000)").replace(
        "name = 'healed'", "name = 'healed', failure_config = train.FailureConfig {max_heals = 0}"
    )
    rtrain.run_ok(text)
    assert len(pids_in(rtrain, "made")) == 2


def test_spares_that_end_before_they_can_wait(rtrain):
    wanted = calm(rtrain)
    rtrain.env["RTRAIN_FAULT"] = "spare.wait:1:kill"
    text = script(at_step=lose(1, SPARE_READY.format(3)))
    assert ends(rtrain.run_ok(text)) == wanted
    # The spare may get the rank just before it ends: then that rank is lost once more.
    assert set(rtrain.statuses("healed")[:-1]) == {"HEALED"}


@nightly
@pytest.mark.parametrize("options", [["--workers", "2"], ["--workers", "4", "--sharded"]], ids=["ddp", "sharded"])
def test_random_kills_of_workers_and_spares_leave_the_bits_alone(tmp_path, options):
    check_random_kills(tmp_path, 12, "--spares", *options)
