-- torch/onnx/operators/recurrent.lua: LSTM, GRU and RNN of several layers, in one or both directions.
--
-- ONNX has one layer for each node, the weights of both directions in one tensor, and another order of the gates. It
-- has no packed sequences, but padded ones with lengths, so packed sequences are translated to these from pack to pad.

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

-- Returns the parameters of a layer for each direction: {W, R, Wb, Rb, projection}, with the gates in ONNX's order.
local function params_of(t, kind, a, layer)
  local directions, out = a.bidirectional and 2 or 1, {}
  local count = #a.params / a.num_layers / directions
  local biases = a.has_biases and 2 or 0
  for i = 1, directions do
    local of = {}
    for k = 1, count do
      local param = a.params[((layer - 1) * directions + i - 1) * count + k]
      if t:is_computed(param) then t:fail('its weights depend on the inputs') end
      of[k] = k > 2 + biases and param.tensor:detach():cpu() or reordered(param.tensor, kind.gates)
    end
    out[i] = {w = of[1], r = of[2], bias = a.has_biases and torch.cat({of[3], of[4]}, 0) or nil, projection = of[3 + biases]}
  end
  return out
end

local function stacked(t, params, field)
  local parts = {}
  for i, direction in ipairs(params) do parts[i] = direction[field] end
  return #parts > 0 and t.graph:constant(torch.stack(parts, 0)) or ''
end

-- Returns the states of one layer: (directions, N, hidden) of (layers · directions, N, hidden).
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

-- Returns whether a state is zero in every trace and follows no input.
local function is_zero(t, state)
  if t:follows_input(state) or state.tensor:count_nonzero():item() > 0 then return false end
  for _, twin in next, state.twins or {} do
    if twin.tensor:count_nonzero():item() > 0 then return false end
  end
  return true
end

-- Returns the step numbers of a sequence, (L, 1, 1).
local function steps_of(t, x)
  local length = t:add('Squeeze', {t:add('Slice', {t:add('Shape', {x}), t.graph:integers{0}, t.graph:integers{1}})})
  local steps = t:add('Range', {t.graph:scalar(0, 'int64'), length, t.graph:scalar(1, 'int64')})
  return t:add('Reshape', {steps, t.graph:integers{-1, 1, 1}}), length
end

-- Returns the lengths of the sequences, (1, N, 1).
local function row_of(t, lengths) return t:add('Reshape', {t:cast(lengths, 'int64'), t.graph:integers{1, -1, 1}}) end

-- Returns h at the first step of each direction, with zeros in all other steps: (L, N, directions · proj).
local function first_states(t, x, h, params, lengths)
  local steps, length = steps_of(t, x)
  local directions, one, parts = #params, t.graph:scalar(1, 'int64'), {}
  local ends = lengths and row_of(t, lengths) or length
  for i = 1, directions do
    local first = t.graph:scalar(0, 'int64')
    if i == 2 then first = t:add('Sub', {ends, one}) end
    local state = h
    if directions == 2 then
      state = t:add('Slice', {h, t.graph:integers{i - 1}, t.graph:integers{i}, t.graph:integers{0}})
    end
    parts[i] = t:add('Where', {t:add('Equal', {steps, first}), state, t.graph:scalar(0, params[1].w.dtype)})
  end
  return #parts == 1 and parts[1] or t:add('Concat', parts, {axis = 2})
end

-- With a projection h = P m, and m has the size of the gates. An ONNX node has no P, but computes with m if R is
-- replaced by R P. The first h is not a product with P; it reaches the gates as a part of the first input.
local function unprojected(t, params, x, h, options)
  local directions = #params
  for i, direction in ipairs(params) do
    local r = direction.r
    direction.r = r:double():matmul(direction.projection:double()):to(r.dtype)
    if h then
      local parts = {direction.w}
      for k = 1, directions do parts[k + 1] = k == i and r or torch.zeros_like(r) end
      direction.w = torch.cat(parts, 1)
    end
  end
  return h and t:add('Concat', {x, first_states(t, x, h, params, options.lengths)}, {axis = 2}) or x
end

-- Projects (…, directions, N, hidden) → (…, directions, N, proj).
local function projected(t, params, y)
  local parts = {}
  for i, direction in ipairs(params) do parts[i] = direction.projection:t() end
  return t:add('MatMul', {y, t.graph:constant(torch.stack(parts, 0):contiguous())})
end

local function attributes_of(kind, a, params)
  local out = {hidden_size = params[1].r:size(1), direction = a.bidirectional and 'bidirectional' or 'forward'}
  if kind.op == 'GRU' then out.linear_before_reset = 1 end
  if kind.activation then out.activations = a.bidirectional and {kind.activation, kind.activation} or {kind.activation} end
  return out
end

-- Translates one layer: returns its output (L, N, directions · size) and its last states.
local function layer_of(t, kind, a, x, states, options)
  local params = params_of(t, kind, a, options.layer)
  local has_projection = params[1].projection ~= nil
  if has_projection then
    x = unprojected(t, params, x, not options.is_zero and states[1] or nil, options)
    states = {'', options.is_zero and '' or states[2]}
  end
  local inputs = {x, stacked(t, params, 'w'), stacked(t, params, 'r'), stacked(t, params, 'bias'), options.lengths or '',
                  unpack(states)}
  local outputs = {t:add(kind.op, inputs, attributes_of(kind, a, params), 1 + kind.states)}
  if has_projection then
    outputs[1], outputs[2] = projected(t, params, outputs[1]), projected(t, params, outputs[2])
  end
  return joined(t, outputs[1]), {select(2, unpack(outputs))}
end

-- Translates all layers for x of (L, N, input). Returns the output and the last states.
local function layers_of(t, kind, a, x, lengths)
  local directions = a.bidirectional and 2 or 1
  local given = kind.states == 2 and a.hx or {a.hx}
  local options, last = {lengths = lengths, is_zero = true}, {{}, {}}
  for _, state in ipairs(given) do options.is_zero = options.is_zero and is_zero(t, state) end
  local states = t:operands(given)
  for layer = 1, a.num_layers do
    options.layer = layer
    local ends
    x, ends = layer_of(t, kind, a, x, states_of(t, states, layer, a.num_layers, directions), options)
    for i = 1, kind.states do last[i][layer] = ends[i] end
  end
  for i = 1, kind.states do
    last[i] = a.num_layers == 1 and last[i][1] or t:add('Concat', last[i], {axis = 0})
  end
  return x, last[1], last[2]
end

local function turned(t, x) return t:add('Transpose', {x}, {perm = {1, 0, 2}}) end

-- A packed sequence is represented by the padded one with its lengths, as ONNX nodes take it.
local function mapping_of_packed(t, kind, a, call)
  local form = t:packed(a.data)
  local x, h, c = layers_of(t, kind, a, form.padded, form.lengths)
  local result = {}
  for key, value in next, form do result[key] = value end
  result.padded, result.is_clean = x, true
  t:set_packed(call.results[1], result)
  return {false, h, c}
end

local function mapping(kind)
  return function(t, a, call)
    if a.train and a.dropout ~= 0 then t:fail('it is in training') end
    if a.data then return mapping_of_packed(t, kind, a, call) end
    local x = t:operand(a.input)
    if a.batch_first then x = turned(t, x) end
    local y, h, c = layers_of(t, kind, a, x)
    return {a.batch_first and turned(t, y) or y, h, c}
  end
end

for name, kind in next, KINDS do recurrent[name] = mapping(kind) end

local function leading(order, rank)
  for i = 3, rank do order[i] = i - 1 end
  return order
end

local function batch_first(t, name, rank) return t:add('Transpose', {name}, {perm = leading({1, 0}, rank)}) end

recurrent._pack_padded_sequence = function(t, a, call)
  local x, rank = t:operand(a.input), t:rank(a.input)
  if a.batch_first then x = batch_first(t, x, rank) end
  t:set_packed(call.results[1], {
    padded = x, lengths = t:operand(a.lengths, 'int32'), size = t:shape(a.input)[a.batch_first and 2 or 1], is_clean = false,
  })
  return {false, t:operand(a.lengths, 'int64')}
end

-- Fills the steps after the end of each sequence with the value.
local function filled(t, form, value, like)
  local steps = steps_of(t, form.padded)
  local inside, rank = t:add('Less', {steps, row_of(t, form.lengths)}), t:rank(like)
  if rank ~= 3 then
    local shape = {0, 0}
    for i = 3, rank do shape[i] = 1 end
    inside = t:add('Reshape', {inside, t.graph:integers(shape)})
  end
  return t:add('Where', {inside, form.padded, t:operand(value, t:dtype(like))})
end

-- Cuts or extends to the longest sequence, or to total_length.
local function cut(t, name, form, total, value, like)
  local zero, dtype = t.graph:integers{0}, t:dtype(like)
  if total == 0 then
    local longest = t:reduce('ReduceMax', t:cast(form.lengths, 'int64'), {0}, true)
    return t:add('Slice', {name, zero, longest, zero})
  end
  local wanted = t:sizes{total}
  if type(total) == type(form.size) and (total == form.size or type(total) == 'table' and total:text() == form.size:text()) then
    return name
  end
  local short = t:add('Slice', {name, zero, wanted, zero})
  local missing = t:add('Sub', {wanted, t:add('Slice', {t:add('Shape', {short}), zero, t.graph:integers{1}})})
  local rank, pads = t:rank(like), {}
  for i = 1, 2 * rank do pads[i] = i == rank + 1 and missing or zero end
  return t:add('Pad', {short, t:add('Concat', pads, {axis = 0}), t:operand(value, dtype)}, {mode = 'constant'})
end

recurrent._pad_packed_sequence = function(t, a, call)
  local form, padded = t:packed(a.data), call.results[1]
  local name = form.is_clean and a.padding_value == 0 and form.padded or filled(t, form, a.padding_value, padded)
  name = cut(t, name, form, a.total_length, a.padding_value, padded)
  if a.batch_first then name = batch_first(t, name, t:rank(padded)) end
  return {name, t:cast(form.lengths, 'int64')}
end

return recurrent
