-- torch/onnx/operators/recurrent.lua: LSTM, GRU and RNN of several layers, in one or both directions.
--
-- ONNX has one layer in a node, weights of both directions in one tensor, and the gates in another order.

local torch = require 'torch'

local recurrent = {}

-- ONNX's order of the gates, as places in PyTorch's: i, f, g, o → i, o, f, c and r, z, n → z, r, h.
local KINDS = {
  lstm = {op = 'LSTM', gates = {0, 3, 1, 2}, states = 2},
  gru = {op = 'GRU', gates = {1, 0, 2}, states = 1},
  rnn_tanh = {op = 'RNN', gates = {0}, states = 1, activation = 'Tanh'},
  rnn_relu = {op = 'RNN', gates = {0}, states = 1, activation = 'Relu'},
}

local function reordered(tensor, gates)
  local parts, size = {}, tensor:size(0) / #gates
  for i, gate in ipairs(gates) do parts[i] = tensor:narrow(0, gate * size, size) end
  return torch.cat(parts, 0):detach():cpu()
end

-- The weights of a layer: what a node takes as W, R and B.
local function weights_of(t, kind, params)
  local w, r, b = {}, {}, {}
  for i, direction in ipairs(params) do
    for k, param in ipairs(direction) do
      if t:is_computed(param) then t:fail('its weights depend on the inputs') end
      direction[k] = reordered(param.tensor, kind.gates)
    end
    w[i], r[i] = direction[1], direction[2]
    b[i] = #direction > 2 and torch.cat({direction[3], direction[4]}, 0) or nil
  end
  local out = {t.graph:constant(torch.stack(w, 0)), t.graph:constant(torch.stack(r, 0))}
  out[3] = #b > 0 and t.graph:constant(torch.stack(b, 0)) or ''
  return out
end

local function params_of(a, layer, directions)
  local count, out = a.has_biases and 4 or 2, {}
  for i = 1, directions do
    out[i] = {}
    for k = 1, count do out[i][k] = a.params[((layer - 1) * directions + i - 1) * count + k] end
  end
  return out
end

-- The states of one layer: (directions, N, hidden) of (layers · directions, N, hidden).
local function states_of(t, states, layer, layers, directions)
  local out = {}
  for i, state in ipairs(states) do
    out[i] = layers == 1 and state or t:add('Slice', {state, t.graph:integers{(layer - 1) * directions},
      t.graph:integers{layer * directions}, t.graph:integers{0}})
  end
  return out
end

-- (L, directions, N, hidden) → (L, N, directions · hidden)
local function joined(t, y)
  return t:add('Reshape', {t:add('Transpose', {y}, {perm = {0, 2, 1, 3}}), t.graph:integers{0, 0, -1}})
end

local function check(t, a)
  if a.batch_sizes ~= nil then t:fail('ONNX has no packed sequences: export a model that takes padded ones') end
  local size = #a.params / a.num_layers / (a.bidirectional and 2 or 1)
  if size ~= (a.has_biases and 4 or 2) then t:fail('ONNX has no proj_size') end
  if a.train and a.dropout ~= 0 then t:fail('it is in training') end
end

local function layer_node(t, kind, inputs, a, hidden)
  local attributes = {hidden_size = hidden, direction = a.bidirectional and 'bidirectional' or 'forward'}
  if kind.op == 'GRU' then attributes.linear_before_reset = 1 end
  if kind.activation then
    attributes.activations = a.bidirectional and {kind.activation, kind.activation} or {kind.activation}
  end
  return {t:add(kind.op, inputs, attributes, 1 + kind.states)}
end

local function mapping(kind)
  return function(t, a)
    check(t, a)
    local directions = a.bidirectional and 2 or 1
    local x = t:operand(a.input)
    if a.batch_first then x = t:add('Transpose', {x}, {perm = {1, 0, 2}}) end
    local given = kind.states == 2 and a.hx or {a.hx}
    local states, last = t:operands(given), {{}, {}}
    for layer = 1, a.num_layers do
      local params = params_of(a, layer, directions)
      local hidden = params[1][2].tensor:size(1)
      local w = weights_of(t, kind, params)
      local inputs = {x, w[1], w[2], w[3], '', unpack(states_of(t, states, layer, a.num_layers, directions))}
      local outputs = layer_node(t, kind, inputs, a, hidden)
      x = joined(t, outputs[1])
      for i = 1, kind.states do last[i][layer] = outputs[1 + i] end
    end
    if a.batch_first then x = t:add('Transpose', {x}, {perm = {1, 0, 2}}) end
    local results = {x}
    for i = 1, kind.states do
      results[i + 1] = a.num_layers == 1 and last[i][1] or t:add('Concat', last[i], {axis = 0})
    end
    return results
  end
end

for name, kind in next, KINDS do recurrent[name] = mapping(kind) end

return recurrent
