// A recording's events as a tree, with the times and memory of each.
#include <gtest/gtest.h>

#include "host/engine/profiler/function_events.h"

namespace rtrain::engine {
namespace {

FunctionEvent event(const std::string& name, int64_t start, int64_t end, uint64_t thread = 1) {
  FunctionEvent out;
  out.name = name;
  out.start_ns = start;
  out.end_ns = end;
  out.thread = thread;
  return out;
}

TEST(FunctionEvents, SpansOfOneThreadAreParentsOfWhatTheyHold) {
  const auto events = link_events({event("b", 2, 5), event("a", 1, 10), event("c", 6, 9),
                                   event("other", 2, 4, 2), event("across", 8, 12)},
                                  {});
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].name, "a");
  EXPECT_EQ(events[0].children.size(), 2U);
  EXPECT_EQ(events[0].self_cpu_ns, 9 - 3 - 3);
  EXPECT_EQ(events[1].name, "b");
  EXPECT_EQ(events[1].parent, 0);
  EXPECT_EQ(events[2].name, "other");
  EXPECT_EQ(events[2].parent, -1);
  EXPECT_EQ(events[4].parent, -1);  // ends after its would-be parent
}

TEST(FunctionEvents, ACallThatOnlyCallsItsNamesakeIsOne) {
  auto events = link_events({event("f", 0, 10), event("f", 1, 9), event("g", 2, 8)}, {});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].self_cpu_ns, 10 - 6);
  EXPECT_EQ(events[1].parent, 0);
  events = link_events({event("f", 0, 10), event("f", 1, 3), event("f", 4, 6)}, {});
  EXPECT_EQ(events.size(), 3U);
}

TEST(FunctionEvents, KernelsCountForTheOperatorThatLaunchedThem) {
  FunctionEvent outer = event("aten::linear", 0, 10);
  FunctionEvent inner = event("aten::addmm", 1, 9);
  inner.id = 7;
  FunctionEvent launch = event("cudaLaunchKernel", 3, 4, 99);
  launch.linked = 7;
  FunctionEvent kernel = event("gemm", 20, 50, 3);
  kernel.linked = 7;
  kernel.on_device = true;
  const auto events = link_events({outer, inner, launch, kernel}, {});
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].device_ns, 30);
  EXPECT_EQ(events[0].self_device_ns, 0);
  EXPECT_EQ(events[1].self_device_ns, 30);
  EXPECT_EQ(events[2].parent, 1);  // on the thread of its caller
  EXPECT_EQ(events[3].device_ns, 30);
  EXPECT_EQ(events[3].self_cpu_ns, 0);
}

TEST(FunctionEvents, MemoryCountsForAllThatRunAndElseForItself) {
  const auto events = link_events({event("a", 0, 10), event("b", 2, 5)},
                                  {{3, 100, false}, {7, -40, false}, {12, 8, true}});
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].cpu_memory, 60);
  EXPECT_EQ(events[0].self_cpu_memory, -40);
  EXPECT_EQ(events[1].cpu_memory, 100);
  EXPECT_EQ(events[2].name, "[memory]");
  EXPECT_EQ(events[2].device_memory, 8);
  EXPECT_EQ(events[2].cpu_memory, 0);
}

TEST(FunctionEvents, LinesAreTheStackOfWhatIsInThem) {
  FunctionEvent line = event("train.lua:3", 1, 9);
  line.is_line = true;
  const auto events =
      link_events({event("range", 0, 10), line, event("op", 2, 8), event("in", 3, 4)}, {});
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1].parent, 0);
  EXPECT_EQ(events[1].stack, std::vector<std::string>{"train.lua:3"});
  EXPECT_EQ(events[2].parent, 1);
  EXPECT_EQ(events[2].stack, std::vector<std::string>{"train.lua:3"});
  EXPECT_TRUE(events[0].stack.empty());
}

TEST(FunctionEvents, AsyncOnesHaveATotalAndNoSelf) {
  FunctionEvent async = event("send", 0, 10);
  async.is_async = true;
  const auto events = link_events({async, event("op", 2, 4)}, {});
  EXPECT_EQ(events[0].self_cpu_ns, 0);
  EXPECT_EQ(events[1].parent, -1);
  EXPECT_EQ(average_events(events, {})[0].cpu_ns, 10);
}

TEST(FunctionEvents, AveragesAreByNameAndWhatElseIsAskedFor) {
  FunctionEvent first = event("op", 0, 2);
  first.shapes = "[[1]]";
  FunctionEvent second = event("op", 3, 4);
  second.shapes = "[[2]]";
  const auto events = link_events({first, second, event("x", 5, 6)}, {});
  const auto by_name = average_events(events, {});
  ASSERT_EQ(by_name.size(), 2U);
  EXPECT_EQ(by_name[0].count, 2);
  EXPECT_EQ(by_name[0].cpu_ns, 3);
  EXPECT_EQ(by_name[0].shapes, "");
  EXPECT_EQ(average_events(events, {.by_shape = true}).size(), 3U);
}

}  // namespace
}  // namespace rtrain::engine
