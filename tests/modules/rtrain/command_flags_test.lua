-- rtrain.run.command_flags: stores the flags of a command for fit() and other readers.
local lu = require 'luaunit'
local command_flags = require 'rtrain.run.command_flags'

TestCommandFlags = {}

function TestCommandFlags:tearDown() command_flags.set(nil) end

function TestCommandFlags:test_nothing_was_given()
  lu.assertEquals(command_flags.get(), {set = {}, tags = {}})
end

function TestCommandFlags:test_what_was_given_is_kept()
  command_flags.set {set = {'lr=1'}, tags = {}, name = 'a'}
  command_flags.set_script 'other.lua'
  lu.assertEquals(command_flags.get(), {set = {'lr=1'}, tags = {}, name = 'a', script = 'other.lua'})
  command_flags.set(nil)
  lu.assertNil(command_flags.get().name)
end

function TestCommandFlags:test_a_name_that_no_command_gives_is_refused()
  local ok, problem = pcall(command_flags.set, {set = {}, tags = {}, num_worker = 2})
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(problem), "'num_worker'")
  lu.assertStrContains(tostring(problem), 'num_workers')
end

function TestCommandFlags:test_a_name_that_no_command_gives_cannot_be_read()
  command_flags.set {set = {}, tags = {}, num_workers = 2}
  for _, flags in ipairs {command_flags.get(), (command_flags.set(nil) or command_flags.get())} do
    local ok, problem = pcall(function() return flags.num_worker end)
    lu.assertFalse(ok)
    lu.assertStrContains(tostring(problem), "CommandFlags: unknown field 'num_worker': did you mean 'num_workers'?")
  end
end

function TestCommandFlags:test_a_call_of_fit_is_remembered()
  lu.assertFalse(command_flags.has_fitted())
  command_flags.mark_fit()
  lu.assertTrue(command_flags.has_fitted())
end

os.exit(lu.LuaUnit.run(), true)
