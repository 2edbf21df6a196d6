-- rtrain/data/ingest/init.lua: the ingest workers of a rank: how many, and on which processors.

local host = require 'rtrain._ingest'
local IngestPool = require 'rtrain.data.ingest.pool'

local ingest = {}

-- The next `count` of a list.
local function take(list, from, count) return {unpack(list, from, from + count - 1)} end

-- The rank's processors and those of each of its ingest workers; nothing where they were not given to it alone.
local function dealt(options)
  local all = host.processors()
  if not options.num_cpus or #all ~= options.num_cpus + options.workers * options.threads then return nil end
  local cpus = {}
  for i = 1, options.workers do
    cpus[i] = take(all, options.num_cpus + 1 + (i - 1) * options.threads, options.threads)
  end
  return take(all, 1, options.num_cpus), cpus
end

---Makes the ingest workers of this process, which is bound to the processors of all of them so far, and to its own from then
---on. The first one starts, so that it is there when rows are needed.
---@param options {workers: integer, threads: integer, num_cpus: integer?} threads: of each, one processor for each; num_cpus:
---  of the rank alone, where that was said
---@param timeout_s number how long a block may take
---@return data.IngestPool
function ingest.start(options, timeout_s)
  local own, cpus = dealt(options)
  if own then host.bind(own) end
  local pool = IngestPool {workers = options.workers, threads = options.threads, cpus = cpus, timeout_s = timeout_s}
  pool:start()
  return pool
end

return ingest
