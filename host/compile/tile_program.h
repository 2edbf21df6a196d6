// host/compile/tile_program.h: a TileProgram: a region made ready to run, and its interpreter.
//
// It is immutable: several threads may run parts of it at once, each with a Scratch of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/compile/function.h"
#include "host/compile/region.h"

namespace rtrain::compile {

class TileProgram {
 public:
  // Elements of a tile: a register of it takes 4 KB.
  static constexpr int64_t kTile = 1024;

  // `functions` are those that the region calls, and outlive the program; nullptr: it calls none.
  // REQUIRES: region.valid().
  explicit TileProgram(Region region, Simd simd, const Functions* functions = nullptr);

  // The memory of a run's registers.
  class Scratch {
   public:
    explicit Scratch(const TileProgram& program);
    Scratch(Scratch&&) = default;
    Scratch& operator=(Scratch&&) = default;

   private:
    friend class TileProgram;
    std::vector<float> memory_;
    float* registers_ = nullptr;  // in it, at the begin of a cache line
  };

  // Computes the elements from begin to end, counted in row-major order of sizes(). They are one
  // range for the tails of functions. `inputs` and `outputs` are the addresses of the first
  // elements. An output may be the memory of an input with the same strides.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, int64_t begin,
           int64_t end, Scratch& scratch) const;

  int64_t num_elements() const { return num_elements_; }
  // The region's dimensions, of which neighbours are joined.
  const std::vector<int64_t>& sizes() const { return sizes_; }
  size_t num_registers() const { return num_registers_; }
  const Region& region() const { return region_; }

 private:
  struct Place {  // where an operand's numbers are during a tile
    enum class Kind : uint8_t { kRegister, kOutput, kDirect, kSingle, kConstant };
    Kind kind = Kind::kRegister;
    int index = 0;  // register, output, input or constant
  };
  struct Step {
    Operation operation = Operation::kCopy;
    std::array<Place, kMostOperands> operands;
    int num_operands = 0;
    Place result;
  };
  struct Load {
    int input = 0;
    int result = 0;  // register
  };
  struct Store {
    int output = 0;
    Place from;
  };

  void join_dimensions();
  bool is_direct(const RegionTensor& tensor) const;
  bool is_single(const RegionTensor& tensor) const;
  void assign_registers();
  int direct_output(size_t instruction) const;
  Place place_of(const Operand& operand) const;
  void load(const Load& load, const void* memory, int64_t begin, int64_t count, float* to) const;
  void store(const Store& store, void* memory, int64_t begin, int64_t count,
             const float* from) const;
  void call(Operation operation, float* out, const LoopOperand& operand, int64_t count,
            int64_t num_body) const;
  template <class Row>
  void for_each_row(const RegionTensor& tensor, int64_t begin, int64_t count, Row row) const;

  Region region_;
  std::vector<int64_t> sizes_;
  int64_t num_elements_ = 0;
  Simd simd_ = Simd::kPlain;
  const Functions* functions_ = nullptr;
  std::vector<Load> loads_;
  std::vector<Step> steps_;
  std::vector<Store> stores_;
  std::vector<Place> result_of_;        // of each instruction
  std::vector<int> register_of_input_;  // of each input, or -1
  size_t num_registers_ = 0;
};

}  // namespace rtrain::compile
