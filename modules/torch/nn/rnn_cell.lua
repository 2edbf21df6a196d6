-- torch/nn/rnn_cell.lua: one step of a recurrent network: RNNCell, LSTMCell, GRUCell.

local args = require 'base.args'
local class = require 'base.class'
local checks = require 'torch.functions.checks'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

local take = inputs{'input', {'hx'}}

---The common base of RNNCell, LSTMCell and GRUCell.
---@class nn.RNNCellBase: nn.Module
local RNNCellBase = Module:extend('RNNCellBase')

function RNNCellBase:_set_up(a, gates)
  require('torch.functions.checks').counts(class.of(self).__name, a, 'input_size', 'hidden_size')
  local like = {dtype = a.dtype, device = a.device}
  self.input_size, self.hidden_size, self.bias = a.input_size, a.hidden_size, a.bias
  self.weight_ih = Parameter(torch.empty({gates * a.hidden_size, a.input_size}, like))
  self.weight_hh = Parameter(torch.empty({gates * a.hidden_size, a.hidden_size}, like))
  for _, name in ipairs{'bias_ih', 'bias_hh'} do
    self:register_parameter(name, a.bias and Parameter(torch.empty({gates * a.hidden_size}, like)) or nil)
  end
  self:reset_parameters()
end

function RNNCellBase:reset_parameters()
  local bound = self.hidden_size > 0 and 1 / math.sqrt(self.hidden_size) or 0
  for _, param in ipairs(self:parameters()) do init.uniform_(param, -bound, bound) end
end

function RNNCellBase:extra_repr()
  local fields = {{'', self.input_size}, {'', self.hidden_size}}
  if self.bias ~= true then fields[#fields + 1] = {'bias', self.bias} end
  if self.nonlinearity and self.nonlinearity ~= 'tanh' then
    fields[#fields + 1] = {'nonlinearity', self.nonlinearity, true}
  end
  return repr.fields(fields)
end

local function check_dims(self, what, x)
  checks.tensor(('%s: %s'):format(class.of(self).__name, what), x)
  if x:dim() == 1 or x:dim() == 2 then return end
  errors.raise('argument', ('%s: %s has 1 or 2 dimensions, got %d'):format(class.of(self).__name, what, x:dim()))
end

-- Runs the operator on (N, …) tensors; missing states are zeros.
function RNNCellBase:_step(operator, input, states, count)
  check_dims(self, 'the input', input)
  local alone = input:dim() == 1
  local x = alone and input:unsqueeze(0) or input
  local batched = {}
  for i = 1, count do
    local state = states[i]
    if state == nil then
      state = torch.zeros({x:size(0), self.hidden_size}, {dtype = x.dtype, device = x.device})
    else
      check_dims(self, 'the state', state)
      state = alone and state:unsqueeze(0) or state
    end
    batched[i] = state
  end
  local results = {torch[operator](x, count == 1 and batched[1] or batched, self.weight_ih, self.weight_hh, self.bias_ih,
    self.bias_hh)}
  for i, result in ipairs(results) do results[i] = alone and result:squeeze(0) or result end
  return unpack(results)
end

---h' = tanh(W_ih x + b_ih + W_hh h + b_hh): forward(x (N, input_size), h (N, hidden_size)) → h'. Arguments: input_size,
---hidden_size, {bias = true, nonlinearity = 'tanh' | 'relu', device, dtype}.
---@class nn.RNNCell: nn.Module
---@overload fun(input_size: integer, hidden_size: integer, options?: table): nn.RNNCell
local RNNCell = RNNCellBase:extend('RNNCell')

local rnn_signature = args.signature('RNNCell', {'input_size', 'hidden_size', {'bias', true}, {'nonlinearity', 'tanh'},
  {'device'}, {'dtype'}})

function RNNCell:init(...)
  local a = rnn_signature:bind(...)
  self.nonlinearity = args.one_of('RNNCell: nonlinearity', a.nonlinearity, {'relu', 'tanh'})
  self:_set_up(a, 1)
end

function RNNCell:forward(...)
  local input, h = take(self, ...)
  return self:_step('rnn_' .. self.nonlinearity .. '_cell', input, {h}, 1)
end

---One step of LSTM: forward(x (N, input_size), {h, c}) → h', c'. Arguments: input_size, hidden_size, {bias = true, device,
---dtype}.
---
---```lua
---local torch = require 'torch'
---local cell = torch.nn.LSTMCell(3, 5)
---local h, c = cell(torch.randn(2, 3))
---h, c = cell(torch.randn(2, 3), {h, c})
---assert(h.shape[2] == 5 and c.shape[1] == 2)
---```
---@class nn.LSTMCell: nn.Module
---@overload fun(input_size: integer, hidden_size: integer, options?: table): nn.LSTMCell
local LSTMCell = RNNCellBase:extend('LSTMCell')

local OPTIONS = {'input_size', 'hidden_size', {'bias', true}, {'device'}, {'dtype'}}
local lstm_signature = args.signature('LSTMCell', OPTIONS)

function LSTMCell:init(...) self:_set_up(lstm_signature:bind(...), 4) end

function LSTMCell:forward(...)
  local input, state = take(self, ...)
  if state ~= nil and (type(state) ~= 'table' or #state ~= 2) then
    errors.raise('argument', 'LSTMCell: the state is a list {h, c}')
  end
  return self:_step('lstm_cell', input, state or {}, 2)
end

---One step of GRU: forward(x (N, input_size), h (N, hidden_size)) → h'. Arguments: input_size, hidden_size, {bias = true,
---device, dtype}.
---@class nn.GRUCell: nn.Module
---@overload fun(input_size: integer, hidden_size: integer, options?: table): nn.GRUCell
local GRUCell = RNNCellBase:extend('GRUCell')

local gru_signature = args.signature('GRUCell', OPTIONS)

function GRUCell:init(...) self:_set_up(gru_signature:bind(...), 3) end

function GRUCell:forward(...)
  local input, h = take(self, ...)
  return self:_step('gru_cell', input, {h}, 1)
end

return {RNNCellBase = RNNCellBase, RNNCell = RNNCell, LSTMCell = LSTMCell, GRUCell = GRUCell}
