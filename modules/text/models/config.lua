-- text/models/config.lua: config.json of a model: the values that its class of transformers has without a file.

local errors = require 'base.errors'
local json = require 'json'
local read_file = require 'base.read_file'
local torch = require 'torch'
local write_file = require 'base.write_file'

local config = {}

-- What is a floating-point number for transformers, which refuses 30 in the place of 30.0.
local FLOATS = {}
for _, name in ipairs {
  'attention_dropout', 'attention_factor', 'attention_probs_dropout_prob', 'attn_logit_softcapping', 'attn_pdrop', 'beta_fast',
  'beta_slow', 'classifier_dropout', 'dropout', 'dropout_rate', 'embd_pdrop', 'factor', 'final_logit_softcapping',
  'hidden_dropout_prob', 'high_freq_factor', 'initializer_factor', 'initializer_range', 'layer_norm_eps',
  'layer_norm_epsilon', 'long_factor', 'lora_dropout', 'low_freq_factor', 'mscale', 'mscale_all_dim', 'partial_rotary_factor',
  'resid_pdrop', 'rms_norm_eps', 'rope_local_base_freq', 'rope_theta', 'router_aux_loss_coef', 'router_jitter_noise',
  'seq_classif_dropout', 'short_factor',
} do
  FLOATS[name] = true
end

local function with_point(digits) return (digits:gsub('%-?%d+', '%0.0')) end

local function with_floats(text)
  text = text:gsub('("([%w_]+)": )(%-?%d+)([,\n])', function(head, name, digits, tail)
    if FLOATS[name] then return head .. with_point(digits) .. tail end
  end)
  return (text:gsub('("([%w_]+)": %[)([^%]]*)', function(head, name, list)
    if not FLOATS[name] then return nil end
    return head .. list:gsub('%-?[%d.e+-]+', function(number) return number:find '[.e]' and number or with_point(number) end)
  end))
end

-- `lists`: names of empty lists, which would be written as empty objects.
local function without_nulls(value, lists)
  if type(value) ~= 'table' then return value end
  local out = {}
  for name, each in pairs(value) do
    if lists[name] and next(each) == nil then
      out[name] = torch.list {}
    elseif each ~= json.null then
      out[name] = without_nulls(each, lists)
    end
  end
  return out
end

---Reads config.json of a folder; null is nil.
---@param folder string
---@param file? string another name
---@return table
---Errors: 'not_found' without the file; 'argument' if it is not a JSON object.
function config.read(folder, file)
  local path = folder .. '/' .. (file or 'config.json')
  local text, reason = read_file(path)
  if not text then
    local hint = file and '' or ': expected a folder with config.json and model.safetensors'
    errors.raise('not_found', reason .. hint)
  end
  local ok, value = pcall(json.decode, text)
  if not ok then errors.raise('argument', ('%s: %s'):format(path, tostring(value))) end
  if type(value) ~= 'table' or #value > 0 then errors.raise('argument', path .. ': expected an object') end
  local lists = {}
  for name in text:gmatch '"([%w_]+)"%s*:%s*%[%s*%]' do lists[name] = true end
  return without_nulls(value, lists)
end

---Returns a config with what is missing taken from the defaults. A default may be a function of the config.
---@param given table
---@param defaults table
---@return table
function config.completed(given, defaults)
  local out = {}
  for name, value in pairs(given) do out[name] = value end
  for name, value in pairs(defaults) do
    if out[name] == nil and type(value) ~= 'function' then out[name] = value end
  end
  for name, value in pairs(defaults) do
    if out[name] == nil and type(value) == 'function' then out[name] = value(out) end
  end
  return out
end

---Writes config.json into a folder.
---@param folder string
---@param value table
---@param file? string another name
function config.write(folder, value, file)
  write_file(folder .. '/' .. (file or 'config.json'), with_floats(json.encode(value, {indent = 2})) .. '\n')
end

return config
