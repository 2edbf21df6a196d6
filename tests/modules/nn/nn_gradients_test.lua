-- Gradients of every layer and loss for inputs and parameters, compared with central differences in float64.
local lu = require 'luaunit'
local torch = require 'torch'
local nn, F = torch.nn, torch.nn.functional

-- The tensors are small, so a second thread would only wait.
torch.set_num_threads(1)

TestGradients = {}

local function random(shape) return torch.randn(shape, {dtype = 'float64', requires_grad = true}) end

local function int64(list) return torch.tensor(list, {dtype = 'int64'}) end

-- Checks a module's gradients; `inputs` are tensors, or shapes that become random leaves.
local function check(module, inputs, call)
  module:to(torch.float64)
  local given, checked = {}, {}
  for i, input in ipairs(inputs) do
    given[i] = torch.is_tensor(input) and input or random(input)
    if given[i].requires_grad then checked[#checked + 1] = given[i] end
  end
  for _, param in ipairs(module:parameters()) do
    if param.requires_grad then checked[#checked + 1] = param end
  end
  -- gradcheck perturbs the tensors in place: the call uses the same inputs and module parameters.
  torch.autograd.gradcheck(function()
    if call then return call(module, unpack(given)) end
    return module(unpack(given))
  end, checked)
end

-- {name, function that makes the module, inputs, call}
local function add(name, make, inputs, call)
  TestGradients['test_' .. name] = function()
    torch.manual_seed(1)
    local module, more = make()
    check(module, more or inputs, call)
  end
end

local X1, X2, X3 = {2, 2, 5}, {1, 2, 4, 4}, {1, 1, 3, 3, 3}

-- Layers that are built from numbers only: class, arguments, shapes of the inputs.
for i, entry in ipairs{
  {'Linear', {3, 2}, {{4, 3}}}, {'Bilinear', {2, 3, 2}, {{3, 2}, {3, 3}}}, {'Identity', {}, {{2}}},
  {'Flatten', {}, {{2, 2, 2}}}, {'Unflatten', {1, {2, 1}}, {{2, 2}}},
  {'Conv1d', {2, 3, 3, {padding = 1}}, {X1}}, {'Conv2d', {2, 2, 2, {stride = 2}}, {X2}}, {'Conv3d', {1, 2, 2}, {X3}},
  {'Conv2d', {2, 2, 3, {padding = 'same', padding_mode = 'reflect', groups = 2}}, {X2}},
  {'Conv1d', {2, 2, 2, {padding = 1, padding_mode = 'circular', dilation = 2}}, {X1}},
  {'ConvTranspose1d', {2, 2, 3, {stride = 2, output_padding = 1}}, {X1}}, {'ConvTranspose2d', {2, 1, 2, {stride = 2}}, {X2}},
  {'ConvTranspose3d', {1, 1, 2}, {X3}},
  {'MaxPool1d', {2}, {X1}}, {'MaxPool2d', {2}, {X2}}, {'MaxPool3d', {2}, {X3}}, {'AvgPool1d', {2}, {X1}},
  {'AvgPool2d', {3, {padding = 1}}, {X2}}, {'AvgPool3d', {2}, {X3}}, {'LPPool1d', {4, 2}, {X1}}, {'LPPool2d', {2, 2}, {X2}},
  {'LPPool3d', {2, 2}, {X3}}, {'AdaptiveAvgPool1d', {2}, {X1}}, {'AdaptiveAvgPool2d', {{1, 3}}, {X2}},
  {'AdaptiveAvgPool3d', {2}, {X3}}, {'AdaptiveMaxPool1d', {2}, {X1}}, {'AdaptiveMaxPool2d', {2}, {X2}},
  {'AdaptiveMaxPool3d', {2}, {X3}},
  {'FractionalMaxPool2d', {2, {output_size = 2, _random_samples = torch.full({1, 2, 2}, 0.4, {dtype = 'float64'})}}, {X2}},
  {'FractionalMaxPool3d', {2, {output_size = 1, _random_samples = torch.full({1, 1, 3}, 0.4, {dtype = 'float64'})}}, {X3}},
  {'ConstantPad1d', {1, 2}, {X1}}, {'ConstantPad2d', {{1, 0, 0, 1}, 2}, {X2}}, {'ConstantPad3d', {1, 0}, {X3}},
  {'ZeroPad1d', {1}, {X1}}, {'ZeroPad2d', {1}, {X2}}, {'ZeroPad3d', {1}, {X3}}, {'ReflectionPad1d', {2}, {X1}},
  {'ReflectionPad2d', {1}, {X2}}, {'ReflectionPad3d', {1}, {X3}}, {'ReplicationPad1d', {2}, {X1}},
  {'ReplicationPad2d', {1}, {X2}}, {'ReplicationPad3d', {1}, {X3}}, {'CircularPad1d', {2}, {X1}}, {'CircularPad2d', {1}, {X2}},
  {'CircularPad3d', {1}, {X3}},
  {'ReLU', {}, {X1}}, {'ReLU6', {}, {X1}}, {'GELU', {}, {X1}}, {'GELU', {'tanh'}, {X1}}, {'SiLU', {}, {X1}}, {'Mish', {}, {X1}},
  {'SELU', {}, {X1}}, {'CELU', {1.5}, {X1}}, {'ELU', {}, {X1}}, {'Hardswish', {}, {X1}}, {'Hardsigmoid', {}, {X1}},
  {'Hardtanh', {}, {X1}}, {'Sigmoid', {}, {X1}}, {'LogSigmoid', {}, {X1}}, {'Tanh', {}, {X1}}, {'Tanhshrink', {}, {X1}},
  {'Softsign', {}, {X1}}, {'Softplus', {{beta = 2}}, {X1}}, {'Softshrink', {}, {X1}}, {'Hardshrink', {}, {X1}},
  {'LeakyReLU', {0.1}, {X1}}, {'PReLU', {2}, {X1}}, {'Threshold', {0.1, 3}, {X1}}, {'GLU', {0}, {X1}}, {'Softmax', {1}, {X1}},
  {'Softmin', {1}, {X1}}, {'LogSoftmax', {1}, {X1}}, {'Softmax2d', {}, {X2}},
  {'BatchNorm1d', {2}, {X1}}, {'BatchNorm2d', {2}, {X2}}, {'BatchNorm3d', {1}, {X3}}, {'SyncBatchNorm', {2}, {X2}},
  {'InstanceNorm1d', {2, {affine = true}}, {X1}}, {'InstanceNorm2d', {2}, {X2}}, {'InstanceNorm3d', {1}, {X3}},
  {'LayerNorm', {{2, 5}}, {X1}}, {'RMSNorm', {5}, {X1}}, {'GroupNorm', {2, 2}, {X2}}, {'LocalResponseNorm', {2}, {X2}},
  {'Upsample', {{scale_factor = 2, mode = 'linear'}}, {X1}}, {'Upsample', {{size = 5, mode = 'bicubic'}}, {X2}},
  {'Upsample', {{size = 2, mode = 'area'}}, {X3}}, {'UpsamplingNearest2d', {{scale_factor = 2}}, {X2}},
  {'UpsamplingBilinear2d', {{size = {3, 5}}}, {X2}}, {'PixelShuffle', {2}, {{1, 4, 2, 2}}}, {'PixelUnshuffle', {2}, {X2}},
  {'ChannelShuffle', {2}, {X2}}, {'Unfold', {2}, {X2}}, {'Fold', {{3, 3}, 2}, {{1, 4, 4}}},
  {'CosineSimilarity', {}, {{3, 4}, {3, 4}}}, {'PairwiseDistance', {3}, {{3, 4}, {3, 4}}},
  {'RNN', {2, 3, {num_layers = 2, nonlinearity = 'relu'}}, {{3, 2, 2}}}, {'LSTMCell', {2, 3}, {{2, 2}}},
  {'LSTM', {2, 3, {bidirectional = true, proj_size = 2}}, {{3, 2, 2}}}, {'GRU', {2, 3, {batch_first = true}}, {{2, 3, 2}}},
  {'RNNCell', {2, 3}, {{2, 2}, {2, 3}}}, {'GRUCell', {2, 3}, {{2, 2}, {2, 3}}},
  {'MultiheadAttention', {4, 2, {kdim = 3, vdim = 2, add_bias_kv = true}}, {{2, 1, 4}, {3, 1, 3}, {3, 1, 2}}},
  {'TransformerEncoderLayer', {4, 2, {dim_feedforward = 3, dropout = 0, norm_first = true}}, {{2, 1, 4}}},
  {'TransformerDecoderLayer', {4, 2, {dim_feedforward = 3, dropout = 0}}, {{2, 1, 4}, {3, 1, 4}}},
} do
  add(('%03d_%s'):format(i, entry[1]), function() return nn[entry[1]](unpack(entry[2])) end, entry[3])
end

-- Losses: class, arguments, inputs. Targets are fixed.
local CLASSES, SIGNS = int64{0, 2, 1}, torch.tensor({1, -1, 1}, {dtype = 'float64'})
local UNIT = torch.tensor({{0.2, 0.7, 0.1, 0.4}, {0.9, 0.3, 0.6, 0.5}, {0.1, 0.8, 0.25, 0.35}}, {dtype = 'float64'})
local ROWS = {3, 4}

local function fixed(...) return torch.randn({...}, {dtype = 'float64'}) end

for i, entry in ipairs{
  {'L1Loss', {}, {ROWS, ROWS}}, {'MSELoss', {}, {ROWS, ROWS}}, {'SmoothL1Loss', {{beta = 0.5}}, {ROWS, ROWS}},
  {'HuberLoss', {{delta = 0.5}}, {ROWS, ROWS}}, {'CrossEntropyLoss', {{label_smoothing = 0.1}}, {ROWS, CLASSES}},
  {'NLLLoss', {}, {ROWS, CLASSES}}, {'KLDivLoss', {{reduction = 'batchmean'}}, {ROWS, UNIT}},
  {'BCEWithLogitsLoss', {}, {ROWS, UNIT}}, {'PoissonNLLLoss', {{full = true}}, {ROWS, UNIT}},
  {'HingeEmbeddingLoss', {}, {{3}, SIGNS}}, {'SoftMarginLoss', {}, {{3}, SIGNS}}, {'MultiMarginLoss', {}, {ROWS, CLASSES}},
  {'MultiLabelMarginLoss', {}, {ROWS, int64{{1, 3, -1, 0}, {0, -1, 0, 0}, {2, 1, 0, -1}}}},
  {'MultiLabelSoftMarginLoss', {}, {ROWS, UNIT}}, {'CosineEmbeddingLoss', {}, {ROWS, ROWS, SIGNS}},
  {'MarginRankingLoss', {}, {{3}, {3}, SIGNS}}, {'TripletMarginLoss', {{swap = true}}, {ROWS, ROWS, ROWS}},
  {'TripletMarginWithDistanceLoss', {}, {ROWS, ROWS, ROWS}},
} do
  add(('loss_%02d_%s'):format(i, entry[1]), function() return nn[entry[1]](unpack(entry[2])) end, entry[3])
end

add('BCELoss', nn.BCELoss, {ROWS, UNIT}, function(m, x, y) return m(x:sigmoid(), y) end)
add('GaussianNLLLoss', nn.GaussianNLLLoss, {ROWS, UNIT, ROWS}, function(m, x, y, v) return m(x, y, v:exp()) end)
add('CTCLoss', nn.CTCLoss, {{5, 2, 4}}, function(m, x) return m(x:log_softmax(2), int64{{1, 2}, {3, 0}}, {5, 4}, {2, 1}) end)
add('AdaptiveLogSoftmaxWithLoss', function()
  return nn.AdaptiveLogSoftmaxWithLoss(4, 8, {2, 4}, {div_value = 2}), {{3, 4}, int64{0, 3, 6}}
end)

add('MaxUnpool2d', function() return nn.MaxUnpool2d(2), {{1, 1, 2, 2}, int64{{{{0, 3}, {8, 15}}}}} end)
add('Embedding', function() return nn.Embedding(4, 2), {int64{1, 3, 3}} end)
add('EmbeddingBag', function() return nn.EmbeddingBag(4, 2, {mode = 'sum'}), {int64{{1, 3}, {3, 0}}} end)
add('ParametrizedWeights', function()
  return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), nn.utils.weight_norm(nn.Linear(2, 2))), {{2, 3}}
end)
add('SpectralNorm', function()
  return nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)):eval(), {{2, 3}}
end)
add('Orthogonal', function()
  return nn.Sequential(nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)),
    nn.utils.parametrizations.orthogonal(nn.Linear(3, 3), {orthogonal_map = 'cayley'})), {{2, 3}}
end)

-- Functions without a module.
local function add_function(name, inputs, fn) add('F_' .. name, nn.Identity, inputs, function(_, ...) return fn(...) end) end

add_function('grid_sample', {X2, {1, 2, 2, 2}}, function(x, grid) return F.grid_sample(x, grid * 0.4) end)
add_function('affine_grid', {{1, 2, 3}}, function(theta) return F.affine_grid(theta, {1, 1, 2, 3}) end)
add_function('normalize', {ROWS}, function(x) return F.normalize(x, {p = 3}) end)
add_function('pdist', {ROWS}, F.pdist)
add_function('antialias', {{1, 1, 4, 4}}, function(x)
  return F.interpolate(x, {size = 2, mode = 'bilinear', antialias = true})
end)
add_function('gumbel_softmax', {ROWS}, function(x)
  torch.manual_seed(0)
  return F.gumbel_softmax(x, {tau = 0.7})
end)
add_function('weighted_mse', {ROWS, ROWS}, function(x, y) return F.mse_loss(x, y, {weight = UNIT}) end)

function TestGradients:test_dropout_with_a_fixed_mask()
  torch.manual_seed(1)
  check(nn.Identity(), {{4, 3, 2}}, function(_, x)
    torch.manual_seed(3)
    return F.dropout(x, 0.5), F.dropout1d(x, 0.5), F.alpha_dropout(x, 0.3, true), F.rrelu(x, 0.1, 0.3, true)
  end)
end

-- CrossMapLRN2d has PyTorch's backward, which is wrong at the last channels: tests/oracle compares it.

function TestGradients:test_batch_norm_statistics_take_part()
  local norm = nn.BatchNorm1d(2):eval()
  norm.running_mean:copy_(fixed(2))
  check(norm, {{3, 2}})
end

os.exit(lu.LuaUnit.run(), true)
