-- Checkpoints that contain only the number of an epoch.
local files, train = require 'files', require 'rtrain'

local epochs = {}

-- Returns the epoch of the checkpoint, or 0 without a checkpoint.
function epochs.of(checkpoint)
  if checkpoint == nil then return 0 end
  return checkpoint:with_directory(function(dir) return tonumber(files.read(dir .. '/epoch')) end)
end

-- Reports a checkpoint of this epoch; `options` are further options of train.report.
function epochs.save(epoch, metrics, options)
  train.tempdir(function(dir)
    files.write(dir .. '/epoch', tostring(epoch))
    local given = {checkpoint = train.Checkpoint.from_directory(dir)}
    for key, value in pairs(options or {}) do given[key] = value end
    train.report(metrics or {epoch = epoch}, given)
  end)
end

return epochs
