-- Every public function and class of the library is documented: what it does, its parameters, its class for editors.
--
-- An override of a method that its base class documents needs no comment of its own.
local lu = require 'luaunit'
local catalog = require 'rtrain.doc.catalog'
local members = require 'rtrain.doc.members'
local signature = require 'rtrain.doc.signature'
local source = require 'rtrain.doc.source'

local MODULES = '../../modules'

local OVERRIDES = {
  init = true, forward = true, extra_repr = true, reset_parameters = true, batch = true, len = true, get = true,
  get_batch = true, backward = true, right_inverse = true, iter = true, indices = true, set_epoch = true, get_lr = true,
  step = true, compute_mask = true, state = true, load_state = true, resume = true, count = true, order = true,
  fuse = true,
}
-- Methods that sources and operators of rtrain.data override.
local DATA_OVERRIDES = {
  stream = true, apply = true, schema = true, schema_of = true, rows_of = true, num_rows = true, count_rows = true,
  is_random = true, fragments = true, read = true, cut = true, describe = true, input_files = true, select = true,
  size_bytes = true, blocks = true, cut_parts = true, gather = true, gives_any_rows = true,
}
-- Methods that aggregates of rtrain.data override.
local AGGREGATE_OVERRIDES = {partial = true, merge = true, finalize = true, type_of = true, values = true}
-- Methods that preprocessors override.
local PREPROCESSOR_OVERRIDES = {
  get_input_columns = true, get_output_columns = true, fit_status = true, state_dict = true, load_state_dict = true,
}
-- Methods that constraints and transforms override.
local DISTRIBUTION_OVERRIDES = {
  check = true, log_prob = true, log_abs_det_jacobian = true, forward_shape = true, inverse_shape = true, with_cache = true,
}
-- Methods that callbacks and sources of batches override.
local TREE_OVERRIDES = {
  before_training = true, after_training = true, before_iteration = true, after_iteration = true, next = true, reset = true,
}
-- Tables of functions that their own file calls by name.
local OWN_TABLES = {show = true, formulas = true}

local function is_override(file, name)
  if OVERRIDES[name] then return true end
  if file:match '^rtrain/data/aggregate/' then return AGGREGATE_OVERRIDES[name] end
  if file:match '^rtrain/data/preprocessors/' then return PREPROCESSOR_OVERRIDES[name] end
  if file:match '^xgboost/' or file:match '^lightgbm/' then return TREE_OVERRIDES[name] end
  local is_part = file:match '^rtrain/data/operators/' or file:match '^[%w_/]+/[%w_]+_sources?%.lua$'
  return is_part and DATA_OVERRIDES[name] or file:match '^torch/distributions/' and DISTRIBUTION_OVERRIDES[name]
end

local files = {}
for path in io.popen(("find '%s' -name '*.lua' | sort"):format(MODULES)):lines() do
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  files[#files + 1] = {name = path:sub(#MODULES + 2), lines = lines}
end

-- Returns the comment that ends above a line, or '' if the line has no comment.
local function comment_above(lines, number)
  local first = number
  while first > 1 and lines[first - 1]:match '^%-%-' do first = first - 1 end
  return table.concat(lines, '\n', first, number - 1)
end

-- Calls check(comment, owner, name, parameters) for each public function; returns the complaints.
local function complaints(check)
  local out = {}
  for _, file in ipairs(files) do
    for number, line in ipairs(file.lines) do
      local owner, name, parameters = line:match '^function ([%w_.]+)[.:]([%w_]+)%(([^)]*)%)'
      if owner and not name:match '^_' and not OWN_TABLES[owner:match '^[^.]+'] then
        local problem = check(comment_above(file.lines, number), owner, name, parameters, file.name)
        if problem then out[#out + 1] = ('%s:%d: %s.%s %s'):format(file.name, number, owner, name, problem) end
      end
    end
  end
  return table.concat(out, '\n')
end

TestDocumentation = {}

function TestDocumentation.test_every_public_function_has_a_comment()
  lu.assertEquals(complaints(function(comment, _, name, _, file)
    if not comment:match '^%-%-%-' and not is_override(file, name) then return 'has no documentation' end
  end), '')
end

function TestDocumentation.test_every_parameter_is_named()
  lu.assertEquals(complaints(function(comment, _, _, parameters)
    if not comment:match '^%-%-%-' or comment:find('Arguments:', 1, true) then return end
    for parameter in parameters:gmatch '[%w_.]+' do
      if not (comment .. '\n'):find('@param ' .. parameter:gsub('%.', '%%.') .. '%??%s') then
        return ('has no @param %s'):format(parameter)
      end
    end
  end), '')
end

function TestDocumentation.test_comments_have_no_torn_lines()
  local torn = {}
  for _, file in ipairs(files) do
    for number, line in ipairs(file.lines) do
      if line:match '^%-%-[^-]' and (file.lines[number - 1] or ''):match '^%-%-%-' then
        torn[#torn + 1] = ('%s:%d'):format(file.name, number)
      end
    end
  end
  lu.assertEquals(torn, {})
end

-- Each name in the tables that users see is a documented class or function of one of its files.
function TestDocumentation.test_every_class_that_users_see_is_declared()
  local declared = {}
  for _, file in ipairs(files) do
    for _, line in ipairs(file.lines) do
      local name = line:match '^%-%-%-@class ([%w_.]+)'
      if name then declared[name:match '[%w_]+$'] = true end
    end
  end
  local class, missing = require 'base.class', {}
  for _, file in ipairs(files) do
    local name = file.name:gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')
    local is_users = name:match '^torch%.nn%.' or name:match '^torch%.optim%.' or name:match '^torch%.utils%.data%.'
      or name:match '^vision%.'
    local module = is_users and require(name)
    for key, value in next, type(module) == 'table' and not class.is_class(module) and module or {} do
      if class.is_class(value) and not declared[key] and not key:match '^_' then missing[#missing + 1] = name .. '.' .. key end
    end
  end
  table.sort(missing)
  lu.assertEquals(missing, {})
end

-- Files behind train's names are in subfolders: the root of modules/rtrain has only what a script can name.
function TestDocumentation.test_the_root_of_rtrain_holds_its_public_names()
  local public, train, others = {}, require 'rtrain', {}
  local meta = getmetatable(train)
  for _, name in ipairs(catalog.names(train)) do public[meta.__place(name)] = true end
  for _, file in ipairs(files) do
    local name = file.name:match '^rtrain/([%w_]+)%.lua$'
    if name and name ~= 'init' and not public['rtrain.' .. name] then others[#others + 1] = file.name end
  end
  lu.assertEquals(others, {})
end

-- Returns the text of the comments of a class and its forward, and of the comments that they refer to.
local function words_about(of, entry)
  local out, comments = {}, signature.comments_of(of, entry)
  comments[#comments + 1] = type(of.forward) == 'function' and source.of_function(of.forward) or nil
  for _, said in ipairs(comments) do
    for _, paragraph in ipairs(said.doc.paragraphs) do out[#out + 1] = paragraph end
    for _, list in ipairs{said.doc.params, said.doc.fields} do
      for _, item in ipairs(list) do out[#out + 1] = ('%s %s %s'):format(item.name, item.type, item.text) end
    end
  end
  return table.concat(out, '\n')
end

local function each_public_class(see)
  for _, module in ipairs(catalog.modules()) do
    for _, name in ipairs(catalog.names(module.value)) do
      local found = members.find(module, name)
      if found.kind == 'class' and found.value then see(found) end
    end
  end
end

function TestDocumentation.test_every_parameter_of_a_constructor_is_documented()
  local missing = {}
  each_public_class(function(found)
    local entry = found.entry
    if not entry then
      missing[#missing + 1] = found.path
      return
    end
    local words = words_about(found.value, entry)
    for _, param in ipairs(signature.of_class(found.value, entry).params) do
      local is_named = param.text and param.text ~= '' or words:find('%f[%w_]' .. param.name:gsub('%.', '%%.') .. '%f[^%w_]')
      if not is_named and param.name ~= '...' then
        missing[#missing + 1] = found.path .. ': ' .. param.name
      end
    end
  end)
  lu.assertEquals(missing, {})
end

-- Layers whose inputs have any form, and layers that contain other layers.
local WITHOUT_SHAPE = {Module = true, Sequential = true, ModuleList = true, ModuleDict = true, ParameterList = true,
                       ParameterDict = true, Identity = true, Parameter = true, RNNCellBase = true}

-- Matches '(N, C, L)', '(…, in_features)', 'of any shape', 'the same shape'.
local function names_a_shape(words)
  return words:find '%([%w_…*′·/ +-]+,[%w_…*′·/, +-]*%)' or words:find '%(…[^)]*%)' or words:find '%f[%w]shape'
end

function TestDocumentation.test_every_layer_says_its_shapes()
  local missing = {}
  each_public_class(function(found)
    local is_layer = found.owner.path == 'torch.nn' and not WITHOUT_SHAPE[found.name]
    if is_layer and found.entry and not names_a_shape(words_about(found.value, found.entry)) then
      missing[#missing + 1] = found.path
    end
  end)
  lu.assertEquals(missing, {})
end

-- torch.nn.functional defines its functions by calls of a helper.
function TestDocumentation.test_every_function_of_functional_is_documented()
  local missing = {}
  for _, file in ipairs(files) do
    if file.name:match '^torch/nn/functional/' or file.name:match '^torch/nn/utils/' or file.name == 'torch/nn/init.lua' then
      for number, line in ipairs(file.lines) do
        local name = line:match "^defined%('([%w_]+)'" or line:match "^loss%('([%w_]+)'"
        if name and not comment_above(file.lines, number):match '^%-%-%-' then missing[#missing + 1] = name end
      end
    end
  end
  lu.assertEquals(missing, {})
end

os.exit(lu.LuaUnit.run(), true)
