-- rtrain/tryout/estimate.lua: makes the document of `rtrain check --memory`: the memory of a model's training, by
-- dtype.

local errors = require 'base.errors'
local files = require 'rtrain.tryout.files'

local estimate = {}

local BYTES = {float64 = 8, float32 = 4, float16 = 2, bfloat16 = 2}
local PARTS = {'parameters', 'gradients', 'optimizer', 'buffers', 'activations'}

local function row_of(dtype, memory, factors)
  local row = {dtype = dtype, total = 0}
  for _, part in ipairs(PARTS) do
    row[part] = math.floor(memory[part] * (factors[part] or factors.all) + 0.5)
    row.total = row.total + row[part]
  end
  return row
end

-- Returns the largest batch whose training fits in that memory; 0 if not even one sample fits.
local function largest_batch(row, batch_size, bytes)
  local fixed = row.total - row.activations
  local per_sample = row.activations / batch_size
  if fixed + per_sample > bytes then return 0 end
  return per_sample > 0 and math.floor((bytes - fixed) / per_sample) or nil
end

---Returns rows for float32, autocast and bfloat16, from a measurement in one dtype. Autocast keeps parameters,
---gradients and the optimizer's state in float32, adds a cast of the parameters, and keeps most activations in two
---bytes.
---@param memory table bytes: parameters, gradients, optimizer, buffers, activations
---@param dtype string dtype of the measured parameters
---@return table[] rows {dtype, parameters, gradients, optimizer, buffers, activations, total}
---
---```lua
---local memory = {parameters = 400, gradients = 400, optimizer = 800, buffers = 0, activations = 1000}
---local rows = require('rtrain.tryout.estimate').rows(memory, 'float32')
---assert(rows[1].total == 2600 and rows[2].total == 600 + 400 + 800 + 500 and rows[3].total == 1300)
---```
function estimate.rows(memory, dtype)
  local own = BYTES[dtype]
  if not own then errors.raise('user', ('the parameters are %s: expected a floating point dtype'):format(dtype)) end
  local whole = 4 / own
  return {
    row_of('float32', memory, {all = whole}),
    row_of('float32, autocast', memory, {all = whole, parameters = whole * 1.5, activations = whole / 2}),
    row_of('bfloat16', memory, {all = whole / 2}),
  }
end

-- What prepare_model divides among the workers, by strategy.
local STRATEGIES = {
  {name = 'ddp', formula = 'parameters + gradients + optimizer', divided = {}},
  {name = 'fsdp', formula = '(parameters + gradients + optimizer) / N', divided = {'parameters', 'gradients', 'optimizer'}},
}

-- Returns the least number of workers with which it fits; nil if no number is enough.
local function least_workers(divided, rest, bytes)
  if rest + divided <= bytes then return 1 end
  return rest < bytes and math.ceil(divided / (bytes - rest)) or nil
end

---Returns rows for the strategies of prepare_model: the memory of each worker, with buffers and activations.
---@param memory table bytes of a whole model: parameters, gradients, optimizer, buffers, activations
---@param num_workers integer
---@param bytes integer|nil of a device
---@return table[] rows {strategy, formula, total, least_workers: how many workers fit; nil: no number of them}
---
---```lua
---local memory = {parameters = 400, gradients = 400, optimizer = 800, buffers = 0, activations = 100}
---local rows = require('rtrain.tryout.estimate').strategies(memory, 4, 1000)
---assert(rows[1].strategy == 'ddp' and rows[1].total == 1700 and rows[1].least_workers == nil)
---assert(rows[2].strategy == 'fsdp' and rows[2].total == 500 and rows[2].least_workers == 2)
---```
function estimate.strategies(memory, num_workers, bytes)
  local rows = {}
  for i, strategy in ipairs(STRATEGIES) do
    local divided, rest = 0, 0
    for _, part in ipairs(PARTS) do rest = rest + memory[part] end
    for _, part in ipairs(strategy.divided) do divided = divided + memory[part] end
    rest = rest - divided
    rows[i] = {strategy = strategy.name, formula = strategy.formula, total = rest + math.ceil(divided / num_workers),
               least_workers = bytes and least_workers(divided, rest, bytes)}
  end
  return rows
end

---@param folder string
---@param script string
---@param asked {memory_bytes: integer?}
---@return table document {script, model, batch_size, dtype, rows, num_workers, strategies}
---Raises code 'user' if no rank has finished a train function, or no model was prepared.
function estimate.document(folder, script, asked)
  local first = files.first(folder, script)
  if not first.memory then
    errors.raise('user', 'the train function gave no model to train.torch.prepare_model: there is nothing to estimate')
  end
  if not first.batch_size then errors.raise('user', 'the model was not called: there is nothing to estimate') end
  local rows = estimate.rows(first.memory, first.dtype)
  for _, row in ipairs(rows) do
    if asked.memory_bytes then row.largest_batch = largest_batch(row, first.batch_size, asked.memory_bytes) end
  end
  return {script = script, model = first.class, parameters = first.parameters, batch_size = first.batch_size,
          dtype = first.dtype, rows = rows, num_workers = first.num_workers,
          strategies = estimate.strategies(first.whole_memory, first.num_workers, asked.memory_bytes)}
end

return estimate
