// NVRTC compiles the kernels of random regions, for several architectures, and what it makes of
// them multiplies and adds in one rounding only where an operator does.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "host/base/error.h"
#include "host/compile/kernel_text.h"
#include "host/machine/libraries/libtorch.h"
#include "host/machine/libraries/nvrtc.h"
#include "tests/unit/compile/random_region.h"

namespace rtrain::compile {
namespace {

class KernelNvrtc : public testing::Test {
 protected:
  static const machine::Nvrtc& nvrtc() {
    static const machine::Nvrtc kNvrtc([] {
      const auto search = machine::find_libtorch();
      return search.found ? search.found->lib : std::string();
    }());
    return kNvrtc;
  }
  void SetUp() override {
    if (!nvrtc().refusal().empty()) GTEST_SKIP() << nvrtc().refusal();
  }
  static std::string ptx(const std::string& kernels) {
    return nvrtc().compile(std::string(kernel_prelude()) + kernels, "compute_80");
  }
};

size_t count(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST_F(KernelNvrtc, CompilesRandomRegions) {
  std::string texts;
  std::vector<std::string> names;
  for (unsigned seed = 0; seed < 120; ++seed) {
    const RandomRegion random(seed);
    const Kernel kernel = make_kernel(random.region, random.alignments());
    if (std::ranges::find(names, kernel.name) != names.end()) continue;
    names.push_back(kernel.name);
    texts += kernel.text;
  }
  const std::string got = ptx(texts);
  for (const std::string& name : names) EXPECT_NE(got.find(".entry " + name), std::string::npos);
}

TEST_F(KernelNvrtc, CompilesToCodeOfADevice) {
  const RandomRegion random(3);
  const Kernel kernel = make_kernel(random.region, random.alignments());
  const std::string text = std::string(kernel_prelude()) + kernel.text;
  for (const char* architecture : {"sm_80", "sm_90"}) {
    EXPECT_TRUE(nvrtc()
                    .compile(text, architecture)
                    .starts_with("\x7f"
                                 "ELF"))
        << architecture;
  }
}

// a · b + c of two operators, or of one.
Region product_and_sum(bool is_one) {
  Region out;
  out.sizes = {1024};
  out.inputs.resize(3, {.strides = {1}});
  const auto input = [](int i) { return Operand{.kind = Operand::Kind::kInput, .index = i}; };
  const Operand result =
      is_one ? out.add(Operation::kAddScaled, {input(2), input(0), input(1)})
             : out.add(Operation::kAdd,
                       {out.add(Operation::kMultiply, {input(0), input(1)}), input(2)});
  out.outputs.push_back({.from = result, .tensor = {.strides = {1}}});
  return out;
}

TEST_F(KernelNvrtc, JoinsNoRoundingOfTwoOperators) {
  const std::vector<int64_t> alignments(4, 4);
  const std::string two = ptx(make_kernel(product_and_sum(false), alignments).text);
  EXPECT_EQ(count(two, "fma.rn.f32"), 0U);
  EXPECT_EQ(count(two, "mul.rn.f32") + count(two, "mul.f32"), 4U);
  const std::string one = ptx(make_kernel(product_and_sum(true), alignments).text);
  EXPECT_EQ(count(one, "fma.rn.f32"), 4U);
}

TEST_F(KernelNvrtc, ReadsAlignedNeighboursAtOnce) {
  const std::string four = ptx(make_kernel(product_and_sum(true), std::vector<int64_t>(4, 4)).text);
  EXPECT_EQ(count(four, "v4.f32"), 4U);  // three loads, one store
  const std::vector<int64_t> odd = {4, 1, 4, 4};
  const std::string mixed = ptx(make_kernel(product_and_sum(true), odd).text);
  EXPECT_EQ(count(mixed, "v4.f32"), 3U);
}

// a + b, of 16 bits.
Region narrow_sum(Type type) {
  Region out;
  out.sizes = {1024};
  out.inputs.resize(2, {.type = type, .strides = {1}});
  const Operand sum = out.add(Operation::kAdd, {{.index = 0}, {.index = 1}});
  out.outputs.push_back({.from = sum, .tensor = {.type = type, .strides = {1}}});
  return out;
}

TEST_F(KernelNvrtc, ReadsEightNumbersOf16BitsAtOnce) {
  for (const Type type : {Type::kFloat16, Type::kBFloat16}) {
    const std::string text = std::string(kernel_prelude()) +
                             make_kernel(narrow_sum(type), std::vector<int64_t>(3, 8)).text;
    const std::string got = nvrtc().compile(text, "compute_80");
    EXPECT_EQ(count(got, "ld.global.nc.v4") + count(got, "st.global.v4"), 3U) << got;
    EXPECT_EQ(count(got, type == Type::kFloat16 ? "cvt.rn.f16.f32" : "cvt.rn.bf16.f32"), 8U);
    // Older devices have no instruction that rounds to bfloat16.
    EXPECT_EQ(count(nvrtc().compile(text, "compute_75"), "cvt.rn.bf16.f32"), 0U);
  }
}

TEST_F(KernelNvrtc, NeighboursShareACallOfTheGenerator) {
  Region region = narrow_sum(Type::kFloat32);
  region.draws = {{.vector = 4}};
  const Operand draw{.kind = Operand::Kind::kDraw, .index = 0};
  const Operand kept = region.add(Operation::kMultiply, {{.index = 0}, draw});
  region.outputs[0].from = kept;
  const std::string four = ptx(make_kernel(region, std::vector<int64_t>(3, 4)).text);
  region.draws[0].vector = 1;
  const std::string single = ptx(make_kernel(region, std::vector<int64_t>(3, 4)).text);
  const auto num_products = [](const std::string& text) {
    return count(text, "mul.hi.u32") + count(text, "mul.wide.u32");
  };
  EXPECT_GE(num_products(four), 20U);  // ten rounds with two products each
  EXPECT_GE(num_products(single), 3 * num_products(four));
}

TEST_F(KernelNvrtc, SaysWhatItRefuses) {
  try {
    ptx("__global__ void wrong() { nothing(); }");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing"), std::string::npos) << error.what();
  }
}

TEST(Nvrtc, IsLookedForCloseToLibtorch) {
  const auto paths = machine::nvrtc_paths("/env/site-packages/torch/lib");
  EXPECT_EQ(paths.front(), "/env/site-packages/torch/lib/libnvrtc.so.13");
  EXPECT_EQ(paths.at(2), "/env/site-packages/torch/lib/../../nvidia/cu13/lib/libnvrtc.so.13");
  EXPECT_EQ(paths.back(), "libnvrtc.so.12");
}

}  // namespace
}  // namespace rtrain::compile
