#include "host/profile/sampled_stacks.h"

#include <gtest/gtest.h>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/machine/processes/native_frame.h"
#include "host/plot/flame_graph.h"

namespace rtrain::profile {
namespace {

// Line 3 of the script calls line 7 of a module, which calls mm; line 4 of the script waits.
SampledStacks example() {
  SampledStacks out;
  out.name = "rank 0";
  out.frames = {{.name = "train", .file = "train.lua", .line = 3},
                {.name = "forward", .file = "rtrain://torch/nn/linear.lua", .line = 7},
                {.name = "at::native::mm<x>", .file = "libtorch_cpu.so"},
                {.name = "", .file = "train.lua", .line = 4},
                {.name = std::string(kWaiting)}};
  out.threads = {{.name = "main",
                  .stacks = {{.frames = {0, 1, 2}, .seconds = 2.5},
                             {.frames = {0}, .seconds = 0.5},
                             {.frames = {3, 4}, .seconds = 1}}},
                 {.name = "rtrain-loader", .stacks = {{.frames = {3}, .seconds = 0.25}}}};
  return out;
}

TEST(SampledStacks, AFileOfSpeedscopeHoldsAllOfThem) {
  const SampledStacks read = from_speedscope(from_json(to_json(to_speedscope(example()))));
  EXPECT_EQ(read.name, "rank 0");
  EXPECT_EQ(read.frames, example().frames);
  ASSERT_EQ(read.threads.size(), 2U);
  EXPECT_EQ(read.threads[0].name, "main");
  EXPECT_EQ(read.threads[0].stacks[0].frames, (std::vector<int>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(read.threads[0].stacks[0].seconds, 2.5);
  EXPECT_DOUBLE_EQ(read.seconds(), 4.25);
}

TEST(SampledStacks, AnotherDocumentIsRefused) {
  EXPECT_THROW(from_speedscope(from_json("{}")), Error);
  EXPECT_THROW(from_speedscope(from_json("[1]")), Error);
  EXPECT_THROW(from_speedscope(from_json(R"({"shared": {"frames": [{"name": "f"}]}, "profiles":
                      [{"name": "main", "samples": [[1]], "weights": [1]}]})")),
               Error);
  EXPECT_THROW(from_speedscope(from_json(R"({"shared": {"frames": [{"name": "f"}]}, "profiles":
                                         [{"name": "main", "samples": [[0]], "weights": []}]})")),
               Error);
}

TEST(SampledStacks, TheScriptsLinesAreChargedWithWhatTheyCall) {
  const std::vector<LineTime> lines = hottest_lines(example());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].frame.text(), "train (train.lua:3)");
  EXPECT_DOUBLE_EQ(lines[0].self_s, 3);
  EXPECT_EQ(lines[1].frame.text(), "train.lua:4");
  EXPECT_DOUBLE_EQ(lines[1].self_s, 1.25);
  EXPECT_DOUBLE_EQ(lines[1].waiting_s, 1);
  EXPECT_DOUBLE_EQ(lines[2].self_s, 0);
  EXPECT_DOUBLE_EQ(lines[2].total_s, 2.5);
}

TEST(SampledStacks, SeveralRanksKeepTheirThreadsApart) {
  SampledStacks all;
  all.add(example());
  SampledStacks other = example();
  other.name = "rank 1";
  all.add(other);
  ASSERT_EQ(all.threads.size(), 4U);
  EXPECT_EQ(all.threads[2].name, "rank 1: main");
  EXPECT_EQ(all.threads[2].stacks[0].frames, (std::vector<int>{5, 6, 7}));
  EXPECT_DOUBLE_EQ(all.seconds(), 8.5);
}

TEST(SampledStacks, FoldedStacksHaveALineEach) {
  EXPECT_EQ(to_folded(example()),
            "main;train (train.lua:3);forward (rtrain://torch/nn/linear.lua:7);at::native::mm<x> "
            "2500\n"
            "main;train (train.lua:3) 500\n"
            "main;train.lua:4;(waiting) 1000\n"
            "rtrain-loader;train.lua:4 250\n");
}

TEST(FlameGraph, BoxesAreAsWideAsTheirTime) {
  const std::string svg = plot::svg_flame_graph(example(), "digits & <more>");
  EXPECT_NE(svg.find("digits &amp; &lt;more&gt;"), std::string::npos);
  EXPECT_NE(svg.find("<title>train (train.lua:3) (70.59 %, 3.000 s)</title>"), std::string::npos);
  EXPECT_NE(svg.find("at::native::mm&lt;x&gt;"), std::string::npos);
  EXPECT_NE(svg.find("width=\"1200.00\""), std::string::npos);
}

TEST(FlameGraph, ABoxComesBeforeThoseBelowIt) {
  const std::vector<plot::FlameBox> boxes = plot::flame_boxes(example());
  ASSERT_EQ(boxes.size(), 9U);
  EXPECT_EQ(boxes[0].name, "all");
  EXPECT_EQ(boxes[1].name, "main");
  EXPECT_EQ(boxes[2].name, "train (train.lua:3)");
  EXPECT_EQ(boxes[2].depth, 2);
  EXPECT_DOUBLE_EQ(boxes[2].width, 3 / 4.25);
  EXPECT_EQ(boxes[5].name, "train.lua:4") << "the widest first";
  EXPECT_DOUBLE_EQ(boxes[5].begin, 3 / 4.25);
  EXPECT_DOUBLE_EQ(boxes[7].begin, 4 / 4.25);
}

TEST(FlameGraph, NothingWasSeen) {
  EXPECT_NE(plot::svg_flame_graph({}, "empty").find("<title>all"), std::string::npos);
}

TEST(NativeFrame, ProfilesShowNamesWithoutTypes) {
  EXPECT_EQ(machine::shown_function("_ZN2at6native3addERKNS_6TensorES3_RKN3c106ScalarE", "a.so"),
            "at::native::add");
  EXPECT_EQ(machine::shown_function("_ZN3c1010Dispatcher4callEv", "a.so"), "");
  EXPECT_EQ(machine::shown_function("start_thread", "libc.so.6"), "");
  EXPECT_EQ(machine::shown_function("mkl_blas_avx2_sgemm", "a.so"), "mkl_blas_avx2_sgemm");
  EXPECT_EQ(machine::shown_function("", "libmkl.so"), "[libmkl.so]");
  EXPECT_EQ(machine::shown_function("", ""), "(unknown)");
}

}  // namespace
}  // namespace rtrain::profile
