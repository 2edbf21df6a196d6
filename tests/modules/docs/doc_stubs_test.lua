-- rtrain doc --stubs: the declarations are valid Lua and valid LuaCATS, and declare exactly the names that exist.
local lu = require 'luaunit'
local class = require 'base.class'
local stubs = require 'rtrain.doc.stubs'
local torch = require 'torch'

local files = stubs.files()
local text_of = {}
for _, file in ipairs(files) do text_of[file.path] = file.text end

-- Checks types by rewriting: a name becomes T, and a type that consists of T becomes T, until nothing changes.
local NAME, MEMBER, FUNCTION = '\1', '\2', '\3'
local RESULT = FUNCTION .. '%(\4?%): ' .. NAME

-- Rewrites a further result of a function, unless the type continues after it.
local function more_results(after)
  if after:match '[%[?|<]' then return nil end
  return FUNCTION .. '(): ' .. NAME .. after
end

local REWRITES = {
  {NAME .. '%[%]', NAME}, {NAME .. '%?', NAME}, {'^%(' .. NAME .. '%)', NAME},
  {'([^' .. FUNCTION .. '])%(' .. NAME .. '%)', '%1' .. NAME},
  {NAME .. '|' .. NAME, NAME}, {NAME .. '<' .. NAME .. ', ' .. NAME .. '>', NAME}, {NAME .. '<' .. NAME .. '>', NAME},
  {MEMBER .. NAME .. '([,)}])', '\4%1'}, {'\4, \4', '\4'}, {'{\4}', NAME}, {'{' .. NAME .. '}', NAME},
  {RESULT .. ', ' .. NAME .. '(.)', more_results}, {RESULT .. ', ' .. NAME .. '$', NAME}, {RESULT .. '$', NAME},
  {RESULT .. '([)}])', NAME .. '%1'}, {RESULT .. '(, [' .. MEMBER .. '\4])', NAME .. '%1'},
  {FUNCTION .. '%(\4?%)$', NAME}, {FUNCTION .. '%(\4?%)([^:])', NAME .. '%1'},
}

local function is_type(text)
  local now = text:gsub("'[^']*'", NAME):gsub('fun%(', FUNCTION .. '('):gsub('%[[%a_][%w_.]*%]: ', MEMBER)
    :gsub('[%a_][%w_]*%??: ', MEMBER):gsub('%.%.%.: ', MEMBER):gsub('%.%.%.', NAME):gsub('[%a_][%w_.]*%*?', NAME)
  -- A parameter may have no type.
  now = now:gsub('%(' .. NAME .. '([,)])', '(' .. MEMBER .. NAME .. '%1')
  local before
  repeat
    before = now
    for _, rewrite in ipairs(REWRITES) do now = now:gsub(rewrite[1], rewrite[2]) end
  until now == before
  return now == NAME
end

-- Returns the type at the start of a text: it ends at the first blank outside brackets that no ':' or ',' precedes.
local function first_type(text)
  local depth = 0
  for at = 1, #text do
    local char, last = text:sub(at, at), text:sub(at - 1, at - 1)
    if char:match '[({<%[]' then depth = depth + 1 end
    if char:match '[)}>%]]' then depth = depth - 1 end
    if char == ' ' and depth == 0 and last ~= ':' and last ~= ',' then return text:sub(1, at - 1) end
  end
  return text
end

local CHECKS = {
  meta = function(rest) return rest:match '^[%a_][%w_.]*$' end,
  class = function(rest) return rest:match '^[%a_][%w_.]*$' or rest:match '^[%a_][%w_.]*: [%a_][%w_.]*%[?%]?$' end,
  generic = function(rest) return rest:match '^%u%w*$' end,
  alias = function(rest) return is_type(rest:match '^[%a_][%w_.]* (.*)$' or '') end,
  field = function(rest)
    return is_type(first_type(rest:match '^[%w_]+%?? (.*)$' or rest:match '^%[any%] (.*)$' or ''))
  end,
  param = function(rest)
    return is_type(first_type(rest:match '^[%a_][%w_]*%?? (.*)$' or rest:match '^%.%.%. (.*)$' or ''))
  end,
  ['return'] = function(rest) return is_type(first_type(rest)) end,
  overload = function(rest) return rest:match '^fun%(' and is_type(rest) end,
  operator = function(rest)
    local inner, result = rest:match '^%l+%((.*)%): (.*)$'
    return is_type(result or rest:match '^%l+: (.*)$' or '') and (not inner or is_type(inner))
  end,
}

TestStubs = {}

function TestStubs.test_the_validator_itself()
  for _, text in ipairs{'integer', 'torch.Tensor[]', "'a'|'b'", 'fun(): string, integer', 'fun(x: any, ...: integer): (a|b)[]',
    '{a: integer, b?: fun(x: T): nil}', 'table<string, torch.Tensor>', 'fun(f: fun(c?: table): any, o?: {a?: b|nil}): X'} do
    lu.assertTrue(is_type(text), text)
  end
  for _, text in ipairs{'', 'a b', 'fun(', '{a: }', 'a|', 'list<a', 'fun(a: b,)', '[]'} do
    lu.assertFalse(is_type(text), text)
  end
end

function TestStubs.test_files_are_lua()
  for _, file in ipairs(files) do lu.assertNotNil(loadstring(file.text, '@' .. file.path)) end
end

-- Language servers skip larger files.
function TestStubs.test_files_are_small_enough()
  for _, file in ipairs(files) do lu.assertTrue(#file.text < 500000, file.path) end
end

function TestStubs.test_every_annotation_parses()
  local wrong = {}
  for _, file in ipairs(files) do
    local number = 0
    for line in file.text:gmatch '(.-)\n' do
      number = number + 1
      local tag, rest = line:match '^%-%-%-@(%w+) ?(.*)$'
      if tag and not (CHECKS[tag] and CHECKS[tag](rest)) then
        wrong[#wrong + 1] = ('%s:%d: %s'):format(file.path, number, line)
      end
    end
  end
  lu.assertEquals(wrong, {})
end

local BUILT_IN = {}
for name in ('any nil boolean string number integer table userdata function self file* true false fun thread'):gmatch '%S+' do
  BUILT_IN[name] = true
end

local function declared_types()
  local declared = {}
  for _, file in ipairs(files) do
    for tag, name in file.text:gmatch '%-%-%-@(%l+) ([%w_.]+)' do
      if tag == 'class' or tag == 'alias' or tag == 'generic' then declared[name] = true end
    end
  end
  return declared
end

-- Every class that an annotation names is declared exactly once.
function TestStubs.test_every_type_is_declared()
  local declared, unknown, seen = declared_types(), {}, {}
  for _, file in ipairs(files) do
    for line in file.text:gmatch '[^\n]+' do
      local tag, rest = line:match '^%-%-%-@(%w+) (.*)$'
      local name = (tag == 'field' or tag == 'param') and rest:match '^%S+ (.*)$'
      local type = name and first_type(name) or tag == 'return' and first_type(rest) or tag == 'overload' and rest or ''
      local plain = type:gsub("'[^']*'", ''):gsub('[%a_][%w_]*%??: ', '')
      for word in plain:gmatch '[%a_][%w_.]*%*?' do
        if not BUILT_IN[word] and not declared[word] and not declared['torch.' .. word] and not seen[word] then
          seen[word] = true
          unknown[#unknown + 1] = ('%s (%s: %s)'):format(word, file.path, line)
        end
      end
    end
  end
  lu.assertEquals(unknown, {})
end

function TestStubs.test_classes_are_declared_once()
  local count = {}
  for _, file in ipairs(files) do
    for name in ('\n' .. file.text):gmatch '\n%-%-%-@class ([%w_.]+)' do count[name] = (count[name] or 0) + 1 end
  end
  local twice = {}
  for name, times in next, count do
    if times > 1 then twice[#twice + 1] = name end
  end
  lu.assertEquals(twice, {})
end

-- Returns the object's member of that name, or nil if the lookup fails.
local function member(object, name)
  if type(rawget(require 'torch._C', name)) == 'table' then return nil end
  local ok, found = pcall(function() return object[name] end)
  return ok and found or nil
end

local tensor = torch.zeros(1)

local function declares(text, name)
  return text:find('function ' .. name .. '(', 1, true) ~= nil or text:find('\n' .. name .. ' = {}', 1, true) ~= nil
end

function TestStubs.test_every_operator_is_a_function_and_its_tensor_has_the_method()
  local functions, methods = text_of['torch.lua'], text_of['torch/Tensor.lua']
  local lua_name = require('rtrain.doc.operator').lua_name
  local C, missing = require 'torch._C', {}
  for _, name in ipairs(C.op_names()) do
    local is_function = type(member(torch, lua_name(name))) == 'function'
    if is_function and not declares(functions, 'torch.' .. lua_name(name)) then missing[#missing + 1] = 'torch.' .. name end
    local takes_tensor = C.op_signatures(name)[1]:match '%(Tensor self'
    local is_method = takes_tensor and type(member(tensor, lua_name(name))) == 'function'
    if is_method and not declares(methods, 'Tensor:' .. lua_name(name)) then missing[#missing + 1] = 'x:' .. name end
  end
  for _, list in ipairs{(C.tensor_members()), require('torch.methods').names()} do
    for _, name in ipairs(list) do
      if not declares(methods, 'Tensor:' .. name) then missing[#missing + 1] = 'x:' .. name end
    end
  end
  lu.assertEquals(missing, {})
end

-- Calls `see` for the public names of the tables that users see.
local function each_public(module, see)
  local value = require(module)
  local meta = getmetatable(value)
  for _, name in ipairs(meta.__names(value)) do
    if not name:match '^_' then see(name, value[name]) end
  end
end

function TestStubs.test_every_public_name_is_declared()
  local missing = {}
  for module, path in next, {['torch.nn'] = 'torch/nn.lua', ['torch.nn.functional'] = 'torch/nn/functional.lua',
    ['torch.optim'] = 'torch/optim.lua', ['torch.utils.data'] = 'torch/utils/data.lua', rtrain = 'rtrain.lua',
    ['vision.models'] = 'vision/models.lua', ['vision.transforms'] = 'vision/transforms.lua', torch = 'torch.lua',
    ['torch.linalg'] = 'torch/linalg.lua'} do
    local short = module:match '[%w_]+$'
    each_public(module, function(name, value)
      local is_field = text_of[path]:find(('\n---@field %s '):format(name), 1, true)
      if not is_field and not declares(text_of[path], short .. '.' .. name) then
        missing[#missing + 1] = ('%s.%s (%s)'):format(module, name, class.is_class(value) and 'class' or type(value))
      end
    end)
  end
  lu.assertEquals(missing, {})
end

-- The reverse: everything that is declared exists.
function TestStubs.test_every_declared_name_exists()
  local wrong = {}
  for _, file in ipairs(files) do
    local module = file.text:match '^%-%-%-@meta ([%w_.]+)'
    local short = module:match '[%w_]+$'
    local value = module ~= 'rtrain.types' and (module == 'torch.Tensor' and tensor or require(module))
    for separator, name in ('\n' .. file.text):gmatch('\nfunction ' .. short .. '([.:])([%w_]+)%(') do
      if value and type(member(value, name)) ~= 'function' then wrong[#wrong + 1] = module .. separator .. name end
    end
    for name in value and ('\n' .. file.text):gmatch('\n' .. short .. '%.([%w_]+) = {}') or function() end do
      if not class.is_class(value[name]) then wrong[#wrong + 1] = module .. '.' .. name end
    end
  end
  lu.assertEquals(wrong, {})
end

function TestStubs.test_classes_have_constructors_with_types()
  lu.assertStrContains(text_of['torch/nn.lua'], '---@overload fun(in_features: integer, out_features: integer, '
    .. 'options?: {bias?: boolean, device?: torch.device, dtype?: torch.dtype}): nn.Linear')
  lu.assertStrContains(text_of['rtrain.lua'], '---@class ScalingConfig')
  lu.assertStrContains(text_of['torch/Tensor.lua'], '---@operator add(torch.Tensor|number): torch.Tensor')
  lu.assertStrContains(text_of['torch.lua'],
    '---@overload fun(...: integer): torch.Tensor\nfunction torch.zeros(size, options) end')
end

os.exit(lu.LuaUnit.run(), true)
