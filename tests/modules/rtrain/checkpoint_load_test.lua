-- Checkpoint:load(): which file of a checkpoint it reads.

local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

TestCheckpointLoad = {}

-- Returns the values that load() reads from a checkpoint with these files: name → value.
local function loaded(files, options)
  return train.tempdir(function(folder)
    for name, value in next, files do
      local inner = name:match '^(.*)/'
      if inner then os.execute(("mkdir -p '%s/%s'"):format(folder, inner)) end
      if name:find '%.safetensors$' then
        torch.save_safetensors(value, folder .. '/' .. name)
      elseif type(value) == 'string' then
        local file = assert(io.open(folder .. '/' .. name, 'w'))
        file:write(value)
        file:close()
      else
        torch.save(value, folder .. '/' .. name)
      end
    end
    return train.Checkpoint.from_directory(folder):load(options)
  end)
end

local function problem(...)
  local ok, err = pcall(loaded, ...)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'argument')
  return err.message
end

function TestCheckpointLoad.test_the_one_file_of_tensors_is_read()
  lu.assertEquals(loaded({['state.pt'] = {epoch = 7}, ['notes.txt'] = 'x'}).epoch, 7)
  lu.assertTrue(torch.equal(loaded({['a.safetensors'] = {w = torch.ones(2)}}).w, torch.ones(2)))
  lu.assertEquals(loaded({['parts/state.pt'] = {epoch = 8}}).epoch, 8)
  lu.assertEquals(loaded({['model.pt'] = {epoch = 1}, ['state-rank-1.pt'] = {epoch = 2}}).epoch, 1)
end

function TestCheckpointLoad.test_of_several_one_is_named()
  local files = {['model.pt'] = {epoch = 1}, ['optimizer.pt'] = {epoch = 2}}
  lu.assertEquals(loaded(files, {file = 'optimizer.pt'}).epoch, 2)
  lu.assertStrContains(problem(files), 'say {file = …}: model.pt, optimizer.pt')
  lu.assertStrContains(problem(files, {file = 'modle.pt'}), "no file 'modle.pt', the checkpoint has model.pt, optimizer.pt")
  lu.assertStrContains(problem({['notes.txt'] = 'x'}), 'no file of tensors (.pt, .pth, .safetensors): it has notes.txt')
  lu.assertStrContains(problem({['notes.txt'] = 'x'}, {file = 'notes.txt'}), 'notes.txt is none of .pt')
  lu.assertStrContains(problem(files, {fil = 'model.pt'}), "did you mean 'file'")
end

function TestCheckpointLoad.test_an_empty_path_is_refused()
  local ok, err = pcall(train.Checkpoint.from_directory, '')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'argument')
  lu.assertStrContains(err.message, "Checkpoint: the path is ''")
end

function TestCheckpointLoad.test_metrics_are_no_list()
  local ok, err = pcall(require 'rtrain.metrics.plain', {1, 2, 3}, 'report')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'argument')
  lu.assertStrContains(err.message, 'report: the metrics are a list, whose first item is 1')
end

function TestCheckpointLoad.test_the_best_of_a_run_is_named()
  local ok, err = pcall(train.best, 7)
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, "best: expected a run's name, got number")
end

os.exit(lu.LuaUnit.run(), true)
