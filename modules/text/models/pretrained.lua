-- text/models/pretrained.lua: classes of models that are read from a folder and written to one, with the names of
-- Hugging Face's transformers.

local args = require 'base.args'
local configs = require 'text.models.config'
local errors = require 'base.errors'
local nn = require 'torch.nn'
local ordered = require 'base.ordered'
local system = require 'base._system'
local torch = require 'torch'
local weights = require 'text.models.weights'

local pretrained = {}

-- Names that older files have and no model needs.
local GENERATION = 'generation_config.json'
local IGNORED = {'%.rotary_emb%.inv_freq$', '%.attn%.bias$', '%.attn%.masked_bias$', '%.position_ids$'}
local MOST_NAMED = 8

local function is_ignored(Class, name)
  for _, patterns in ipairs {IGNORED, Class.ignored_names or {}} do
    for _, pattern in ipairs(patterns) do
      if ('.' .. name):find(pattern) then return true end
    end
  end
  return false
end

local function begins(name, prefix) return name:sub(1, #prefix) == prefix end

-- Files of a base model lack the prefix that its part has in a model with a head, and the other way round.
local function renamed(model, tensors)
  local prefix = model.base_model_prefix .. '.'
  local wanted, found = false, false
  for _, name in ipairs(ordered.keys_of(model:state_dict())) do wanted = wanted or begins(name, prefix) end
  for _, name in ipairs(ordered.keys_of(tensors)) do found = found or begins(name, prefix) end
  local out, dropped = ordered.new(), {}
  for _, name in ipairs(ordered.keys_of(tensors)) do
    local key = name
    if found and not wanted then
      if begins(name, prefix) then key = name:sub(#prefix + 1) else dropped[#dropped + 1], key = name, nil end
    elseif wanted and not found then
      key = prefix .. name
    end
    if key then out[key] = tensors[name] end
  end
  return out, dropped
end

local function listed(names)
  local shown = {}
  for i = 1, math.min(#names, MOST_NAMED) do shown[i] = names[i] end
  return table.concat(shown, ', ') .. (#names > MOST_NAMED and (' and %d more'):format(#names - MOST_NAMED) or '')
end

local function shape_text(tensor) return '{' .. table.concat(tensor.shape, ', ') .. '}' end

-- Compares names and shapes before a value is read.
local function check(Class, folder, model, tensors)
  local missing, wrong, unexpected = {}, {}, {}
  local state = model:state_dict()
  for _, name in ipairs(ordered.keys_of(state)) do
    local given = tensors[name]
    if given == nil then
      if not model._tied_names[name] then missing[#missing + 1] = name end
    elseif shape_text(given) ~= shape_text(state[name]) then
      wrong[#wrong + 1] = ('%s has the shape %s, config.json makes it %s'):format(name, shape_text(given),
        shape_text(state[name]))
    end
  end
  for _, name in ipairs(ordered.keys_of(tensors)) do
    if state[name] == nil and not is_ignored(Class, name) then unexpected[#unexpected + 1] = name end
  end
  if #wrong > 0 then
    errors.raise('argument', ('%s: %s'):format(folder, table.concat(wrong, '; ', 1, math.min(#wrong, MOST_NAMED))))
  end
  return missing, unexpected
end

local function check_family(Class, folder, config)
  if config.model_type == nil or Class.model_types[config.model_type] then return end
  local known = ordered.names_of(Class.model_types)
  errors.raise('argument', ("%s/config.json: model_type = '%s', and %s reads %s: text.AutoModelForCausalLM and its like "
    .. 'choose the class'):format(folder, tostring(config.model_type), Class.__name, table.concat(known, ', ')))
end

-- Gives values to what is not in the file, of the distribution that the model begins with.
local function fill_missing(model, missing, device)
  local is_missing = {}
  for _, name in ipairs(missing) do is_missing[name] = true end
  for path, module in model:named_modules() do
    local prefix = path == '' and '' or path .. '.'
    local own = false
    for name, parameter in module:named_parameters({recurse = false}) do
      if is_missing[prefix .. name] then
        module[name] = nn.Parameter(torch.empty(parameter.shape, {dtype = parameter.dtype, device = device}))
        own = true
      end
    end
    if own then model:_init_weights(module) end
  end
end

-- A file may have its own values for what the config ties: then both are kept.
local function untie_what_differs(model, tensors)
  for _, name in ipairs(ordered.names_of(model._tied_names)) do
    local own, source = tensors[name], tensors[model._tied_names[name]]
    if own and source and not torch.equal(own, source) then
      model.config.tie_word_embeddings, model._tied_names[name] = false, nil
    end
  end
end

local load_names = {'dtype', 'device'}

---@param Class table
---@param folder string
---@param options? {dtype: string, device: string}
local function from_pretrained(Class, folder, options)
  local owner = Class.__name .. '.from_pretrained'
  if type(folder) ~= 'string' then
    errors.raise('argument', ('%s: expected the path of a folder, got %s'):format(owner, type(folder)))
  end
  options = args.options(options, load_names, owner)
  local config = configs.read(folder)
  check_family(Class, folder, config)
  local model = torch.device('meta', Class, config)
  local tensors, dropped = renamed(model, weights.read(folder))
  local missing, unexpected = check(Class, folder, model, tensors)
  for _, name in ipairs(dropped) do unexpected[#unexpected + 1] = name end
  untie_what_differs(model, tensors)
  local dtype, device = options.dtype, options.device or 'cpu'
  local state = ordered.new()
  for _, name in ipairs(ordered.keys_of(model:state_dict())) do
    local tensor = tensors[name]
    if tensor then
      if tensor:is_floating_point() and dtype then tensor = tensor:to(dtype) end
      state[name] = tensor:to(device)
    end
  end
  model:load_state_dict(state, {assign = true, strict = false})
  fill_missing(model, missing, device)
  if dtype then model:to(dtype) end
  model:tie_weights()
  model:eval()
  if system.path_kind(folder .. '/' .. GENERATION) == 'file' then
    model.generation_config = configs.read(folder, GENERATION)
  end
  model.loading_info = {missing_keys = missing, unexpected_keys = unexpected}
  if #missing > 0 then
    require 'base.warnings'.warn(('%s: new parameters, which are to be trained, since %s has none: %s'):format(owner, folder,
      listed(missing)))
  end
  return model
end

local save_names = {'max_shard_bytes'}

---Writes config.json and model.safetensors, which transformers reads. Parameters that share memory are written once. Of a
---sharded model rank 0 writes them, and every rank calls this.
---@param folder string is made if it is not there
---@param options? {max_shard_bytes: integer} default 5e9: larger models are several files with an index
local function save_pretrained(self, folder, options)
  options = args.options(options, save_names, 'save_pretrained')
  local state = weights.state_of(self)
  if not state then return end
  system.make_folders(folder)
  local out = ordered.new()
  for _, name in ipairs(ordered.keys_of(state)) do
    if not self._tied_names[name] then out[name] = state[name] end
  end
  local config = {}
  for name, value in pairs(self.config) do config[name] = value end
  config.architectures = torch.list {self.__name}
  configs.write(folder, config)
  if self.generation_config then configs.write(folder, self.generation_config, GENERATION) end
  weights.write(folder, out, options.max_shard_bytes)
end

---Makes a class of models.
---@param name string as in transformers
---@param options table model_types; defaults: of config.json; prefix: of the names of the base model's parameters in a model
---  with a head; embedding: the name of the base model's embedding; ignored_names: patterns of names in files that no
---  model needs
---@return table
function pretrained.class(name, options)
  local Class = nn.Module:extend(name)
  Class.base_model_prefix = options.prefix
  Class.ignored_names = options.ignored_names
  Class.model_types = {}
  for _, model_type in ipairs(options.model_types) do Class.model_types[model_type] = true end
  Class.config_defaults = options.defaults
  Class.from_pretrained = function(folder, given) return from_pretrained(Class, folder, given) end
  Class.save_pretrained = save_pretrained

  -- build(config): makes the parts. is_part: the model that this one is a part of gives the parameters their first values.
  function Class:init(config, is_part)
    config = configs.completed(config or {}, options.defaults)
    config.model_type = config.model_type or options.model_types[1]
    self.config = config
    self._tied_names = {}
    self:_build(config)
    if not is_part then self:init_weights() end
    self:tie_weights()
  end

  ---Gives all parameters their first values, unless they are on the device meta.
  function Class:init_weights()
    local _, parameter = self:named_parameters()()
    if parameter and tostring(parameter.device) == 'meta' then return end
    torch.no_grad(function()
      for _, module in ipairs(self:modules()) do self:_init_weights(module) end
    end)
  end

  -- The initialization of most models of text: a normal distribution, biases of zero, norms of one.
  function Class:_init_normal(module)
    local std = self.config.initializer_range or 0.02
    torch.no_grad(function()
      local weight = rawget(module, '_kinds') and module.weight
      local kind = module.__name
      if kind == 'Linear' or kind == 'Conv1D' or kind == 'Embedding' then
        if weight ~= nil then nn.init.normal_(weight, 0, std) end
        if kind ~= 'Embedding' and module.bias ~= nil then nn.init.zeros_(module.bias) end
        if kind == 'Embedding' and module.padding_idx then weight:select(0, module.padding_idx):zero_() end
      elseif kind:find 'Norm$' then
        if weight ~= nil then nn.init.constant_(weight, module.begins_at_zero and 0 or 1) end
        if module.bias ~= nil then nn.init.zeros_(module.bias) end
      end
    end)
  end

  Class._init_weights = Class._init_normal

  function Class:_tie() end

  ---Makes the parameters that the config ties one tensor.
  function Class:tie_weights() self:_tie() end

  ---Returns the embedding of the ids.
  ---@return nn.Module
  function Class:get_input_embeddings()
    local inner = self[options.prefix]
    if inner ~= nil then return inner:get_input_embeddings() end
    local module = self
    for part in options.embedding:gmatch '[^.]+' do module = module[part] end
    return module
  end

  return Class
end

return pretrained
