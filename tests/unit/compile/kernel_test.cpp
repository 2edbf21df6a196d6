// CUDA kernels of random regions, compiled for the host, give the numbers that 64-bit arithmetic
// gives for the region, and write no other memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "host/compile/kernel_text.h"
#include "tests/unit/compile/host_kernels.h"
#include "tests/unit/compile/random_region.h"

namespace rtrain::compile {
namespace {

constexpr int kMultiprocessors = 2;

void run(const HostKernels& library, const Kernel& kernel, RandomRegion& random) {
  const int64_t blocks = kernel.schedule.num_blocks(kMultiprocessors, !kernel.column_sums.empty());
  std::vector<void*> addresses;
  for (TensorMemory& input : random.inputs) addresses.push_back(input.first());
  for (const int output : kernel.outputs) {
    addresses.push_back(random.outputs[static_cast<size_t>(output)].first());
  }
  std::vector<float> partial(static_cast<size_t>(kernel.num_partial(blocks)), std::nanf(""));
  if (!kernel.column_sums.empty()) addresses.push_back(partial.data());
  std::vector<void*> parameters;
  for (void*& address : addresses) parameters.push_back(&address);
  library.launch(kernel.name, blocks, kernel.schedule.threads, parameters);
  if (kernel.column_sums.empty()) return;
  std::vector<void*> sums{partial.data()};
  for (const int output : kernel.column_sums)
    sums.push_back(random.outputs[static_cast<size_t>(output)].first());
  auto units = static_cast<unsigned>(kernel.num_units(blocks));
  parameters.clear();
  for (void*& address : sums) parameters.push_back(&address);
  parameters.push_back(&units);
  library.launch(kernel.columns_name, kernel.num_column_blocks(), Kernel::kColumnThreads,
                 parameters);
}

void compare(const RandomRegion& random, unsigned seed) {
  const auto expected = random.expected();
  for (size_t i = 0; i < random.outputs.size(); ++i) {
    const RegionTensor& tensor = random.region.outputs[i].tensor;
    for (int64_t k = 0; k < random.region.num_elements(); ++k) {
      const double wanted = expected[i][static_cast<size_t>(k)];
      const double got = random.outputs[i].at(random.place(tensor, k));
      const double error = random.rounds() ? 5e-2 : 1e-3;
      const bool is_near = std::abs(wanted - got) <= error * std::max(1.0, std::abs(wanted));
      ASSERT_TRUE(is_near) << "region " << seed << ", output " << i << ", element " << k << ": "
                           << got << ", not " << wanted;
    }
    // What the region does not cover is as it was.
    std::vector<bool> is_covered(random.outputs[i].size());
    for (int64_t k = 0; k < random.region.num_elements(); ++k) {
      is_covered[static_cast<size_t>(random.place(tensor, k) + random.outputs[i].skipped() +
                                     TensorMemory::kGuards)] = true;
    }
    for (size_t k = 0; k < is_covered.size(); ++k) {
      const auto place =
          static_cast<int64_t>(k) - random.outputs[i].skipped() - TensorMemory::kGuards;
      ASSERT_TRUE(is_covered[k] || std::isnan(random.outputs[i].at(place)))
          << "region " << seed << ", output " << i;
    }
  }
}

TEST(KernelText, RandomRegionsOnTheHost) {
  constexpr unsigned kRegions = 150;
  std::vector<RandomRegion> regions;
  std::vector<Kernel> kernels;
  std::vector<std::string> texts;
  std::vector<std::string> names;
  for (unsigned seed = 0; seed < kRegions; ++seed) {
    regions.emplace_back(seed);
    ASSERT_TRUE(regions.back().region.valid()) << seed;
    kernels.push_back(make_kernel(regions.back().region, regions.back().alignments()));
    const Kernel& kernel = kernels.back();
    if (std::ranges::count(names, kernel.name) > 0) continue;
    texts.push_back(kernel.text);
    names.push_back(kernel.name);
    if (!kernel.columns_name.empty()) names.push_back(kernel.columns_name);
  }
  const HostKernels library(texts, names);
  ASSERT_TRUE(library.is_compiled());
  for (unsigned seed = 0; seed < kRegions; ++seed) {
    run(library, kernels[seed], regions[seed]);
    compare(regions[seed], seed);
    if (HasFatalFailure()) {
      std::printf("%s\n", kernels[seed].text.c_str());
      return;
    }
  }
}

// round(round(a · b) + a), of the type's numbers, and the same as float32: what two operators of 16
// bits give.
Region narrow_region(Type type, int64_t size) {
  const auto round =
      type == Type::kFloat16 ? Operation::kRoundToFloat16 : Operation::kRoundToBFloat16;
  Region out;
  out.sizes = {size};
  out.inputs.resize(2, {.type = type, .strides = {1}});
  const Operand product = out.add(Operation::kMultiply, {{.index = 0}, {.index = 1}});
  const Operand sum = out.add(Operation::kAdd, {out.add(round, {product}), {.index = 0}});
  const Operand rounded = out.add(round, {sum});
  out.outputs.push_back({.from = rounded, .tensor = {.type = type, .strides = {1}}});
  out.outputs.push_back({.from = rounded, .tensor = {.strides = {1}}});
  return out;
}

TEST(KernelText, NumbersOf16BitsAreRoundedAfterEachOperator) {
  constexpr int64_t kSize = 1 << 14;
  for (const Type type : {Type::kFloat16, Type::kBFloat16}) {
    const bool is_half = type == Type::kFloat16;
    const auto bits_of = [&](float number) {
      return is_half ? narrow::float16_of(number) : narrow::bfloat16_of(number);
    };
    const auto float_of = [&](uint16_t bits) {
      return is_half ? narrow::float_of_float16(bits) : narrow::float_of_bfloat16(bits);
    };
    const Kernel kernel = make_kernel(narrow_region(type, kSize), std::vector<int64_t>{8, 8, 8, 4});
    EXPECT_EQ(kernel.schedule.group, 4);  // float32 is among them
    std::vector<uint16_t> a(kSize), b(kSize), out(kSize);
    std::vector<float> wide(kSize);
    std::mt19937 random(1);
    for (size_t i = 0; i < kSize; ++i)
      a[i] = static_cast<uint16_t>(random());  // all of their kinds
    for (size_t i = 0; i < kSize; ++i) b[i] = static_cast<uint16_t>(random());
    void* addresses[] = {a.data(), b.data(), out.data(), wide.data()};
    std::vector<void*> parameters;
    for (void*& address : addresses) parameters.push_back(&address);
    const HostKernels library({kernel.text}, {kernel.name});
    ASSERT_TRUE(library.is_compiled());
    library.launch(kernel.name, 2, kernel.schedule.threads, parameters);
    for (size_t i = 0; i < kSize; ++i) {
      const float x = float_of(a[i]);
      const float product = float_of(bits_of(x * float_of(b[i])));
      const float wanted = float_of(bits_of(product + x));
      if (std::isnan(wanted)) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(float_of(out[i]))) << i;
        continue;
      }
      ASSERT_EQ(wide[i], wanted) << i;
      ASSERT_EQ(out[i], bits_of(wanted)) << i;
    }
  }
}

TEST(Narrow, RoundsToTheNearestAndToEven) {
  EXPECT_EQ(narrow::float16_of(1), 0x3c00);
  EXPECT_EQ(narrow::float16_of(-2.5), 0xc100);
  EXPECT_EQ(narrow::float16_of(1 + std::ldexp(1, -11)), 0x3c00);
  EXPECT_EQ(narrow::float16_of(1 + std::ldexp(3, -11)), 0x3c02);
  EXPECT_EQ(narrow::float16_of(65519), 0x7bff);
  EXPECT_EQ(narrow::float16_of(65520), 0x7c00);
  EXPECT_EQ(narrow::float16_of(std::ldexp(1, -24)), 0x0001);
  EXPECT_EQ(narrow::float16_of(std::ldexp(1, -25)), 0x0000);
  EXPECT_EQ(narrow::bfloat16_of(1 + std::ldexp(1, -8)), 0x3f80);
  EXPECT_EQ(narrow::bfloat16_of(1 + std::ldexp(3, -8)), 0x3f82);
  EXPECT_EQ(narrow::bfloat16_of(3.4e38), 0x7f80);
  for (int bits = 0; bits < 0x7c00; ++bits) {
    EXPECT_EQ(narrow::float16_of(narrow::float_of_float16(static_cast<uint16_t>(bits))), bits);
  }
}

TEST(KernelText, EqualRegionsHaveEqualTexts) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RandomRegion one(seed);
    const RandomRegion other(seed);
    EXPECT_EQ(make_kernel(one.region, one.alignments()).text,
              make_kernel(other.region, other.alignments()).text);
  }
}

TEST(KernelText, CommentsStandBeforeTheKernelAndDoNotNameIt) {
  const RandomRegion random(1);
  const std::vector<std::string> comments = {"aten::mul.Tensor", "aten::add.Tensor"};
  const Kernel kernel = make_kernel(random.region, random.alignments(), comments);
  EXPECT_TRUE(kernel.text.starts_with("// aten::mul.Tensor\n// aten::add.Tensor\nextern"));
  EXPECT_EQ(kernel.name, make_kernel(random.region, random.alignments()).name);
}

}  // namespace
}  // namespace rtrain::compile
