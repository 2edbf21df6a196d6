#include "host/loop/processes/command_output.h"

#include <gtest/gtest.h>

namespace rtrain::loop {
namespace {

TEST(CommandOutput, AllThatACommandPrints) {
  CommandOutput command("echo one; echo two");
  EXPECT_TRUE(command.finish(30));
  EXPECT_EQ(command.text(), "one\ntwo\n");
}

TEST(CommandOutput, WhatPrintsWithoutEndIsNotWaitedForWithoutEnd) {
  CommandOutput command("exec yes");
  EXPECT_FALSE(command.finish(0));
  EXPECT_FALSE(command.finish(0.1));
  EXPECT_LE(command.text().size(), 3 * CommandOutput::kMostBytes);
}

TEST(CommandOutput, OfMuchOutputTheEndIsKept) {
  CommandOutput command("yes | head -n 1000000; echo end");
  EXPECT_TRUE(command.finish(30));
  EXPECT_TRUE(command.text().ends_with("y\nend\n"));
  EXPECT_GE(command.text().size(), CommandOutput::kMostBytes);
  EXPECT_LE(command.text().size(), 3 * CommandOutput::kMostBytes);
}

}  // namespace
}  // namespace rtrain::loop
