-- Every public name of Python's torch exists or is refused with the reason (torch/absent.lua): cases/names.py.
local lu = require 'luaunit'
local torch = require 'torch'
local absent = require 'torch.absent'

local FOLDER = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''

-- The names in these places of Python's torch, as lists and as sets.
local python, has = {}, {}
for line in io.lines(FOLDER .. 'golden/names.txt') do
  local case = assert(loadstring('return ' .. line))()
  local names, set = {}, {}
  for name in case.names:gmatch '%S+' do
    names[#names + 1] = name
    set[name] = true
  end
  python[case.name], has[case.name] = names, set
end

-- Names of the smaller places that rtrain leaves out: place → set.
local left_out = {}
for _, place in ipairs(absent.PLACES) do
  left_out[place[1]] = {}
  for name in place[3]:gmatch '%S+' do left_out[place[1]][name] = true end
end

local function is_left_out(place, name) return left_out[place] ~= nil and left_out[place][name] == true end

-- Returns 'there', 'refused' (with the reason), or 'unknown'. A field that is nil (x.grad) is there.
local function state(object, name)
  local ok, err = pcall(function() return object[name] end)
  if ok then return 'there' end
  return type(err) == 'table' and err.code == 'unsupported' and 'refused' or 'unknown'
end

local function unknown_names(object, place)
  local out = {}
  for _, name in ipairs(python[place]) do
    if not is_left_out(place, name) and state(object, name) == 'unknown' then out[#out + 1] = name end
  end
  return out
end

TestNames = {}

function TestNames:test_torch() lu.assertEquals(unknown_names(torch, 'torch'), {}) end

function TestNames:test_tensors() lu.assertEquals(unknown_names(torch.ones(2, 2, {dtype = 'complex64'}), 'Tensor'), {}) end

function TestNames:test_namespaces()
  for _, place in ipairs{'linalg', 'fft', 'special', 'random', 'sparse', 'testing', 'profiler'} do
    lu.assertEquals(unknown_names(torch[place], place), {})
  end
end

function TestNames:test_distributions()
  local distributions = torch.distributions
  lu.assertEquals(unknown_names(distributions, 'distributions'), {})
  lu.assertEquals(unknown_names(distributions.constraints, 'distributions.constraints'), {})
  lu.assertEquals(unknown_names(distributions.transforms, 'distributions.transforms'), {})
end

function TestNames:test_generators_and_sizes()
  for place, object in next, {Generator = torch.Generator(), Size = torch.ones(2).shape} do
    for _, name in ipairs(python[place]) do
      lu.assertTrue(object[name] ~= nil or is_left_out(place, name), place .. '.' .. name)
    end
  end
end

-- A refused name must exist in PyTorch and must be absent in rtrain.
function TestNames:test_refused_names_are_real_and_missing()
  local tensor, wrong = torch.ones(1), {}
  for _, group in ipairs(absent.GROUPS) do
    for name in group[3]:gmatch '%S+' do
      local of_torch = has.torch[name] and state(torch, name) == 'refused'
      local of_tensors = has.Tensor[name] and state(tensor, name) == 'refused'
      if not (of_torch or of_tensors) then wrong[#wrong + 1] = name end
    end
  end
  lu.assertEquals(wrong, {})
end

os.exit(lu.LuaUnit.run(), true)
