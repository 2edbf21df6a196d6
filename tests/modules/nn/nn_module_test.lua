-- nn.Module: registration, traversal, state, conversions, copies and containers, for every module.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'
local nn = torch.nn

local error_of = require('refusal').of_argument

local function names(iterator)
  local out = {}
  for name in iterator do out[#out + 1] = name end
  return table.concat(out, ' ')
end

local function small() return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 1))) end

TestRegistration = {}

function TestRegistration:test_names_must_be_usable()
  local net = nn.Identity()
  lu.assertStrContains(error_of(net.register_parameter, net, 'a.b', nil), "cannot contain '.'")
  lu.assertStrContains(error_of(net.register_buffer, net, '', nil), 'cannot be empty')
  lu.assertStrContains(error_of(net.add_module, net, 'forward', nn.ReLU()), "Identity has 'forward' already")
  lu.assertStrContains(error_of(net.register_parameter, net, 'w', torch.ones(1)), 'nn.Parameter expected, got Tensor')
  lu.assertStrContains(error_of(net.register_buffer, net, 'w', 3), 'Tensor expected, got number')
  net:register_module('part', nil)
  net.part = nn.ReLU()
  lu.assertEquals(#net:children(), 1)
end

function TestRegistration:test_a_buffer_is_registered_by_assignment()
  local net = nn.Identity()
  net.seen = nn.Buffer(torch.zeros(2))
  net.cache = nn.Buffer(torch.zeros(2), false)
  lu.assertEquals(names(net:named_buffers()), 'seen cache')
  lu.assertEquals(ordered.keys(net:state_dict()), {'seen'})
  net.seen = torch.ones(2)
  lu.assertEquals(net:state_dict().seen:sum():item(), 2)
  net.seen = nn.Buffer(torch.ones(2), {persistent = false})
  lu.assertEquals(ordered.keys(net:state_dict()), {})
  net.plain = false
  net.plain = nn.Buffer(torch.ones(1))
  lu.assertEquals(ordered.keys(net:state_dict()), {'plain'})
  lu.assertStrContains(error_of(function() net.seen = 'x' end), "cannot assign string as buffer 'seen'")
end

-- Returns the order of registration after `assign`, which gets a module, two new and two older layers.
local function order_after(assign)
  local net, first, second = nn.Identity(), nn.ReLU(), nn.ReLU()
  assign(net, nn.ReLU, first, second)
  return names(net:named_children())
end

function TestRegistration:test_one_assignment_registers_in_its_written_order()
  local up
  local forms = {
    {'a b', function(m, new) m.a, m.b = new(), new() end},
    {'a b c d', function(m, new) m.a, m.b, m.c, m.d = new(), new(), new(), new() end},
    {'b a', function(m, _, first, second) m.b, m.a = first, second end},
    {'a b', function(m, _, first, second) m.a, m.b = second, first end},
    {'a b', function(m, new, first, second) m.a, m.b = first or new(), m and second end},
    {'a b', function(m, new) m.a, m.b = unpack{new(), new()} end},
    {'a b c', function(m, new) m.a, m.count, m.b, m[1], m.c = new(), 3, new(), 4, new() end},
    {'a b', function(m, new) local n m.a, n, m.b = new(), 1, new() return n end},
    {'a b', function(m, new) m.a, up, m.b = new(), 1, new() return up end},
    {'a1 b1 a2 b2', function(m, new) for i = 1, 2 do m['a' .. i], m['b' .. i] = new(), new() end end},
    {'a b c d', function(m, new) m.a, m.b = new(), new() m.c, m.d = new(), new() end},
    {'a b', function(m, new)
      m.a,
      m.b = new(),
        new()
    end},
  }
  for i, form in ipairs(forms) do lu.assertEquals(order_after(form[2]), form[1], i) end
end

function TestRegistration:test_assignments_of_their_own_register_as_they_come()
  local forms = {
    {'b a', function(m, _, first, second) m.b = second m.a = first end},
    {'b a', function(m, new) local x, y = new(), new() m.b = y m.a = x end},
    {'b a c', function(m, new, first, second) local x = new() m.b, m.a = first, second m.c = x end},
    {'b a', function(m, _, first, second) m:add_module('b', first) m:add_module('a', second) end},
    {'b a', function(m, _, first, second) rawset(m, 1, first) m.b = first m.a = second end},
  }
  for i, form in ipairs(forms) do lu.assertEquals(order_after(form[2]), form[1], i) end
end

function TestRegistration:test_the_written_order_of_parameters_buffers_and_dictionaries()
  local net, one = nn.Identity(), torch.ones(1)
  net.layer, net.weight, net.seen, net.bias, net.other, net.last = nn.ReLU(), nn.Parameter(one), nn.Buffer(one),
    nn.Parameter(one), nn.Buffer(one), nn.ReLU()
  lu.assertEquals(ordered.keys(net:state_dict()), {'weight', 'bias', 'seen', 'other'})
  lu.assertEquals(names(net:named_children()), 'layer last')
  local modules, parameters = nn.ModuleDict(), nn.ParameterDict{{'z', one}}
  modules.a, modules.b = nn.ReLU(), nn.ReLU()
  parameters.a, parameters.b, parameters.c = one, one, one
  lu.assertEquals(modules:keys(), {'a', 'b'})
  lu.assertEquals(parameters:keys(), {'z', 'a', 'b', 'c'})
  lu.assertEquals(names(parameters:named_parameters()), 'z a b c')
  local Watched = nn.Module:extend 'Watched'
  function Watched.__newindex(self, name, value) nn.Module.__newindex(self, name, value) end
  local watched = Watched()
  watched.a, watched.b = nn.ReLU(), nn.ReLU()
  lu.assertEquals(names(watched:named_children()), 'a b')
end

-- Returns the warnings while fn runs.
local function warned(fn)
  local warnings = require 'base.warnings'
  local said, warn = {}, warnings.warn
  warnings.warn = function(text) said[#said + 1] = text end
  fn()
  warnings.warn = warn
  return table.concat(said, ' | ')
end

function TestRegistration:test_layers_in_a_plain_table_are_warned_of()
  local net = nn.Identity()
  net.body, net.layers, net.scales = nn.Linear(2, 2), {nn.Linear(2, 2), {nn.Linear(2, 2)}, nn.ReLU()},
    {nn.Parameter(torch.ones(1))}
  net.again, net.sizes = {net.body}, {1, 2}
  lu.assertEquals(warned(function() net:parameters() end), 'Identity.layers is a table with 2 modules: in a plain table they '
    .. 'are neither trained nor saved; use nn.ModuleList or nn.ModuleDict | Identity.scales is a table with 1 parameters: in a '
    .. 'plain table they are neither trained nor saved; use nn.ParameterList')
  lu.assertEquals(warned(function() net:parameters() end), '')
end

function TestRegistration:test_an_optimizer_without_gradients_is_warned_of_once()
  local layer = nn.Linear(2, 1)
  local optimizer = torch.optim.SGD(layer:parameters())
  local function step() optimizer:step() end
  lu.assertStrContains(warned(step), 'no parameter of this optimizer has a gradient')
  lu.assertEquals(warned(step), '')
  layer(torch.ones(1, 2)):sum():backward()
  lu.assertEquals(warned(function() torch.optim.SGD(layer:parameters()):step() end), '')
end

function TestRegistration:test_a_batch_used_as_a_list_is_warned_of()
  local data = torch.utils.data
  local loader = data.DataLoader(data.TensorDataset(torch.ones(2, 3), torch.ones(2)), {batch_size = 2})
  lu.assertStrContains(warned(function() for b in loader do lu.assertNotNil(b[0] + b[1]) end end), 'this loop has one variable')
  lu.assertEquals(warned(function() for b in loader do lu.assertNotNil(b[0]) end end), '')
  lu.assertEquals(warned(function() for x, y in loader do lu.assertNotNil(x[0] + x[1] + y[1]) end end), '')
end

TestWalk = {}

function TestWalk:test_prefix_recurse_and_duplicates()
  local net = small()
  lu.assertEquals(names(net:named_parameters{prefix = 'net', recurse = false}), '')
  lu.assertEquals(names(net[2]:named_buffers{prefix = 'bn'}), 'bn.running_mean bn.running_var bn.num_batches_tracked')
  lu.assertEquals(names(net:named_modules{prefix = 'm'}), 'm m.0 m.1 m.2 m.2.0')
  local shared = nn.Linear(2, 2)
  local twice = nn.Sequential(shared, shared)
  lu.assertEquals(names(twice:named_modules()), ' 0')
  lu.assertEquals(names(twice:named_modules{remove_duplicate = false}), ' 0 1')
  lu.assertEquals(names(twice:named_parameters{remove_duplicate = false}), '0.weight 0.bias 1.weight 1.bias')
  lu.assertEquals(#twice:modules{remove_duplicate = false}, 3)
end

function TestWalk:test_by_path()
  local net = small()
  lu.assertIs(net:get_submodule '', net)
  lu.assertIs(net:get_parameter '2.0.weight', net[3][1].weight)
  lu.assertIs(net:get_buffer '1.running_mean', net[2].running_mean)
  lu.assertStrContains(error_of(net.get_parameter, net, '2.0.weigt'),
    "Linear has no parameter 'weigt' (in '2.0.weigt'): did you mean 'weight'?")
  lu.assertStrContains(error_of(net.get_buffer, net, '0.weight'), "Linear has no buffer 'weight'")
  net:set_submodule('2.0', nn.Identity())
  lu.assertEquals(tostring(net[3][1]), 'Identity()')
  lu.assertStrContains(error_of(net.set_submodule, net, '2.7', nn.Identity(), {strict = true}), "has no module '7'")
end

TestState = {}

function TestState:test_every_problem_is_named()
  local net = small()
  local state = net:state_dict()
  state['0.weight'], state['1.running_mean'], state['2.0.bias'] = torch.ones(7), torch.ones(1, 3), nil
  state.extra, state['2.more.x'] = torch.ones(1), torch.ones(1)
  local text = error_of(net.load_state_dict, net, state)
  lu.assertStrContains(text, 'Error(s) in loading state_dict for Sequential:\n'
    .. '\tMissing key(s) in state_dict: "2.0.bias". \n\tUnexpected key(s) in state_dict: "extra", "2.more.x". \n\tsize')
  local mismatch = 'size mismatch for %s: copying a param with shape torch.Size(%s) from checkpoint, '
    .. 'the shape in current model is torch.Size(%s).'
  lu.assertStrContains(text, mismatch:format('0.weight', '[7]', '[3, 2]'))
  lu.assertStrContains(text, mismatch:format('1.running_mean', '[1, 3]', '[3]'))
  state['0.weight'], state['1.running_mean'] = nil, nil
  local result = net:load_state_dict(state, {strict = false})
  lu.assertEquals(result.missing_keys, {'0.weight', '1.running_mean', '2.0.bias'})
  lu.assertEquals(result.unexpected_keys, {'extra', '2.more.x'})
  lu.assertStrContains(tostring(result), 'unexpected_keys=["extra", "2.more.x"]')
end

function TestState:test_assign_takes_the_tensors_themselves()
  local net, weight = nn.Linear(2, 1), torch.ones(1, 2, {dtype = 'float64'})
  net:requires_grad_(false)
  net:load_state_dict({weight = weight, bias = torch.zeros(1)}, {assign = true})
  lu.assertEquals(net.weight.dtype, 'float64')
  lu.assertEquals(net.weight:data_ptr(), weight:data_ptr())
  lu.assertFalse(net.weight.requires_grad)
  lu.assertEquals(#net:parameters(), 2)
end

function TestState:test_old_files_load()
  local norm = nn.BatchNorm1d(2)
  local state = norm:state_dict()
  state.num_batches_tracked = nil
  lu.assertEquals(norm:load_state_dict(state).missing_keys, {})
  local scalar = nn.Identity()
  scalar.scale = nn.Parameter(torch.tensor(0))
  scalar:load_state_dict{scale = torch.tensor{3}}
  lu.assertEquals(scalar.scale:item(), 3)
end

function TestState:test_extra_state()
  local Counter = nn.Module:extend('Counter')
  function Counter:init() self.count = 0 end
  function Counter:get_extra_state() return {count = self.count} end
  function Counter:set_extra_state(state) self.count = state.count end
  local a, b = nn.Sequential(Counter()), nn.Sequential(Counter())
  a[1].count = 5
  lu.assertEquals(ordered.keys(a:state_dict()), {'0._extra_state'})
  b:load_state_dict(a:state_dict())
  lu.assertEquals(b[1].count, 5)
  lu.assertStrContains(error_of(b.load_state_dict, b, {}), 'Missing key(s) in state_dict: "0._extra_state"')
end

function TestState:test_hooks_of_state()
  local net, order = small(), {}
  net[1]:register_state_dict_pre_hook(function(_, prefix, keep_vars) order[#order + 1] = prefix .. tostring(keep_vars) end)
  local handle = net:register_state_dict_post_hook(function(_, state) state['0.bias'] = nil end)
  local state = net:state_dict{keep_vars = true}
  lu.assertEquals(order, {'0.true'})
  lu.assertNil(state['0.bias'])
  handle:remove()
  lu.assertNotNil(net:state_dict()['0.bias'])
  net[1]:register_load_state_dict_pre_hook(function(_, given, prefix) given[prefix .. 'bias'] = torch.full({3}, 7) end)
  net:load_state_dict(state)
  lu.assertEquals(net[1].bias:sum():item(), 21)
  local other = nn.Linear(2, 2)
  other:register_load_state_dict_post_hook(function(_, keys) keys.missing_keys[1] = nil end)
  lu.assertEquals(other:load_state_dict{weight = torch.ones(2, 2)}.missing_keys, {})
end

TestConversion = {}

function TestConversion:test_forms_of_to()
  local net = small()
  net:to('cpu', torch.float64)
  lu.assertEquals({net[1].weight.dtype, net[2].num_batches_tracked.dtype}, {'float64', 'int64'})
  net:to(torch.ones(1, {dtype = 'bfloat16'}))
  lu.assertEquals(net[2].running_mean.dtype, 'bfloat16')
  net:to{dtype = 'float32'}
  lu.assertEquals(net:half()[1].weight.dtype, 'float16')
  lu.assertEquals(net:type('float64')[2].num_batches_tracked.dtype, 'float64')
  lu.assertStrContains(error_of(net.to, net, {dtype = 'int64'}), 'not a floating-point dtype')
  lu.assertStrContains(error_of(net.to, net, {devise = 'cpu'}), "did you mean 'device'?")
end

function TestConversion:test_gradients_follow()
  local net = nn.Linear(2, 1)
  net(torch.ones(1, 2)):backward()
  net:double()
  lu.assertEquals(net.weight.grad.dtype, 'float64')
end

function TestConversion:test_channels_last()
  local net = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Flatten(), nn.Linear(4, 2)):to{memory_format = 'channels_last'}
  lu.assertTrue(net[1].weight:is_contiguous{memory_format = 'channels_last'})
  local one = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(3, 4, 2), 'channels_last')
  lu.assertTrue(one.weight:is_contiguous{memory_format = 'channels_last'})
end

function TestConversion:test_meta_and_empty()
  local net = nn.Linear(2, 3, {device = 'meta'}):to_empty{device = 'cpu'}
  lu.assertEquals({net.weight.device, #net:parameters()}, {'cpu', 2})
  lu.assertStrContains(error_of(net.to_empty, net), 'give the device')
  local ok, err = pcall(net.share_memory, net)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'unsupported')
end

function TestConversion:test_to_meta_and_back()
  local net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
  local weight = net[1].weight
  net(torch.ones(4, 2)):sum():backward()
  local empty, meta = net:deepcopy():to_empty{device = 'meta'}, net:to 'meta'
  lu.assertEquals({meta[1].weight.grad.device, empty[1].weight.device, empty[2].running_var.device}, {'meta', 'meta', 'meta'})
  lu.assertEquals({meta[1].weight.device, meta[2].running_mean.device, meta[1].weight.requires_grad}, {'meta', 'meta', true})
  lu.assertEquals(#meta:parameters(), 4)
  lu.assertEquals(meta[1](torch.ones({4, 2}, {device = 'meta'})).shape, torch.ones(4, 3).shape)
  lu.assertEquals(weight.device, 'cpu')  -- as in Python, parameters are replaced by new ones
  net:to_empty{device = 'cpu'}
  lu.assertEquals({net[1].weight.device, net[2].running_var.device, net[1].bias.grad.device}, {'cpu', 'cpu', 'cpu'})
  net[1]:to{device = 'meta', dtype = 'float64'}
  lu.assertEquals({net[1].bias.device, net[1].bias.dtype, net[2].bias.device}, {'meta', 'float64', 'cpu'})
end

TestCopies = {}

function TestCopies:test_deepcopy_keeps_sharing_inside()
  local shared = nn.Linear(2, 2)
  local net = nn.Sequential(shared, nn.BatchNorm1d(2), shared)
  net.note = {list = {1, 2}, ['self'] = net}
  shared:register_forward_hook(function(_, _, y) return y + 1 end)
  local copy = net:deepcopy()
  lu.assertIs(copy[1], copy[3])
  lu.assertNotIs(copy[1], net[1])
  lu.assertIs(copy.note.self, copy)
  lu.assertEquals(#copy:parameters(), #net:parameters())
  lu.assertTrue(torch.equal(copy:eval()(torch.ones(3, 2)), net:eval()(torch.ones(3, 2))))
  torch.no_grad(function() copy[1].weight:zero_() end)
  lu.assertTrue(shared.weight:abs():sum():item() > 0)
end

function TestCopies:test_deepcopy_of_values()
  local x = torch.ones(2, {requires_grad = true})
  x:sum():backward()
  local copy = torch.deepcopy{x = x, map = ordered.new{{'b', 1}, {'a', x}}, fn = print}
  lu.assertEquals(copy.x.grad:tolist(), {1, 1})
  lu.assertEquals(ordered.keys(copy.map), {'b', 'a'})
  lu.assertIs(copy.map.a, copy.x)
  lu.assertStrContains(error_of(torch.deepcopy, x * 2), 'detach() or clone() it')
end

TestLists = {}

function TestLists:test_list_operations()
  local net = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
  net:insert(1, nn.Tanh()):extend{nn.Linear(2, 1)}
  lu.assertEquals(names(net:named_parameters()), '1.weight 1.bias 3.weight 3.bias')
  lu.assertEquals(tostring(net:pop(1)), 'Tanh()')
  lu.assertEquals(names(net:named_parameters()), '0.weight 0.bias 2.weight 2.bias')
  lu.assertEquals(#net:slice(-2), 2)
  lu.assertStrContains(error_of(net.pop, net, 9), 'there is no index 9')
  lu.assertStrContains(error_of(net.insert, net, 1, 3), 'nn.Module expected, got number')
  local joined = nn.ModuleList{nn.ReLU()} + nn.ModuleList{nn.Tanh()}
  lu.assertEquals(#joined, 2)
  lu.assertEquals(#(net * 2), 2 * #net)
  lu.assertIs((2 * net)[1], net[1])
  table.remove(net)
  lu.assertEquals(names(net:named_parameters()), '0.weight 0.bias')
end

function TestLists:test_a_nil_in_a_list_is_an_error()
  local short = {nn.ReLU()}
  short[3] = nn.Tanh()
  for _, list in ipairs{short, {nn.ReLU(), nil, nn.Tanh()}} do
    for name, make in torch.items(ordered.new{{'Sequential', nn.Sequential}, {'ModuleList', nn.ModuleList},
                                              {'ParameterList', nn.ParameterList}}) do
      lu.assertStrContains(error_of(make, list), name .. ': item 2 of the list is nil')
    end
    lu.assertStrContains(error_of(function() nn.ModuleList():extend(list) end), 'ModuleList: item 2 of the list is nil')
  end
  lu.assertStrContains(error_of(nn.Sequential, nn.ReLU(), nil, nn.Tanh()), 'nn.Module expected as item 2, got nil')
  lu.assertStrContains(error_of(nn.Sequential, nn.ReLU(), nil), 'nn.Module expected as item 2, got nil')
  lu.assertStrContains(error_of(nn.ModuleList, {relu = nn.ReLU()}), "expected a list, got a table with a field 'relu'")
  lu.assertEquals(#nn.ModuleList {} + #nn.Sequential {} + #nn.Sequential(), 0)
end

function TestLists:test_dictionaries()
  local dict = nn.ModuleDict{{'b', nn.Linear(1, 1)}, {'a', nn.ReLU()}}
  dict:update{{'c', nn.Tanh()}, {'b', nn.Identity()}}
  lu.assertEquals(dict:keys(), {'b', 'a', 'c'})
  lu.assertTrue(dict:contains 'a')
  lu.assertStrContains(error_of(dict.pop, dict, 'd'), "ModuleDict has no 'd'")
  dict:clear()
  lu.assertEquals({dict:len(), #dict:parameters()}, {0, 0})
  local params = nn.ParameterDict{{'x', torch.ones(1)}}
  params.y = torch.zeros(2)
  lu.assertEquals(names(params:named_parameters()), 'x y')
  lu.assertEquals(params:setdefault('z', 3), 3)
  lu.assertEquals({params:popitem()}, {'z', 3})
  lu.assertStrContains(error_of(params, 1), 'cannot be called')
end

function TestLists:test_parameter_list_takes_replaced_tensors()
  local list = nn.ParameterList{torch.ones(1), torch.ones(2)}
  list[2] = torch.zeros(3)
  lu.assertEquals(list:state_dict()['1'].shape[1], 3)
  lu.assertTrue(list[2].requires_grad)
end

TestParametrize = {}

function TestParametrize:test_several_and_removal()
  local Double, Shift = nn.Module:extend('Double'), nn.Module:extend('Shift')
  function Double:forward(x) return x * 2 end
  function Double:right_inverse(x) return x / 2 end
  function Shift:forward(x) return x + 1 end
  function Shift:right_inverse(x) return x - 1 end
  local layer, parametrize = nn.Linear(2, 2), nn.utils.parametrize
  local before = layer.weight:clone():detach()
  parametrize.register_parametrization(layer, 'weight', Double())
  parametrize.register_parametrization(layer, 'weight', Shift())
  lu.assertTrue(torch.allclose(layer.weight, before + 1))
  layer.weight = torch.full({2, 2}, 5)
  lu.assertEquals(layer.parametrizations.weight.original:tolist(), {{2, 2}, {2, 2}})
  lu.assertTrue(parametrize.is_parametrized(layer, 'weight'))
  lu.assertEquals(tostring(layer):match '^%w+', 'ParametrizedLinear')
  local copy = layer:deepcopy()
  lu.assertEquals(copy.weight:sum():item(), 20)
  local calls = 0
  layer.parametrizations.weight:register_forward_hook(function() calls = calls + 1 end)
  parametrize.cached(function() return layer.weight + layer.weight end)
  lu.assertEquals(calls, 1)
  parametrize.remove_parametrizations(layer, 'weight')
  lu.assertEquals(layer.weight:sum():item(), 20)
  lu.assertEquals(tostring(layer), 'Linear(in_features=2, out_features=2, bias=True)')
  lu.assertEquals(names(layer:named_parameters()), 'bias weight')
end

function TestParametrize:test_what_is_refused()
  local Flat = nn.Module:extend('Flat')
  function Flat:forward(x) return x:reshape(-1) end
  local register = nn.utils.parametrize.register_parametrization
  lu.assertStrContains(error_of(register, nn.Linear(2, 2), 'weight', Flat()), 'may not change dtype or shape')
  lu.assertStrContains(error_of(register, nn.Linear(2, 2), 'wait', Flat()), "Linear has no parameter or buffer 'wait'")
  lu.assertStrContains(error_of(nn.utils.remove_weight_norm, nn.Linear(1, 1)), "weight_norm of 'weight' not found")
end

function TestParametrize:test_state_of_the_older_weight_norm_loads()
  local old, new = nn.utils.weight_norm(nn.Linear(3, 2)), nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
  new:load_state_dict(old:state_dict())
  local x = torch.randn(1, 3)
  lu.assertTrue(torch.allclose(old(x), new(x)))
end

TestFunctionalCall = {}

function TestFunctionalCall:test_the_module_keeps_its_own()
  local net, call = small():eval(), nn.utils.stateless.functional_call
  local before = net(torch.ones(1, 2)):item()
  local zero = {}
  for name, param in net:named_parameters() do zero[name] = torch.zeros_like(param) end
  lu.assertEquals(call(net, zero, torch.ones(1, 2)):item(), 0)
  lu.assertEquals(net(torch.ones(1, 2)):item(), before)
  lu.assertFalse(pcall(call, net, {['0.weight'] = torch.zeros(9, 9)}, torch.ones(1, 2)))
  lu.assertEquals(net(torch.ones(1, 2)):item(), before)
  local with_two = torch.func.functional_call(net, {zero, {['1.running_mean'] = torch.ones(3)}}, torch.ones(1, 2))
  lu.assertEquals(with_two:item(), 0)
  lu.assertStrContains(error_of(call, net, {zero, zero}, torch.ones(1, 2)), 'is in two of the tables')
  lu.assertStrContains(error_of(call, net, {['0.weigth'] = torch.zeros(1)}, torch.ones(1)), "did you mean '0.weight'?")
end

os.exit(lu.LuaUnit.run(), true)
