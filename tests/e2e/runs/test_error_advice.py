"""Terminal messages for mistakes in a script: what was meant, and what to write instead."""

import re

from failing_net import NET

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
    "print(torch.vmap)": "torch.vmap is not in this version",
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


def test_integers_beyond_int64_are_kept(rtrain):
    script = """
        local train = require 'rtrain'
        local result = train.TorchTrainer{
          train_loop_per_worker = function(config)
            train.report {seed = config.x, most = 18446744073709551615ULL}
            return {twice = {config.x, config.x}}
          end,
          train_loop_config = {x = 1}, scaling_config = {num_workers = 1}}:fit()
        assert(result.metrics.seed == 9223372036854775813ULL and result.return_value.twice[2] == result.metrics.seed)
        print(result.metrics.most)
    """
    result = rtrain.run_ok(script, "--name", "large", "--set", "x=9223372036854775813")
    assert "18446744073709551615ULL" in result.stdout
    assert rtrain.json("show", "large")["config"] == {"x": 2**63 + 5}
    assert rtrain.json("metrics", "large")[0]["metrics"] == {"seed": 2**63 + 5, "most": 2**64 - 1}
    assert f"{2**63 + 5}" in rtrain("export", "large").stdout


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
