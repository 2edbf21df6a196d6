-- Inputs of built-in modules: by position or by PyTorch's names; unknown names are errors.
local lu = require 'luaunit'
local torch = require 'torch'
local nn = torch.nn
local message_of = require('refusal').message_of

TestInputs = {}

local x2, x3, x4 = torch.randn(2, 4), torch.randn(2, 4, 6), torch.randn(2, 4, 6, 6)

-- A module of each kind, and its inputs by PyTorch's names in order.
local CASES = {
  {nn.Linear(4, 2), {'input', x2}}, {nn.Bilinear(4, 4, 2), {'input1', x2}, {'input2', x2}}, {nn.ReLU(), {'input', x2}},
  {nn.PReLU(), {'input', x2}}, {nn.Softmax(1), {'input', x2}}, {nn.Dropout(0), {'input', x2}},
  {nn.Flatten(), {'input', x3}}, {nn.Unflatten(1, {2, 2}), {'input', x2}}, {nn.LayerNorm(4), {'input', x2}},
  {nn.RMSNorm(4), {'x', x2}}, {nn.GroupNorm(2, 4), {'input', x2}}, {nn.BatchNorm1d(4), {'input', x2}},
  {nn.InstanceNorm1d(4), {'input', x3}}, {nn.Conv1d(4, 2, 3), {'input', x3}}, {nn.Conv2d(4, 2, 3), {'input', x4}},
  {nn.ConvTranspose1d(4, 2, 3), {'input', x3}}, {nn.MaxPool1d(2), {'input', x3}}, {nn.AvgPool2d(2), {'input', x4}},
  {nn.AdaptiveAvgPool1d(2), {'input', x3}}, {nn.ZeroPad2d(1), {'input', x4}}, {nn.Upsample{scale_factor = 2}, {'input', x3}},
  {nn.PixelShuffle(2), {'input', x4}}, {nn.Identity(), {'input', x2}}, {nn.GRU(6, 3), {'input', x3}},
  {nn.GRUCell(4, 3), {'input', x2}}, {nn.Embedding(5, 3), {'input', torch.tensor{1LL, 2LL}}},
  {nn.EmbeddingBag(5, 3), {'input', torch.tensor{{1LL, 2LL}}}}, {nn.CosineSimilarity(1), {'x1', x2}, {'x2', x2}},
  {nn.PairwiseDistance(), {'x1', x2}, {'x2', x2}}, {nn.MSELoss(), {'input', x2}, {'target', x2}},
  {nn.PoissonNLLLoss(), {'log_input', x2}, {'target', torch.ones(2, 4)}},
  {nn.CosineEmbeddingLoss(), {'input1', x2}, {'input2', x2}, {'target', torch.ones(2)}},
  {nn.TripletMarginLoss(), {'anchor', x2}, {'positive', x2}, {'negative', x2}},
  {nn.GaussianNLLLoss(), {'input', x2}, {'target', x2}, {'var', torch.ones(2, 4)}},
  {nn.MultiheadAttention(6, 2), {'query', x3}, {'key', x3}, {'value', x3}},
  {nn.TransformerEncoderLayer(6, 2, {dim_feedforward = 4, dropout = 0}), {'src', x3}},
}

local function call(case)
  local by_name, by_place = {}, {}
  for i = 2, #case do
    by_name[case[i][1]] = case[i][2]
    by_place[i - 1] = case[i][2]
  end
  return (case[1](unpack(by_place))), (case[1](by_name))
end

function TestInputs:test_by_position_and_by_name()
  for _, case in ipairs(CASES) do
    local by_place, by_name = call(case)
    lu.assertTrue(torch.equal(by_place, by_name), tostring(case[1]))
  end
end

function TestInputs:test_an_unknown_name_is_an_error()
  for _, case in ipairs(CASES) do
    local given = {}
    for i = 2, #case do given[i - 1] = case[i][2] end
    given[#given + 1] = {nonsense = 1}
    if not torch.nn.Identity or tostring(case[1]) ~= 'Identity()' then
      local text, err = message_of(case[1], unpack(given))
      lu.assertStrContains(text, "unknown argument 'nonsense'", tostring(case[1]))
      lu.assertEquals(err.code, 'argument')
    end
  end
end

function TestInputs:test_what_is_no_tensor_and_one_too_many_are_errors()
  for _, value in ipairs{3, 'x', true} do
    for _, case in ipairs(CASES) do
      local given = {}
      for i = 2, #case do given[i - 1] = value end
      if tostring(case[1]) ~= 'Identity()' then
        local _, err = message_of(case[1], unpack(given))
        lu.assertEquals(type(err) == 'table' and err.code or err, 'argument', tostring(case[1]))
      end
    end
  end
  lu.assertStrContains(message_of(nn.Linear(4, 2), x2, x2), 'Linear: expected at most 1 arguments, got 2')
  lu.assertStrContains(message_of(nn.Linear(4, 2)), "Linear: missing argument 'input'")
  lu.assertStrContains(message_of(nn.Conv2d(4, 2, 3), 3), "Conv2d: argument 'input': expected a Tensor, got number")
end

function TestInputs:test_what_may_be_absent_may_be_named()
  local unpool, y, places = nn.MaxUnpool2d(2), nn.MaxPool2d(2, {return_indices = true})(x4)
  lu.assertTrue(torch.equal(unpool(y, places, {output_size = {7, 7}}), unpool(y, places, {7, 7})))
  local gru, h = nn.GRU(6, 3), torch.randn(1, 4, 3)
  lu.assertTrue(torch.equal((gru(x3, {hx = h})), (gru(x3, h))))
  local lstm, state = nn.LSTM(6, 3), {torch.randn(1, 4, 3), torch.randn(1, 4, 3)}
  lu.assertTrue(torch.equal((lstm{input = x3, hx = state}), (lstm(x3, state))))
  lu.assertStrContains(message_of(lstm, x3, {h, 3}), "LSTM: argument 'hx': item 2: expected a Tensor, got number")
end

function TestInputs:test_identity_lets_a_table_through()
  local batch = {a = 1, input = 2}
  lu.assertTrue(rawequal(nn.Identity()(batch), batch))
end

TestFunctionArguments = {}

local F = nn.functional

function TestFunctionArguments:test_functions_take_input_by_name_and_know_their_names()
  for _, name in ipairs{'logsigmoid', 'softsign', 'tanhshrink', 'softmin', 'dropout3d', 'normalize'} do
    local fn, input = F[name], name == 'dropout3d' and torch.ones(1, 1, 1, 2, 2) or x2
    local rest = name == 'softmin' and {dim = 1} or name == 'dropout3d' and {p = 0} or {}
    local named = {input = input, dim = rest.dim, p = rest.p}
    lu.assertTrue(torch.equal(fn(named), fn(input, rest)), name)
    local text, err = message_of(fn, input, {nonsense = 1})
    lu.assertStrContains(text, "unknown argument 'nonsense'")
    lu.assertEquals(err.code, 'argument')
  end
  lu.assertStrContains(message_of(torch.broadcast_shapes, {2, 1}, {nonsense = 1}), "unknown option 'nonsense'")
  local found = torch.nonzero{input = torch.tensor{0, 5}, as_tuple = true}
  lu.assertEquals(found[1]:tolist(), {1})
  lu.assertEquals(torch.atleast_2d{input = torch.tensor{1}}.shape, {1, 1})
  lu.assertEquals(torch.norm{input = torch.tensor{3, 4}}:item(), 5)
  lu.assertEquals(torch.unravel_index{indices = torch.tensor{5LL}, shape = {2, 3}}[1]:item(), 1)
end

-- Calls torch.nn.functional and nn.init with a wrong first argument: the error has a code, never just a string.
function TestFunctionArguments:test_what_is_no_tensor_is_an_error_with_a_code()
  local bare = {}
  for _, space in ipairs{F, nn.init} do
    for _, name in ipairs(getmetatable(space).__names(space)) do
      for _, given in ipairs{{3}, {'x'}, {true}, {torch.ones(2, 2), 3}, {3, torch.ones(2, 2), torch.ones(2, 2)},
                             {torch.ones(2, 2), torch.ones(2, 2), true}, {torch.ones(2), 'x', 'x', 'x'}} do
        local ok, err = pcall(space[name], unpack(given))
        if not ok and (type(err) ~= 'table' or err.code == 'internal') then bare[#bare + 1] = name .. ': ' .. tostring(err) end
      end
    end
  end
  lu.assertEquals(bare, {})
end

function TestFunctionArguments:test_a_bias_of_another_dtype_is_refused()
  for dims, conv in ipairs{'conv1d', 'conv2d', 'conv3d'} do
    local input, weight = torch.ones(1, 1, unpack({4, 4, 4}, 1, dims)), torch.ones(1, 1, unpack({2, 2, 2}, 1, dims))
    local text = message_of(torch[conv], input, weight, torch.ones(1, {dtype = 'float64'}))
    lu.assertStrContains(text, 'bias type (double) should be the same')
    lu.assertEquals(torch[conv](input, weight, nil, 1, 'same').shape[3], 4)
    lu.assertEquals(torch[conv](input, weight, nil, {padding = 'valid'}).shape[3], 3)
  end
end

function TestFunctionArguments:test_unravel_index_takes_sizes_that_no_double_holds()
  local coordinates = torch.unravel_index(torch.tensor{5LL, 7LL}, {9223372036854775807LL})
  lu.assertEquals(coordinates[1]:tolist(), {5, 7})
  lu.assertEquals(torch.unravel_index(torch.tensor{5LL}, {2 ^ 62, 2})[1]:item(), 2)
  lu.assertStrContains(message_of(torch.unravel_index, torch.tensor{5LL}, {2 ^ 63}), 'below 2^63')
  lu.assertStrContains(message_of(torch.unravel_index, torch.tensor{5LL}, {2, 2 ^ 62, 4}), 'below 2^63')
end

os.exit(lu.LuaUnit.run(), true)
