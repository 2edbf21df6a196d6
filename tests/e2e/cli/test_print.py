"""print shows the content of tables."""


def printed(rtrain, text):
    result = rtrain("exec", rtrain.script(text))
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_tables_show_their_contents(rtrain):
    lines = printed(
        rtrain,
        """
        local torch = require 'torch'
        local shared = {1, 2}
        shared.again = shared
        print({loss = 0.5, name = 'a', [10] = true, 'first'}, shared, {})
        print(torch.list{1, 2}, torch.tensor{{1., 2.}}:tolist(), torch.empty(1000000).shape, torch.none)
        print(torch, torch.nn, require 'rtrain')
    """,
    )
    assert lines == [
        "{'first', [10] = true, loss = 0.5, name = 'a'}\t{1, 2, again = {…}}\t{}",
        "{1, 2}\t{{1, 2}}\ttorch.Size([1000000])\ttorch.none",
        "module 'torch'\tmodule 'torch.nn'\tmodule 'train'",
    ]


def test_a_long_table_has_a_line_for_each_entry_and_an_end(rtrain):
    lines = printed(
        rtrain,
        """
        local torch = require 'torch'
        local layer = torch.nn.Linear(2, 2)
        torch.no_grad(function() layer.weight:fill_(1); layer.bias:zero_() end)
        print({model = layer:state_dict(), epoch = 3})
        local many = {}
        for i = 1, 1000 do many[i] = i end
        print(many)
    """,
    )
    assert lines[:7] == [
        "{",
        "  epoch = 3,",
        "  model = {",
        "    weight = tensor([[1., 1.],",
        "                     [1., 1.]]),",
        "    bias = tensor([0., 0.])",
        "  }",
    ]
    assert lines[-2:] == ["  … 900 more", "}"]


def test_lua_prints_everything_else_as_before(rtrain):
    lines = printed(
        rtrain,
        """
        local class = setmetatable({}, {__tostring = function() return 'its own' end})
        print(class, 1e6, 'text', nil, true, tostring({}):match '^table: ' ~= nil)
        local out = tostring(setmetatable({}, {}))
        print(setmetatable({}, {}), (select('#', print())))
        print()
        print = nil
    """,
    )
    assert lines[0] == "its own\t1000000\ttext\tnil\ttrue\ttrue"
    assert lines[1] == "" and lines[2].startswith("table: 0x") and lines[2].endswith("\t0")


def test_metrics_and_configs_of_a_run(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local function train_func(config)
          print(config)
          train.report{loss = 0.5, epoch = 1}
        end
        local result = train.TorchTrainer{train_loop_per_worker = train_func, train_loop_config = {lr = 0.1},
          scaling_config = train.ScalingConfig{num_workers = 1}}:fit()
        print(result.config, result.metrics_dataframe, result.metrics)
    """)
    assert "{lr = 0.1}" in result.stdout
    assert (
        "{lr = 0.1}\t{{epoch = 1, loss = 0.5}}\t{\n  epoch = 1,\n  loss = 0.5,\n  training_iteration = 1,\n"
        in result.stdout
    )
