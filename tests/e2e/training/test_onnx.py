"""Models that torch.onnx.export writes, run by onnxruntime: the outputs equal rtrain's, also for other input sizes."""

import pytest

pytest.importorskip("numpy", reason="numpy is not here: scripts/test --oracle installs it")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here: scripts/test --oracle installs it")
from onnx_files import compare, export

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
