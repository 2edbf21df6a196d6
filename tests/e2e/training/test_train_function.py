"""How the train function is passed to the workers, and its environment there."""

PREAMBLE = """
local torch = require 'torch'
local train = require 'rtrain'
"""

FIT = """
train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 0.5, name = 'x', nested = {depth = 2, list = {1, 2, 3}}},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def reported(rtrain, body, *args):
    """Returns each rank's metrics in the only report of a run with this train function."""
    rtrain.run_ok(PREAMBLE + body + FIT, *args)
    (row,) = rtrain.json("metrics", "last", "--ranks")
    return row["ranks"]


# behaviour: the workers' life cycle: group formed, function run, group ended
def test_the_process_group_lives_as_long_as_the_train_function(rtrain):
    result = rtrain.run_ok("""
        local torch = require 'torch'
        local train = require 'rtrain'
        for _, trainer in ipairs{'TorchTrainer', 'DataParallelTrainer'} do
          train[trainer]{
            train_loop_per_worker = function()
              local dist = torch.distributed
              local size = trainer == 'TorchTrainer' and dist.get_world_size() or 0
              train.report{there = dist.is_initialized(), size = size}
            end,
            scaling_config = train.ScalingConfig{num_workers = 2},
            run_config = train.RunConfig{name = trainer},
          }:fit()
        end
        print('in the script', torch.distributed.is_initialized())
        """)
    assert rtrain.reports("TorchTrainer") == [{"there": True, "size": 2}]
    assert rtrain.reports("DataParallelTrainer") == [{"there": False, "size": 0}], "that one forms none"
    assert "in the script\tfalse" in result.stdout
    assert "warning" not in result.stderr.lower(), result.stderr


# behaviour: the workers' life cycle: group formed, function run, group ended
def test_what_a_rank_knows_by_itself_asks_no_other_rank(rtrain):
    ranks = reported(
        rtrain,
        """
        local dist = torch.distributed
        local function known()
          return {there = dist.is_initialized(), rank = dist.get_rank(), size = dist.get_world_size(),
                  backend = dist.get_backend(), last = dist.get_process_group_ranks()[2]}
        end
        local function train_func()
          local alone = train.get_context():get_world_rank() == 1 and known() or nil
          dist.barrier()
          local both = known()
          if alone then
            for name, value in pairs(both) do assert(alone[name] == value, name) end
          end
          dist.destroy_process_group()
          both.after = dist.is_initialized()
          train.report(both)
        end
        """,
    )
    assert ranks == [
        {"there": True, "rank": rank, "size": 2, "backend": "shm", "last": 1, "after": False} for rank in range(2)
    ]


# behaviour: local ranks
def test_local_ranks_and_the_rest_of_the_context(rtrain):
    ranks = reported(
        rtrain,
        """
        local function train_func()
          local context = train.get_context()
          train.report{rank = context:get_world_rank(), world = context:get_world_size(),
            local_rank = context:get_local_rank(), local_world = context:get_local_world_size(),
            node = context:get_node_rank(), name = context:get_experiment_name()}
        end
        """,
        "--name",
        "mine",
    )
    assert ranks == [
        {"rank": rank, "world": 2, "local_rank": rank, "local_world": 2, "node": 0, "name": "mine"} for rank in range(2)
    ]


def test_one_parameter_is_the_config(rtrain):
    ranks = reported(
        rtrain,
        """
        local function train_func(config)
          train.report{config = config}
        end
        """,
    )
    assert ranks == [{"config": {"lr": 0.5, "name": "x", "nested": {"depth": 2, "list": [1, 2, 3]}}}] * 2


def test_upvalues_nested_functions_and_script_globals_travel(rtrain):
    ranks = reported(
        rtrain,
        """
        local factor = 3
        local counter = 0
        local function bump() counter = counter + 1 return counter end
        local function read() return counter end
        local function scaled(x) return x * factor end
        function from_global(x) return scaled(x) + offset end
        offset = 100
        local function train_func()
          bump()
          local function inner() return scaled(2) end
          train.report{global = from_global(1), nested = inner(), shared = bump() + read()}
        end
        """,
    )
    assert ranks == [{"global": 103, "nested": 6, "shared": 4}] * 2


def test_metatables_cycles_and_tensors_travel(rtrain):
    ranks = reported(
        rtrain,
        """
        local Point = {}
        Point.__index = Point
        function Point:sum() return self.x + self.y end
        function Point.__add(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, Point) end
        local p = setmetatable({x = 1, y = 2}, Point)
        local ring = {}
        ring.self = ring
        local base = torch.arange(6):reshape(2, 3)
        local view = base[1]
        local function train_func()
          base[{1, 0}] = 40
          train.report{sum = (p + p):sum(), ring = ring.self == ring, same = getmetatable(p) == Point,
            shape = base.shape, view = view:tolist()}
        end
        """,
    )
    assert ranks == [{"sum": 6, "ring": True, "same": True, "shape": [2, 3], "view": [40, 4, 5]}] * 2


def test_modules_beside_the_script_travel_by_name(rtrain):
    rtrain.script("return {twice = function(x) return 2 * x end}", name="helper.lua")
    ranks = reported(
        rtrain,
        """
        local helper = require 'helper'
        local function train_func()
          train.report{twice = helper.twice(21), same = require('helper') == helper}
        end
        """,
    )
    assert ranks == [{"twice": 42, "same": True}] * 2


def test_a_script_may_have_a_folder_called_base(rtrain):
    (rtrain.folder / "base").mkdir()
    rtrain.script("return {name = 'mine'}", name="base.lua")
    rtrain.script("return {twice = function(x) return 2 * x end}", name="base/model.lua")
    ranks = reported(
        rtrain,
        """
        local base, model = require 'base', require 'base.model'
        local function train_func()
          train.report{name = base.name, twice = model.twice(21), same = require('base.model') == model}
        end
        """,
    )
    assert ranks == [{"name": "mine", "twice": 42, "same": True}] * 2


def test_what_cannot_travel_fails_at_its_first_use_with_its_name(rtrain):
    result = rtrain.run(
        PREAMBLE
        + """
        local log_file = io.open('log.txt', 'w')
        local function train_func()
          train.report{before = true}
          log_file:write('x')
        end
        """
        + FIT
    )
    assert result.returncode == 1
    assert "log_file" in result.stderr
    assert rtrain.reports() == [{"before": True}]


def test_what_cannot_travel_does_no_harm_unused(rtrain):
    assert (
        reported(
            rtrain,
            """
        local thread = coroutine.create(function() end)
        local function train_func()
          if train.get_context():get_world_size() == 0 then print(thread) end
          train.report{fine = true}
        end
        """,
        )
        == [{"fine": True}] * 2
    )


def test_the_script_runs_once_and_the_train_function_not_in_the_controller(rtrain):
    body = """
        local function append(path)
          local file = assert(io.open(path, 'a'))
          file:write('x')
          file:close()
        end
        append('script')
        local function train_func()
          append('worker-' .. train.get_context():get_world_rank())
          train.report{ok = true}
        end
        """
    reported(rtrain, body)
    assert [(rtrain.folder / name).read_text() for name in ("script", "worker-0", "worker-1")] == ["x", "x", "x"]


def test_output_of_workers_carries_the_rank_and_is_kept(rtrain):
    result = rtrain.run_ok(
        PREAMBLE
        + """
        local function train_func()
          local rank = train.get_context():get_world_rank()
          print('to stdout by ' .. rank)
          io.stderr:write('to stderr by ' .. rank .. '\\n')
          os.execute('echo from a child of ' .. rank)
          train.report{ok = true}
        end
        """
        + FIT
    )
    for rank in range(2):
        (line,) = [line for line in result.stdout.splitlines() if f"to stdout by {rank}" in line]
        assert str(rank) in line.split("to stdout")[0]
        assert f"to stderr by {rank}" in result.stderr
        (name,) = [run["name"] for run in rtrain.json("ls")]
        log = (rtrain.run_folder(name) / "logs" / "attempt-1" / f"rank-{rank}.log").read_text()
        assert all(f"{text} {rank}" in log for text in ("to stdout by", "to stderr by", "from a child of"))
        assert f"to stdout by {rank}" in rtrain("logs", "last", "--rank", rank).stdout
