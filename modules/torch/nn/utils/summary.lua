-- torch/nn/utils/summary.lua: summarizes the parameters of a model and the outputs of its modules.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'

local summary = {}

local function count_of(parameters, trainable_only)
  local count = 0
  for _, param in ipairs(parameters) do
    if param.requires_grad or not trainable_only then count = count + param:numel() end
  end
  return count
end

local function check_module(owner, module)
  if class.is(module, torch.nn.Module) then return end
  errors.raise('argument', ('%s: expected an nn.Module, got %s'):format(owner, torch.nn.Module._describe(module)))
end

---Returns the number of elements of all parameters, shared ones once: Python's `sum(p.numel() for p in
---m.parameters())`.
---@param module nn.Module
---@param options? {trainable_only: boolean} true: only those with requires_grad
---@return integer
---
---```lua
---local nn = require 'torch'.nn
---local model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
---model[1]:requires_grad_(false)
---assert(nn.utils.parameters_count(model) == 58 and nn.utils.parameters_count(model, {trainable_only = true}) == 18)
---```
function summary.parameters_count(module, options)
  check_module('parameters_count', module)
  options = args.options(options, {'trainable_only'}, 'parameters_count')
  return count_of(module:parameters(), options.trainable_only)
end

-- Returns '(3, 8)', for several tensors '(3, 8), (1, 8)', '' if the value is not a tensor.
local function shape_text(value)
  if torch.is_tensor(value) then return '(' .. table.concat(value.shape, ', ') .. ')' end
  local parts = {}
  for _, item in ipairs(type(value) == 'table' and not class.of(value) and value or {}) do
    local text = shape_text(item)
    if text ~= '' then parts[#parts + 1] = text end
  end
  return table.concat(parts, ', ')
end

-- Calls the model once, in evaluation mode and without gradients, and restores its state. Returns module → text of its
-- output.
local function outputs_of(model, inputs)
  local shapes, handles, modes = {}, {}, {}
  for i, module in ipairs(model:modules()) do
    modes[i] = {module, module.training}
    handles[i] = module:register_forward_hook(function(of, _, output) shapes[of] = shape_text(output) end)
  end
  local ok, err = pcall(torch.no_grad, function() model:eval()(unpack(inputs, 1, inputs.n)) end)
  for i, handle in ipairs(handles) do
    handle:remove()
    rawset(modes[i][1], 'training', modes[i][2])
  end
  if not ok then error(err, 0) end
  return shapes
end

---The result of `summary`; print shows it as a table.
---@class nn.Summary
---@field rows {name: string, class: string, output_shape: string, parameters: integer}[] one for each module; parameters:
---  excludes those of the modules below it
---@field parameters integer of all modules
---@field trainable_parameters integer
---@field size_bytes integer of all parameters and buffers
local Summary = class('Summary')

local function rows_of(model, shapes)
  local rows, seen = {}, {}
  for name, module in model:named_modules() do
    local own = {}
    for _, param in ipairs(module:parameters {recurse = false}) do
      if not seen[param] then own[#own + 1] = param end
      seen[param] = true
    end
    rows[#rows + 1] = {name = name, class = class.of(module).__name, output_shape = shapes[module] or '',
                       parameters = count_of(own)}
  end
  return rows
end

local function bytes_of(tensors)
  local bytes = 0
  for _, tensor in ipairs(tensors) do bytes = bytes + tensor:numel() * tensor:element_size() end
  return bytes
end

function Summary:init(model, inputs)
  self.rows = rows_of(model, inputs.n > 0 and outputs_of(model, inputs) or {})
  self.parameters = count_of(model:parameters())
  self.trainable_parameters = count_of(model:parameters(), true)
  self.size_bytes = bytes_of(model:parameters()) + bytes_of(model:buffers())
end

local COLUMNS = {{'name', 'module'}, {'class', 'class'}, {'output_shape', 'output shape'}, {'parameters', 'parameters'}}

-- Formats 1234567 as '1,234,567'.
local function grouped(count)
  local text = ('%d'):format(count):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (text:gsub('^,', ''))
end

local function cell(row, key)
  local value = row[key]
  if key == 'name' and value == '' then return '(model)' end
  return type(value) == 'number' and grouped(value) or value
end

function Summary:__tostring()
  local widths, lines = {}, {}
  for k, column in ipairs(COLUMNS) do
    widths[k] = #column[2]
    for _, row in ipairs(self.rows) do widths[k] = math.max(widths[k], #cell(row, column[1])) end
  end
  local format = ('%%-%ds  %%-%ds  %%-%ds  %%%ds'):format(unpack(widths))
  lines[1] = format:format(COLUMNS[1][2], COLUMNS[2][2], COLUMNS[3][2], COLUMNS[4][2])
  for _, row in ipairs(self.rows) do
    lines[#lines + 1] = format:format(cell(row, 'name'), row.class, row.output_shape, cell(row, 'parameters'))
  end
  lines[#lines + 1] = ('%s parameters, %s of them trainable; %.2f MiB with buffers'):format(grouped(self.parameters),
    grouped(self.trainable_parameters), self.size_bytes / 2 ^ 20)
  return table.concat(lines, '\n')
end

---Returns the modules of a model with their classes and parameters. With inputs it calls the model once, in evaluation
---mode and without gradients, and adds the shape of each module's output. Python equivalent: torchinfo.summary.
---@param module nn.Module
---@param ... any the arguments of the model
---@return nn.Summary
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local found = nn.utils.summary(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), torch.zeros(3, 4))
---assert(found.parameters == 40 and found.rows[2].output_shape == '(3, 8)')
---assert(tostring(found):find '40 parameters')
---```
function summary.summary(module, ...)
  check_module('summary', module)
  return Summary(module, {n = select('#', ...), ...})
end

return summary
