-- torch/profiler/trace_handler.lua: handlers of finished traces.

local args = require 'base.args'
local errors = require 'base.errors'
local system = require 'base._system'

-- Distinguishes the names of traces made within one second.
local count = 0

local function first_word(path)
  local file = io.open(path)
  local word = file and file:read('*a'):match '%S+' or 'unknown'
  if file then file:close() end
  return word
end

-- Returns the name of a worker in PyTorch's form.
local function own_name() return first_word '/proc/sys/kernel/hostname' .. '_' .. first_word '/proc/self/stat' end

---For `on_trace_ready`: writes each trace as `<worker_name>.<time>-<number>.pt.trace.json` into a folder, which it
---creates. Perfetto (https://ui.perfetto.dev) and chrome://tracing can open it. PyTorch equivalent:
---torch.profiler.tensorboard_trace_handler.
---@param dir_name string
---@param worker_name? string default: host and pid
---@param options? {use_gzip: boolean} true is refused: compress the file
---@return fun(prof: torch.profiler.profile): string handler returns the path of the file
local function tensorboard_trace_handler(dir_name, worker_name, options)
  options = args.options(options, {'use_gzip'}, 'tensorboard_trace_handler')
  if options.use_gzip then errors.raise('unsupported', 'tensorboard_trace_handler: use_gzip: compress the file with gzip') end
  if type(dir_name) ~= 'string' then
    errors.raise('argument', ('tensorboard_trace_handler: dir_name: expected a folder, got %s'):format(type(dir_name)))
  end
  return function(prof)
    system.make_folders(dir_name)
    count = count + 1
    local path = ('%s/%s.%d-%d.pt.trace.json'):format(dir_name, worker_name or own_name(), os.time(), count)
    prof:export_chrome_trace(path)
    return path
  end
end

return {tensorboard_trace_handler = tensorboard_trace_handler}
