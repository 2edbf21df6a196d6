#include "host/worker/profile/program_stack.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace rtrain::worker {
namespace {

TEST(ProgramStack, TheThreadThatTookTheSignalComesFirst) {
  const auto stacks = parse_faulthandler(
      "Thread 0x00007f01 (most recent call first):\n"
      "  File \"/usr/lib/threading.py\", line 320 in wait\n"
      "  File \"load.py\", line 4 in fetch\n"
      "\n"
      "Current thread 0x00007f02 (most recent call first):\n"
      "  File \"odd \", line 1.py\", line 12 in step\n"
      "  ...\n");
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_EQ(stacks[0].name, "main");
  EXPECT_EQ(stacks[0].frames, (std::vector<std::string>{"odd \", line 1.py:12 in step", "..."}));
  EXPECT_EQ(stacks[1].name, "Thread 0x00007f01");
  EXPECT_EQ(stacks[1].frames.back(), "load.py:4 in fetch");
}

TEST(ProgramStack, NothingAndOtherTextIsNoStack) {
  EXPECT_TRUE(parse_faulthandler("").empty());
  EXPECT_TRUE(parse_faulthandler("  File \"a.py\", line 1 in f\n\n").empty());
}

TEST(ProgramStack, AProcessThatDoesNotCatchTheSignalGetsNone) {
  EXPECT_TRUE(program_stack(getpid()).empty());
}

}  // namespace
}  // namespace rtrain::worker
