-- rtrain/data/ingest/init.lua: chooses the number and the processors of a rank's ingest workers.

local host = require 'rtrain._ingest'
local IngestPool = require 'rtrain.data.ingest.pool'

local ingest = {}

-- Returns `count` elements of a list.
local function take(list, from, count) return {unpack(list, from, from + count - 1)} end

-- Returns the rank's processors and those of each of its ingest workers; nothing if the processors are not exclusive to
-- this rank.
local function dealt(options)
  local all = host.processors()
  if not options.num_cpus or #all ~= options.num_cpus + options.workers * options.threads then return nil end
  local cpus = {}
  for i = 1, options.workers do
    cpus[i] = take(all, options.num_cpus + 1 + (i - 1) * options.threads, options.threads)
  end
  return take(all, 1, options.num_cpus), cpus
end

---Creates the ingest workers of this process. So far the process is bound to the processors of all of them; afterwards
---it is bound to its own only. Starts the first ingest worker, so that it is ready when rows are needed.
---@param options {workers: integer, threads: integer, num_cpus: integer?} threads: of each ingest worker, with one
---  processor for each; num_cpus: processors of the rank alone, if configured
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
