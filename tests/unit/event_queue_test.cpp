#include "host/train/event_queue.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

Value output(const std::string& text) { return Map{{"type", "output"}, {"text", text}}; }

TEST(EventQueue, DropsOutputThatIsTooMuchInBytesAndSaysSoOnce) {
  constexpr size_t kLine = 65536;
  EventQueue queue;
  const std::string line(kLine, 'x');
  for (int i = 0; i < 1000; ++i) queue.add_output(output(line), kLine);
  queue.add(Map{{"type", "report"}});
  size_t shown = 0;
  while ((*queue.next(0))["type"].as_string() == "output") ++shown;
  EXPECT_GT(shown, 10U);
  EXPECT_LE(shown * kLine, size_t{4} << 20) << "the report came next: only output is dropped";
  queue.add_output(output("after"), 5);
  const std::string notice = (*queue.next(0))["text"].as_string();
  EXPECT_NE(notice.find(std::to_string(1000 - shown) + " lines of output"), std::string::npos)
      << notice;
  EXPECT_EQ((*queue.next(0))["text"].as_string(), "after");
}

}  // namespace
}  // namespace rtrain
