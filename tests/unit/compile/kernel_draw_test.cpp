// The random numbers of a kernel's dropout are those of ATen's kernel, whose threads this repeats
// one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "host/compile/kernel_text.h"
#include "tests/unit/compile/host_kernels.h"

namespace rtrain::compile {
namespace {

// cuRAND's generator of a thread: Philox with ten rounds, four numbers for each call.
class Generator {
 public:
  Generator(uint64_t seed, uint64_t thread, uint64_t offset)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter_(offset / 4),
        thread_(thread) {}

  std::array<uint32_t, 4> words() {
    std::array<uint32_t, 4> x = {
        static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32),
        static_cast<uint32_t>(thread_), static_cast<uint32_t>(thread_ >> 32)};
    std::array<uint32_t, 2> key = key_;
    for (int round = 0; round < 10; ++round) {
      const uint64_t first = uint64_t{0xD2511F53} * x[0];
      const uint64_t second = uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<uint32_t>(second >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(second),
           static_cast<uint32_t>(first >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(first)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    ++counter_;
    return x;
  }

  std::array<float, 4> uniform() {
    std::array<float, 4> out{};
    const auto given = words();
    for (size_t i = 0; i < 4; ++i) {
      out[i] = static_cast<float>(given[i]) * 0x1p-32F + 0x1p-33F;
    }
    return out;
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t counter_;
  uint64_t thread_;
};

// The mask of a thread that takes `vector` neighbours at once.
void draw_neighbours(std::vector<float>& out, Generator generator, size_t thread, size_t threads,
                     size_t vector) {
  for (size_t i = thread * vector; i < out.size(); i += threads * vector) {
    for (size_t k = 0; k < vector; k += 4) {
      const auto numbers = generator.uniform();
      for (size_t m = 0; m < std::min<size_t>(4, vector); ++m) out[i + k + m] = numbers[m];
    }
  }
}

void draw_single(std::vector<float>& out, Generator generator, size_t thread, size_t threads) {
  for (size_t i = thread; i < out.size(); i += threads * 4) {
    const auto numbers = generator.uniform();
    for (size_t k = 0; k < 4 && i + k * threads < out.size(); ++k)
      out[i + k * threads] = numbers[k];
  }
}

std::vector<float> expected(size_t count, int vector, const KernelDraw& draw) {
  std::vector<float> out(count);
  for (size_t thread = 0; thread < draw.threads; ++thread) {
    const Generator generator(draw.seed, thread, draw.offset);
    if (vector == 1) {
      draw_single(out, generator, thread, draw.threads);
    } else {
      draw_neighbours(out, generator, thread, draw.threads, static_cast<size_t>(vector));
    }
  }
  return out;
}

// input · draw; with_rows: less the mean of its row.
Region region_of(std::vector<int64_t> sizes, int vector, bool has_rows) {
  Region out;
  out.sizes = std::move(sizes);
  RegionTensor tensor{.strides = std::vector<int64_t>(out.sizes.size())};
  int64_t stride = 1;
  for (size_t i = out.sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= out.sizes[i];
  }
  out.inputs = {tensor};
  out.draws = {{.vector = vector}};
  const Operand draw{.kind = Operand::Kind::kDraw, .index = 0};
  Operand result = out.add(Operation::kMultiply, {{.index = 0}, draw});
  if (has_rows) {
    result = out.add(Operation::kAdd, {result, out.add(Operation::kRowSum, {{.index = 0}})});
  }
  out.outputs.push_back({.from = result, .tensor = tensor});
  return out;
}

struct Case {
  std::vector<int64_t> sizes;
  int vector = 1;
  int64_t alignment = 4;
  bool has_rows = false;
};

const Case kCases[] = {
    {{5000}, 4},
    {{5000}, 4, 1},
    {{5000}, 8, 2},
    {{5000}, 8},
    {{5002}, 2},
    {{5002}, 2, 1},
    {{5003}, 1},
    {{5000}, 1},
    {{3, 40, 8}, 8},
    {{40, 129}, 1, 4, true},
    {{40, 128}, 4, 4, true},
    {{3, 2048}, 8, 1, true},
    {{6, 1100}, 2, 4, true},
};

Kernel kernel_of(const Case& given) {
  return make_kernel(region_of(given.sizes, given.vector, given.has_rows),
                     std::vector<int64_t>{given.alignment, given.alignment});
}

TEST(KernelDraw, TheGeneratorIsPhilox) {
  // From the paper's test vectors.
  const std::array<uint32_t, 4> wanted = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(Generator(0, 0, 0).words(), wanted);
}

TEST(KernelDraw, NumbersAreThoseOfAtensThreads) {
  std::vector<Kernel> kernels;
  std::vector<std::string> texts, names;
  for (const Case& each : kCases) {
    kernels.push_back(kernel_of(each));
    if (std::ranges::count(names, kernels.back().name) > 0) continue;
    texts.push_back(kernels.back().text);
    names.push_back(kernels.back().name);
  }
  const HostKernels library(texts, names);
  ASSERT_TRUE(library.is_compiled());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Region region = region_of(kCases[i].sizes, kCases[i].vector, false);
    const auto count = static_cast<size_t>(region.num_elements());
    const int64_t extragraph[] = {-17, 400};  // seed and offset
    for (const bool is_captured : {false, true}) {
      KernelDraw draw{.seed = 0x123456789abcdef0, .offset = 40, .threads = 512};
      KernelDraw given = draw;
      if (is_captured) {
        given.seed_at = &extragraph[0];
        given.offset_at = &extragraph[1];
        draw.seed = static_cast<uint64_t>(extragraph[0]);
        draw.offset += static_cast<uint64_t>(extragraph[1]);
      }
      std::vector<float> in(count + 4, 1), out(count + 4);
      // Behind a sum of rows of ones the numbers lose digits: the sum is 0 for zeros.
      const auto numbers = expected(count, kCases[i].vector, draw);
      void* addresses[] = {in.data(), out.data()};
      library.launch(kernels[i].name, kernels[i].schedule.num_blocks(1, false),
                     kernels[i].schedule.threads, {&addresses[0], &addresses[1], &given});
      const float sum = kCases[i].has_rows ? static_cast<float>(kCases[i].sizes.back()) : 0;
      for (size_t k = 0; k < count; ++k) {
        ASSERT_EQ(out[k], numbers[k] + sum) << "case " << i << ", element " << k;
      }
    }
  }
}

TEST(KernelDraw, TheOffsetMovesAsMuchAsByAtensKernel) {
  // An H200 has 132 multiprocessors with 2048 threads.
  EXPECT_EQ(draw_threads(1000, 132, 2048), 1024U);
  EXPECT_EQ(draw_threads(1 << 24, 132, 2048), 132U * 2048);
  EXPECT_EQ(draw_increment(1000, 1024), 4U);
  EXPECT_EQ(draw_increment(1 << 24, 132 * 2048), 64U);
  // A device with 1,536 threads in a multiprocessor.
  EXPECT_EQ(draw_threads(1 << 24, 10, 1536), 15360U);
}

}  // namespace
}  // namespace rtrain::compile
