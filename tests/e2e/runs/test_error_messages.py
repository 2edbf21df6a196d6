"""Terminal messages for errors of a script: the user's lines, the module, and the correction."""

import re
import subprocess

from conftest import RTRAIN

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


UNSET = """
    print 'begun'
    local train, settings = require 'rtrain', require 'settings'
    train.TorchTrainer{
      train_loop_per_worker = function(config)
        if unittest then unittest.main() end
        local loss = config.lr * rate_of_module
        train.report{loss = los, lr = learning_rate}
      end,
      train_loop_config = {lr = 1, learning_rate = 2},
    }:fit()
    print(train.config.learning_rate)
"""


def test_globals_that_nothing_sets_are_listed_before_the_first_line(rtrain):
    rtrain.script("rate_of_module = 2\nprint(rate_of_modul)", "settings.lua")
    script = rtrain.script(UNSET)
    for command in (["run"], ["check"], ["exec"], ["check", "--lr"], ["sweep", "--grid", "lr=1,2"]):
        result = rtrain(command[0], script, *command[1:])
        assert result.returncode == 1 and result.stdout == "", (command, result.stdout, result.stderr)
        lines = result.stderr.splitlines()
        assert lines[0] == (
            f"rtrain: {script}:7: reads the global 'learning_rate', which nothing sets: "
            "did you mean 'config.learning_rate'?"
        ), result.stderr
        assert lines[1].endswith(":7: reads the global 'los', which nothing sets: did you mean 'loss'?")
        assert lines[2].endswith(
            "settings.lua:2: reads the global 'rate_of_modul', which nothing sets: did you mean 'rate_of_module'?"
        )
        assert "unittest" not in result.stderr and "begun" not in result.stderr
    assert not rtrain.query("SELECT 1 FROM runs")
    rtrain.script("rate_of_module = 2", "settings.lua")
    fixed = (
        UNSET.replace("los,", "loss,")
        .replace("= learning_rate", "= config.learning_rate")
        .replace("train.config", "({})")
    )
    assert rtrain.run_ok(fixed).stdout.splitlines()[0] == "begun"


def refusal(rtrain, text):
    """Returns the first line of the error of `rtrain exec`."""
    result = rtrain("exec", rtrain.script(text))
    assert result.returncode in (1, 3), result.stdout + result.stderr  # 3: not supported in this version
    return result.stderr.splitlines()[0]


# Code that replaces BODY → text that the message must contain.
SLIPS = {
    "print(config.lr * 2)": "config has no 'lr': it has batch_size, epochs",
    "print(config.epoch.size)": "config has no 'epoch': did you mean 'epochs'?",
    "for i = 1, config.epoch do print(i) end": "config has no 'epoch': did you mean 'epochs'?",
    "print(x + config.bias)": "add: expected tensors or numbers, got float32 [2, 2], nil: the right side is nil",
    "print(x * '2')": "tonumber(text) makes a string a number",
    "print(x < nil)": "the right side is nil; tensors are compared by x:lt(y)",
    "print(x > '2')": "tensors are compared elementwise: use x:lt(y) or x:gt(y)",
    "print((x == x):sum())": "a == b is one boolean; tensors are compared by a:eq(b)",
    "print(('%.3f'):format(x:sum()))": "of a tensor with one element x:item() is a number",
    "for p in m:parameters() do print(p) end": "a list is walked with for i, value in ipairs(list) do",
    "for k in config do print(k) end": "a table is walked with for key, value in pairs(t) do",
    "for i, b in ipairs(loader) do print(i, b) end": "a DataLoader is walked by itself",
    "for row in pairs(x) do print(row) end": "the rows of a tensor are walked with for row in x:iter() do",
    "for row in x do print(row) end": "the rows of a tensor are walked with for row in x:iter() do",
    "print(unpack(x))": "a loader gives several values: for x, y in loader do",
    "print(nn.Linear:parameters())": "Linear is a class: make one, local object = Linear(…)",
    "print(m:parameters(torch.int64))": "expected a table of options, got string 'int64'",
    "print(m:forwad(x))": "m has no 'forwad': did you mean 'forward'?",
    "print(m(x))": "self has no 'fc3': did you mean 'fc1'?",
    "print(nn.Linear('6', 2))": "Linear: in_features: expected an integer of at least 0, got the string '6'",
    "print(nn.Conv2d('1', 2, 3))": "Conv2d: in_channels: expected an integer of at least 0, got the string '1'",
    "print(nn.GRU(2, 'x'))": "GRU: hidden_size: expected an integer of at least 0, got the string 'x'",
    "print(torch.compile)": "torch.compile is not in this version",
    "require 'penlight'": "module 'penlight' not found (",
    "require 'torhc'": "module 'torhc' not found: did you mean 'torch'?",
    "print(len(x))": "in Lua: #x is the length",
    "for i in range(10) do print(i) end": "for i = 0, 9 do counts from 0 to 9",
    "print(optim.SGD)": "local optim = require 'torch.optim' comes first",
    "pirnt(x)": "did you mean 'print'?",
    "local y = None": "Python's None is written nil",
    "print(function() return True end)": "Python's True is written true",
}


def test_messages_say_what_was_meant(rtrain):
    prelude = (
        NET.replace("self.fc2(x)", "self.fc3(x)")
        + """
    local train = require 'rtrain'
    local loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2)))
    local config = {batch_size = 4, epochs = 3}
    local m, x = Net(), torch.ones(2, 2)
    m.fc1 = nn.Linear(2, 2)
"""
    )
    line = prelude.count("\n")
    for body, expected in SLIPS.items():
        said = refusal(rtrain, f"{prelude}    {body}\n    print(train, loader, config, m, x)\n")
        assert expected in said, body
        assert re.search(rf"train.lua:({line}|10): ", said), said
    assert len(refusal(rtrain, "require 'penlight'")) < 300


# Python code that Lua cannot parse → advice that the message must give.
PYTHON = {
    "if a != b then end": "~=",
    "x += 1": "x = x + 1",
    "f(a, lr=0.1)": "f(a, {lr = 0.1})",
    "y = a[1:2]": "torch.slice(1, 3)",
    "import torch": "require 'torch'",
    "from torch import nn": "require 'torch.nn'",
    "class Net(nn.Module):": "extend('Net')",
    "self.x: int = 3": "annotations of types",
    "print(1) # one": "a comment begins with --",
    "def f(x):": "function f(x)",
    "for i in range(10):": "for i = 0, n - 1 do … end",
    "for k in d:": "for … do … end",
    "y = a @ b": "x:matmul(y)",
    "local y = a @ b": "x:matmul(y)",
    "for i in range(3):\n  print(i)\n\nprint(1)\n": "for i = 0, n - 1 do … end",
    "while a:\n  f(a)\n  g(a)\nf(b)": "while … do … end",
    "if a == b:": "if … then … end",
    "x = [1, 2]": "a list is {1, 2}",
    "x = {'a': 1}": "{a = 1}",
    "x = lambda y: y": "function(x)",
    "x = y ** 2": "x ^ 2",
    "if !a then end": "'not'",
    "with torch.no_grad():": "torch.no_grad(function()",
    "raise ValueError('x')": "error('message')",
    "a && b": "'and'",
}


def test_python_in_a_script_is_told_what_to_write(rtrain):
    for python, advice in PYTHON.items():
        said = refusal(rtrain, f"local a, b = 1, 2\n{python}\n")
        assert advice in said and re.search(r"train.lua:[23]: ", said), said
    # Lua that fails to parse for another reason gets no advice.
    for lua in ["f(a, {lr = 0.1} {", "local s = 'a != b", "local t = {1, 2", "print(#a b)"]:
        assert "(" not in refusal(rtrain, lua + "\n").split("near")[-1].replace("'('", ""), lua
    assert rtrain("exec", rtrain.script("True, None = true, nil\nassert(True and not None)")).returncode == 0


def test_configs_and_options_of_a_run(rtrain):
    base = """
        local train = require 'rtrain'
        local torch = require 'torch'
        local function f(config) BODY end
        TRAINER
    """
    made = (
        "train.TorchTrainer(f, {train_loop_config = {layers = {1, 2}}, "
        "scaling_config = train.ScalingConfig{num_workers = 1}}):fit()"
    )
    said = rtrain.run(
        base.replace("BODY", "").replace("TRAINER", "train.TorchTrainer(f, train.ScalingConfig{num_workers = 2})")
    )
    assert said.returncode == 3
    assert "the second argument is a table of options, got a ScalingConfig: write {scaling_config = …}" in said.stderr
    said = rtrain.run(base.replace("BODY", "").replace("TRAINER", "train.TorchTrainer(train.RunConfig{name = 'x'})"))
    assert said.returncode == 3
    assert (
        "the first argument is the train function, or a table of options, got a RunConfig: write {run_config = …}"
        in said.stderr
    )
    script = base.replace("TRAINER", made)
    for text in ["[128,64]", "128, 64", "{128, 64}"]:
        result = rtrain.run_ok(script.replace("BODY", "print(config)"), "--set", f"layers={text}")
        assert "{layers = {128, 64}}" in result.stdout
    missing = rtrain.run(script.replace("BODY", "torch.load('missing.pt')"))
    assert missing.returncode == 1 and "cannot read 'missing.pt'" in missing.stderr
    wrong = rtrain.run(script.replace("BODY", "require('base.errors').raise('config', 'no such thing')"))
    assert wrong.returncode == 3 and "not retried" not in wrong.stderr
    no_gpu = rtrain.run(script.replace("BODY", ""), "--gpus", "all")
    assert no_gpu.returncode == 4 and "NCCL" not in no_gpu.stderr


# A train function's body and config → the message when an object is passed as plain data or as options.
OBJECTS = {
    ("", "{m = torch.nn.Linear(1, 1)}"): "train_loop_config.m is a Linear; the config is plain data",
    ("", "{deep = {torch.ones(2)}}"): "train_loop_config.deep[1] is a Tensor; the config is plain data",
    ("return {x = 18446744073709551615ULL}", "{}"): "x: 18446744073709551615 is beyond int64, which plain data holds",
    ("train.report {x = 18446744073709551615ULL}", "{}"): "x: 18446744073709551615 is beyond int64",
    ("", "{x = {5ULL, 18446744073709551615ULL}}"): "train_loop_config.x[2]: 18446744073709551615 is beyond int64",
    ("return torch.ones(2)", "{}"): "a Tensor is not plain data: x:item() is the number in it",
    ("return {m = torch.nn.Linear(1, 1)}", "{}"): "m: a Linear is not plain data: torch.save its state_dict()",
    ("train.report({a = 1}, train.Checkpoint.from_directory('.'))", "{}"): "got a Checkpoint: write {checkpoint = …}",
    (
        "require('rtrain.data').read_csv('no/rows.csv')",
        "{}",
    ): "no such file or folder: 'no/rows.csv' (in the current folder, /",
}


def test_objects_in_the_place_of_data_are_named(rtrain):
    for workers in (0, 1):
        for (body, config), said in OBJECTS.items():
            result = rtrain.run(f"""
                local torch, train = require 'torch', require 'rtrain'
                train.TorchTrainer{{train_loop_per_worker = function() {body} end, train_loop_config = {config},
                                   scaling_config = {{num_workers = {workers}}}}}:fit()
            """)
            assert result.returncode in (1, 3) and said in result.stderr, (body, config, result.stderr)


def test_integers_beyond_int64_are_refused_on_the_command_line(rtrain):
    script = """
        local train = require 'rtrain'
        train.TorchTrainer{train_loop_per_worker = function(config) print(config.x) end, train_loop_config = {x = 1},
                           scaling_config = {num_workers = 1}}:fit()
    """
    assert "9223372036854775807" in rtrain.run_ok(script, "--set", "x=9223372036854775807").stdout
    result = rtrain.run(script, "--set", "x=9223372036854775808")
    assert result.returncode != 0 and "train_loop_config.x: 9223372036854775808 is beyond int64" in result.stderr


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


def test_unused_parameters_are_named(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        local torch = require 'torch'
        local Net = torch.nn.Module:extend('Net')
        function Net:init() self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2) end
        function Net:forward(x) return self.a(x) end
        local function train_func()
          local model = train.torch.prepare_model(Net())
          for _ = 1, 2 do model(torch.ones(1, 2)):sum():backward() end
        end
        train.TorchTrainer(train_func, {scaling_config = train.ScalingConfig{num_workers = 2}}):fit()
    """)
    assert result.returncode == 1
    assert "DistributedDataParallel: b.weight, b.bias had no gradient in the step before this one" in result.stderr


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


WRONG_VALUES = {
    "nn.MultiheadAttention('8', 2)": "MultiheadAttention was given '8', 2",
    "nn.LayerNorm('x')": "LayerNorm was given 'x'",
    "torch.utils.data.random_split(3, 4)": "random_split was given dataset = 3, lengths = 4",
    "nn.utils.vector_to_parameters(1, torch.ones(2))": "vector_to_parameters was given values = 1, parameters = a tensor",
    "torch.optim.swa_utils.AveragedModel(true)": "AveragedModel was given true",
}


def test_what_a_function_of_the_library_was_given_is_shown(rtrain):
    for call, expected in WRONG_VALUES.items():
        result = rtrain(
            "exec", rtrain.script(f"local torch = require 'torch'\nlocal nn = torch.nn\nlocal y = {call}\n")
        )
        assert result.returncode == 1, call
        assert result.stderr.splitlines()[0].endswith(")") and f"({expected}" in result.stderr, result.stderr
        assert "train.lua:3: " in result.stderr


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
