-- What torch.serialization has: save and load. What would let a file bring code is refused by name.

local lu = require 'luaunit'
local torch = require 'torch'

TestSerialization = {}

function TestSerialization.test_save_and_load_are_those_of_torch()
  lu.assertIs(torch.serialization.save, torch.save)
  lu.assertIs(torch.serialization.load, torch.load)
  local path = os.tmpname()
  torch.serialization.save({weight = torch.ones(2, 3)}, path)
  local state = torch.serialization.load(path)
  os.remove(path)
  lu.assertEquals(state.weight:tolist(), {{1, 1, 1}, {1, 1, 1}})
end

function TestSerialization.test_what_would_allow_code_of_a_file_is_refused()
  for _, name in ipairs {'add_safe_globals', 'safe_globals', 'clear_safe_globals', 'get_safe_globals'} do
    local _, problem = pcall(function() return torch.serialization[name] end)
    lu.assertStrContains(tostring(problem), ('torch.serialization.%s is not in this version: no class or function of a file '
      .. 'is ever used'):format(name))
  end
  local _, problem = pcall(function() return torch.serialization.get_unsafe_globals_in_checkpoint end)
  lu.assertStrContains(tostring(problem), 'torch.load names the class or function that it refuses')
end

function TestSerialization.test_a_wrong_name_gets_the_near_one()
  local _, problem = pcall(function() return torch.serialization.lod end)
  lu.assertStrContains(tostring(problem), "did you mean 'load'?")
end

os.exit(lu.LuaUnit.run())
