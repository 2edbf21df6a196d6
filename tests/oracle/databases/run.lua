-- run.lua KIND FILE PROGRESS: runs the entries that torch.save wrote to FILE and prints a line for each problem. The
-- file PROGRESS names the current call, for the case that this process dies.

local torch = require 'torch'

torch.set_num_threads(1)

local kind, path, progress_path = ...
local part = require(kind)
local progress_file = assert(io.open(progress_path, 'w'))

local function progress(text)
  progress_file:seek('set')
  progress_file:write(text, '\n')
  progress_file:flush()
end

local total = 0
for _, entry in ipairs(torch.load(path)) do
  total = total + part.run(entry, function(form, id, problem)
    print(table.concat({'PROBLEM', entry.entry, form, id, (problem:gsub('%s+', ' ')):sub(1, 400)}, '\t'))
  end, progress)
end
print('CALLS\t' .. total)
