"""Models that torch.onnx.export writes, run by onnxruntime: the outputs equal rtrain's, also for other input sizes."""

import textwrap

import pytest

numpy = pytest.importorskip("numpy", reason="numpy is not here: scripts/test --oracle installs it")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not here: scripts/test --oracle installs it")

# Exports `model`, and writes inputs and outputs for other sizes: `others` has a list of inputs for each case.
EXPORT = """
    local torch = require 'torch'
    local vision = require 'vision'
    local nn, F = torch.nn, torch.nn.functional
    local json = require 'rtrain.data.files.json_text'
    torch.manual_seed(7)
    torch.set_num_threads(2)
    local folder = arg[1]
    -- A BatchNorm whose statistics differ from 0 and 1.
    local function settle(model)
      for _, module in model:named_modules() do
        if module.running_mean then
          module.running_mean:normal_(0, 0.1)
          module.running_var:uniform_(0.5, 1.5)
        end
      end
      return model:eval()
    end
    local function flat(value, out)
      if torch.is_tensor(value) then
        out[#out + 1] = value
      else
        for _, item in ipairs(value) do flat(item, out) end
      end
      return out
    end
    local function ids(...) return torch.randint(0, 50, {...}) end
    %s
    model = type(model) == 'function' and model or settle(model)
    torch.onnx.export(model, examples, folder .. '/model.onnx', options)
    for i, inputs in ipairs{examples, unpack(others or {})} do
      local values = {}
      for k, input in ipairs(inputs) do values['in_' .. k] = input end
      local outputs = torch.no_grad(function() return {model(unpack(inputs))} end)
      for k, output in ipairs(flat(outputs, {})) do values['out_' .. k] = output:contiguous() end
      torch.save_safetensors(values, ('%%s/case-%%d.safetensors'):format(folder, i))
    end
"""


def export(rtrain, text):
    """Returns onnxruntime's session for the model that the script exports, and the folder."""
    script = rtrain.script(textwrap.dedent(EXPORT) % textwrap.dedent(text))
    result = rtrain("exec", script, rtrain.folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return onnxruntime.InferenceSession(rtrain.folder / "model.onnx", providers=["CPUExecutionProvider"])


def compare(rtrain, session, tolerance=1e-5):
    """Compares each case that the script has written; returns the number of cases."""
    load_file = pytest.importorskip("safetensors.numpy").load_file
    cases = sorted(rtrain.folder.glob("case-*.safetensors"))
    for case in cases:
        values = load_file(case)
        names = [given.name for given in session.get_inputs()]
        feed = {name: values[f"in_{i + 1}"] for i, name in enumerate(names)}
        outputs = session.run(None, feed)
        assert len(outputs) == sum(name.startswith("out_") for name in values)
        for i, output in enumerate(outputs):
            wanted = values[f"out_{i + 1}"]
            assert output.shape == wanted.shape and output.dtype == wanted.dtype, case
            scale = max(1.0, float(numpy.abs(wanted).max(initial=0))) if wanted.dtype.kind == "f" else 1
            numpy.testing.assert_allclose(output / scale, wanted / scale, atol=tolerance, rtol=0, err_msg=str(case))
    return len(cases)


MODELS = {
    "mlp": """
        local model = nn.Sequential(nn.Flatten(), nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10))
        local examples, others = {torch.randn(3, 3, 4)}, {{torch.randn(1, 3, 4)}, {torch.randn(17, 3, 4)}}
        local options
    """,
    "resnet18": """
        local model = vision.models.resnet18()
        local examples, others = {torch.randn(2, 3, 64, 64)}, {{torch.randn(5, 3, 64, 64)}, {torch.randn(1, 3, 64, 64)}}
        local options
    """,
    "vit": """
        local model = vision.models.VisionTransformer{image_size = 32, patch_size = 8, num_layers = 3, num_heads = 4,
          hidden_dim = 48, mlp_dim = 96, num_classes = 10}
        model.heads.head.weight.data:normal_()
        local examples, others = {torch.randn(1, 3, 32, 32)}, {{torch.randn(4, 3, 32, 32)}}
        local options
    """,
    # A word language model: embeddings of positions, a causal mask, another length of the text.
    "transformer": """
        local Words = nn.Module:extend('Words')
        function Words:init()
          self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(64, 32)
          local layer = nn.TransformerEncoderLayer(32, 4, {dim_feedforward = 64, batch_first = true, activation = 'gelu'})
          self.encoder = nn.TransformerEncoder(layer, 2)
          self.out = nn.Linear(32, 50)
        end
        function Words:forward(ids)
          local length = ids:size(1)
          local x = self.tokens(ids) * math.sqrt(32) + self.places(torch.arange(length))
          local mask = torch.triu(torch.full({length, length}, -math.huge), 1)
          return self.out(self.encoder(x, {mask = mask}))
        end
        local model = Words()
        local examples, others = {ids(2, 9)}, {{ids(3, 16)}, {ids(1, 4)}}
        local options = {input_names = {'ids'}, dynamic_axes = {ids = {[0] = 'batch', [1] = 'length'}}}
    """,
    "lstm": """
        local Words = nn.Module:extend('Words')
        function Words:init()
          self.tokens, self.rnn = nn.Embedding(50, 12), nn.LSTM(12, 16, {num_layers = 2, batch_first = true})
          self.out = nn.Linear(16, 50)
        end
        function Words:forward(ids)
          local y, state = self.rnn(self.tokens(ids))
          return {logits = self.out(y), h = state[1], c = state[2]}
        end
        local words = Words():eval()
        local model = function(ids)
          local out = words(ids)
          return out.c, out.h, out.logits
        end
        local examples, others = {ids(2, 7)}, {{ids(5, 3)}}
        local options = {dynamic_axes = {input = {[0] = 'batch', [1] = 'length'}}}
    """,
    "recurrent": """
        local All = nn.Module:extend('All')
        function All:init()
          self.gru = nn.GRU(6, 5, {num_layers = 2, bidirectional = true})
          self.rnn = nn.RNN(10, 4, {nonlinearity = 'relu', bias = false})
          self.lstm = nn.LSTM(4, 3, {bidirectional = true})
        end
        function All:forward(x, h)
          local y, last = self.gru(x, h)
          local z, state = self.lstm((self.rnn(y)))
          return z, last, state[1], state[2]
        end
        local model = All()
        local examples, others = {torch.randn(6, 3, 6), torch.randn(4, 3, 5)}, {{torch.randn(2, 8, 6), torch.randn(4, 8, 5)}}
        local options = {input_names = {'x', 'h'}, dynamic_axes = {x = {[0] = 'length', [1] = 'batch'}, h = {[1] = 'batch'}}}
    """,
    "attention": """
        local Net = nn.Module:extend('Net')
        function Net:init()
          self.attention = nn.MultiheadAttention(24, 3, {batch_first = true})
          self.decoder = nn.TransformerDecoderLayer(24, 2, {dim_feedforward = 32, batch_first = true, norm_first = true})
        end
        function Net:forward(x, memory, padding)
          local y, weights = self.attention(x, memory, memory, {key_padding_mask = padding})
          local q = y:view(y:size(0), y:size(1), 3, 8):transpose(1, 2)
          local z = F.scaled_dot_product_attention(q, q, q, {is_causal = true})
          return self.decoder(y, memory), weights, z:transpose(1, 2):flatten(2)
        end
        local model = Net()
        local function given(batch, length)
          local padding = torch.zeros(batch, 5, {dtype = 'bool'})
          padding:select(1, 4):fill_(true)
          return {torch.randn(batch, length, 24), torch.randn(batch, 5, 24), padding}
        end
        local examples, others = given(2, 7), {given(4, 3)}
        local options = {input_names = {'x', 'memory', 'padding'},
          dynamic_axes = {x = {[0] = 'batch', [1] = 'length'}, memory = {[0] = 'batch'}, padding = {[0] = 'batch'}}}
    """,
    "convolutions": """
        local model = nn.Sequential(
          nn.Conv2d(4, 8, 3, {padding = 'same', dilation = 2}), nn.GroupNorm(2, 8), nn.SiLU(),
          nn.Conv2d(8, 8, {3, 5}, {stride = {2, 1}, padding = {1, 2}, groups = 4, bias = false}),
          nn.InstanceNorm2d(8, {affine = true}),
          nn.Hardswish(), nn.AvgPool2d(3, {stride = 2, padding = 1, count_include_pad = false}), nn.PReLU(8),
          nn.ConvTranspose2d(8, 6, 3, {stride = 2, padding = 1, output_padding = 1}), nn.BatchNorm2d(6), nn.Hardtanh(-1, 2),
          nn.Upsample{scale_factor = 2, mode = 'bilinear'}, nn.Upsample{scale_factor = 2, mode = 'nearest'},
          nn.ReflectionPad2d(1), nn.AdaptiveAvgPool2d{5, 3}, nn.AdaptiveMaxPool2d(1), nn.Flatten(),
          nn.LayerNorm(6), nn.GELU{approximate = 'tanh'}, nn.Softmax(1))
        local examples, others = {torch.randn(2, 4, 18, 14)}, {{torch.randn(3, 4, 18, 14)}}
        local options
    """,
    "one_dimension": """
        local model = nn.Sequential(nn.Conv1d(3, 6, 5, {padding = 2}), nn.BatchNorm1d(6), nn.LeakyReLU(0.1), nn.MaxPool1d(2),
          nn.Conv1d(6, 4, 1), nn.ELU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(16, 3), nn.LogSoftmax(1))
        local examples, others = {torch.randn(2, 3, 20)}, {{torch.randn(7, 3, 20)}}
        local options
    """,
    "mobilenet": """
        local model = vision.models.mobilenet_v2{num_classes = 5}
        local examples, others = {torch.randn(2, 3, 64, 64)}, {{torch.randn(3, 3, 64, 64)}}
        local options
    """,
    "vgg": """
        local model = vision.models.vgg11_bn{num_classes = 5}
        local examples, others = {torch.randn(2, 3, 64, 64)}, {{torch.randn(3, 3, 64, 64)}}
        local options
    """,
    "squeezenet": """
        local model = vision.models.squeezenet1_1{num_classes = 5}
        local examples, others = {torch.randn(2, 3, 80, 80)}, {{torch.randn(3, 3, 80, 80)}}
        local options
    """,
    # Views, concatenation, slices, in-place operators, numbers taken from the batch's shape.
    "functions": """
        local model = function(x, y, ids)
          local batch, length = x:size(0), x:size(1)
          local a = torch.cat({x, y:expand(batch, length, 4)}, 2):reshape(batch * length, 8)
          a:mul_(2):add_(1):clamp_(-3, 3)
          local parts = a:view(batch, length, 2, 4):permute(2, 0, 1, 3):chunk(2, 0)
          local b = torch.where(parts[1]:gt(0.5), parts[1], parts[2]:pow(2)):squeeze(0)
          local c = torch.stack({b, b:sigmoid()}, 1):sum{dim = 1} / batch
          local d = b:mean(-1, {keepdim = true}) - b:amax{dim = -1, keepdim = true} + b:std(-1, {keepdim = true})
          local e = torch.einsum('bld,bmd->blm', b, b):masked_fill(torch.ones(length, length):triu(1):bool(), -1e4):softmax(-1)
          local f = torch.zeros(batch, length):add(ids:float()) + torch.arange(batch):unsqueeze(1)
          local g = b:narrow(1, 1, 2):flatten(1):norm{dim = 1}
          local top = b:select(2, 0):topk(2)
          return c, d:lt(0), e, f, g, top.values, top.indices, ids:remainder(3), b:argmax(2), (1 - b:exp():log1p()):rsqrt(),
            b[{{}, 0}], torch.full({batch}, 2.5), b:max(1).values, ids:eq(3):any(), b:repeat_(1, 2, 1)
        end
        local examples = {torch.rand(3, 6, 4), torch.rand(1, 1, 4), ids(3, 6)}
        local others = {{torch.rand(5, 6, 4), torch.rand(1, 1, 4), ids(5, 6)}}
        local options = {input_names = {'x', 'y', 'ids'}, dynamic_axes = {x = {[0] = 'batch'}, ids = {[0] = 'batch'}}}
    """,
    "activations": """
        local list = {nn.ReLU6(), nn.Mish(), nn.SELU(), nn.CELU(0.7), nn.Softplus(), nn.Softplus(3),
          nn.LogSigmoid(), nn.Softshrink(0.3),
          nn.Hardshrink(0.4), nn.Threshold(0.1, -2), nn.GLU(1), nn.Tanhshrink(), nn.Softsign(), nn.Hardsigmoid(), nn.Softmin(1),
          nn.RMSNorm(8), nn.GELU(), nn.Tanh()}
        local model = function(x)
          local out = {}
          for i, layer in ipairs(list) do out[i] = layer(x) end
          return unpack(out)
        end
        local examples, others = {torch.randn(4, 8) * 3}, {{torch.randn(9, 8) * 3}}
        local options
    """,
    # Assignments and scatters: each result is a separate tensor, parts of which were written to.
    "assignments": """
        local model = function(x, rows, columns, mask)
          local batch = x:size(0)
          local a = x:clone()
          a[a:gt(0.5)] = 0
          a[mask] = -1
          a[mask] = torch.tensor{1, 2, 3, 4, 5}
          local b = torch.zeros(6, 5)
          b[rows] = torch.arange(5, {dtype = 'float32'}) + x[0]
          b[{rows, columns}] = torch.tensor({1.5, 2.5, 3.5}) * x[{0, 0}]
          local c = torch.zeros(batch, 5)
          c[{torch.slice(), 1}] = x:select(1, 0)
          c[{torch.slice(), columns}] = x:narrow(1, 0, 3)
          c[0] = 7
          c[{torch.slice(1, 3), torch.slice(0, 5, 2)}] = x[{torch.slice(1, 3), torch.slice(0, 3)}] * 2
          local d = x:clone()
          local part = d:t():select(0, 2)
          local all = d:view(-1)
          part:mul_(3):add_(1)
          all:add_(1)
          part:sigmoid_()
          local e = x:clone()
          local halves = e:chunk(2, 1)
          halves[1]:copy_(halves[1]:flip{1})
          halves[2]:relu_()
          local f = torch.ones(6, 5):index_put_({rows, columns}, x:sum(1):narrow(0, 0, 1), true)
          local g = torch.tensor{9, 8, 7}:clone()
          g[1] = x[{0, 0}]
          local inner = torch.zeros(2, 6, 3, 4)
          inner[{torch.slice(), rows, torch.slice(), columns}] = x[{0, 1}]
          local near = torch.zeros(2, 6, 5, 3)
          near[{torch.slice(), rows, columns}] = x[0]:narrow(0, 0, 3)
          return a, b, c, d, e, halves[1], f, g, inner, near, near[{torch.slice(), rows, columns}],
            inner[{0, rows, torch.slice(), columns}],
            x[{rows:remainder(batch), columns}], part
        end
        local function given(batch)
          return {torch.randn(batch, 5), torch.tensor({4, 0, -2}, {dtype = 'int64'}),
            torch.tensor({1, 3, 0}, {dtype = 'int64'}),
                  torch.rand(batch):gt(0.5)}
        end
        local examples, others = given(4), {given(7), given(3)}
        local options = {input_names = {'x', 'rows', 'columns', 'mask'},
          dynamic_axes = {x = {[0] = 'batch'}, mask = {[0] = 'batch'}}}
    """,
    "scatters": """
        local model = function(x, index, rows)
          local batch = x:size(0)
          local zeros = torch.zeros(batch, 6)
          local list = {zeros:scatter(1, index, x), zeros:scatter(1, index, 2.5), zeros:scatter_add(1, index, x),
            torch.ones(batch, 6):scatter_(1, index, x, {reduce = 'multiply'}), x:clone():scatter_add_(-1, index, x + 1),
            zeros:scatter(1, index:narrow(1, 0, 2), x), zeros:index_add(1, rows, x:narrow(1, 0, 3), {alpha = 2}),
            zeros:index_copy(1, rows, x:narrow(1, 1, 3)), zeros:index_fill(1, rows, 3),
            zeros:scatter(1, index, x:gt(0):float()):bool(), zeros:long():scatter_add(1, index, index)}
          for _, reduce in ipairs{'sum', 'prod', 'amax', 'amin'} do
            list[#list + 1] = (zeros + 0.5):scatter_reduce(1, index, x, reduce)
            list[#list + 1] = (zeros + 0.5):scatter_reduce(1, index, x, reduce, {include_self = false})
          end
          list[#list + 1] = zeros:long():scatter_reduce(1, index, index, 'amax', {include_self = false})
          return unpack(list)
        end
        local function given(batch)
          return {torch.randn(batch, 5), torch.randint(0, 5, {batch, 5}), torch.tensor({4, 0, 2}, {dtype = 'int64'})}
        end
        local examples, others = given(4), {given(7), given(3)}
        local options = {input_names = {'x', 'index', 'rows'}, dynamic_axes = {x = {[0] = 'batch'}, index = {[0] = 'batch'}},
          opset_version = 18}
    """,
    "projected": """
        local All = nn.Module:extend('All')
        function All:init()
          self.first = nn.LSTM(6, 9, {num_layers = 2, proj_size = 4, batch_first = true})
          self.both = nn.LSTM(4, 7, {proj_size = 3, bidirectional = true, bias = false})
        end
        function All:forward(x, h, c)
          local y, state = self.first(x)
          local z, last = self.both(y:transpose(0, 1), {h, c})
          return y, state[1], state[2], z, last[1], last[2]
        end
        local model = All()
        local function given(batch, length)
          return {torch.randn(batch, length, 6), torch.randn(2, batch, 3), torch.randn(2, batch, 7)}
        end
        local examples, others = given(3, 5), {given(2, 9), given(4, 1)}
        local options = {input_names = {'x', 'h', 'c'},
          dynamic_axes = {x = {[0] = 'batch', [1] = 'length'}, h = {[1] = 'batch'}, c = {[1] = 'batch'}}}
    """,
    # Sequences of other lengths: values after the end of a sequence have no effect.
    "packed": """
        local rnn = nn.utils.rnn
        local All = nn.Module:extend('All')
        function All:init()
          self.lstm = nn.LSTM(6, 5, {num_layers = 2, bidirectional = true, batch_first = true})
          self.gru, self.rnn = nn.GRU(10, 4, {bidirectional = true}), nn.RNN(8, 3)
          self.projected, self.out = nn.LSTM(3, 6, {proj_size = 2, bidirectional = true}), nn.Linear(4, 2)
        end
        function All:forward(x, lengths, h)
          local packed = rnn.pack_padded_sequence(x, lengths, {batch_first = true, enforce_sorted = false})
          local same, sizes = rnn.pad_packed_sequence(packed, {batch_first = true, padding_value = 9})
          local y, state = self.lstm(packed)
          local z, last = self.gru(y)
          local u = self.rnn(z)
          local v, ends = self.projected(u, {h, torch.ones(2, x:size(0), 6)})
          return same, sizes, rnn.pad_packed_sequence(y, {batch_first = true, total_length = x:size(1)}), state[1], state[2],
            rnn.pad_packed_sequence(z, {total_length = 12}), last, self.out((rnn.pad_packed_sequence(v))), ends[1], ends[2]
        end
        local model = All()
        local function given(lengths, length)
          return {torch.randn(#lengths, length, 6), torch.tensor(lengths, {dtype = 'int64'}), torch.randn(2, #lengths, 2)}
        end
        local examples, others = given({2, 5, 3}, 9), {given({1, 4, 7, 4}, 9), given({3}, 3)}
        local options = {input_names = {'x', 'lengths', 'h'},
          dynamic_axes = {x = {[0] = 'batch', [1] = 'length'}, lengths = {[0] = 'batch'}, h = {[1] = 'batch'}}}
    """,
}


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_gives_the_same_outputs(rtrain, name):
    session = export(rtrain, MODELS[name])
    assert compare(rtrain, session) >= 2


def test_newer_opsets_say_axes_in_another_way(rtrain):
    for opset in (18, 21):
        text = MODELS["functions"].replace("local options = {", "local options = {opset_version = %d, " % opset)
        assert compare(rtrain, export(rtrain, text)) == 2


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
