// host/compile/tile_program.h: a TileProgram: a region made ready to run, and its interpreter.
//
// It is immutable: several threads may run parts of it at once, each with a Scratch of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/compile/chain.h"
#include "host/compile/function.h"
#include "host/compile/region.h"
#include "host/compile/streaming.h"

namespace rtrain::compile {

class TileProgram {
 public:
  // `functions` are those that the region calls, and outlive the program; nullptr: it calls none.
  // Outputs of more than `cache` bytes are written past the caches. REQUIRES: region.valid().
  explicit TileProgram(Region region, Simd simd, const Functions* functions = nullptr,
                       int64_t cache = largest_cache());

  // The memory of a run: registers, and sums of columns.
  class Scratch {
   public:
    explicit Scratch(const TileProgram& program);
    Scratch(Scratch&&) = default;
    Scratch& operator=(Scratch&&) = default;

   private:
    friend class TileProgram;
    // Rows of a block whose sum another run has begun, for each cascade.
    std::vector<float> heads_;
    int64_t first_row_ = 0;
    int64_t num_head_rows_ = 0;
    std::vector<Link> links_;  // of all chains
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
  // at 0 and stay in `scratch`; those of cascades are in `blocks` too, which all runs share.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, Range range,
           Scratch& scratch, std::span<float> blocks = {}) const;
  // Writes the sums of columns of several runs, which took all rows one after the other, to the
  // outputs.
  void write_column_sums(std::span<void* const> outputs, std::span<const Scratch> runs,
                         std::span<float> blocks = {}) const;

  int64_t num_elements() const { return num_elements_; }
  // The elements of a row; 1 in a region without rows.
  int64_t row_width() const { return width_; }
  // Sums of columns whose order depends on the rows of each run, and those for which it does not.
  bool has_column_sums() const { return !column_sums_.empty(); }
  bool has_cascades() const { return !cascades_.empty(); }
  size_t num_block_sums() const;  // numbers of `blocks`
  // The region's dimensions, of which neighbours are joined.
  const std::vector<int64_t>& sizes() const { return sizes_; }
  size_t num_registers() const { return num_registers_; }
  const Region& region() const { return region_; }

 private:
  // Elements of a tile: at least kTile; all of its registers have kMostTile or fewer, which are
  // half of the first-level cache, unless that is less. A tile of rows has at most kRowTile, unless
  // one row is longer; with sums of columns, which each tile loads and stores, more.
  static constexpr int64_t kTile = 1024;
  static constexpr int64_t kMostTile = 4096;
  static constexpr int64_t kRowTile = 4096;
  static constexpr int64_t kColumnSumTile = 8192;
  // While fewer steps compute, the processor fetches what the next tile reads by itself.
  static constexpr size_t kManySteps = 8;
  // Functions of rows compute that many at once.
  static constexpr int64_t kRowsAtOnce = 4;

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
      kColumnSum,
      kColumnCascade,
      kSumOfPass  // nothing: a row function has added it up
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
    size_t chain = 0;  // the first step of a chain: the number of its steps
    size_t first_link = 0;
    unsigned held = 0;     // in a chain: operands that are the result of the step before
    bool is_kept = false;  // in a chain: others need its result too
    LinkFunction link = nullptr;
    Place result;   // of a sum of columns: its index
    int sums = -1;  // of a row function that adds up sums of columns: the first one's index
  };
  struct Load {
    int input = 0;
    Place result;
  };
  struct Store {
    int output = 0;
    Place from;
    bool is_streamed = false;
  };
  struct ColumnSum {
    int output = 0;
    int index = 0;
  };
  struct Tile;

  bool is_direct(const RegionTensor& tensor) const;
  bool is_column(const RegionTensor& tensor) const;
  bool is_row_operand(int input) const;
  bool is_streamed(const Output& output) const;
  void plan_loads();
  void plan_steps();
  void plan_stores();
  void plan_chains();
  bool can_be_linked(const Step& step) const;
  unsigned held_operands(size_t step) const;
  bool is_kept(size_t step) const;
  void choose_loop(Step& step) const;
  int direct_output(size_t instruction) const;
  Place place_of(const Operand& operand) const;
  size_t sums_offset() const;
  int64_t rows_of_block() const { return int64_t{1} << block_power_; }
  int64_t num_blocks() const;

  // tile_run.cpp
  void load(const Load& load, const Tile& tile) const;
  void store(const Store& store, const Tile& tile) const;
  void fetch_next(const Tile& tile, size_t step, int64_t begin, int64_t end) const;
  void run_step(const Step& step, const Tile& tile) const;
  void run_elements(const Step& step, const Tile& tile, int64_t begin) const;
  void set_links(const Tile& tile) const;
  Link* set_step(size_t index, bool is_last, Link* link, const Tile& tile) const;
  void run_chain(size_t first, const Tile& tile) const;
  void run_by_row(const Step& step, const Tile& tile) const;
  void run_rows(const Step& step, const Tile& tile) const;
  void add_to_blocks(const Step& step, const Tile& tile) const;
  void write_cascade(float* out, int64_t stride, const float* blocks) const;
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
  const ChainFunctions* chain_ = nullptr;
  int64_t cache_ = 0;
  bool has_rows_ = false;
  int64_t width_ = 1;
  int64_t tile_ = kTile;             // elements of a tile
  size_t register_size_ = kTile;     // numbers of a register
  size_t row_register_size_ = 0;     // the second numbers of pairs begin in its middle
  std::vector<Extent> extents_;      // of instructions
  std::vector<int> direct_outputs_;  // new memory in the order of elements
  std::vector<Load> loads_;
  std::vector<Step> steps_;
  size_t num_links_ = 0;
  std::vector<Store> stores_;
  bool streams_ = false;
  std::vector<ColumnSum> column_sums_;
  std::vector<ColumnSum> cascades_;
  int64_t block_power_ = 0;         // a block has 1 << this many rows
  std::vector<Place> result_of_;    // of each instruction
  std::vector<Place> input_place_;  // of each input
  size_t num_registers_ = 0;
  size_t num_row_registers_ = 0;
};

}  // namespace rtrain::compile
