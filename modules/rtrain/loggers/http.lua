-- rtrain/loggers/http.lua: train.loggers.Http.

local checks = require 'rtrain.loggers.checks'
local errors = require 'base.errors'
local Logger = require 'rtrain.loggers.logger'

---Sends what the run records to a web server, as JSON by POST. Each body has `run`, `run_id`, `type` and, under the
---type's name: `begin`: the run as `rtrain show --json` has it; `items`: a list of reports {type = 'report', index,
---attempt, time, metrics}, points of train.log {type = 'point', key, step, time, value} and media {type = 'media', kind,
---name, step, time, hash}; `end`: {status, time}. An answer of 2xx takes the items. After 5xx, 401, 403, 408 and 429,
---and without an answer, they are sent again; after any other answer they are left out, with a notice.
---
---```lua
---local train = require 'rtrain'
---local logger = train.loggers.Http {url = 'http://127.0.0.1:1/runs', headers = {['X-Team'] = 'vision'}}
---assert(tostring(logger):find 'Http')
---```
---@class Http: UserCallback
---@overload fun(options: {url: string, headers: table<string, string>, insecure_tls: boolean}): Http
---@field url string
---@field headers? table<string, string>
---@field insecure_tls? boolean takes any certificate of the server
local Http = Logger:extend('Http')

---@param options table
function Http:init(options)
  local given = self:_checked(options, {url = checks.url, headers = checks.texts, insecure_tls = checks.boolean})
  if given.url == nil then errors.raise('config', 'train.loggers.Http: give url') end
  self._tracker = {kind = 'http', url = given.url, headers = given.headers, insecure_tls = given.insecure_tls}
end

function Http:_rest_command(run) return ('rtrain export --format json %s'):format(run) end

return Http
