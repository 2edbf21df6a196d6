// tests/unit/compile/random_region.h: regions of random operations over random tensors, for tests
// of CUDA kernels.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "host/compile/region.h"
#include "tests/fake_nvidia/narrow.h"

namespace rtrain::compile {

// A tensor's memory: its first element is behind some guards, and others follow its last.
class TensorMemory {
 public:
  static constexpr int64_t kGuards = 16;

  TensorMemory(const RegionTensor& tensor, const std::vector<int64_t>& sizes, int64_t skipped)
      : type_(tensor.type), skipped_(skipped) {
    int64_t last = 0;
    for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * tensor.strides[i];
    bytes_.resize(static_cast<size_t>(kGuards + skipped + last + 1 + kGuards) * width());
  }

  size_t width() const { return static_cast<size_t>(width_of(type_)); }
  int64_t skipped() const { return skipped_; }
  // Elements of which the address of the first one is a multiple.
  int64_t alignment() const {
    int64_t out = 8;
    while (skipped_ % out != 0) out /= 2;
    return out;
  }
  size_t size() const { return bytes_.size() / width(); }
  void* first() { return bytes_.data() + static_cast<size_t>(kGuards + skipped_) * width(); }
  void set(size_t i, double number) {
    char* to = bytes_.data() + i * width();
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    if (type_ == Type::kFloat32) put(static_cast<float>(number));
    if (type_ == Type::kBool) put(number != 0);
    if (type_ == Type::kInt64) put(static_cast<int64_t>(number));
    if (type_ == Type::kFloat16) put(narrow::float16_of(number));
    if (type_ == Type::kBFloat16) put(narrow::bfloat16_of(number));
  }
  // The number at a place, counted from the first element.
  double at(int64_t place) const {
    const char* from = bytes_.data() + static_cast<size_t>(kGuards + skipped_ + place) * width();
    if (type_ == Type::kBool) return *from != 0 ? 1 : 0;
    if (type_ == Type::kInt64) return static_cast<double>(*reinterpret_cast<const int64_t*>(from));
    if (has_16_bits(type_)) {
      const auto bits = *reinterpret_cast<const uint16_t*>(from);
      return static_cast<double>(type_ == Type::kFloat16 ? narrow::float_of_float16(bits)
                                                         : narrow::float_of_bfloat16(bits));
    }
    return static_cast<double>(*reinterpret_cast<const float*>(from));
  }

 private:
  Type type_;
  int64_t skipped_;
  std::vector<char> bytes_;
};

struct RandomRegion {
  explicit RandomRegion(unsigned seed);

  Region region;
  std::vector<TensorMemory> inputs;
  std::vector<TensorMemory> outputs;
  std::vector<int64_t> alignments() const;

  // What the outputs are, computed with 64 bits: a number for each element of the region.
  std::vector<std::vector<double>> expected() const;
  // Whether it rounds to 16 bits: a number on the edge may be rounded the other way.
  bool rounds() const;
  // Where in an output's memory the number of an element is.
  int64_t place(const RegionTensor& tensor, int64_t element) const;

 private:
  int64_t draw(int64_t count) { return static_cast<int64_t>(random_()) % count; }
  bool chance(int percent) { return draw(100) < percent; }
  Type draw_float();
  void draw_sizes(bool has_rows);
  RegionTensor draw_layout(bool is_output, Extent extent);
  void add_input(Type type, bool has_rows);
  Operand draw_operand(Extent most);
  Operand full_operand();
  void add_formula();
  void add_row_operation();
  void add_outputs();
  std::vector<double> values(const Instruction& instruction,
                             const std::vector<std::vector<double>>& before,
                             const std::vector<std::vector<double>>& second) const;
  double number(const Operand& operand, int64_t element,
                const std::vector<std::vector<double>>& before) const;

  std::mt19937 random_;
  bool is_narrow_ = false;  // it has numbers of 16 bits
};

}  // namespace rtrain::compile
