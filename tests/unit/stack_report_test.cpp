#include "host/worker/stack_report.h"

#include <gtest/gtest.h>

#include "host/base/codec.h"
#include "host/loop/frame.h"
#include "host/loop/message.h"

namespace rtrain {
namespace {

TEST(StackReport, VeryManyThreadsFitIntoAMessage) {
  const ThreadStack stack{
      .tid = 7, .name = "loader", .frames = std::vector(64, std::string(100, 'f'))};
  const List threads = to_list(std::vector(1000, stack));
  ASSERT_EQ(threads.size(), 1000U);
  EXPECT_EQ(threads[0]["frames"].as_list().size(), 64U);
  EXPECT_TRUE(threads[999]["frames"].as_list().empty());
  EXPECT_NO_THROW(to_frame(encode(Map{{"type", "stack"}, {"threads", threads}})));
}

TEST(Message, ALongErrorFitsIntoAMessage) {
  const Error error(Code::kUser, std::string(size_t{2} << 20, 'm'),
                    std::string(size_t{2} << 20, 't'));
  EXPECT_NO_THROW(to_frame(encode(error_to_value(error, 0))));
}

}  // namespace
}  // namespace rtrain
