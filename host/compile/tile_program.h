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
  // `functions` are those that the region calls, and outlive the program; nullptr: it calls none.
  // REQUIRES: region.valid().
  explicit TileProgram(Region region, Simd simd, const Functions* functions = nullptr);

  // The memory of a run: registers, and sums of columns.
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

  // A part of the elements, counted in row-major order of sizes(); of a region with rows whole
  // rows.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    // Functions have a tail at the end of each stretch of this many elements, and at the end of
    // all. 0: all elements are one stretch.
    int64_t stretch = 0;
  };

  // Computes the elements of the range. `inputs` and `outputs` are the addresses of the first
  // elements. An output may be the memory of an input with the same strides. Sums of columns begin
  // at 0 and stay in `scratch`.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, Range range,
           Scratch& scratch) const;
  // Writes the sums of columns of several runs, which together took all rows, to the outputs.
  void write_column_sums(std::span<void* const> outputs, std::span<const Scratch> runs) const;

  int64_t num_elements() const { return num_elements_; }
  // The elements of a row; 1 in a region without rows.
  int64_t row_width() const { return width_; }
  bool has_column_sums() const { return !column_sums_.empty(); }
  // The region's dimensions, of which neighbours are joined.
  const std::vector<int64_t>& sizes() const { return sizes_; }
  size_t num_registers() const { return num_registers_; }
  const Region& region() const { return region_; }

 private:
  // Elements of a tile: a register of it takes 4 KB. A tile of rows has at most this many, unless
  // one row is longer.
  static constexpr int64_t kTile = 1024;
  static constexpr int64_t kRowTile = 4096;

  struct Place {  // where an operand's numbers are during a tile
    enum class Kind : uint8_t {
      kRegister,
      kRowRegister,
      kOutput,
      kDirect,
      kColumn,  // an input with one row, where it is
      kSingle,
      kConstant
    };
    Kind kind = Kind::kRegister;
    int index = 0;  // register, output, input or constant
  };
  struct Step {
    enum class Kind : uint8_t {
      kElements,       // one loop for all elements of the tile, or for the numbers of its rows
      kElementsByRow,  // a loop for each row, since operands have a number for each row
      kFunction,
      kRowFunction,
      kRowLoop,
      kColumnSum
    };
    Kind kind = Kind::kElements;
    bool is_full = true;  // its result has a number for each element
    bool is_second = false;
    Operation operation = Operation::kCopy;
    Loop loop = nullptr;
    RowLoop row_loop = nullptr;
    RowFunction row_function = nullptr;
    std::array<Place, kMostOperands> operands;
    size_t num_operands = 0;
    Place result;  // of a sum of columns: its index
  };
  struct Load {
    int input = 0;
    Place result;
  };
  struct Store {
    int output = 0;
    Place from;
  };
  struct ColumnSum {
    int output = 0;
    int index = 0;
  };
  struct Tile;

  bool is_direct(const RegionTensor& tensor) const;
  bool is_column(const RegionTensor& tensor) const;
  bool is_row_operand(int input) const;
  void plan_loads();
  void plan_steps();
  void plan_stores();
  void choose_loop(Step& step) const;
  int direct_output(size_t instruction) const;
  Place place_of(const Operand& operand) const;
  size_t sums_offset() const;

  // tile_run.cpp
  void load(const Load& load, const Tile& tile) const;
  void store(const Store& store, const Tile& tile) const;
  void fetch_next(const Tile& tile, size_t step) const;
  void run_step(const Step& step, const Tile& tile) const;
  void run_by_row(const Step& step, const Tile& tile) const;
  void run_rows(const Step& step, const Tile& tile) const;
  void call(const Step& step, const Tile& tile) const;
  float* register_of(const Place& place, const Tile& tile) const;
  LoopOperand operand_of(const Place& place, const Tile& tile) const;
  RowOperand row_operand_of(const Place& place, const Tile& tile) const;
  template <class Row>
  void for_each_row(const RegionTensor& tensor, int64_t begin, int64_t count, Row row) const;

  Region region_;
  std::vector<int64_t> sizes_;
  int64_t num_elements_ = 0;
  Simd simd_ = Simd::kPlain;
  const Functions* functions_ = nullptr;
  bool has_rows_ = false;
  int64_t width_ = 1;
  int64_t tile_ = kTile;             // elements of a tile
  size_t register_size_ = kTile;     // numbers of a register
  size_t row_register_size_ = 0;     // the second numbers of pairs begin in its middle
  std::vector<Extent> extents_;      // of instructions
  std::vector<int> direct_outputs_;  // new memory in the order of elements
  std::vector<Load> loads_;
  std::vector<Step> steps_;
  std::vector<Store> stores_;
  std::vector<ColumnSum> column_sums_;
  std::vector<Place> result_of_;    // of each instruction
  std::vector<Place> input_place_;  // of each input
  size_t num_registers_ = 0;
  size_t num_row_registers_ = 0;
};

}  // namespace rtrain::compile
