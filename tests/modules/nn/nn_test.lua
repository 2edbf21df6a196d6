-- Modules: registration, state, printing, layers, losses.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'
local nn, F = torch.nn, torch.nn.functional

local message_of = require('refusal').message_of

local function assert_close(actual, expected, tolerance)
  if type(expected) == 'table' then expected = torch.tensor(expected, {dtype = actual.dtype}) end
  lu.assertEquals(actual:tolist() ~= nil and #actual.shape, #expected.shape)
  lu.assertTrue((actual - expected):abs():max():item() <= (tolerance or 1e-4), tostring(actual))
end

local Net = nn.Module:extend('Net')
function Net:init()
  self.first = nn.Linear(2, 3)
  self.scale = nn.Parameter(torch.ones(1))
  self.second = nn.Linear(3, 1, {bias = false})
end
function Net:forward(x) return self.second(F.relu(self.first(x))) * self.scale end

TestModule = {}

function TestModule:test_registers_in_order_of_assignment()
  local names = {}
  for name in Net():named_parameters() do names[#names + 1] = name end
  lu.assertEquals(names, {'scale', 'first.weight', 'first.bias', 'second.weight'})
  lu.assertEquals(ordered.keys(Net():state_dict()), names)
  local children = {}
  for name in Net():named_children() do children[#children + 1] = name end
  lu.assertEquals(children, {'first', 'second'})
end

function TestModule:test_replacing_and_removing_modules()
  local net = Net()
  net.second = nn.Identity()
  lu.assertEquals(#net:parameters(), 3)
  net.second = nil
  lu.assertEquals(#net:children(), 1)
  lu.assertNil(net.second)
  lu.assertStrContains(message_of(function() net.first = 3 end), "cannot assign number as module 'first'")
  lu.assertStrContains(message_of(function() net.scale = torch.ones(1) end), "cannot assign Tensor as parameter 'scale'")
end

function TestModule:test_plain_field_becomes_a_module()
  local net = Net()
  net.head = false
  net.head = nn.Linear(1, 1)
  lu.assertEquals(#net:parameters(), 6)
end

function TestModule:test_shared_parameters_count_once()
  local net = Net()
  net.again = net.first
  lu.assertEquals(#net:parameters(), 4)
  lu.assertEquals(ordered.len(net:state_dict()), 6)
end

function TestModule:test_absent_field_is_nil_and_forward_is_required()
  lu.assertNil(Net().nothing)
  local Empty = nn.Module:extend('Empty')
  lu.assertStrContains(message_of(Empty(), torch.ones(1)), 'Empty has no forward')
end

function TestModule:test_train_and_eval_reach_all_modules()
  local net = nn.Sequential(nn.Dropout(0.9), nn.Sequential(nn.Dropout(0.9)))
  net:eval()
  lu.assertFalse(net[2][1].training)
  lu.assertEquals(net(torch.ones(100)):sum():item(), 100)
  net:train()
  lu.assertTrue(net[2][1].training)
end

function TestModule:test_buffers_are_state_but_no_parameters()
  local net = Net()
  net:register_buffer('seen', torch.zeros(2))
  net:register_buffer('cache', torch.zeros(2), {persistent = false})
  lu.assertEquals(#net:buffers(), 2)
  lu.assertEquals(#net:parameters(), 4)
  lu.assertNotNil(net:state_dict().seen)
  lu.assertNil(net:state_dict().cache)
end

function TestModule:test_to_keeps_the_identity_of_parameters()
  local net = Net()
  local weight = net.first.weight
  net:to(torch.float64)
  lu.assertIs(net.first.weight, weight)
  lu.assertEquals(weight.dtype, 'float64')
  lu.assertEquals(net(torch.ones(1, 2, {dtype = 'float64'})).dtype, 'float64')
  lu.assertStrContains(message_of(net.to, net, 'float23'), 'unknown device')
end

function TestModule:test_hooks_see_and_replace()
  local layer = nn.Identity()
  local handle = layer:register_forward_hook(function(_, inputs, output) return output + inputs[1] end)
  layer:register_forward_pre_hook(function(_, inputs) return {inputs[1] * 10} end)
  lu.assertEquals(layer(torch.ones(1)):item(), 20)
  handle.remove()
  lu.assertEquals(layer(torch.ones(1)):item(), 10)
end

-- Adds hooks a, b, c, of which a removes itself; returns a list of the hooks that run, in order.
local function removing(register)
  local seen, handle = {}, nil
  for _, name in ipairs{'a', 'b', 'c'} do
    local own = register(function()
      seen[#seen + 1] = name
      if name == 'a' then handle:remove() end
    end)
    handle = handle or own
  end
  return seen
end

function TestModule:test_a_hook_that_removes_itself_leaves_the_others()
  local layer = nn.Linear(1, 1)
  local seen = {}
  for _, name in ipairs{
    'register_forward_hook', 'register_forward_pre_hook', 'register_full_backward_hook', 'register_full_backward_pre_hook',
    'register_state_dict_pre_hook', 'register_state_dict_post_hook', 'register_load_state_dict_pre_hook',
    'register_load_state_dict_post_hook',
  } do
    seen[name] = removing(function(fn) return layer[name](layer, fn) end)
  end
  for _ = 1, 2 do
    layer(torch.ones(1, {requires_grad = true})):backward()
    layer:load_state_dict(layer:state_dict())
  end
  for name, names in pairs(seen) do lu.assertEquals(names, {'a', 'b', 'c', 'b', 'c'}, name) end
end

function TestModule:test_an_optimizer_hook_that_removes_itself_leaves_the_others()
  local layer = nn.Linear(1, 1)
  local optimizer = torch.optim.SGD(layer:parameters(), {lr = 0.1})
  local seen = removing(function(fn) return optimizer:register_step_post_hook(fn) end)
  optimizer:step()
  optimizer:step()
  lu.assertEquals(seen, {'a', 'b', 'c', 'b', 'c'})
end

function TestModule:test_zero_grad_forgets_or_zeroes()
  local net = Net()
  net(torch.ones(1, 2)):sum():backward()
  net:zero_grad{set_to_none = false}
  lu.assertEquals(net.scale.grad:item(), 0)
  net:zero_grad()
  lu.assertNil(net.scale.grad)
end

function TestModule:test_apply_and_requires_grad()
  local seen = {}
  local net = Net():apply(function(module) seen[#seen + 1] = tostring(module):match '^%w+' end)
  lu.assertEquals(seen, {'Linear', 'Linear', 'Net'})
  net:requires_grad_(false)
  lu.assertFalse(net.scale.requires_grad)
end

function TestModule:test_submodule_by_path()
  local net = nn.Sequential(nn.Sequential(nn.Linear(1, 2)))
  lu.assertEquals(net:get_submodule('0.0').out_features, 2)
  lu.assertStrContains(message_of(net.get_submodule, net, '0.7'), "has no module '7'")
end

TestStateDict = {}

function TestStateDict:test_round_trip()
  local a, b = Net(), Net()
  local result = b:load_state_dict(a:state_dict())
  lu.assertEquals(result, {missing_keys = {}, unexpected_keys = {}})
  lu.assertEquals(tostring(result), '<All keys matched successfully>')
  local x = torch.randn(4, 2)
  lu.assertTrue(torch.equal(a(x), b(x)))
end

function TestStateDict:test_strict_names_what_is_wrong()
  local net = Net()
  local text = message_of(net.load_state_dict, net, {scale = torch.ones(1), other = torch.ones(1)})
  lu.assertStrContains(text, 'Error(s) in loading state_dict for Net:')
  lu.assertStrContains(text, 'Missing key(s) in state_dict: "first.weight", "first.bias", "second.weight".')
  lu.assertStrContains(text, 'Unexpected key(s) in state_dict: "other".')
end

function TestStateDict:test_wrong_shape_changes_nothing()
  local net = Net()
  local text = message_of(net.load_state_dict, net, {scale = torch.zeros(1), ['first.bias'] = torch.ones(7)},
    {strict = false})
  lu.assertStrContains(text, 'size mismatch for first.bias: copying a param with shape torch.Size([7]) from checkpoint')
  lu.assertEquals(net.scale:item(), 1)
end

function TestStateDict:test_not_strict_reports()
  local net = Net()
  local result = net:load_state_dict({scale = torch.full({1}, 5)}, {strict = false})
  lu.assertEquals(#result.missing_keys, 3)
  lu.assertEquals(net.scale:item(), 5)
end

TestContainers = {}

function TestContainers:test_sequential_counts_from_one_and_names_from_zero()
  local net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
  lu.assertEquals(#net, 3)
  lu.assertEquals(net[3].out_features, 1)
  lu.assertEquals(ordered.keys(net:state_dict()), {'0.weight', '0.bias', '2.weight', '2.bias'})
  lu.assertStrContains(message_of(function() return net[0] end), 'counts from 1')
  net[3] = nn.Identity()
  lu.assertEquals(#net:parameters(), 2)
end

function TestContainers:test_sequential_of_named_modules()
  local net = nn.Sequential(ordered.new{{'in', nn.Linear(2, 2)}, {'out', nn.Linear(2, 1)}})
  lu.assertEquals(ordered.keys(net:state_dict()), {'in.weight', 'in.bias', 'out.weight', 'out.bias'})
end

function TestContainers:test_module_list_and_dict()
  local list = nn.ModuleList{nn.Linear(1, 1), nn.Linear(1, 1)}
  list:extend{nn.ReLU()}
  local count = 0
  for _ in ipairs(list) do count = count + 1 end
  lu.assertEquals(count, 3)
  lu.assertStrContains(message_of(function() list[9] = nn.ReLU() end), 'has 3 items')
  lu.assertStrContains(message_of(nn.ModuleList, {3}), 'ModuleList: nn.Module expected as item 1, got number')
  local dict = nn.ModuleDict{{'b', nn.ReLU()}, {'a', nn.Linear(1, 1)}}
  lu.assertEquals(dict:keys(), {'b', 'a'})
  lu.assertStrContains(message_of(nn.ModuleDict, {a = nn.ReLU()}), 'has no order')
end

TestPrint = {}

function TestPrint:test_prints_like_pytorch()
  local net = nn.Sequential(nn.Conv2d(1, 32, 3, {padding = 1, bias = false}), nn.BatchNorm2d(32), nn.ReLU(),
    nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(), nn.LayerNorm(4), nn.LogSoftmax(1))
  lu.assertEquals(tostring(net), [[
Sequential(
  (0): Conv2d(1, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
  (1): BatchNorm2d(32, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
  (2): ReLU()
  (3): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
  (4): Dropout(p=0.25, inplace=False)
  (5): Flatten(start_dim=1, end_dim=-1)
  (6): LayerNorm((4,), eps=1e-05, elementwise_affine=True)
  (7): LogSoftmax(dim=1)
)]])
  lu.assertEquals(tostring(nn.ModuleList{nn.ReLU(), nn.ReLU(), nn.Tanh()}), [[
ModuleList(
  (0-1): 2 x ReLU()
  (2): Tanh()
)]])
end

TestArguments = {}

function TestArguments:test_unknown_names_get_a_hint()
  lu.assertStrContains(message_of(function() return nn.Liner end), "did you mean 'Linear'?")
  lu.assertStrContains(message_of(function() return F.relo end), "did you mean 'relu'?")
  lu.assertStrContains(message_of(nn.Conv2d, 1, 2, 3, {strides = 2}), "did you mean 'stride'?")
  lu.assertStrContains(message_of(nn.Linear, 1), "missing argument 'out_features'")
  lu.assertStrContains(message_of(F.mse_loss, torch.ones(1), torch.ones(1), {reduction = 'maen'}), "did you mean 'mean'?")
  local _, later = pcall(function() return torch.vmap end)
  lu.assertEquals(later.code, 'unsupported')
  lu.assertStrContains(later.message, 'torch.vmap is not in this version')
end

TestInitialValues = {}

-- The numbers are those of Python's torch with the same seed.
function TestInitialValues:test_linear_has_pytorchs_numbers()
  torch.manual_seed(0)
  local layer = nn.Linear(2, 2)
  assert_close(layer.weight, {{-0.0053, 0.3793}, {-0.5820, -0.5204}})
  assert_close(layer.bias, {-0.2723, 0.1896})
end

function TestInitialValues:test_bounds_follow_the_fan()
  local conv = nn.Conv2d(4, 8, 3)
  local bound = 1 / math.sqrt(4 * 9)
  lu.assertTrue(conv.weight:abs():max():item() <= bound)
  lu.assertTrue(conv.bias:abs():max():item() <= bound)
  local w = nn.init.xavier_uniform_(torch.empty(30, 50))
  lu.assertTrue(w:abs():max():item() <= math.sqrt(6 / 80))
  local n = nn.init.kaiming_normal_(torch.empty(200, 200), {nonlinearity = 'relu'})
  lu.assertAlmostEquals(n:std():item(), math.sqrt(2 / 200), 0.005)
  lu.assertTrue(nn.init.trunc_normal_(torch.empty(1000), {a = -1, b = 1}):abs():max():item() <= 1)
  lu.assertEquals(nn.init.constant_(torch.empty(2), 3):sum():item(), 6)
end

TestLosses = {}

local logits = torch.tensor({{1, 2, 0.5}, {0.1, -1, 3}}, {dtype = 'float64'})
local classes = torch.tensor({0, 2}, {dtype = 'int64'})

local function log_sum_exp(...)
  local sum = 0
  for _, x in ipairs{...} do sum = sum + math.exp(x) end
  return math.log(sum)
end
local LOSSES = {log_sum_exp(1, 2, 0.5) - 1, log_sum_exp(0.1, -1, 3) - 3}

function TestLosses:test_cross_entropy()
  local mean = (LOSSES[1] + LOSSES[2]) / 2
  lu.assertAlmostEquals(nn.CrossEntropyLoss()(logits, classes):item(), mean, 1e-12)
  lu.assertAlmostEquals(F.nll_loss(F.log_softmax(logits, 1), classes):item(), mean, 1e-12)
  assert_close(F.cross_entropy(logits, classes, {reduction = 'none'}), LOSSES, 1e-12)
  local weight = torch.tensor({2, 1, 1}, {dtype = 'float64'})
  local weighted = (2 * LOSSES[1] + LOSSES[2]) / 3
  lu.assertAlmostEquals(nn.CrossEntropyLoss{weight = weight}(logits, classes):item(), weighted, 1e-12)
  lu.assertAlmostEquals(F.cross_entropy(logits, classes, {ignore_index = 0}):item(), LOSSES[2], 1e-12)
end

function TestLosses:test_regression_losses()
  local x, y = torch.tensor{1, 4}, torch.tensor{2, 1}
  lu.assertAlmostEquals(nn.MSELoss()(x, y):item(), 5, 1e-6)
  lu.assertAlmostEquals(nn.MSELoss{reduction = 'sum'}(x, y):item(), 10, 1e-6)
  lu.assertAlmostEquals(nn.L1Loss()(x, y):item(), 2, 1e-6)
  lu.assertAlmostEquals(nn.SmoothL1Loss()(x, y):item(), (0.5 + 2.5) / 2, 1e-6)
  lu.assertAlmostEquals(nn.HuberLoss{delta = 2}(x, y):item(), (0.5 + 2 * (3 - 1)) / 2, 1e-6)
end

function TestLosses:test_binary_and_divergence()
  local p, t = torch.tensor{0.25, 0.5}, torch.tensor{1, 0}
  local expected = -(math.log(0.25) + math.log(0.5)) / 2
  lu.assertAlmostEquals(nn.BCELoss()(p, t):item(), expected, 1e-6)
  lu.assertAlmostEquals(nn.BCEWithLogitsLoss()(torch.logit(p), t):item(), expected, 1e-6)
  local divergence = nn.KLDivLoss{reduction = 'batchmean'}(torch.log(torch.tensor{{0.5, 0.5}}), torch.tensor{{0.25, 0.75}})
  lu.assertAlmostEquals(divergence:item(), 0.25 * math.log(0.5) + 0.75 * math.log(1.5), 1e-6)
end

TestLayers = {}

function TestLayers:test_batch_norm_tracks_statistics()
  local norm = nn.BatchNorm1d(2)
  norm(torch.tensor{{1, 0}, {3, 0}})
  assert_close(norm.running_mean, {0.2, 0})
  assert_close(norm.running_var, {0.9 + 0.1 * 2, 0.9})
  lu.assertEquals(norm.num_batches_tracked:item(), 1)
  norm:eval()
  assert_close(norm(torch.tensor{{0.2, 0}}), {{0, 0}}, 1e-6)
  lu.assertStrContains(message_of(norm, torch.ones(1, 2, 3, 4)), 'expected 2 or 3 dimensions, got 4')
end

function TestLayers:test_dropout_scales_what_stays()
  torch.manual_seed(0)
  local y = nn.Dropout(0.5)(torch.ones(1000))
  local kept = y:gt(0):sum():item()
  lu.assertTrue(kept > 400 and kept < 600)
  lu.assertEquals(y:max():item(), 2)
  lu.assertStrContains(message_of(nn.Dropout, 2), 'between 0 and 1')
end

function TestLayers:test_attention_agrees_with_its_fast_path()
  torch.manual_seed(0)
  local attention = nn.MultiheadAttention(8, 2, {batch_first = true})
  local x = torch.randn(2, 5, 8)
  local mask = torch.ones(5, 5, {dtype = 'bool'}):triu(1)
  local slow, weights = attention(x, x, x, {attn_mask = mask})
  local fast = attention(x, x, x, {attn_mask = mask, need_weights = false})
  lu.assertTrue(torch.allclose(slow, fast, 1e-4, 1e-5))
  lu.assertEquals(weights[{0, 0, 1}]:item(), 0)
end

function TestLayers:test_max_pool_returns_indices()
  local y, indices = nn.MaxPool2d(2, {return_indices = true})(torch.arange(16):float():view{1, 1, 4, 4})
  lu.assertEquals(y:view(-1):tolist(), {5, 7, 13, 15})
  lu.assertEquals(indices:view(-1):tolist(), {5, 7, 13, 15})
end

function TestLayers:test_embedding_with_padding()
  local layer = nn.Embedding(4, 2, {padding_idx = 1}):to(torch.float64)
  lu.assertEquals(layer.weight[1]:abs():sum():item(), 0)
  layer(torch.tensor({1, 3, 3}, {dtype = 'int64'})):sum():backward()
  lu.assertEquals(layer.weight.grad:tolist(), {{0, 0}, {0, 0}, {0, 0}, {2, 2}})
end

TestUtils = {}

function TestUtils:test_clip_grad_norm()
  local x = torch.zeros(3, {requires_grad = true})
  torch.sum(x * torch.tensor{3, 4, 0}):backward()
  lu.assertEquals(nn.utils.clip_grad_norm_({x}, 1):item(), 5)
  assert_close(x.grad, {0.6, 0.8, 0}, 1e-5)
  nn.utils.clip_grad_value_({x}, 0.5)
  assert_close(x.grad, {0.5, 0.5, 0}, 1e-6)
end

function TestUtils:test_vector_of_parameters()
  local net = Net()
  local vector = nn.utils.parameters_to_vector(net:parameters())
  lu.assertEquals(vector:numel(), 13)
  nn.utils.vector_to_parameters(torch.zeros(13), net:parameters())
  lu.assertEquals(net.first.weight:abs():sum():item(), 0)
end

function TestUtils:test_what_python_has_as_floats_is_printed_so()
  for _, case in ipairs{
    {nn.Dropout(0), 'Dropout(p=0.0, inplace=False)'}, {nn.Softshrink(1), 'Softshrink(1.0)'},
    {nn.BatchNorm1d(3, {eps = 0, momentum = 1}),
     'BatchNorm1d(3, eps=0.0, momentum=1.0, affine=True, track_running_stats=True)'},
    {nn.BatchNorm1d(3, {momentum = false}),
     'BatchNorm1d(3, eps=1e-05, momentum=None, affine=True, track_running_stats=True)'},
    {nn.LocalResponseNorm(2, {alpha = 1, beta = 2}), 'LocalResponseNorm(2, alpha=1.0, beta=2.0, k=1.0)'},
    {nn.LayerNorm(2, {eps = 1}), 'LayerNorm((2,), eps=1.0, elementwise_affine=True)'},
  } do
    lu.assertEquals(tostring(case[1]), case[2])
  end
end

function TestUtils:test_the_samples_of_fractional_pooling_are_a_buffer()
  local samples = torch.rand(1, 1, 2)
  local pool = nn.FractionalMaxPool2d(2, {output_size = 2, _random_samples = samples})
  lu.assertTrue(rawequal(pool._random_samples, samples))
  lu.assertTrue(torch.equal(pool:state_dict()._random_samples, samples))
  lu.assertEquals(torch.keys(nn.FractionalMaxPool2d(2, {output_size = 2}):state_dict()), {})
end

os.exit(lu.LuaUnit.run(), true)
