-- Every public name of Python's torch.nn exists or is refused with the reason (torch/nn/absent.lua): cases/nn_names.py.
local lu = require 'luaunit'
local torch = require 'torch'
local absent = require 'torch.nn.absent'
local nn = torch.nn

local FOLDER = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''

local python = {}
for line in io.lines(FOLDER .. 'golden/nn_names.txt') do
  local case = assert(loadstring('return ' .. line))()
  python[case.name] = case.names
end

local OBJECTS = {
  nn = nn, functional = nn.functional, init = nn.init, parallel = nn.parallel, utils = nn.utils, rnn = nn.utils.rnn,
  prune = nn.utils.prune, parametrize = nn.utils.parametrize, parametrizations = nn.utils.parametrizations,
  stateless = nn.utils.stateless, Module = nn.Identity(),
  Sequential = nn.Sequential(), ModuleList = nn.ModuleList(), ModuleDict = nn.ModuleDict(),
  ParameterList = nn.ParameterList(), ParameterDict = nn.ParameterDict(),
  PackedSequence = nn.utils.rnn.pack_sequence({torch.ones(1), torch.ones(2)}, {enforce_sorted = false}),
}

-- Not part of the API: files of PyTorch, its texts, and names that its files import.
local FILES = 'common_types factory_kwargs modules parameter clip_grad convert_parameters fusion init memory_format'
local TEXTS = 'reproducibility_notes sparse_support_notes tf32_notes GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES'
local IMPORTS = 'BroadcastingList1 BroadcastingList2 BroadcastingList3 DType np grad ParamSpec PackedSequence_ bind F Module '
  .. 'ModuleDict ModuleList Parameter copy_method_params deepcopy get_swap_module_params_on_conversion parametrize '
  .. 'is_traceable_wrapper_subclass NamedMemberAccessor deprecated ABC abstractmethod'
local OF_CLASSES = 'T_destination call_super_init dump_patches count index'
local LEFT_OUT = {}
for name in table.concat({FILES, TEXTS, IMPORTS, OF_CLASSES}, ' '):gmatch '%S+' do LEFT_OUT[name] = true end

TestNnNames = {}

for place, object in next, OBJECTS do
  TestNnNames['test_' .. place] = function()
    local unknown = {}
    for name in python[place]:gmatch '%S+' do
      local ok, found = pcall(function() return object[name] end)
      local is_refused = not ok and found.code == 'unsupported'
      if not is_refused and (not ok or found == nil) and not LEFT_OUT[name] then unknown[#unknown + 1] = name end
    end
    lu.assertEquals(unknown, {})
  end
end

local PLACES = {['torch.nn'] = 'nn', ['torch.nn.functional'] = 'functional', ['torch.nn.init'] = 'init',
                ['torch.nn.parallel'] = 'parallel', ['torch.nn.utils'] = 'utils',
                ['torch.nn.utils.parametrize'] = 'parametrize', ['nn.Module'] = 'Module'}

function TestNnNames:test_refused_names_are_real_and_missing()
  for _, group in ipairs(absent.GROUPS) do
    local place = PLACES[group[1]]
    for name in group[4]:gmatch '%S+' do
      lu.assertTrue((' ' .. python[place] .. ' '):find(' ' .. name .. ' ', 1, true) ~= nil, name)
      local ok, err = pcall(function() return place == 'Module' and OBJECTS.Module[name]() or OBJECTS[place][name] end)
      lu.assertFalse(ok, name)
      lu.assertEquals(err.code, 'unsupported')
      lu.assertStrContains(err.message, group[3])
    end
  end
end

os.exit(lu.LuaUnit.run(), true)
