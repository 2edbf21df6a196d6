local lu = require 'luaunit'
local train = require 'rtrain'

TestBackendConfig = {}

local Mine = train.Backend:extend 'Mine'

local function class_of(cls)
  local Config = train.BackendConfig:extend 'Config'
  Config.port = 1
  function Config:backend_cls() return cls end
  return Config
end

function TestBackendConfig:test_its_fields_are_those_with_a_default()
  local Config = class_of(Mine)
  lu.assertEquals({Config().port, Config{port = 2}.port, Config().timeout_s}, {1, 2, 1800})
  local Deeper = Config:extend 'Deeper'
  Deeper.host = 'a'
  lu.assertEquals({Deeper{host = 'b', port = 3}.host, Deeper().port}, {'b', 1})
  local function refused(text, of, fields)
    local ok, err = pcall(of, fields)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'config')
    lu.assertStrContains(err.message, text)
  end
  refused("did you mean 'port'?", Deeper, {prt = 1})
  refused("unknown field 'port'", train.BackendConfig, {port = 1})
  refused('Config.timeout_s = 0: expected a number above 0', Config, {timeout_s = 0})
  refused('Config.initialization_hook = 3: expected a function', Config, {initialization_hook = 3})
  refused('TorchConfig.initialization_hook = 3: expected a function', train.TorchConfig, {initialization_hook = 3})
end

function TestBackendConfig:test_what_a_trainer_takes()
  local function refused(text, given, torch_config)
    lu.assertErrorMsgContains(text, train.DataParallelTrainer, {
      train_loop_per_worker = function() end, backend_config = given, torch_config = torch_config})
  end
  local Config = class_of(Mine)
  refused('backend_config is the class Config', Config)
  refused('backend_config is a Mine', Mine())
  refused("backend_config is 'nccl'", 'nccl')
  refused('Config:backend_cls() returned a Mine', class_of(Mine())())
  refused('Config:backend_cls() returned nil', class_of(nil)())
  refused("unknown field 'torch_config'", train.TorchConfig {}, {})
  lu.assertErrorMsgContains('give torch_config or backend_config, not both', train.TorchTrainer, {
    train_loop_per_worker = function() end, backend_config = train.TorchConfig {}, torch_config = {}})
  lu.assertErrorMsgContains('write {backend_config = …}', train.DataParallelTrainer, function() end, Config())
  local trainer = train.DataParallelTrainer({train_loop_per_worker = function() end, backend_config = Config()})
  lu.assertEquals({trainer.backend_config.port, trainer._kind}, {1, 'plain'})
  local config = train.TorchConfig{timeout_s = 5}
  trainer = train.DataParallelTrainer({train_loop_per_worker = function() end, backend_config = config})
  lu.assertEquals({trainer.torch_config.timeout_s, trainer._kind}, {5, 'torch'})
end

os.exit(lu.LuaUnit.run(), true)
