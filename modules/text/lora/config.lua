-- text/lora/config.lua: LoraConfig: which layers have adapters, and of what size.

local args = require 'base.args'
local class = require 'base.class'
local configs = require 'text.models.config'
local errors = require 'base.errors'
local torch = require 'torch'

local TASKS = {'CAUSAL_LM', 'SEQ_CLS', 'SEQ_2_SEQ_LM', 'TOKEN_CLS', 'FEATURE_EXTRACTION'}

---What adapters are like. The equivalent in peft: LoraConfig.
---
---The table `options` has: r (8, the rank), lora_alpha (8; the adapter counts lora_alpha / r, with use_rslora lora_alpha / √r),
---target_modules (last names of linear layers, 'all-linear', or a Lua pattern of their whole names; default: those that
---peft takes for the model), lora_dropout (0), use_rslora (false), use_dora (false: Liu et al. 2024), modules_to_save
---(last names of modules that are trained and saved as a whole), bias ('none'), task_type, base_model_name_or_path.
---
---```lua
---local text = require 'text'
---local config = text.lora.LoraConfig {r = 16, lora_alpha = 32, target_modules = {'q_proj', 'v_proj'}}
---assert(config.r == 16 and config.lora_dropout == 0)
---```
---@class text.LoraConfig
---@overload fun(options?: table): text.LoraConfig
local LoraConfig = class('LoraConfig')

local FIELDS = {'r', 'lora_alpha', 'target_modules', 'lora_dropout', 'use_rslora', 'use_dora', 'modules_to_save', 'bias',
                'task_type', 'base_model_name_or_path', 'inference_mode'}
local DEFAULTS = {r = 8, lora_alpha = 8, lora_dropout = 0, use_rslora = false, use_dora = false, bias = 'none',
                  inference_mode = false}

local function fail(format, ...) errors.raise('argument', 'LoraConfig: ' .. format:format(...)) end

local function is_positive(value) return type(value) == 'number' and value > 0 and value < math.huge end

function LoraConfig:init(options)
  options = args.options(options, FIELDS, 'LoraConfig')
  for name, value in pairs(DEFAULTS) do self[name] = value end
  for _, name in ipairs(FIELDS) do
    if options[name] ~= nil then self[name] = options[name] end
  end
  if not is_positive(self.r) or self.r % 1 ~= 0 then fail('r = %s: expected a positive integer', tostring(self.r)) end
  if not is_positive(self.lora_alpha) then fail('lora_alpha = %s: expected a positive number', tostring(self.lora_alpha)) end
  if type(self.lora_dropout) ~= 'number' or not (self.lora_dropout >= 0 and self.lora_dropout < 1) then
    fail('lora_dropout = %s: expected a number from 0 to below 1', tostring(self.lora_dropout))
  end
  if self.bias ~= 'none' then fail("bias = '%s': rtrain trains no biases of the base model: 'none'", tostring(self.bias)) end
  if self.task_type then args.one_of('LoraConfig: task_type', self.task_type, TASKS) end
end

---How much the adapter counts.
---@return number
function LoraConfig:scaling() return self.lora_alpha / (self.use_rslora and math.sqrt(self.r) or self.r) end

---Writes adapter_config.json, as peft reads it.
---@param folder string
---@param is_turned boolean whether the layers store their weights as (inputs, outputs)
function LoraConfig:save(folder, is_turned)
  local out = {peft_type = 'LORA', fan_in_fan_out = is_turned, inference_mode = true}
  for _, name in ipairs(FIELDS) do
    if name ~= 'inference_mode' then out[name] = self[name] end
  end
  for _, name in ipairs {'target_modules', 'modules_to_save'} do
    if type(out[name]) == 'table' then out[name] = torch.list(out[name]) end
  end
  configs.write(folder, out, 'adapter_config.json')
end

---Reads adapter_config.json.
---@param folder string
---@return text.LoraConfig
function LoraConfig.load(folder)
  local given = configs.read(folder, 'adapter_config.json')
  if given.peft_type ~= 'LORA' then
    errors.raise('unsupported', ("%s/adapter_config.json: peft_type = '%s': rtrain has LORA"):format(folder,
      tostring(given.peft_type)))
  end
  for _, name in ipairs {'rank_pattern', 'alpha_pattern', 'layers_to_transform', 'lora_bias', 'target_parameters'} do
    local value = given[name]
    if value and not (type(value) == 'table' and next(value) == nil) then
      errors.raise('unsupported', ('%s/adapter_config.json: rtrain has no %s'):format(folder, name))
    end
  end
  local options = {}
  for _, name in ipairs(FIELDS) do options[name] = given[name] end
  return LoraConfig(options)
end

return LoraConfig
