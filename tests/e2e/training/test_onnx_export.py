"""What torch.onnx.export and train.export write: names, sizes, files; and what they refuse."""

import pytest

numpy = pytest.importorskip("numpy", reason="numpy is not here: scripts/test --oracle installs it")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not here: scripts/test --oracle installs it")
from onnx_files import compare, export


def test_names_axes_and_initializers_are_those_of_the_model(rtrain):
    session = export(
        rtrain,
        """
        local Net = nn.Module:extend('Net')
        function Net:init() self.fc = nn.Linear(4, 2) end
        function Net:forward(x, bias) return {logits = self.fc(x) + bias, sum = x:sum{dim = 1}} end
        local net = Net():eval()
        local model = net
        local examples, options = {torch.randn(2, 4), torch.randn(2)}, {input_names = {'x', 'bias'},
          dynamic_axes = {x = {[0] = 'rows'}}}
        torch.onnx.export(net, examples, folder .. '/named.onnx', options)
        model = function(x, bias)
          local out = net(x, bias)
          return out.logits, out.sum
        end
    """,
    )
    session = onnxruntime.InferenceSession(rtrain.folder / "named.onnx", providers=["CPUExecutionProvider"])
    assert [(given.name, given.shape) for given in session.get_inputs()] == [("x", ["rows", 4]), ("bias", [2])]
    assert [(given.name, given.shape) for given in session.get_outputs()] == [
        ("logits", ["rows", 2]),
        ("sum", ["rows"]),
    ]
    content = (rtrain.folder / "named.onnx").read_bytes()
    assert b"fc.weight" in content and b"fc.bias" in content


def test_values_in_a_file_of_their_own(rtrain):
    session = export(
        rtrain,
        """
        local model = nn.Sequential(nn.Linear(6, 33), nn.ReLU(), nn.Linear(33, 3))
        local examples, others, options = {torch.randn(2, 6)}, {{torch.randn(5, 6)}}, {external_data = true}
    """,
    )
    assert compare(rtrain, session) == 2
    assert (rtrain.folder / "model.onnx.data").stat().st_size >= 4 * (6 * 33 + 33 + 33 * 3 + 3)
    assert (rtrain.folder / "model.onnx").stat().st_size < 2000


def test_a_trained_mode_comes_back(rtrain):
    export(
        rtrain,
        """
        local model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3)):train()
        model[2]:eval()
        torch.onnx.export(model, torch.randn(2, 3), folder .. '/model.onnx')
        assert(model.training and model[1].training and not model[2].training)
        local examples, others, options = {torch.randn(2, 3)}, nil, nil
    """,
    )


REFUSED = {
    # The errors name the module and the line.
    "return torch.linalg.qr(self.fc(x))": ["linalg_qr (in Net", "at ", "train.lua:", "it has no mapping to ONNX"],
    "return self.fc(x) * x:sum():item()": ["item (in Net", "it makes a number of Lua of what depends on the input"],
    "return self.fc(x) * x:sum(1):tolist()[1]": ["mul (in Net", "a number of Lua depends on the values of an input"],
    # The order of the values does not matter.
    "local sum = 0; for _, value in ipairs(x:flatten():tolist()) do sum = sum + value end; return self.fc(x) * sum": [
        "mul (in Net",
        "a number of Lua depends on the values of an input",
    ],
    "return self.fc(x) * math.max(unpack(x:flatten():tolist()))": [
        "mul (in Net",
        "a number of Lua depends on the values of an input",
    ],
    "local y = self.fc(x); self.fc.bias:add_(y:sum(0)); return y": ["add_ (in Net", "change a clone() of it"],
    "local y = self.fc(x); y[y:gt(0)] = y[y:gt(0)]:exp(); return y": ["index (in Net", "as many as the values say"],
    "return torch.zeros(2, 4):scatter_reduce(0, x:long():remainder(2), x, 'mean')": [
        "scatter_reduce (in Net",
        "reduce = 'mean'",
    ],
    "return torch.zeros(2, 4):scatter_reduce(0, x:long():remainder(2), x, 'amax')": ["opset_version = 18"],
    """local packed = nn.utils.rnn.pack_padded_sequence(x:view(-1, 2, 2), torch.full({x:size(0)}, 2), {batch_first = true})
          return self.fc(packed.data:repeat_(1, 2))""": ["ONNX has no packed sequences", "pack_padded_sequence"],
    "return F.dropout(self.fc(x), 0.5, {training = true})": ["dropout (in Net", "it is in training"],
    "return self.fc(x) + torch.randn(x:size(0), 3)": ["randn", "it has no mapping to ONNX"],
    "return x:size(0) > 2 and self.fc(x):relu() or self.fc(x)": ["the model calls other operators"],
    "return self.fc(x):view(2, -1)": ["does not take batch = 3", "leave it out of dynamic_axes"],
    "return x:select(0, 0):sum():item() > 0 and self.fc(x):relu() or self.fc(x):exp()": ["item (in Net"],
    "return self.fc(x):split(1, 0)": ["as many values as a dynamic axis has items"],
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_form_in_onnx_is_refused_by_name(rtrain, body):
    script = rtrain.script(
        """
        local torch = require 'torch'
        local nn, F = torch.nn, torch.nn.functional
        local Net = nn.Module:extend('Net')
        function Net:init() self.fc = nn.Linear(4, 3) end
        function Net:forward(x)
          %s
        end
        torch.manual_seed(7)
        torch.onnx.export(Net(), torch.randn(2, 4), arg[1] .. '/model.onnx')
    """
        % body
    )
    result = rtrain("exec", script, rtrain.folder)
    assert result.returncode != 0
    for text in REFUSED[body]:
        assert text in result.stderr, result.stderr
    assert not (rtrain.folder / "model.onnx").exists()


USAGE = {
    "torch.onnx.export(m, 3, f)": "args: expected a tensor or a list of tensors, got number",
    "torch.onnx.export(m, x, f, {opset_version = 9})": "opset_version: 17 to 21, got 9",
    "torch.onnx.export(m, x, f, {input_names = {'a', 'b'}})": "input_names: 2 names for 1 inputs",
    "torch.onnx.export(m, x, f, {output_names = {'a', 'b'}})": "output_names: 2 names for 1 outputs",
    "torch.onnx.export(m, x, f, {dynamic_axes = {inputt = {[0] = 'n'}}})": "did you mean 'input'?",
    "torch.onnx.export(m, x, f, {dynamic_axes = {input = {[5] = 'n'}}})": "the input has dimensions 0 to 1, got 5",
    "train.export(m, f)": "args: a model becomes ONNX by being called",
    "train.export(m, 'model')": "which the path 'model' does not say",
    "train.export(m, 'a.pt', {args = x})": "args is for format = 'onnx', this is 'state_dict'",
    "train.export(3, 'a.pt')": "expected a module, or a state dict, got number",
    "train.export(m, f, {format = 'onxn'})": "did you mean 'onnx'?",
}


@pytest.mark.parametrize("call", USAGE)
def test_wrong_calls_say_what_is_wrong(rtrain, call):
    script = rtrain.script(
        """
        local torch, train = require 'torch', require 'rtrain'
        local m, x, f = torch.nn.Linear(4, 3), torch.randn(2, 4), arg[1] .. '/model.onnx'
        %s
    """
        % call
    )
    result = rtrain("exec", script, rtrain.folder)
    assert result.returncode != 0
    assert USAGE[call] in result.stderr, result.stderr


def test_train_export_writes_what_python_reads(rtrain):
    torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    load_file = pytest.importorskip("safetensors.torch").load_file
    # With two ranks the model is the result of prepare_model. Its tied weights are two copies in safetensors.
    result = rtrain(
        "run",
        rtrain.script("""
        local torch, train = require 'torch', require 'rtrain'
        local nn = torch.nn
        local folder = arg[1]
        train.TorchTrainer({
          train_loop_per_worker = function(config)
            torch.manual_seed(3)
            local net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
            net[3].weight = net[1].weight
            local model = train.torch.prepare_model(net)
            model(torch.randn(8, 4)):sum():backward()
            if train.get_context():get_world_rank() > 0 then return end
            local x = torch.randn(5, 4)
            train.export(model, config.folder .. '/model.safetensors', {metadata = {note = 'tied'}})
            train.export(model, config.folder .. '/model.pt')
            train.export(model, config.folder .. '/model.onnx', {args = x, output_names = {'y'}})
            torch.save_safetensors({x = x, y = torch.no_grad(function() return net:eval()(x) end)}, config.folder .. '/xy')
          end,
          train_loop_config = {folder = folder},
          scaling_config = {num_workers = 2},
        }):fit()
    """),
        "--",
        rtrain.folder,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    xy = load_file(rtrain.folder / "xy")
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)).eval()
    for state in (
        load_file(rtrain.folder / "model.safetensors"),
        torch.load(rtrain.folder / "model.pt", weights_only=True),
    ):
        model.load_state_dict(state)
        assert torch.allclose(model(xy["x"]), xy["y"], atol=1e-6)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
    session = onnxruntime.InferenceSession(rtrain.folder / "model.onnx", providers=["CPUExecutionProvider"])
    assert numpy.allclose(session.run(["y"], {"input": xy["x"].numpy()})[0], xy["y"].numpy(), atol=1e-6)
