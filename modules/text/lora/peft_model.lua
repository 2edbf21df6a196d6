-- text/lora/peft_model.lua: PeftModel: a model whose own parameters stay, with adapters that are trained and saved.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local LoraConfig = require 'text.lora.config'
local LoraLayer = require 'text.lora.layer'
local nn = require 'torch.nn'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local system = require 'base._system'
local torch = require 'torch'
local unsharded = require 'text.generation.unsharded'
local weights = require 'text.models.weights'

local FILE = 'adapter_model.safetensors'
-- What peft takes for a model, unless the config says otherwise.
local TARGETS = {
  gpt2 = {'c_attn'}, t5 = {'q', 'v'}, bert = {'query', 'value'}, roberta = {'query', 'value'}, distilbert = {'q_lin', 'v_lin'},
  phi3 = {'qkv_proj'},
}
local USUAL_TARGETS = {'q_proj', 'v_proj'}
local HEADS = {lm_head = true, classifier = true, score = true, pre_classifier = true}

local function last_name(path) return path:match '[^.]*$' end

local function is_linear(module) return module.__name == 'Linear' or module.__name == 'Conv1D' end

local function is_listed(path, names)
  for _, name in ipairs(names or {}) do
    if path == name or path:sub(-#name - 1) == '.' .. name then return true end
  end
  return false
end

-- Returns a function that says whether a module of that name has adapters.
local function target_test(config, model)
  local targets = config.target_modules or TARGETS[model.config and model.config.model_type] or USUAL_TARGETS
  if targets == 'all-linear' then
    return function(path) return not HEADS[path:match '^[^.]*'] end
  end
  if type(targets) == 'string' then
    return function(path) return path:find('^' .. targets .. '$') ~= nil end
  end
  return function(path) return is_listed(path, targets) end
end

-- Puts a module in the place of another one.
local function replace(modules, path, new)
  local parent, name = path:match '^(.*)%.([^.]*)$'
  local owner = modules[parent or '']
  local index = tonumber(name or path)
  owner[index and index + 1 or name or path] = new
end

-- A copy of a module, which is trained as a whole, and the module that the model came with.
local Saved = nn.Module:extend 'ModulesToSaveWrapper'

function Saved:init(original)
  self.original_module = original
  self.modules_to_save = nn.ModuleDict()
end

function Saved:_add(name)
  self.modules_to_save[name] = self.original_module:deepcopy()
end

---Returns the module that computes.
function Saved:chosen()
  local name = self.active
  return name and self.modules_to_save:contains(name) and self.modules_to_save[name] or self.original_module
end

function Saved:forward(...) return self:chosen()(...) end

local LoraModel = nn.Module:extend 'LoraModel'

function LoraModel:init(model) self.model = model end

function LoraModel:forward(...) return self.model(...) end

---A model with adapters. The equivalent in peft: PeftModel.
---
---Its state_dict has the adapters alone, with peft's names: so checkpoints are small. The base model's parameters need no
---gradient.
---@class text.PeftModel: nn.Module
local PeftModel = nn.Module:extend 'PeftModel'

function PeftModel:init(model)
  self.base_model = LoraModel(model)
  self.peft_config = {}
  for _, parameter in ipairs(model:parameters()) do parameter.requires_grad = false end
end

function PeftModel:forward(...) return self.base_model.model(...) end

---Returns the model that has the adapters in it.
function PeftModel:get_base_model() return self.base_model.model end

---Writes on after a prompt: the base model's generate.
---@param ... any its arguments
function PeftModel:generate(...)
  local model = self.base_model.model
  return unsharded(self, model.generate, model, ...)
end

local function each_layer(self, kind)
  local out = {}
  for path, module in self.base_model.model:named_modules() do
    if class.is(module, kind) then out[#out + 1] = {path, module} end
  end
  return out
end

-- Raises an error if a layer is sharded already.
local function check_whole(owner, layers, advice)
  for _, entry in ipairs(layers) do
    local layer = class.is(entry[2], LoraLayer) and entry[2].base_layer or entry[2]
    if shards.of(layer.weight) then
      errors.raise('argument', ("%s: '%s' is sharded (fully_shard): %s"):format(owner, entry[1], advice))
    end
  end
end

---Adds an adapter of that name.
---@param name string
---@param config text.LoraConfig
---Errors: 'argument' if no layer is meant, if the name is in use, or if the model is sharded already.
function PeftModel:add_adapter(name, config)
  if self.peft_config[name] then errors.raise('argument', ("add_adapter: there is an adapter '%s'"):format(name)) end
  local model = self.base_model.model
  local is_target = target_test(config, model)
  local modules, found = {}, {}
  for path, module in model:named_modules() do modules[path] = module end
  for path, module in model:named_modules() do
    local is_inner = path:find('%.base_layer$') or path:find '%.lora_[AB]%.'
    local is_layer = class.is(module, LoraLayer)
    if not is_inner and (is_layer or is_linear(module)) and is_target(path) and not is_listed(path, config.modules_to_save) then
      found[#found + 1] = {path, module, is_layer}
    end
  end
  if #found == 0 then
    local names = {}
    for path, module in model:named_modules() do
      if is_linear(module) then names[last_name(path)] = true end
    end
    errors.raise('argument', ('get_peft_model: no linear layer has a name of target_modules: the model has %s')
      :format(table.concat(ordered.names_of(names), ', ')))
  end
  check_whole('add_adapter', found, 'add adapters first, then shard the model')
  for _, entry in ipairs(found) do
    local path, module, is_layer = unpack(entry)
    local layer = is_layer and module or LoraLayer(module)
    if not is_layer then replace(modules, path, layer) end
    layer:add(name, config)
  end
  for path, module in pairs(modules) do
    if path ~= '' and is_listed(path, config.modules_to_save) then
      local saved = class.is(module, Saved) and module or Saved(module)
      if saved ~= module then replace(modules, path, saved) end
      saved:_add(name)
    end
  end
  self.peft_config[name] = config
end

---Makes one adapter the one that computes and is trained.
---@param name string
function PeftModel:set_adapter(name)
  if not self.peft_config[name] then
    errors.raise('argument', ("set_adapter: there is no adapter '%s': there are %s"):format(tostring(name),
      table.concat(ordered.names_of(self.peft_config), ', ')))
  end
  self.active_adapter = name
  for _, entry in ipairs(each_layer(self, LoraLayer)) do entry[2].active = name end
  for _, entry in ipairs(each_layer(self, Saved)) do entry[2].active = name end
  for path, parameter in self.base_model.model:named_parameters() do
    local own = path:match 'lora_[AB]%.([^.]*)%.weight$' or path:match 'lora_magnitude_vector%.([^.]*)%.weight$'
      or path:match '%.modules_to_save%.([^.]*)%.' or path:match '^modules_to_save%.([^.]*)%.'
    parameter.requires_grad = own == name
  end
end

---Calls fn without any adapter, and returns what it returns.
---@param fn function
---@param ... any its arguments
function PeftModel:disable_adapter(fn, ...)
  local name = self.active_adapter
  local parts = each_layer(self, LoraLayer)
  for _, entry in ipairs(each_layer(self, Saved)) do parts[#parts + 1] = entry end
  for _, entry in ipairs(parts) do entry[2].active = nil end
  local results = {pcall(fn, ...)}
  for _, entry in ipairs(parts) do entry[2].active = name end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end

---Writes the active adapter into the weights: computing costs what the base model costs. Every rank calls it if the model
---is sharded.
function PeftModel:merge_adapter()
  for _, entry in ipairs(each_layer(self, LoraLayer)) do entry[2]:merge(self.active_adapter) end
end

---Takes it out again: the weights have the bits that they had.
function PeftModel:unmerge_adapter()
  for _, entry in ipairs(each_layer(self, LoraLayer)) do entry[2]:unmerge() end
end

---Writes the active adapter into the weights, removes all adapters, and returns the model.
---@return nn.Module
---Errors: 'argument' for a sharded model.
function PeftModel:merge_and_unload()
  check_whole('merge_and_unload', each_layer(self, LoraLayer),
    'save_pretrained writes the adapter, and PeftModel.from_pretrained gives it to a model that is not sharded')
  local model = self.base_model.model
  local modules = {}
  for path, module in model:named_modules() do modules[path] = module end
  for _, entry in ipairs(each_layer(self, LoraLayer)) do
    entry[2]:unmerge()
    entry[2]:merge(self.active_adapter)
    replace(modules, entry[1], entry[2].base_layer)
  end
  for _, entry in ipairs(each_layer(self, Saved)) do
    entry[2].active = self.active_adapter
    replace(modules, entry[1], entry[2]:chosen())
  end
  for _, parameter in ipairs(model:parameters()) do parameter.requires_grad = true end
  return model
end

---@return integer trainable numbers that are trained
---@return integer all
function PeftModel:get_nb_trainable_parameters()
  local trainable, all = 0, 0
  for _, parameter in ipairs(self:parameters()) do
    all = all + parameter:numel()
    if parameter.requires_grad then trainable = trainable + parameter:numel() end
  end
  return trainable, all
end

-- The name of a parameter in files: without the adapter's.
local function file_name(path, name)
  local whole = 'base_model.model.' .. path
  if whole:find('lora_[AB]%.' .. name .. '%.weight$') then return (whole:gsub('%.' .. name .. '%.weight$', '.weight')) end
  if whole:find('lora_magnitude_vector%.' .. name .. '%.weight$') then return (whole:gsub('%.' .. name .. '%.weight$', '')) end
  local before, after = whole:match('^(.*)%.modules_to_save%.' .. name .. '%.(.*)$')
  return before and before .. '.' .. after or nil
end

-- Lua patterns take some characters of a name for something else.
local function escaped(name) return (name:gsub('%p', '%%%0')) end

---Returns the parameters of an adapter with peft's names.
---@param model text.PeftModel
---@param name? string default: the active one
---@return table ordered map
local function get_peft_model_state_dict(model, name)
  name = name or model.active_adapter
  local out = ordered.new()
  for path, parameter in model.base_model.model:named_parameters() do
    local key = file_name(path, escaped(name))
    if key then out[key] = parameter:detach() end
  end
  return out
end

---Returns the active adapter's parameters.
function PeftModel:state_dict() return get_peft_model_state_dict(self) end

---Copies an adapter's parameters, with peft's names.
---@param state table name → tensor
function PeftModel:load_state_dict(state)
  local name = self.active_adapter
  local missing, unexpected, seen = {}, {}, {}
  torch.no_grad(function()
    for path, parameter in self.base_model.model:named_parameters() do
      local key = file_name(path, escaped(name))
      local given = key and state[key]
      if given then
        if table.concat(given.shape, ' ') ~= table.concat(parameter.shape, ' ') then
          errors.raise('argument', ('load_state_dict: %s has the shape {%s}, the adapter {%s}'):format(key,
            table.concat(given.shape, ', '), table.concat(parameter.shape, ', ')))
        end
        parameter:copy_(given)
        seen[key] = true
      elseif key then
        missing[#missing + 1] = key
      end
    end
  end)
  for _, key in ipairs(ordered.keys_of(state)) do
    if not seen[key] then unexpected[#unexpected + 1] = key end
  end
  if #missing + #unexpected > 0 then
    errors.raise('argument', ('load_state_dict: missing: %s; unexpected: %s'):format(
      #missing > 0 and table.concat(missing, ', ') or 'none', #unexpected > 0 and table.concat(unexpected, ', ') or 'none'))
  end
  return {missing_keys = missing, unexpected_keys = unexpected}
end

---Writes adapter_config.json and adapter_model.safetensors, which peft reads. Of a sharded model rank 0 writes them, and
---every rank calls this.
---@param folder string is made if it is not there
function PeftModel:save_pretrained(folder)
  local state = weights.state_of(self)
  if not state then return end
  system.make_folders(folder)
  local is_turned = false
  for _, entry in ipairs(each_layer(self, LoraLayer)) do is_turned = is_turned or entry[2].is_turned end
  self.peft_config[self.active_adapter]:save(folder, is_turned)
  torch.save_safetensors(state, folder .. '/' .. FILE, {metadata = {format = 'pt'}})
end

---Adds an adapter from a folder of peft.
---@param folder string
---@param name string
function PeftModel:load_adapter(folder, name)
  local config = LoraConfig.load(folder)
  local before = self.active_adapter
  self:add_adapter(name, config)
  self:set_adapter(name)
  self:load_state_dict(torch.load_safetensors(folder .. '/' .. FILE))
  if before then self:set_adapter(before) end
end

---Gives a model the adapter of a folder, which peft or save_pretrained has written.
---@param model nn.Module
---@param folder string
---@param options? {adapter_name: string, is_trainable: boolean}
---@return text.PeftModel
function PeftModel.from_pretrained(model, folder, options)
  options = args.options(options, {'adapter_name', 'is_trainable'}, 'PeftModel.from_pretrained')
  local out = PeftModel(model)
  local name = options.adapter_name or 'default'
  out:load_adapter(folder, name)
  out:set_adapter(name)
  if not options.is_trainable then
    for _, parameter in ipairs(out:parameters()) do parameter.requires_grad = false end
    out:eval()
  end
  return out
end

---Gives some linear layers of a model adapters, which are then all that is trained. The equivalent in peft:
---get_peft_model.
---@param model nn.Module is changed: its layers become parts of layers with adapters
---@param config text.LoraConfig
---@param options? {adapter_name: string}
---@return text.PeftModel
---Errors: 'argument' if no layer is meant.
local function get_peft_model(model, config, options)
  options = args.options(options, {'adapter_name'}, 'get_peft_model')
  local out = PeftModel(model)
  local name = options.adapter_name or 'default'
  out:add_adapter(name, config)
  out:set_adapter(name)
  return out
end

return {PeftModel = PeftModel, get_peft_model = get_peft_model, get_peft_model_state_dict = get_peft_model_state_dict}
