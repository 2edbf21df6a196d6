-- Prints the milliseconds of result.metrics_dataframe. Arguments: the run's folder, the number of its reports.

local system = require 'base._system'
local train = require 'rtrain'

local path, count = arg[1], tonumber(arg[2])
local result = train.Result.from_path(path)
local begin = system.monotonic()
local frame = result.metrics_dataframe
local taken = system.monotonic() - begin
assert(#frame == count, 'rows are missing')
assert(frame[count].epoch == count - 1 and frame[1].loss == 1)
io.write(('read\t%.3f\n'):format(1e3 * taken))
