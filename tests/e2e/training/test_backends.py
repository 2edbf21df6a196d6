"""A user's Backend: its calls to workers before and after the train function, and how its errors are reported."""

import pytest

# BACKEND: functions of the class `Mine`; FIELDS: fields of its config; TRAIN: the body of the train function.
SCRIPT = """
local train = require 'rtrain'
local function rank() return train.get_context():get_world_rank() end
local Mine = train.Backend:extend 'Mine'
BACKEND
local Config = train.BackendConfig:extend 'Config'
Config.port = 1
Config.marks = {}
function Config:backend_cls() return Mine end
train.DataParallelTrainer{
  train_loop_per_worker = function()
    TRAIN
  end,
  backend_config = Config{FIELDS},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'run', failure_config = train.FailureConfig{max_failures = FAILURES}},
}:fit()
"""


def script(backend, train="train.report{}", fields="", failures=0):
    text = SCRIPT.replace("BACKEND", backend).replace("TRAIN", train).replace("FIELDS", fields)
    return text.replace("FAILURES", str(failures)).strip()


def line_of(text, words):
    return next(f"train.lua:{i}" for i, line in enumerate(text.splitlines(), 1) if words in line)


# behaviour: backend hooks on_start, on_training_start, on_shutdown all fire
def test_its_functions_run_in_the_script_around_the_train_function(rtrain):
    text = script(
        """
local order = {}
function Mine:on_start(group, config)
  self.started = (self.started or 0) + 1
  order[#order + 1] = 'start ' .. group.num_workers .. ' ' .. config.port
  local squares = group:execute(function(x) return (rank() + x) ^ 2 end, 2)
  local sum = group:execute_single(1, function(a, b) return rank() .. ':' .. a + b end, unpack(squares))
  group:execute(function(text) _G.TOLD = text end, sum)
end
function Mine:on_training_start(group)
  order[#order + 1] = 'training'
  assert(group:execute(function() return HOOKED end)[2] == 'on 1')
end
function Mine:on_shutdown(group)
  order[#order + 1] = 'shutdown ' .. table.concat(group:execute(function() return 'b' .. rank() end))
  print(table.concat(order, ', '), self.started)
end""",
        "train.report{told = TOLD, hooked = HOOKED}",
        "port = 8, initialization_hook = function() _G.HOOKED = 'on ' .. rank() end",
    )
    result = rtrain.run_ok(text)
    assert "start 2 8, training, shutdown b0b1\t1" in result.stdout, result.stdout
    assert rtrain.reports("run", "--ranks")[0]["told"] == "1:13"
    assert [row["hooked"] for row in rtrain.json("metrics", "run", "--ranks")[0]["ranks"]] == ["on 0", "on 1"]


@pytest.mark.parametrize(
    "backend, words, mark",
    [
        (
            "function Mine:on_start(group) group:execute(function() error('boom') end) end",
            ["WorkerGroup:execute: ranks 0, 1: ", "boom"],
            "boom",
        ),
        (
            "function Mine:on_start(group) group:execute(function()\n  if rank() == 1 then local _ = nil + 1 end\nend) end",
            ["WorkerGroup:execute: rank 1: ", "attempt to perform arithmetic"],
            "nil + 1",
        ),
        ("function Mine:on_start() error('in the script') end", ["in the script"], "in the script"),
        (
            "function Mine:on_training_start(group) group:execute(3) end",
            ["execute: expected a function, got 3"],
            "execute(3)",
        ),
        (
            "function Mine:on_start(group) group:execute_single(2, print) end",
            ["rank 2: the group has 2 workers"],
            "execute_single",
        ),
        (
            "function Mine:on_start(group) group:execute(function() return ('x'):rep(3e5) end) end",
            ["the limit is 262144"],
            "3e5",
        ),
        (
            "function Mine:on_shutdown(group) group:execute(function() error('at the end') end) end",
            ["at the end"],
            "at the end",
        ),
    ],
)
def test_what_goes_wrong_names_the_rank_and_the_line(rtrain, backend, words, mark):
    text = script(backend)
    result = rtrain.run(text)
    assert result.returncode == 1, result.stdout + result.stderr
    for word in [*words, line_of(text, mark)]:
        assert word in result.stderr, result.stderr


def test_a_function_that_does_not_return_ends_at_the_deadline(rtrain):
    result = rtrain.run(
        script(
            """
function Mine:on_start(group)
  group:execute(function()
    while rank() == 1 do end
  end)
end""",
            fields="timeout_s = 0.5",
        )
    )
    assert result.returncode == 6, result.stderr
    assert "WorkerGroup:execute: rank 1 has not returned within 0.5 s (BackendConfig.timeout_s)" in result.stderr


def test_functions_may_run_while_the_script_does_something_else(rtrain):
    result = rtrain.run_ok(
        script(
            """
function Mine:on_start(group)
  local later = group:execute_async(function(x)
    if rank() == 1 then error('not this one') end
    return x
  end, 'value')
  local single = group:execute_single_async(0, function() return rank() + 10 end)
  print(later[1]:wait(), single:wait(), pcall(later[2].wait, later[2]))
  while not later[2]:done() do end
  -- No call waits for these functions here: the train function begins after them.
  self.left = group:execute_async(function()
    os.execute('sleep 0.' .. rank())
    _G.DONE = true
    return rank()
  end)
end
function Mine:on_training_start() print('left: ' .. self.left[1]:wait() .. self.left[2]:wait()) end""",
            "train.report{done = DONE}",
        )
    )
    assert (
        "value	10	false	" in result.stdout and "rank 1: " in result.stdout and "not this one" in result.stdout
    )
    assert "left: 01" in result.stdout
    assert rtrain.json("metrics", "run", "--ranks")[0]["ranks"] == [{"done": True}] * 2


def test_where_a_launcher_starts_the_ranks_a_backend_is_refused(rtrain):
    rtrain.env.update(
        RANK="0",
        WORLD_SIZE="2",
        LOCAL_RANK="0",
        LOCAL_WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT="1",
        TORCHELASTIC_RUN_ID="x",
    )
    result = rtrain.run(script("function Mine:on_start() end").replace("num_workers = 2", "num_workers = 0"))
    assert result.returncode == 3 and "a Backend works where rtrain starts the workers" in result.stderr, result.stderr


# fault: a worker is killed while its Backend sets it up
def test_a_worker_that_dies_in_on_start_is_handled_by_the_failure_policy(rtrain):
    backend = """
function Mine:on_start(group)
  self.starts = (self.starts or 0) + 1
  group:execute(function(n)
    if n == 1 and rank() == 1 then os.execute('kill -9 $PPID') end
  end, self.starts)
end
function Mine:on_shutdown(group)
  print('shutdown', self.starts, pcall(group.execute, group, function() return 1 end))
end"""
    result = rtrain.run_ok(script(backend, failures=1))
    assert [a["status"] for a in rtrain.json("show", "run")["attempts"]] == ["ERRORED", "FINISHED"]
    assert "shutdown\t1\tfalse\t" in result.stdout and "the attempt has ended" in result.stdout, result.stdout
    assert "shutdown\t2\ttrue\t" in result.stdout
    assert rtrain.run(script(backend).replace("'run'", "'again'")).returncode == 5


def test_an_error_of_on_shutdown_after_a_failure_is_only_told(rtrain):
    result = rtrain.run(script("function Mine:on_shutdown(group) group:execute(print) end", "error('the cause')"))
    assert result.returncode == 1 and "the cause" in result.stderr
    assert "on_shutdown of the Mine, after attempt 1 has failed: " in result.stderr, result.stderr


def test_in_local_mode_the_script_is_the_worker(rtrain):
    result = rtrain.run_ok(
        script("""
function Mine:on_start(group) assert(group.num_workers == 1 and group:execute(function() return 5 end)[1] == 5)
  print('here')
end
function Mine:on_shutdown() print('there') end""").replace("num_workers = 2", "num_workers = 0")
    )
    assert result.stdout.index("here") < result.stdout.index("there")
    failed = rtrain.run(
        script(
            """
function Mine:on_shutdown(group) print('ended', pcall(group.execute, group, print)) end""",
            "error('no')",
        )
        .replace("num_workers = 2", "num_workers = 0")
        .replace("'run'", "'failed'")
    )
    assert failed.returncode == 1 and "ended\tfalse\t" in failed.stdout and "the attempt has ended" in failed.stdout, (
        failed.stdout
    )


def test_a_torch_config_makes_a_torch_trainer(rtrain):
    rtrain.run_ok("""
        local torch, train = require 'torch', require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            train.report{sum = torch.distributed.all_reduce(torch.ones(1)):item(), hook = HOOK}
          end,
          backend_config = train.TorchConfig{backend = 'gloo', initialization_hook = function() _G.HOOK = 'ran' end},
          scaling_config = train.ScalingConfig{num_workers = 2},
        }):fit()
        """)
    assert rtrain.reports()[0] == {"sum": 2, "hook": "ran"}
