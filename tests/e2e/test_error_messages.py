"""What the terminal says when a script goes wrong: the user's lines, the module, and what to write instead."""

import re

NET = """
    local torch = require 'torch'
    local nn, F = torch.nn, torch.nn.functional
    local Net = nn.Module:extend('Net')
    function Net:init()
      self.fc1 = nn.Linear(4, 8)
      self.fc2 = nn.Linear(9, 2)
    end
    function Net:forward(x)
      x = F.relu(self.fc1(x))
      return self.fc2(x)
    end
    local function step(model)
      local out = model(torch.ones(3, 4))
      return out:sum()
    end
"""


def frames(stderr):
    """Lines and functions of the traceback, 'train.lua:10 forward'."""
    return [" ".join(each) for each in re.findall(r"^  \S*?([\w.]+\.lua:\d+): in (?:function )?'?([\w ]+?)'?$", stderr, re.M)]


def test_an_operators_error_has_all_lines_and_the_module(rtrain):
    result = rtrain("exec", rtrain.script(NET + "    step(Net())\n"))
    assert result.returncode == 1
    assert re.search(r"^rtrain: \S*train.lua:10: linear: mat1 and mat2 shapes", result.stderr)
    assert "\n  in Net.fc2 (Linear)\n" in result.stderr
    assert frames(result.stderr) == ["train.lua:10 forward", "train.lua:13 step", "train.lua:16 main chunk"]


def test_a_runs_error_has_all_lines_and_the_module(rtrain):
    for workers in (0, 1, 2):
        result = rtrain.run(NET + """
    local train = require 'rtrain'
    local function train_func() step(train.torch.prepare_model(Net())) end
    train.TorchTrainer{train_loop_per_worker = train_func,
      scaling_config = train.ScalingConfig{num_workers = tonumber(arg[1])}}:fit()
""", "--", workers)
        assert result.returncode == 1
        assert re.search(r"^\S*train.lua:10: linear: mat1 and mat2 shapes", result.stderr, re.M)
        assert "\n      return self.fc2(x)\n  in Net.fc2 (Linear)\n" in result.stderr
        assert frames(result.stderr)[:2] == ["train.lua:13 step", "train.lua:18 train_loop_per_worker"]


def test_a_call_that_ends_its_function_is_told_at_its_line(rtrain):
    """`return f(x)` leaves no frame: methods, functions behind a local, and one of several such calls by its name."""
    result = rtrain("exec", rtrain.script("""
        local torch = require 'torch'
        local nn, F = torch.nn, torch.nn.functional
        local function where(fn)
          local ok, err = xpcall(function() local out = fn() return out end, require('rtrain.errors').wrap)
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
    """))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["8", "11", "18", "17", "20"]


def test_the_module_is_named_below_containers_hooks_and_for_lua_errors(rtrain):
    result = rtrain("exec", rtrain.script("""
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
          local _, err = xpcall(net, require('rtrain.errors').wrap, torch.ones(1, 2))
          print(err.traceback:match '^  (in [^\\n]*)')
        end
        context(3)
        context(2)
    """))
    assert result.stdout.splitlines() == ["in Net.blocks.0.layers.1 (Linear)", "in Net.blocks.0 (Block)"], result.stderr
