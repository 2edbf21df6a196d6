-- torch/nn/rnn.lua: recurrent networks over whole sequences: RNN, LSTM, GRU.

local args = require 'base.args'
local class = require 'base.class'
local checks = require 'torch.functions.checks'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local PackedSequence = require('torch.nn.utils.rnn').PackedSequence
local torch = require 'torch'

local GATES = {LSTM = 4, GRU = 3, RNN_TANH = 1, RNN_RELU = 1}
local OPERATORS = {LSTM = 'lstm', GRU = 'gru', RNN_TANH = 'rnn_tanh', RNN_RELU = 'rnn_relu'}

---The common base of RNN, LSTM and GRU.
---@class nn.RNNBase: nn.Module
local RNNBase = Module:extend('RNNBase')

local function fail(self, message, ...)
  errors.raise('argument', class.of(self).__name .. ': ' .. message:format(...))
end

local function check_arguments(self, a)
  for _, name in ipairs{'input_size', 'hidden_size', 'num_layers'} do
    if type(a[name]) ~= 'number' or a[name] <= 0 then
      fail(self, '%s must be greater than zero, got %s', name, tostring(a[name]))
    end
  end
  if type(a.dropout) ~= 'number' or a.dropout < 0 or a.dropout > 1 then
    fail(self, 'dropout is a probability between 0 and 1, got %s', tostring(a.dropout))
  end
  if a.proj_size < 0 or a.proj_size >= a.hidden_size then
    fail(self, 'proj_size = %d must be smaller than hidden_size = %d', a.proj_size, a.hidden_size)
  end
end

-- Returns {name, shape} of the parameters of one layer in one direction.
local function layer_parameters(self, layer, suffix)
  local gates, out = GATES[self.mode] * self.hidden_size, self:_output_size()
  local width = layer == 0 and self.input_size or out * self._directions
  local list = {{'weight_ih', {gates, width}}, {'weight_hh', {gates, out}}}
  if self.bias then
    list[3], list[4] = {'bias_ih', {gates}}, {'bias_hh', {gates}}
  end
  if self.proj_size > 0 then list[#list + 1] = {'weight_hr', {self.proj_size, self.hidden_size}} end
  for _, entry in ipairs(list) do entry[1] = ('%s_l%d%s'):format(entry[1], layer, suffix) end
  return list
end

-- Sets fields and parameters from bound arguments.
function RNNBase:_set_up(mode, a)
  require('torch.functions.checks').counts(class.of(self).__name, a, 'input_size', 'hidden_size', 'num_layers')
  check_arguments(self, a)
  self.mode, self.input_size, self.hidden_size, self.num_layers = mode, a.input_size, a.hidden_size, a.num_layers
  self.bias, self.batch_first, self.dropout = a.bias, a.batch_first, a.dropout
  self.bidirectional, self.proj_size, self._directions = a.bidirectional, a.proj_size, a.bidirectional and 2 or 1
  self._weight_names = {}
  for layer = 0, a.num_layers - 1 do
    for direction = 1, self._directions do
      local names = {}
      for i, entry in ipairs(layer_parameters(self, layer, direction == 2 and '_reverse' or '')) do
        names[i] = entry[1]
        self[entry[1]] = Parameter(torch.empty(entry[2], {dtype = a.dtype, device = a.device}))
      end
      table.insert(self._weight_names, names)
    end
  end
  self:reset_parameters()
end

function RNNBase:reset_parameters()
  local bound = 1 / math.sqrt(self.hidden_size)
  for _, param in ipairs(self:parameters()) do init.uniform_(param, -bound, bound) end
end

---Returns the weights of each layer and direction: Python's property all_weights.
---@return torch.Tensor[][]
function RNNBase:all_weights()
  local out = {}
  for i, names in ipairs(self._weight_names) do
    out[i] = {}
    for j, name in ipairs(names) do out[i][j] = self[name] end
  end
  return out
end

function RNNBase:_flat_weights()
  local out = {}
  for _, weights in ipairs(self:all_weights()) do
    for _, weight in ipairs(weights) do out[#out + 1] = weight end
  end
  return out
end

---Does nothing. PyTorch calls it to arrange the weights for cuDNN; here cuDNN does that in each call.
function RNNBase:flatten_parameters() end

function RNNBase:_output_size() return self.proj_size > 0 and self.proj_size or self.hidden_size end

-- Returns the sizes of the states: of h, and for LSTM also of c.
function RNNBase:_state_sizes() return {self:_output_size()} end

local function check_input(self, x, dims)
  if x:dim() ~= dims then fail(self, 'expected %d dimensions, got %d', dims, x:dim()) end
  if x:size(-1) ~= self.input_size then
    fail(self, 'expected an input of size %d, got %d', self.input_size, x:size(-1))
  end
  local weight = self[self._weight_names[1][1]]
  if x.dtype ~= weight.dtype and not torch.is_autocast_enabled(x.is_cuda and 'cuda' or 'cpu') then
    fail(self, 'input is %s, the weights are %s: convert one of them', x.dtype, weight.dtype)
  end
end

local function check_state(self, states, batch)
  for i, size in ipairs(self:_state_sizes()) do
    local wanted = ('torch.Size([%d, %d, %d])'):format(self.num_layers * self._directions, batch, size)
    if not torch.is_tensor(states[i]) then fail(self, 'state %d: expected a tensor of %s', i, wanted) end
    if tostring(states[i].shape) ~= wanted then
      fail(self, 'state %d: expected %s, got %s', i, wanted, tostring(states[i].shape))
    end
  end
end

-- Returns the states as a list of tensors with a batch dimension, in the order of the packed sequence.
local function initial_states(self, given, x, batch, alone, permutation)
  local states = {}
  if given == nil then
    for i, size in ipairs(self:_state_sizes()) do
      states[i] = torch.zeros({self.num_layers * self._directions, batch, size}, {dtype = x.dtype, device = x.device})
    end
    return states
  end
  for i, state in ipairs(checks.list_of_tensors(class.of(self).__name .. ": argument 'hx'", given)) do
    local dims = alone and 2 or 3
    if state:dim() ~= dims then fail(self, 'the state has %d dimensions here, got %d', dims, state:dim()) end
    state = alone and state:unsqueeze(1) or state
    states[i] = permutation and state:index_select(1, permutation) or state
  end
  check_state(self, states, batch)
  return states
end

local function run(self, x, sizes, states)
  local training = self.training
  local operator = torch[OPERATORS[self.mode]]
  local state = self.mode == 'LSTM' and states or states[1]
  local weights, bias = self:_flat_weights(), self.bias
  if sizes then
    return {operator(x, sizes, state, weights, bias, self.num_layers, self.dropout, training, self.bidirectional)}
  end
  return {operator(x, state, weights, bias, self.num_layers, self.dropout, training, self.bidirectional,
    self.batch_first)}
end

-- Returns h, or for LSTM {h, c}.
local function final_state(results, change)
  local states = {}
  for i = 2, #results do states[i - 1] = change(results[i]) end
  return #states == 1 and states[1] or states
end

local function forward_packed(self, packed, given)
  local x, sizes, sorted = packed.data, packed.batch_sizes, packed.sorted_indices
  check_input(self, x, 2)
  local count = packed._count or sizes[0]:item()
  local states = initial_states(self, given, x, count, false, sorted)
  local results = run(self, x, sizes, states)
  local unsorted = packed.unsorted_indices
  local output = PackedSequence(results[1], sizes, sorted, unsorted)
  output._count = count
  return output, final_state(results, function(state)
    return unsorted and state:index_select(1, unsorted) or state
  end)
end

local take = inputs({'input', {'hx'}}, {'input'})

---input (L, N, input_size), or (N, L, input_size) with batch_first, or (L, input_size), or a PackedSequence. The state is
---(num_layers · directions, N, hidden_size), without N for an input without a batch; for LSTM it is a list {h, c}.
---Arguments: input, hx (the state, default: zeros).
---@param ... any
---@return torch.Tensor|nn.utils.rnn.PackedSequence output (L, N, directions · hidden_size): the states of the last layer
---@return torch.Tensor|torch.Tensor[] state the last state of each layer
function RNNBase:forward(...)
  local input, state = take(self, ...)
  if class.is(input, PackedSequence) then return forward_packed(self, input, state) end
  checks.tensor(class.of(self).__name .. ": argument 'input'", input)
  local alone, batch_dim = input:dim() == 2, self.batch_first and 0 or 1
  local x = alone and input:unsqueeze(batch_dim) or input
  check_input(self, x, 3)
  local results = run(self, x, nil, initial_states(self, state, x, x:size(batch_dim), alone))
  if not alone then return results[1], final_state(results, function(h) return h end) end
  return results[1]:squeeze(batch_dim), final_state(results, function(h) return h:squeeze(1) end)
end

function RNNBase:extra_repr()
  local fields = {{'', self.input_size}, {'', self.hidden_size}}
  local function add(name, value, default)
    if value ~= default then fields[#fields + 1] = {name, value} end
  end
  add('proj_size', self.proj_size, 0)
  add('num_layers', self.num_layers, 1)
  add('bias', self.bias, true)
  add('batch_first', self.batch_first, false)
  if self.dropout ~= 0 then fields[#fields + 1] = {'dropout', repr.float(self.dropout), true} end
  add('bidirectional', self.bidirectional, false)
  return repr.fields(fields)
end

-- `before` and `after` are parameters in addition to the common ones.
local function signature_of(name, before, after)
  local parameters = {'input_size', 'hidden_size', {'num_layers', 1}}
  for _, parameter in ipairs(before) do parameters[#parameters + 1] = parameter end
  for _, parameter in ipairs{{'bias', true}, {'batch_first', false}, {'dropout', 0}, {'bidirectional', false}} do
    parameters[#parameters + 1] = parameter
  end
  for _, parameter in ipairs(after) do parameters[#parameters + 1] = parameter end
  parameters[#parameters + 1], parameters[#parameters + 2] = {'device'}, {'dtype'}
  return args.signature(name, parameters)
end

---h' = tanh(W_ih x + b_ih + W_hh h + b_hh) along a sequence (Elman 1990). Arguments: input_size, hidden_size, {num_layers =
---1, nonlinearity = 'tanh' | 'relu', bias = true, batch_first = false, dropout = 0 (between layers), bidirectional =
---false, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local rnn = torch.nn.RNN(3, 5, {num_layers = 2, bidirectional = true})
---local output, h = rnn(torch.randn(7, 4, 3))
---assert(output.shape[3] == 10 and h.shape[1] == 4)
---```
---@class nn.RNN: nn.Module
---@overload fun(input_size: integer, hidden_size: integer, options?: table): nn.RNN
local RNN = RNNBase:extend('RNN')

local rnn_signature = signature_of('RNN', {{'nonlinearity', 'tanh'}}, {})

function RNN:init(...)
  local a = rnn_signature:bind(...)
  a.proj_size = 0
  self.nonlinearity = args.one_of('RNN: nonlinearity', a.nonlinearity, {'relu', 'tanh'})
  self:_set_up(a.nonlinearity == 'tanh' and 'RNN_TANH' or 'RNN_RELU', a)
end

---Long short-term memory (Hochreiter and Schmidhuber 1997) along a sequence; the state is a list {h, c}. Arguments:
---input_size, hidden_size, {num_layers = 1, bias = true, batch_first = false, dropout = 0 (between layers), bidirectional =
---false, proj_size = 0 (Sak et al. 2014), device, dtype}.
---
---```lua
---local torch = require 'torch'
---local lstm = torch.nn.LSTM(3, 5, {batch_first = true})
---local output, state = lstm(torch.randn(4, 7, 3))
---assert(output.shape[2] == 7 and state[1].shape[3] == 5 and state[2].shape[2] == 4)
---output, state = lstm(torch.randn(4, 1, 3), state)
---```
---@class nn.LSTM: nn.Module
---@overload fun(input_size: integer, hidden_size: integer, options?: table): nn.LSTM
local LSTM = RNNBase:extend('LSTM')

local lstm_signature = signature_of('LSTM', {}, {{'proj_size', 0}})

function LSTM:init(...) self:_set_up('LSTM', lstm_signature:bind(...)) end

function LSTM:_state_sizes() return {self:_output_size(), self.hidden_size} end

---Gated recurrent units (Cho et al. 2014) along a sequence. Arguments: input_size, hidden_size, {num_layers = 1, bias = true,
---batch_first = false, dropout = 0 (between layers), bidirectional = false, device, dtype}.
---@class nn.GRU: nn.Module
---@overload fun(input_size: integer, hidden_size: integer, options?: table): nn.GRU
local GRU = RNNBase:extend('GRU')

local gru_signature = signature_of('GRU', {}, {})

function GRU:init(...)
  local a = gru_signature:bind(...)
  a.proj_size = 0
  self:_set_up('GRU', a)
end

return {RNNBase = RNNBase, RNN = RNN, LSTM = LSTM, GRU = GRU}
