#include "host/worker/stack_report.h"

#include <gtest/gtest.h>

#include "host/base/codec/codec.h"
#include "host/loop/channel/frame.h"

namespace rtrain::worker {
namespace {

TEST(StackReport, VeryManyThreadsFitIntoAMessage) {
  const loop::ThreadStack stack{
      .name = "loader", .tid = 7, .frames = std::vector(64, std::string(100, 'f'))};
  message::Stack answer;
  answer.threads = std::vector(1000, stack);
  fit_into_message(answer.threads);
  ASSERT_EQ(answer.threads.size(), 1000U);
  EXPECT_EQ(answer.threads[0].frames.size(), 64U);
  EXPECT_TRUE(answer.threads[999].frames.empty());
  EXPECT_NO_THROW(loop::to_frame(encode(to_value(answer))));
}

}  // namespace
}  // namespace rtrain::worker
