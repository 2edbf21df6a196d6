#include "host/train/run/event_queue.h"

#include <gtest/gtest.h>

#include "host/base/text/text.h"
#include "host/train/run/value_size.h"

namespace rtrain::train {
namespace {

Value output(const std::string& text) { return Map{{"type", "output"}, {"text", text}}; }
Value report(int index) { return Map{{"type", "report"}, {"index", index}}; }

TEST(EventQueue, DropsOutputThatIsTooMuchInBytesAndSaysSoOnce) {
  constexpr size_t kLine = 65536;
  EventQueue queue;
  const std::string line(kLine, 'x');
  for (int i = 0; i < 1000; ++i) queue.add_output(output(line));
  size_t shown = 0;
  while (queue.waiting_bytes() > 0) {
    EXPECT_EQ((*queue.next(0))["type"], Value("output"));
    ++shown;
  }
  EXPECT_GT(shown, 10U);
  EXPECT_LE(shown * kLine, EventQueue::kMuch);
  queue.add_output(output("after"));
  const std::string notice = (*queue.next(0))["text"].as_string();
  EXPECT_NE(notice.find(std::to_string(1000 - shown) + " lines of output"), std::string::npos)
      << notice;
  EXPECT_EQ((*queue.next(0))["text"].as_string(), "after");
}

TEST(EventQueue, WhatIsDroppedLastIsSaidBeforeTheNextEventOfAnyKind) {
  EventQueue queue;
  for (int i = 0; i < 200000; ++i) queue.add_report(report(i));
  for (int i = 0; i < 7; ++i) queue.add_output(output("line"));
  EXPECT_LE(queue.waiting_bytes(), EventQueue::kMuch + approximate_bytes(report(0)));
  queue.add(Map{{"type", "finished"}});
  int shown = 0;
  Value event = *queue.next(0);
  for (; event["type"] == Value("report"); event = *queue.next(0)) {
    EXPECT_EQ(event["index"], Value(shown++));
  }
  EXPECT_EQ(event["text"], Value(cat("7 lines of output and ", 200000 - shown,
                                     " reports are not shown here: see the run's logs and "
                                     "`rtrain metrics`")));
  EXPECT_EQ((*queue.next(0))["type"], Value("finished"));
}

TEST(EventQueue, AReaderThatIsABitTooSlowGetsFewGaps) {
  EventQueue queue;
  int notices = 0;
  int shown = 0;
  const auto take = [&] {
    const Value event = *queue.next(0);
    event["type"] == Value("notice") ? ++notices : ++shown;
  };
  for (int i = 0; i < 100000; ++i) {
    queue.add_output(output("line"));
    if (i % 2 == 0) take();
  }
  EXPECT_GT(shown, 40000);
  EXPECT_GT(notices, 2);
  EXPECT_LT(notices, 20);
}

TEST(EventQueue, KeepsReportsThatAreWantedAndTellsWhenTheReaderHasCaughtUp) {
  int caught_up = 0;
  EventQueue queue({.keeps_reports = true, .on_caught_up = [&caught_up] { ++caught_up; }});
  int count = 0;
  while (queue.waiting_bytes() <= EventQueue::kMuch) queue.add_report(report(count++));
  while (queue.waiting_bytes() > EventQueue::kMuch / 2) {
    EXPECT_EQ(caught_up, 0);
    queue.next(0);
  }
  EXPECT_EQ(caught_up, 1);
  while (queue.waiting_bytes() > 0) queue.next(0);
  EXPECT_EQ(caught_up, 1);
}

}  // namespace
}  // namespace rtrain::train
