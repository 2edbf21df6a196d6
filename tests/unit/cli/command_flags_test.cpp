#include <gtest/gtest.h>

#include "host/cli/train/run_options.h"
#include "tests/unit/lua_class.h"

namespace rtrain::cli {
namespace {

TEST(CommandFlags, WhatWasNotGivenIsLeftOut) {
  EXPECT_EQ(to_value(CommandFlags{.set = {"lr=1"}, .num_workers = 0}),
            Value(Map{{"set", List{"lr=1"}}, {"tags", List{}}, {"num_workers", 0}}));
}

TEST(CommandFlags, TheClassOfLuaHasTheFieldsOfTheRecord) {
  expect_lua_class<CommandFlags>("rtrain.run.command_flags",
                                 {"on_fit? fun(trainer: DataParallelTrainer): any"});
}

}  // namespace
}  // namespace rtrain::cli
