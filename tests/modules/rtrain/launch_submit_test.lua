-- Parts of `rtrain submit`: time limits, and an engine's program that hangs. tests/e2e/launch/test_submit.py tests the rest.

local lu = require 'luaunit'
local duration = require 'rtrain.launch.submit.duration'
local message_of = require('refusal').message_of
local program = require 'rtrain.launch.submit.program'

TestDuration = {}

function TestDuration.test_as_slurm_writes_it()
  for text, seconds in next, {['30'] = 1800, ['1:30'] = 90, ['1:00:00'] = 3600, ['2-12'] = 216000, ['1-0:30'] = 88200,
    ['0-00:00:05'] = 5} do lu.assertEquals(duration.seconds(text), seconds, text) end
  for _, text in ipairs {'', '0', '00:00', 'soon', '1h', '-5', '1:2:3:4', '1-', '1.5'} do
    local message, err = message_of(duration.seconds, text)
    lu.assertStrContains(message, ('--time %s: expected minutes'):format(text))
    lu.assertEquals(err.code, 'config')
  end
end

TestProgram = {}

function TestProgram.test_gets_its_input_and_gives_all_its_output()
  lu.assertEquals(program.run({'sh', '-c', 'cat; echo "$1" >&2', 'sh', "it's"}, 'line\n', ''), "line\nit's")
  lu.assertEquals(program.run({'true'}, nil, ''), '')
end

function TestProgram.test_that_fails()
  local text, err = message_of(program.run, {'sh', '-c', 'echo 5; exit 3'}, nil, '')
  lu.assertStrContains(text, 'sh has failed with exit status 3: 5')
  lu.assertEquals(err.code, 'environment')
end

function TestProgram.test_that_does_not_end()
  local text, err = message_of(program.run, {'sh', '-c', 'echo waiting; sleep 60'}, nil, '', 0.2)
  lu.assertStrContains(text, 'sh has not ended within 0.2 s; what it wrote: waiting')
  lu.assertEquals(err.code, 'timeout')
end

os.exit(lu.LuaUnit.run(), true)
