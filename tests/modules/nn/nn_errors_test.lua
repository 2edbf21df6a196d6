-- Errors for wrong uses of layers, functions and helpers of torch.nn: at the caller's line, with the wrong value.
local lu = require 'luaunit'
local torch = require 'torch'
local nn, F = torch.nn, torch.nn.functional

local function int64(list) return torch.tensor(list, {dtype = 'int64'}) end

local X = torch.ones(2, 3)

-- Labels of a script whose author did not think of the dtype.
local LABELS = torch.tensor {0, 1}
local INT64 = ": classes and indices are int64: make them so with :long(), or with {dtype = 'int64'} where they are made"

-- {text that the message contains, function}
local CASES = {
  {INT64, function() F.cross_entropy(X, LABELS) end},
  {INT64, function() nn.NLLLoss()(X, LABELS) end},
  {INT64, function() F.multi_margin_loss(X, LABELS) end},
  {INT64, function() F.one_hot(LABELS) end},
  {INT64, function() nn.Embedding(2, 3)(LABELS) end},
  {INT64, function() X:index_select(0, LABELS) end},
  {INT64, function() X:gather(1, LABELS:unsqueeze(1)) end},
  {INT64, function() F.cross_entropy(X, torch.tensor({0, 1}, {dtype = 'int32'})) end},
  {"expected a table of options, got 'int64': say {dtype = 'int64'}", function() torch.tensor({1}, torch.int64) end},
  {"takes at most 1 positional arguments, got 2: a dtype is a keyword, {dtype = 'int64'}", function()
    torch.ones(2, torch.int64)
  end},
  {"a dtype is a keyword, {dtype = 'float64'}", function() torch.full({2}, 1, torch.float64) end},
  {"Linear: missing argument 'out_features'", function() nn.Linear(3) end},
  {"Linear: unknown argument 'bais': did you mean 'bias'?", function() nn.Linear(3, 2, {bais = false}) end},
  {'groups = 2 must divide in_channels = 3', function() nn.Conv2d(3, 4, 3, {groups = 2}) end},
  {'kernel_size: expected a number or a list of 2', function() nn.Conv2d(3, 4, {3}) end},
  {"Conv1d: padding_mode cannot be 'reflected': did you mean 'reflect'?",
   function() nn.Conv1d(1, 1, 1, {padding_mode = 'reflected'}) end},
  {"Conv2d: padding = 'same' goes with stride = 1 alone", function()
    nn.Conv2d(1, 1, 3, {stride = 2, padding = 'same'})
  end},
  {"ConvTranspose1d: padding_mode can only be 'zeros'", function()
    nn.ConvTranspose1d(1, 1, 1, {padding_mode = 'reflect'})
  end},
  {'ConvTranspose1d: output_size[1] = 9 must lie between 7 and 8', function()
    nn.ConvTranspose1d(1, 1, 3, {stride = 2})(torch.ones(1, 1, 3), {9})
  end},
  {'Dropout: p is a probability between 0 and 1, got 2', function() nn.Dropout(2) end},
  {'dropout1d: expected 2 or 3 dimensions, got 4', function() F.dropout1d(torch.ones(1, 1, 1, 1)) end},
  {'BatchNorm2d: expected 4 dimensions, got 2', function() nn.BatchNorm2d(3)(X) end},
  {'batch_norm: expected more than 1 value per channel when training', function()
    nn.BatchNorm1d(3)(torch.ones(1, 3))
  end},
  {'instance_norm: expected more than 1 spatial element when training', function()
    nn.InstanceNorm1d(3)(torch.ones(2, 3, 1))
  end},
  {'InstanceNorm1d: expected 2 channels, got 3', function()
    nn.InstanceNorm1d(2, {affine = true})(torch.ones(2, 3, 4))
  end},
  {'GroupNorm: num_groups = 2 must divide num_channels = 3', function() nn.GroupNorm(2, 3) end},
  {'Hardtanh: max_val = 0 must be above min_val = 1', function() nn.Hardtanh(1, 0) end},
  {'Softmax2d: expected 3 or 4 dimensions, got 2', function() nn.Softmax2d()(X) end},
  {'FractionalMaxPool2d: give either output_size or output_ratio', function() nn.FractionalMaxPool2d(2) end},
  {'FractionalMaxPool2d: output_ratio must lie between 0 and 1, got 2', function()
    nn.FractionalMaxPool2d(2, {output_ratio = 2})
  end},
  {'max_unpool1d: output_size[1] = 9 must lie between 3 and 5', function()
    F.max_unpool1d(torch.ones(1, 1, 2), int64{{{0, 2}}}, 2, {output_size = {9}})
  end},
  {"interpolate: mode 'bilinear' takes 4 dimensions, got 3", function()
    F.interpolate(torch.ones(1, 1, 2), {size = 3, mode = 'bilinear'})
  end},
  {'interpolate: give either size or scale_factor', function() F.interpolate(torch.ones(1, 1, 2)) end},
  {"interpolate: mode cannot be 'linaer': did you mean 'linear'?", function()
    F.interpolate(torch.ones(1, 1, 2), {size = 3, mode = 'linaer'})
  end},
  {"interpolate: align_corners goes with linear modes, not with 'nearest'", function()
    F.interpolate(torch.ones(1, 1, 2), {size = 3, align_corners = true})
  end},
  {"grid_sample: padding_mode cannot be 'zero': did you mean 'zeros'?", function()
    F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), {padding_mode = 'zero'})
  end},
  {'affine_grid: expected theta (N, 2, 3), got torch.Size([2, 3])', function() F.affine_grid(X, {1, 1, 2, 2}) end},
  {'Embedding: padding_idx = 7 must be within num_embeddings = 3', function()
    nn.Embedding(3, 2, {padding_idx = 7})
  end},
  {"EmbeddingBag: mode cannot be 'average'", function() nn.EmbeddingBag(3, 2, {mode = 'average'}) end},
  {"embedding_bag: per_sample_weights needs mode = 'sum', not 'mean'", function()
    F.embedding_bag(int64{{0}}, X, {per_sample_weights = torch.ones(1, 1)})
  end},
  {"mse_loss: reduction cannot be 'average'", function() F.mse_loss(X, X, {reduction = 'average'}) end},
  {"MSELoss: unknown argument 'size_average'", function() nn.MSELoss{size_average = true} end},
  {'multi_margin_loss: p is 1 or 2, got 3', function() F.multi_margin_loss(X, int64{0, 1}, {p = 3}) end},
  {'triplet_margin_loss: margin must be greater than 0, got 0', function() F.triplet_margin_loss(X, X, X, 0) end},
  {'gaussian_nll_loss: var torch.Size([5]) fits no input torch.Size([2, 3])', function()
    F.gaussian_nll_loss(X, X, torch.ones(5))
  end},
  {'binary_cross_entropy: target torch.Size([3]) must have the shape of input', function()
    F.binary_cross_entropy(X, torch.ones(3))
  end},
  {'AdaptiveLogSoftmaxWithLoss: targets lie in 0 … 9, found 3 … 12', function()
    nn.AdaptiveLogSoftmaxWithLoss(3, 10, {2, 5}, {div_value = 1})(X, int64{3, 12})
  end},
  {'AdaptiveLogSoftmaxWithLoss: cutoffs are increasing integers', function()
    nn.AdaptiveLogSoftmaxWithLoss(3, 10, {5, 2})
  end},
  {'LSTM: proj_size = 4 must be smaller than hidden_size = 4', function() nn.LSTM(3, 4, {proj_size = 4}) end},
  {"GRU: unknown argument 'proj_size'", function() nn.GRU(3, 4, {proj_size = 2}) end},
  {"RNN: nonlinearity cannot be 'than': did you mean 'tanh'?", function() nn.RNN(3, 4, {nonlinearity = 'than'}) end},
  {'LSTM: expected an input of size 3, got 2', function() nn.LSTM(3, 4)(torch.ones(5, 1, 2)) end},
  {'GRU: input is float64, the weights are float32', function()
    nn.GRU(3, 4)(torch.ones({5, 1, 3}, {dtype = 'float64'}))
  end},
  {'LSTM: state 2: expected torch.Size([1, 1, 4]), got torch.Size([1, 1, 3])', function()
    nn.LSTM(3, 4)(torch.ones(5, 1, 3), {torch.ones(1, 1, 4), torch.ones(1, 1, 3)})
  end},
  {'LSTMCell: the state is a list {h, c}', function() nn.LSTMCell(3, 4)(X, torch.ones(2, 4)) end},
  {'MultiheadAttention: num_heads = 3 must divide embed_dim = 4', function() nn.MultiheadAttention(4, 3) end},
  {'attn_mask is torch.Size([2, 2]), expected torch.Size([2, 3])', function()
    nn.MultiheadAttention(4, 2)(torch.ones(2, 4), torch.ones(3, 4), torch.ones(3, 4), {attn_mask = torch.ones(2, 2)})
  end},
  {'is_causal is a hint about attn_mask: give it too', function()
    nn.MultiheadAttention(4, 2)(torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 4), {is_causal = true})
  end},
  {"TransformerEncoderLayer: activation is 'relu', 'gelu' or a function, got 'rely'", function()
    nn.TransformerEncoderLayer(4, 2, {activation = 'rely'})
  end},
  {'Transformer: src and tgt must have d_model = 4 features', function()
    local model = nn.Transformer{d_model = 4, nhead = 1, num_encoder_layers = 1, num_decoder_layers = 1}
    model(torch.ones(2, 1, 3), torch.ones(2, 1, 4))
  end},
  {'pad_packed_sequence: total_length = 1 is below the longest sequence, 2', function()
    nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence{torch.ones(2)}, {total_length = 1})
  end},
  {'clip_grad_norm_: the total norm of order 2 is nan', function()
    local x = torch.ones(1, {requires_grad = true})
    x.grad = torch.tensor{0 / 0}
    nn.utils.clip_grad_norm_(x, 1, {error_if_nonfinite = true})
  end},
  {'clip_grad_norm_: expected a list of parameters, got Linear: pass model:parameters()', function()
    nn.utils.clip_grad_norm_(nn.Linear(1, 1), 1)
  end},
  {'clip_grad_value_: expected a list of parameters, got number', function() nn.utils.clip_grad_value_(1, 1) end},
  {'parameters_to_vector: expected a list of parameters, got Linear', function()
    nn.utils.parameters_to_vector(nn.Linear(1, 1))
  end},
  {'fuse_conv_bn_eval: both modules must be in evaluation mode', function()
    nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
  end},
  {'vector_to_parameters: the parameters have 6 elements, the vector 2', function()
    nn.utils.vector_to_parameters(torch.ones(2), {X})
  end},
  {'dirac_: only tensors with 3, 4 or 5 dimensions are supported', function() nn.init.dirac_(X) end},
  {"calculate_gain: nonlinearity cannot be 'rely': did you mean 'relu'?", function() nn.init.calculate_gain 'rely' end},
  {'prune: amount is a share between 0 and 1 or a number of elements, got 1.5', function()
    nn.utils.prune.l1_unstructured(nn.Linear(2, 2), 'weight', 1.5)
  end},
  {'prune: amount = 9 is more than the 4 that are there', function()
    nn.utils.prune.l1_unstructured(nn.Linear(2, 2), 'weight', 9)
  end},
  {"prune: Linear has no parameter 'wait'", function() nn.utils.prune.identity(nn.Linear(2, 2), 'wait') end},
  {"pruning of 'weight' not found in Linear", function() nn.utils.prune.remove(nn.Linear(2, 2), 'weight') end},
  {"torch.nn has no 'Conv2D': did you mean 'Conv2d'?", function() return nn.Conv2D end},
  {"torch.nn.functional has no 'cross_entopy': did you mean 'cross_entropy'?", function() return F.cross_entopy end},
  {"torch.nn.utils.rnn has no 'pad_sequences': did you mean 'pad_sequence'?", function()
    return nn.utils.rnn.pad_sequences
  end},
}

TestErrors = {}

for i, case in ipairs(CASES) do
  TestErrors[('test_%02d'):format(i)] = function()
    local ok, err = pcall(case[2])
    lu.assertFalse(ok, case[1])
    lu.assertEquals(type(err) == 'table' and err.code, 'argument', tostring(err))
    lu.assertStrContains(tostring(err), case[1])
    lu.assertStrContains(tostring(err), 'nn_errors_test.lua:')
  end
end

os.exit(lu.LuaUnit.run(), true)
