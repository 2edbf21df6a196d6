-- torch/onnx/tracing.lua: calls a model and records its operators, for several sizes of its dynamic axes, and for
-- several values.

local errors = require 'base.errors'
local ordered = require 'base.ordered'
local running = require 'torch.nn.module.running'
local torch = require 'torch'

local tracing = {}

-- An axis of at least this length becomes shorter in the other traces: its length may be the model's maximum.
local LONG = 5

-- Returns the sizes of an axis in the traces: the example's, another one, and the one for the last trace.
local function other_sizes(size)
  if size >= LONG then return size, size - 1, size - 3 end
  local first = math.max(size, 2)
  return first, first + 1, first + 3
end

---Assigns each axis its size in each trace.
---@param axes torch.onnx.Axis[] with `size`, the size of the example
function tracing.plan(axes)
  for i, axis in ipairs(axes) do
    local first, other, last = other_sizes(axis.size)
    axis.values = {first}
    for k = 1, #axes do axis.values[k + 1] = k == i and other or first end
    axis.values[#axes + 2] = last
  end
end

-- Returns the example, with its items repeated or cut along an axis.
local function resized(tensor, dim, size)
  local length = tensor:size(dim)
  if length == size then return tensor end
  return tensor:index_select(dim, torch.arange(size, {dtype = 'int64', device = tensor.device}):remainder(length))
end

-- Returns other values in the range of the example's. A number that Lua reads from them then differs between the
-- traces, which distinguishes it from a number that follows sizes. Each place gets the value of another place, drawn so
-- that sums differ too (a rotation would keep them). Floats become a slightly reduced mixture of the two, since equal
-- values occur in several places.
local function altered(tensor, trace)
  local values, count = tensor:detach():clone(), tensor:numel()
  if trace == 1 or count < 2 then return values end
  local generator = torch.Generator():manual_seed(trace)
  local flat = values:flatten()
  local steps = torch.randint(1, count, {count}, {generator = generator})
  local others = flat:index_select(0, torch.arange(count):add(steps):remainder(count):to(tensor.device))
  if tensor:is_floating_point() then
    local function random() return torch.rand(count, {generator = generator}):to(tensor.device, tensor.dtype) end
    others = torch.lerp(flat, others, random()) * (1 - 0.1 * random())
  end
  return others:view(tensor.shape)
end

-- Makes a new tensor for each trace, even without changes: a trace recognizes its inputs by identity.
local function inputs_of(examples, axes, trace)
  local out = {}
  for i, example in ipairs(examples) do
    out[i] = example
    for _, axis in ipairs(axes) do
      for _, place in ipairs(axis.places) do
        if place.input == i then out[i] = resized(out[i], place.dim, axis.values[trace]) end
      end
    end
    out[i] = altered(out[i], trace)
  end
  return out
end

-- Collects the tensors that a model returned, each named by its place.
local function collect(value, name, out)
  if torch.is_tensor(value) then
    out[#out + 1] = {name = name, tensor = value}
  elseif type(value) == 'table' then
    for i, item in ipairs(value) do collect(item, name and ('%s_%d'):format(name, i - 1), out) end
    for _, key in ipairs(ordered.names_of(value)) do collect(value[key], name and name .. '.' .. key or key, out) end
  end
  return out
end

local function call(model, inputs)
  local results = {torch.no_grad(function()
    return require('torch._C').profiler.trace_calls(running, model, unpack(inputs))
  end)}
  local calls = table.remove(results, 1)
  return {calls = calls, inputs = inputs, outputs = collect(results, nil, {})}
end

---Calls the model once for each set of sizes.
---@param model fun(...): any
---@param examples torch.Tensor[]
---@param axes torch.onnx.Axis[] after plan()
---@return {calls: table[], inputs: torch.Tensor[], outputs: {name: string?, tensor: torch.Tensor}[]}[] traces
---Errors: those of the model; if it does not accept another size than the example's, with advice.
function tracing.run(model, examples, axes)
  local traces = {}
  for trace = 1, #axes + 2 do
    local inputs = inputs_of(examples, axes, trace)
    local ok, made = xpcall(call, errors.wrap, model, inputs)
    if not ok then
      if trace == 1 or #axes == 0 then error(made, 0) end
      local sizes = {}
      for i, axis in ipairs(axes) do sizes[i] = ('%s = %d'):format(axis.name, axis.values[trace]) end
      errors.raise('argument', ('torch.onnx.export: the model does not take %s: %s; for an axis that has always the ' ..
        "example's size leave it out of dynamic_axes ({} for none)"):format(table.concat(sizes, ', '),
        made.message))
    end
    traces[trace] = made
  end
  return traces
end

return tracing
