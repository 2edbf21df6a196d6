"""Terminal messages for errors of a script: the user's lines, the module, and the tensors."""

import re
import subprocess

from conftest import RTRAIN
from failing_net import NET


def frames(stderr):
    """Returns lines and functions of the traceback, as 'train.lua:10 forward'."""
    return [
        " ".join(each)
        for each in re.findall(r"^  \S*?([\w.]+\.lua:\d+): in (?:function )?'?([\w ]+?)'?$", stderr, re.M)
    ]


def test_an_operators_error_has_all_lines_and_the_module(rtrain):
    result = rtrain("exec", rtrain.script(NET + "    step(Net())\n"))
    assert result.returncode == 1
    assert re.search(r"^rtrain: \S*train.lua:10: linear: mat1 and mat2 shapes", result.stderr)
    assert "\n  in Net.fc2 (Linear)\n" in result.stderr
    assert frames(result.stderr) == ["train.lua:10 forward", "train.lua:13 step", "train.lua:16 main chunk"]


# Code → the line with the caret below it; an empty string if the word does not occur, or occurs twice.
CARETS = {
    "local y = torch.ones(3):view(7)": "                        ^~~~",
    "local y = 'ä' .. torch.ones(2).shappe": "                               ^~~~~~",
    "local y = undefined.field": "          ^~~~~~~~~",
    "if true then local config = {lr = 1} print(config.lrr.x) end": " " * 50 + "^~~",
    "error('nothing that is here')": None,
    "local y = torch.ones(3):view(7) + torch.ones(3):view(8)": None,
    "local = 3": "      ^",
}


def test_the_line_is_shown_with_a_caret_below_the_word(rtrain):
    for code, caret in CARETS.items():
        result = rtrain("exec", rtrain.script(f"local torch = require 'torch'\n{code}\n"))
        assert result.returncode == 1, code
        lines = result.stderr.splitlines()
        assert re.match(r"rtrain: \S*train.lua:2: ", lines[0]) and lines[1] == "      " + code, result.stderr
        shown = lines[2] if len(lines) > 2 and re.fullmatch(r" *\^~*", lines[2]) else None
        assert shown == (caret and "      " + caret), (code, result.stderr)


def test_a_runs_error_has_all_lines_and_the_module(rtrain):
    for workers in (0, 1, 2):
        result = rtrain.run(
            NET
            + """
    local train = require 'rtrain'
    local function train_func() step(train.torch.prepare_model(Net())) end
    train.TorchTrainer{train_loop_per_worker = train_func,
      scaling_config = train.ScalingConfig{num_workers = tonumber(arg[1])}}:fit()
""",
            "--",
            workers,
        )
        assert result.returncode == 1
        assert re.search(r"^\S*train.lua:10: linear: mat1 and mat2 shapes", result.stderr, re.M)
        assert "\n      return self.fc2(x)\n  in Net.fc2 (Linear)\n" in result.stderr
        assert frames(result.stderr)[:2] == ["train.lua:13 step", "train.lua:18 train_loop_per_worker"]


def test_a_call_that_ends_its_function_is_told_at_its_line(rtrain):
    """`return f(x)` leaves no frame: tests methods, functions in a local, and one of several such calls, found by its
    name."""
    result = rtrain(
        "exec",
        rtrain.script("""
        local torch = require 'torch'
        local nn, F = torch.nn, torch.nn.functional
        local function where(fn)
          local ok, err = xpcall(function() local out = fn() return out end, require('base.errors').wrap)
          print(err.traceback:match '(%d+): in function')
        end
        local function reshaped(x)
          return x:view(7)
        end
        local function chosen(x)
          if x.shape[1] == 2 then return x:view(9) end
          return F.relu(x:sum())
        end
        local Net = nn.Module:extend('Net')
        function Net:init() self.a, self.b = nn.Linear(2, 2), nn.Linear(3, 3) end
        function Net:forward(x, last)
          if last then return self.a(x) end
          return self.b(x)
        end
        function Net:loss(x, y) return F.cross_entropy(x, y) end
        local net, x = Net(), torch.ones(2, 2)
        where(function() local out = reshaped(x) return out end)
        where(function() local out = chosen(x) return out end)
        where(function() local out = net(x) return out end)
        where(function() local out = net(torch.ones(2, 5), true) return out end)
        where(function() local out = net:loss(x, torch.ones(3, 2)) return out end)
    """),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["8", "11", "18", "17", "20"]


def test_the_module_is_named_below_containers_hooks_and_for_lua_errors(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local torch = require 'torch'
        local nn = torch.nn
        local Block = nn.Module:extend('Block')
        function Block:init(size) self.layers = nn.Sequential(nn.ReLU(), nn.Linear(size, 2)) end
        function Block:forward(x) return self.layers(x) + self.scale.value end
        local Net = nn.Module:extend('Net')
        function Net:init(size) self.blocks = nn.ModuleList{Block(size)} end
        function Net:forward(x) return self.blocks[1](x) end
        local function context(size)
          local net = Net(size)
          net.blocks[1]:register_forward_hook(function() end)
          local _, err = xpcall(net, require('base.errors').wrap, torch.ones(1, 2))
          print(err.traceback:match '^  (in [^\\n]*)')
        end
        context(3)
        context(2)
    """),
    )
    assert result.stdout.splitlines() == ["in Net.blocks.0.layers.1 (Linear)", "in Net.blocks.0 (Block)"], result.stderr


def test_a_module_of_the_script_travels_whole(rtrain):
    """Its base class is spread over several files, none of which the train function has loaded."""
    result = rtrain.run_ok("""
        local torch, train = require 'torch', require 'rtrain'
        local Same = torch.nn.Module:extend 'Same'
        function Same:init() self.scale = torch.nn.Parameter(torch.ones(1)) end
        train.TorchTrainer{train_loop_per_worker = function()
          for name in torch.items(Same():state_dict()) do print(name) end
        end}:fit()
    """)
    assert "[rank 0] scale" in result.stdout


def test_a_limit_of_file_sizes_that_keeps_the_engine_out_is_named(rtrain):
    script = rtrain.script("print(require('torch').ones(1))")
    result = subprocess.run(
        ["bash", "-c", 'ulimit -f 1000; exec "$0" exec "$1"', RTRAIN, script],
        capture_output=True,
        text=True,
        env=rtrain.env,
    )
    assert result.returncode == 4, result.stderr
    assert "File too large (`ulimit -f` allows files of" in result.stderr and "/proc/self/fd" not in result.stderr


def test_the_empty_init_of_a_module_may_be_called(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local nn = require 'torch.nn'
        local Net = nn.Module:extend('Net')
        function Net:init() nn.Module.init(self); self.fc = nn.Linear(2, 2) end
        assert(#Net():parameters() == 2)
    """),
    )
    assert result.returncode == 0, result.stderr


# Ways to exhaust the stack: in Lua, through metamethods, C functions, modules and pcall.
RECURSIONS = {
    "lua": "local function f(n) return 1 + f(n + 1) end f(1)",
    "index": "local t = setmetatable({}, {__index = function(t, k) return t[k .. 'x'] end}) print(t.a)",
    "tostring": "local t = setmetatable({}, {__tostring = function(t) return tostring(t) .. 'a' end}) print(tostring(t))",
    "sort": "local function f() table.sort({2, 1}, f) return true end f()",
    "module": "local M = nn.Module:extend('M') function M:forward(x) local y = self(x) return y end M()(1)",
    "pcall": "local function f() local ok, err = pcall(f) if not ok then error(err, 0) end end f()",
}


def test_an_endless_recursion_is_told_in_a_few_lines(rtrain):
    for name, body in RECURSIONS.items():
        text = f"local nn = require 'torch.nn'\nprint(nn)\nlocal function train_func() {body} end\n"
        result = rtrain("exec", rtrain.script(text + "train_func()"))
        assert result.returncode == 1, name
        lines = result.stderr.splitlines()
        assert re.search(r"train.lua:3: stack overflow$", lines[0]) and len(lines) < 30, (name, result.stderr)
        for workers in (0, 2):
            result = rtrain.run(
                text + "require('rtrain').TorchTrainer(train_func, "
                f"{{scaling_config = {{num_workers = {workers}}}}}):fit()"
            )
            assert result.returncode == 1, name
            assert re.search(r"^\S*train.lua:3: stack overflow$", result.stderr, re.M), (name, workers, result.stderr)
            assert len(result.stderr.splitlines()) < 30


# Overflows that Lua does not notice before the thread's stack is full.
DEEP_IN_C = {
    "gsub": "local function f() return (string.gsub('a', 'a', f)) end f()",
    "gsub's index": "local t = {} setmetatable(t, {__index = function() return (string.gsub('a', 'a', t)) end}) print(t.a)",
    "coroutine": "local function f() coroutine.wrap(f)() end f()",
}


def test_an_endless_recursion_through_c_is_told_too(rtrain):
    for name, body in DEEP_IN_C.items():
        result = rtrain("exec", rtrain.script(body))
        assert result.returncode == 1, (name, result.returncode)
        assert "stack overflow" in result.stderr and len(result.stderr.splitlines()) < 30, (name, result.stderr)
        result = rtrain.run(
            f"require('rtrain').TorchTrainer(function() {body} end, {{scaling_config = {{num_workers = 2}}}}):fit()"
        )
        assert result.returncode == 5, (name, result.returncode)
        assert "stack overflow" in result.stderr and "train.lua:1" in result.stderr, (name, result.stderr)


def test_one_report_too_many_is_told_with_its_line(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local function train_func()
          train.report{loss = 1}
          if train.get_context():get_world_rank() == 1 then
            train.report{loss = 2}
          end
        end
        train.TorchTrainer(train_func, {scaling_config = train.ScalingConfig{num_workers = 2}}):fit()
    """)
    assert re.search(r"rank 0 made 1, rank 1 made 2, the last one at \S*train.lua:5; ", result.stderr), result.stderr


def test_an_operators_error_shows_the_tensors_of_its_function(rtrain):
    script = """
        local torch = require 'torch'
        local train = require 'rtrain'
        local function step(batch, scale)
          local hidden = torch.ones(8, 16)
          local hidden = hidden:double()
          local name = 'layer'
          return torch.matmul(hidden, batch[1]) * scale
        end
        local function train_func() step({torch.ones(8, 4), torch.zeros(8, {dtype = 'int64'})}, torch.tensor(2)) end
        """
    result = rtrain("exec", rtrain.script(script + "train_func()\n"))
    assert result.returncode == 1
    shown = "  with batch[1] float32 [8, 4], batch[2] int64 [8], scale float32 [], hidden float64 [8, 16]\n"
    assert shown in result.stderr
    assert result.stderr.index(shown) < result.stderr.index("in function 'step'")
    run = rtrain.run(
        script
        + """
        train.TorchTrainer {train_loop_per_worker = train_func, scaling_config = train.ScalingConfig {num_workers = 2}}:fit()
        """
    )
    assert run.stderr.count(shown) == 1
    assert "same error on ranks 0-1:" in run.stderr


def test_other_errors_show_no_tensors(rtrain):
    for failing in ("error('mine')", "local n = nil + 1", "require('torch').nn.Linear('a', 2)"):
        result = rtrain(
            "exec",
            rtrain.script(f"""
            local torch = require 'torch'
            local x = torch.ones(2)
            {failing}
            """),
        )
        assert result.returncode == 1
        assert "  with " not in result.stderr, failing


def test_of_many_tensors_some_are_shown(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local torch = require 'torch'
        local a, b, c, d, e, f, g, h, i = torch.ones(1), torch.ones(2), torch.ones(3), torch.ones(4), torch.ones(5),
          torch.ones(6), torch.ones(7), torch.ones(8), torch.ones(9)
        print(a + b + c)
        """),
    )
    line = next(line for line in result.stderr.splitlines() if line.startswith("  with "))
    assert line.startswith("  with a float32 [1], b float32 [2]") and line.endswith("h float32 [8], …")
