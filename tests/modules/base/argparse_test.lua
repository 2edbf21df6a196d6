-- argparse: Lua's argparse inside the executable, and parsers that are generated from a config.
local lu = require 'luaunit'
local argparse = require 'argparse'

local message_of = require('refusal').message_of

TestArgparse = {}

function TestArgparse.test_options_flags_and_arguments()
  local parser = argparse('train.lua', 'Trains.')
  parser:argument 'data'
  parser:option('--lr', 'learning rate', 0.1):convert(tonumber)
  parser:flag '--verbose'
  parser:option('--layers'):args('*'):convert(tonumber)
  local given = parser:parse{'folder', '--lr', '0.5', '--layers', '3', '4'}
  lu.assertEquals({given.data, given.lr, given.verbose, given.layers}, {'folder', 0.5, nil, {3, 4}})
  lu.assertEquals(parser:parse{'folder'}.lr, 0.1)
  lu.assertStrContains(parser:get_help(), 'learning rate')
end

function TestArgparse.test_wrong_lines_are_told()
  local parser = argparse('train.lua')
  parser:option('--lr'):convert(tonumber)
  local ok, message = parser:pparse{'--lrr', '1'}
  lu.assertFalse(ok)
  lu.assertStrContains(message, "unknown option '--lrr'")
  ok, message = parser:pparse{'--lr', 'much'}
  lu.assertFalse(ok)
  lu.assertStrContains(message, "malformed argument 'much'")
end

local CONFIG = {lr = 1 / 3, batch_size = 32, shuffle = true, name = 'net', layers = {64, 32}}

function TestArgparse.test_a_parser_of_a_config()
  local parser = argparse.of_config(CONFIG, 'train.lua')
  lu.assertEquals(parser:parse{}, CONFIG)
  lu.assertEquals(parser:parse{'--lr', '1e-3', '--batch-size=8', '--shuffle', 'false', '--name', '7', '--layers', '1,2,3'},
    {lr = 1e-3, batch_size = 8, shuffle = false, name = '7', layers = {1, 2, 3}})
  lu.assertEquals(parser:parse{'--batch_size', '4'}.batch_size, 4)
  lu.assertEquals(CONFIG.layers, {64, 32})
  local seeded = argparse.of_config({seed = 9223372036854775808ULL}, 'train.lua')
  lu.assertStrContains(seeded:get_help(), 'default: 9223372036854775808')
  lu.assertNil(seeded:get_help():find 'LL')
  lu.assertTrue(seeded:parse{'--seed', '9223372036854775809'}.seed == 9223372036854775809ULL)
  local help = parser:get_help()
  lu.assertStrContains(help, '--batch-size <value>')
  lu.assertStrContains(help, 'default: 64,32')
end

function TestArgparse.test_values_of_a_config_keep_their_type()
  local parser = argparse.of_config(CONFIG, 'train.lua')
  for option, text in next, {['--lr'] = 'fast', ['--shuffle'] = 'yes', ['--layers'] = '1,x'} do
    local ok, message = parser:pparse{option, text}
    lu.assertFalse(ok)
    lu.assertStrContains(message, option .. ": the script's value is")
  end
end

function TestArgparse.test_further_options_next_to_a_config()
  local parser = argparse.of_config({lr = 0.1}, 'train.lua')
  parser:flag '--resume'
  lu.assertEquals(parser:parse{'--resume'}, {lr = 0.1, resume = true})
end

function TestArgparse.test_configs_that_are_none()
  lu.assertStrContains(message_of(argparse.of_config, 3), 'expected a table of default values')
  lu.assertStrContains(message_of(argparse.of_config, {model = {width = 3}}), 'model: expected a name with')
  lu.assertStrContains(message_of(argparse.of_config, {print}), '1: expected a name with')
end

os.exit(lu.LuaUnit.run(), true)
