-- rtrain/tune/donated_checkpoint.lua: copies one trial's checkpoint for another trial, into the sweep's folder: the
-- donor may drop its own before the other trial has read it.

local host = require 'rtrain._host'
local system = require 'base._system'

local donated_checkpoint = {}

-- A checkpoint may be dropped between the listing and the copy.
local TRIES = 3

local function newest_of(storage, run)
  local newest
  for _, row in ipairs(host.checkpoints(storage, run, false)) do
    if newest == nil or row.index > newest.index then newest = row end
  end
  return newest
end

local function copy(from, to)
  local lease = system.lease(from)
  local ok, problem = pcall(system.copy_tree, from, to)
  lease:release()
  if not ok then error(problem, 0) end
end

local function folder_of(sweep_folder, trial) return ('%s/donated/%s'):format(sweep_folder, trial.name) end

---Copies the donor's newest checkpoint, and replaces an earlier copy for the trial.
---@param experiment table
---@param trial rtrain.tune.Trial
---@param donor rtrain.tune.Trial
---@return {path: string, after_index: integer}? checkpoint nil: the donor has no readable checkpoint
function donated_checkpoint.take(experiment, trial, donor)
  local folder = folder_of(experiment.folder, trial)
  for _ = 1, TRIES do
    local ok, row = pcall(newest_of, experiment.storage, donor.name)
    if not ok or row == nil then return nil end
    system.remove_tree(folder)
    local path = ('%s/%s'):format(folder, row.name)
    system.make_folders(folder)
    if pcall(copy, row.path, path) then
      return {path = path, after_index = trial.index}
    end
  end
  return nil
end

---Removes the copy, which the trial no longer needs.
---@param experiment table
---@param trial rtrain.tune.Trial
function donated_checkpoint.drop(experiment, trial) system.remove_tree(folder_of(experiment.folder, trial)) end

return donated_checkpoint
