#include "host/compile/tile_program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "host/compile/combining.h"

namespace rtrain::compile {
namespace {

constexpr size_t kLine = 64 / sizeof(float);  // numbers of a cache line

size_t at(int64_t index) { return static_cast<size_t>(index); }

size_t whole_lines(int64_t numbers) { return (at(numbers) + kLine - 1) / kLine * kLine; }

bool is_zero(int64_t stride) { return stride == 0; }

// ATen's sum over rows adds up blocks of 1 << this many rows, and blocks of that many blocks.
int64_t cascade_power(int64_t num_rows) {
  int64_t power = 4;
  while (num_rows > int64_t{1} << (4 * power + 3)) ++power;
  return power;
}

}  // namespace

TileProgram::TileProgram(Region region, Simd simd, const Functions* functions, int64_t cache)
    : region_(functions == nullptr ? std::move(region) : combined(std::move(region), *functions)),
      num_elements_(region_.num_elements()),
      simd_(simd),
      functions_(functions),
      chain_(chain_functions(simd)),
      cache_(cache),
      has_rows_(region_.has_rows()),
      extents_(region_.extents()) {
  region_.join_dimensions();
  sizes_ = region_.sizes;
  if (has_rows_) {
    width_ = std::max<int64_t>(1, sizes_.back());
    const bool has_sums = std::ranges::find(extents_, Extent::kColumn) != extents_.end();
    int64_t rows = std::max<int64_t>(1, (has_sums ? kColumnSumTile : kRowTile) / width_);
    if (rows > kRowsAtOnce) rows -= rows % kRowsAtOnce;
    tile_ = rows * width_;
    block_power_ = cascade_power(num_elements_ / width_);
    register_size_ = whole_lines(tile_);
    const auto block = static_cast<int64_t>(chain_ == nullptr ? kLine : chain_->block);
    row_register_size_ = at(2 * ((rows + block - 1) / block * block));
  }
  plan_loads();
  plan_steps();
  plan_chains();
  plan_stores();
  if (has_rows_) return;
  tile_ = kMostTile / static_cast<int64_t>(std::max<size_t>(1, num_registers_));
  tile_ = std::max(kTile, tile_ - tile_ % kTile);
  register_size_ = at(tile_);
}

// Whether a tile's elements lie one after the other in memory.
bool TileProgram::is_direct(const RegionTensor& tensor) const {
  int64_t expected = 1;
  if (!tensor.is_plain()) return false;
  for (size_t dim = sizes_.size(); dim-- > 0;) {
    if (tensor.strides[dim] != expected) return false;
    expected *= sizes_[dim];
  }
  return tensor.type == Type::kFloat32;
}

// Whether it is one row, for all rows, that can be used where it is.
bool TileProgram::is_column(const RegionTensor& tensor) const {
  return has_rows_ && tensor.is_plain() && tensor.type == Type::kFloat32 &&
         tensor.strides.back() == 1 &&
         std::all_of(tensor.strides.begin(), tensor.strides.end() - 1, &is_zero);
}

// Whether it is written past the caches.
bool TileProgram::is_streamed(const Output& output) const {
  const auto bytes = num_elements_ * static_cast<int64_t>(sizeof(float));
  return bytes > cache_ && output.shared_input < 0 && is_direct(output.tensor);
}

// Whether a loop over rows takes a number for each row from it.
bool TileProgram::is_row_operand(int input) const {
  const Operand operand{.kind = Operand::Kind::kInput, .index = input};
  return std::ranges::any_of(region_.instructions, [&](const Instruction& instruction) {
    const auto& operands = instruction.operands;
    const auto first = operands.begin() + num_full_operands(instruction.operation);
    return instruction.operation >= kFirstRowFunction &&
           std::find(first, operands.end(), operand) != operands.end();
  });
}

TileProgram::Place TileProgram::place_of(const Operand& operand) const {
  if (operand.kind == Operand::Kind::kConstant) {
    return {.kind = Place::Kind::kConstant, .index = operand.index};
  }
  const bool is_input = operand.kind == Operand::Kind::kInput;
  return is_input ? input_place_[at(operand.index)] : result_of_[at(operand.index)];
}

// Registers of inputs are not used again.
void TileProgram::plan_loads() {
  using Kind = Place::Kind;
  for (size_t i = 0; i < region_.inputs.size(); ++i) {
    const RegionTensor& tensor = region_.inputs[i];
    const int input = static_cast<int>(i);
    const bool is_single = tensor.is_plain() && std::ranges::all_of(tensor.strides, &is_zero);
    Place place{.kind = Kind::kRegister, .index = input};
    if (is_single && !is_row_operand(input)) {
      place.kind = Kind::kSingle;
    } else if (is_column(tensor)) {
      place.kind = Kind::kColumn;
    } else if (is_direct(tensor)) {
      place.kind = Kind::kDirect;
    } else {
      const bool is_of_rows = has_rows_ && tensor.strides.back() == 0 && tensor.is_plain();
      size_t& count = is_of_rows ? num_row_registers_ : num_registers_;
      place = {.kind = is_of_rows ? Kind::kRowRegister : Kind::kRegister,
               .index = static_cast<int>(count++)};
      loads_.push_back({.input = input, .result = place});
    }
    input_place_.push_back(place);
  }
}

// The output into whose memory the instruction can write while later ones still run, or -1.
int TileProgram::direct_output(size_t instruction) const {
  if (extents_[instruction] != Extent::kFull) return -1;
  const auto found = std::ranges::find_if(region_.outputs, [&](const Output& output) {
    return output.from.index == static_cast<int>(instruction) && is_direct(output.tensor) &&
           !is_streamed(output);
  });
  if (found == region_.outputs.end()) return -1;
  const Operand shared{.kind = Operand::Kind::kInput, .index = found->shared_input};
  for (size_t i = instruction + 1; i < region_.instructions.size(); ++i) {
    const auto& operands = region_.instructions[i].operands;
    if (std::ranges::find(operands, shared) != operands.end()) return -1;
  }
  return static_cast<int>(found - region_.outputs.begin());
}

void TileProgram::choose_loop(Step& step) const {
  using Kind = Place::Kind;
  const Operation operation = step.operation;
  if (is_function(operation)) {
    step.kind = Step::Kind::kFunction;
    return;
  }
  if (is_row_function(operation)) {
    step.kind = Step::Kind::kRowFunction;
    step.row_function = functions_->row(operation);
    return;
  }
  if (is_row_loop(operation)) {
    step.kind = is_column_sum(operation) ? Step::Kind::kColumnSum : Step::Kind::kRowLoop;
    if (operation == Operation::kColumnCascade) step.kind = Step::Kind::kColumnCascade;
    if (is_sum_of_pass(operation)) step.kind = Step::Kind::kSumOfPass;
    step.row_loop = row_loop_of(operation, simd_);
    return;
  }
  bool is_by_row = operation == Operation::kColumnIndex;
  unsigned single = 0;
  for (size_t i = 0; i < step.num_operands; ++i) {
    const Kind kind = step.operands[i].kind;
    const bool is_of_row = step.is_full && kind == Kind::kRowRegister;
    is_by_row = is_by_row || is_of_row || kind == Kind::kColumn;
    if (is_of_row || kind == Kind::kSingle || kind == Kind::kConstant) single |= 1U << i;
  }
  if (is_by_row) step.kind = Step::Kind::kElementsByRow;
  step.is_second = operation == Operation::kSecond;
  const bool is_copy = operation == Operation::kFirst || step.is_second;
  step.loop = loop_of(is_copy ? Operation::kCopy : operation, single, simd_);
}

// An instruction's register is free again after its last use.
void TileProgram::plan_steps() {
  using Kind = Place::Kind;
  const size_t count = region_.instructions.size();
  std::vector<size_t> last_use(count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (const Operand& operand : region_.instructions[i].operands) {
      if (operand.kind == Operand::Kind::kInstruction) last_use[at(operand.index)] = i;
    }
  }
  for (const Output& output : region_.outputs) last_use[at(output.from.index)] = count;
  std::vector<int> free;
  std::vector<int> free_rows;
  const auto take = [](std::vector<int>& list, size_t& made) {
    if (list.empty()) return static_cast<int>(made++);
    const int out = list.back();
    list.pop_back();
    return out;
  };
  int num_sums = 0;
  int num_cascades = 0;
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = region_.instructions[i];
    Step step;
    step.operation = instruction.operation;
    step.is_full = extents_[i] == Extent::kFull;
    for (const Operand& operand : instruction.operands) {
      step.operands[step.num_operands++] = place_of(operand);
    }
    choose_loop(step);
    for (size_t k = 0; k < i; ++k) {
      if (last_use[k] != i || extents_[k] == Extent::kColumn) continue;
      if (result_of_[k].kind == Kind::kRegister) free.push_back(result_of_[k].index);
      if (result_of_[k].kind == Kind::kRowRegister) free_rows.push_back(result_of_[k].index);
    }
    if (step.kind == Step::Kind::kSumOfPass) {
      int& sums = steps_[at(instruction.operands[0].index)].sums;
      if (sums < 0) sums = std::exchange(num_sums, num_sums + 2);
      step.result.index = step.operation == Operation::kFirstSum ? sums : sums + 1;
    } else if (extents_[i] == Extent::kColumn) {
      step.result.index = step.kind == Step::Kind::kColumnSum ? num_sums++ : num_cascades++;
    } else if (!step.is_full) {
      step.result = {.kind = Kind::kRowRegister, .index = take(free_rows, num_row_registers_)};
    } else if (const int output = direct_output(i); output >= 0) {
      step.result = {.kind = Kind::kOutput, .index = output};
    } else {
      step.result = {.kind = Kind::kRegister, .index = take(free, num_registers_)};
    }
    result_of_.push_back(step.result);
    steps_.push_back(std::move(step));
  }
}

// Whether the step can be a part of a chain: one loop for all numbers, which are where they can be
// read and written in whole blocks.
bool TileProgram::can_be_linked(const Step& step) const {
  using Kind = Place::Kind;
  if (step.kind != Step::Kind::kElements) return false;
  const auto end = step.operands.begin() + static_cast<std::ptrdiff_t>(step.num_operands);
  return step.is_full || std::all_of(step.operands.begin(), end, [](const Place& place) {
           return place.kind == Kind::kRowRegister || place.kind == Kind::kSingle ||
                  place.kind == Kind::kConstant;
         });
}

// The operands of the step that are the result of the step before it.
unsigned TileProgram::held_operands(size_t step) const {
  const auto& operands = region_.instructions[step].operands;
  unsigned out = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_before = operands[i].kind == Operand::Kind::kInstruction &&
                           operands[i].index == static_cast<int>(step) - 1;
    if (is_before) out |= 1U << i;
  }
  return out;
}

// Whether more than the step after it need the step's result.
bool TileProgram::is_kept(size_t step) const {
  const Operand result{.kind = Operand::Kind::kInstruction, .index = static_cast<int>(step)};
  if (std::ranges::count(region_.outputs, result, &Output::from) > 0) return true;
  for (size_t i = step + 2; i < steps_.size(); ++i) {
    if (std::ranges::count(region_.instructions[i].operands, result) > 0) return true;
  }
  return false;
}

void TileProgram::plan_chains() {
  if (chain_ == nullptr) return;
  for (size_t first = 0; first < steps_.size();) {
    size_t end = first;
    while (end < steps_.size() && can_be_linked(steps_[end]) &&
           steps_[end].is_full == steps_[first].is_full) {
      ++end;
    }
    steps_[first].chain = end - first;
    steps_[first].first_link = num_links_;
    for (size_t i = first; i < end; ++i) {
      Step& step = steps_[i];
      const bool is_copy = step.operation >= kFirstFunction;
      step.held = i == first ? 0 : held_operands(i);
      step.is_kept = i + 1 == end || is_kept(i);
      step.link = chain_->of(is_copy ? Operation::kCopy : step.operation, step.held);
      num_links_ += step.is_kept ? 2 : 1;
    }
    first = std::max(end, first + 1);
  }
}

void TileProgram::plan_stores() {
  for (size_t i = 0; i < region_.outputs.size(); ++i) {
    const Place from = place_of(region_.outputs[i].from);
    const int output = static_cast<int>(i);
    const Output& given = region_.outputs[i];
    const auto instruction = at(given.from.index);
    const bool is_streamed = extents_[instruction] == Extent::kFull && this->is_streamed(given);
    streams_ = streams_ || is_streamed;
    if (given.shared_input < 0 && is_direct(given.tensor) && !is_streamed) {
      direct_outputs_.push_back(output);
    }
    if (extents_[instruction] == Extent::kColumn) {
      const bool is_cascade =
          region_.instructions[instruction].operation == Operation::kColumnCascade;
      (is_cascade ? cascades_ : column_sums_).push_back({.output = output, .index = from.index});
    } else if (from.kind != Place::Kind::kOutput || from.index != output) {
      stores_.push_back({.output = output, .from = from, .is_streamed = is_streamed});
    }
  }
}

// Where sums of columns begin in the memory of a run.
size_t TileProgram::sums_offset() const {
  return num_registers_ * register_size_ + num_row_registers_ * row_register_size_;
}

int64_t TileProgram::num_blocks() const {
  const int64_t num_rows = num_elements_ / width_;
  return (num_rows + rows_of_block() - 1) / rows_of_block();
}

size_t TileProgram::num_block_sums() const { return cascades_.size() * at(num_blocks() * width_); }

}  // namespace rtrain::compile
