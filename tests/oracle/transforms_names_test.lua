-- Every class and function of torchvision.transforms exists with its parameters and their defaults, or is refused with
-- the reason: cases/transforms_names.py.
local lu = require 'luaunit'
local args = require 'base.args'
local F, T = require 'vision.transforms.functional', require 'vision.transforms'

local FOLDER = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''
local REFUSED = {['functional.to_grayscale'] = true}

local function is_refused(owner, name)
  local ok, err = pcall(function() return owner[name] end)
  return not ok and err.code == 'unsupported'
end

local function signature_of(case, name)
  if case.place == 'functional' then return args.signature_of(F[name]) end
  return args.signature_of(T[name].init)
end

local function check_parameters(case)
  local name = case.name:match '[%w_]+$'
  if REFUSED[case.name] then return lu.assertTrue(is_refused(F, name)) end
  local signature, optional = signature_of(case, name), {}
  lu.assertEquals(signature.names, case.parameters)
  for i, parameter in ipairs(signature.names) do
    if not signature.required[i] then optional[#optional + 1] = parameter end
  end
  lu.assertEquals(optional, case.optional)
  lu.assertEquals(signature.defaults, case.defaults)
end

TestTransformsNames = {}

for line in io.lines(FOLDER .. 'golden/transforms_names.txt') do
  local case = assert(loadstring('return ' .. line))()
  TestTransformsNames['test_' .. case.name:gsub('%.', '_')] = function()
    if case.parameters then return check_parameters(case) end
    for _, name in ipairs(case.names) do
      if case.name == 'enumerations' then
        lu.assertEquals(type(T[name]), 'table', name)
      else
        lu.assertTrue(is_refused(T, name), name)
      end
    end
  end
end

os.exit(lu.LuaUnit.run(), true)
