-- rtrain/config/logging.lua: LoggingConfig: which of rtrain's own messages reach the terminal.

local errors = require 'base.errors'
local schema = require 'rtrain.config.schema'

local LEVELS = {DEBUG = 10, INFO = 20, WARNING = 30, WARN = 30, ERROR = 40, CRITICAL = 50, FATAL = 50}
local NAMES = {'DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'}

local function check_level(value)
  if type(value) == 'number' then return nil end
  if type(value) == 'string' and LEVELS[value:upper()] then return nil end
  return ("expected '%s' or a number%s"):format(table.concat(NAMES, "', '"),
    type(value) == 'string' and errors.suggestion(value:upper(), NAMES) or '')
end

---Which of rtrain's own messages the terminal shows. The run's record keeps all of them. The output of the workers and
---the lines of reports are not messages. Ray equivalent: ray.train.LoggingConfig.
---
---```lua
---local train = require 'rtrain'
---local config = train.RunConfig {logging_config = train.LoggingConfig {log_level = 'WARNING'}}
---assert(not config.logging_config:shows('info') and config.logging_config:shows('error'))
---```
---@class LoggingConfig
---@overload fun(fields?: table): LoggingConfig
---@field log_level string|integer 'DEBUG', 'INFO' (default), 'WARNING', 'ERROR', 'CRITICAL', or Python's number of
---  such a level
local LoggingConfig = schema.define('LoggingConfig', {{'log_level', default = 'INFO', check = check_level}})

---@param level string 'info', 'warning' or 'error'
---@return boolean whether messages of that level are shown
function LoggingConfig:shows(level)
  local least = type(self.log_level) == 'number' and self.log_level or LEVELS[self.log_level:upper()]
  return (LEVELS[level:upper()] or LEVELS.INFO) >= least
end

return LoggingConfig
