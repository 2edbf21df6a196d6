#include "host/compile/kernel_schedule.h"

#include <gtest/gtest.h>

#include "host/compile/kernel_text.h"

namespace rtrain::compile {
namespace {

using Kind = KernelSchedule::Kind;

// A sum of two tensors without gaps; with_rows: of their rows.
Region region_of(std::vector<int64_t> sizes, bool has_rows = false) {
  Region out;
  out.sizes = std::move(sizes);
  RegionTensor tensor{.strides = std::vector<int64_t>(out.sizes.size())};
  int64_t stride = 1;
  for (size_t i = out.sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= out.sizes[i];
  }
  out.inputs = {tensor, tensor};
  Operand result = out.add(Operation::kAdd, {{.index = 0}, {.index = 1}});
  if (has_rows) result = out.add(Operation::kSoftmax, {result});
  out.outputs.push_back({.from = result, .tensor = tensor});
  return out;
}

KernelSchedule schedule_of(const Region& region, std::vector<int64_t> alignments = {4, 4, 4}) {
  return make_kernel(region, alignments).schedule;
}

TEST(KernelSchedule, GroupsOfNeighbours) {
  EXPECT_EQ(schedule_of(region_of({64})).group, 4);
  EXPECT_EQ(schedule_of(region_of({66})).group, 2);
  EXPECT_EQ(schedule_of(region_of({65})).group, 1);
  // Neighbours in two dimensions are neighbours in one.
  EXPECT_EQ(schedule_of(region_of({4, 5})).group, 4);
  // A tensor that is not aligned is read element by element, the others are not.
  const KernelSchedule odd = schedule_of(region_of({64}), {4, 1, 4});
  EXPECT_EQ(odd.group, 4);
  EXPECT_EQ(odd.joined, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(schedule_of(region_of({64}), {1, 1, 1}).group, 1);
  EXPECT_EQ(schedule_of(region_of({64}), {2, 1, 1}).group, 2);
}

TEST(KernelSchedule, NoAccessIsWiderThan16Bytes) {
  Region narrow = region_of({64});
  narrow.inputs[0].type = narrow.inputs[1].type = narrow.outputs[0].tensor.type = Type::kBFloat16;
  EXPECT_EQ(schedule_of(narrow, {8, 8, 8}).group, 8);
  EXPECT_EQ(schedule_of(narrow, {8, 4, 8}).joined, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(schedule_of(narrow, {4, 4, 4}).group, 4);
  narrow.inputs[0].type = Type::kFloat32;
  EXPECT_EQ(schedule_of(narrow, {4, 8, 8}).group, 4);
  EXPECT_EQ(schedule_of(narrow, {1, 8, 8}).joined, (std::vector<bool>{false, true, true}));
  narrow.inputs[0].type = Type::kBool;
  EXPECT_EQ(schedule_of(narrow, {8, 8, 8}).group, 8);
}

TEST(KernelSchedule, RowsInAWarpOrABlock) {
  EXPECT_EQ(schedule_of(region_of({8, 64}, true)).kind, Kind::kWarpRows);
  EXPECT_EQ(schedule_of(region_of({8, 1024}, true)).kind, Kind::kWarpRows);
  const KernelSchedule block = schedule_of(region_of({8, 4096}, true));
  EXPECT_EQ(block.kind, Kind::kBlockRows);
  EXPECT_EQ(block.threads, 256);
  EXPECT_TRUE(block.holds_rows);
  const KernelSchedule words = schedule_of(region_of({8, 50257}, true));
  EXPECT_EQ(words.threads, 512);
  EXPECT_FALSE(words.holds_rows);
  EXPECT_EQ(words.group, 1);
}

TEST(KernelSchedule, Blocks) {
  const KernelSchedule small = schedule_of(region_of({1000}));
  EXPECT_EQ(small.num_blocks(132, false), 1);
  const KernelSchedule large = schedule_of(region_of({int64_t{1} << 28}));
  EXPECT_EQ(large.num_blocks(132, false), 132 * 32);
  EXPECT_EQ(large.num_blocks(132, true), 132 * 2);
}

TEST(KernelSchedule, WideIndices) {
  EXPECT_FALSE(schedule_of(region_of({int64_t{1} << 30})).is_wide);
  EXPECT_TRUE(schedule_of(region_of({int64_t{1} << 32})).is_wide);
  Region spread = region_of({2, 3});
  spread.inputs[0].strides = {int64_t{1} << 33, 1};
  EXPECT_TRUE(schedule_of(spread).is_wide);
}

}  // namespace
}  // namespace rtrain::compile
