-- rtrain/doctor/checkpoint.lua: the test whether the checkpoint of a training on devices can be read again.

local notes = require 'rtrain.doctor.notes'
local row = require 'rtrain.doctor.row'

local checkpoint = {}

---Verifies and loads a result's checkpoint; notes as 'checkpoint' whether it has the numbers that the training noted.
---@param result Result
---@param folder string of the notes
function checkpoint.check(result, folder)
  local torch = require 'torch'
  local trained = notes.read(folder, 'trained')
  result.checkpoint:with_directory(function(path)
    local weight = torch.load(path .. '/model.pt', {map_location = 'cpu'}).weight
    local expected = torch.tensor(trained.weight):view_as(weight)
    notes.write(folder, 'checkpoint', {is_same = torch.equal(weight, expected)})
  end)
end

---@param folder string of the notes
---@return rtrain.DoctorRow
function checkpoint.judge(folder)
  local found = notes.read(folder, 'checkpoint')
  local mend = '`rtrain doc guide/troubleshooting`, results are not there'
  if not found then return row.failure('checkpoint', 'it has not been read again', {mend = mend}) end
  if not found.is_same then
    return row.failure('checkpoint', 'it has other numbers than the training', {mend = mend, figures = found})
  end
  return row.ok('checkpoint', 'saved from the devices, verified, and loaded with the same numbers', {figures = found})
end

return checkpoint
