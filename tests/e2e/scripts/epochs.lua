-- Checkpoints that hold the number of an epoch, and nothing else.
local files, train = require 'files', require 'rtrain'

local epochs = {}

-- What the checkpoint holds; 0 without one.
function epochs.of(checkpoint)
  if checkpoint == nil then return 0 end
  return checkpoint:with_directory(function(dir) return tonumber(files.read(dir .. '/epoch')) end)
end

-- A report with a checkpoint of this epoch; `options` are more of train.report's.
function epochs.save(epoch, metrics, options)
  train.tempdir(function(dir)
    files.write(dir .. '/epoch', tostring(epoch))
    local given = {checkpoint = train.Checkpoint.from_directory(dir)}
    for key, value in pairs(options or {}) do given[key] = value end
    train.report(metrics or {epoch = epoch}, given)
  end)
end

return epochs
