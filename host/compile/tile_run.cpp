// The interpreter of a TileProgram.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "host/compile/tile_program.h"

namespace rtrain::compile {
namespace {

constexpr size_t kLineBytes = 64;  // of a cache line

size_t at(int64_t index) { return static_cast<size_t>(index); }

constexpr size_t kLine = kLineBytes / sizeof(float);  // numbers of a cache line

size_t whole_lines(size_t numbers) { return (numbers + kLine - 1) / kLine * kLine; }

float number_at(const void* memory, Type type, int64_t index) {
  if (type == Type::kBool) return static_cast<const bool*>(memory)[index] ? 1.0F : 0.0F;
  if (type == Type::kInt64) return static_cast<float>(static_cast<const int64_t*>(memory)[index]);
  return static_cast<const float*>(memory)[index];
}

void read_row(const RegionTensor& tensor, const void* memory, int64_t offset, int64_t stride,
              int64_t count, float* to) {
  if (tensor.type == Type::kFloat32 && stride == 1) {
    std::memcpy(to, static_cast<const float*>(memory) + offset, at(count) * sizeof(float));
    return;
  }
  if (tensor.type == Type::kBool && stride == 1) {
    const auto* bytes = static_cast<const uint8_t*>(memory) + offset;
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(bytes[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = number_at(memory, tensor.type, offset + i * stride);
}

}  // namespace

// What a tile of a run has.
struct TileProgram::Tile {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  float* registers;
  float* row_registers;
  float* sums;
  float* blocks;
  Scratch* scratch;
  float* heads;
  Range range;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t num_rows = 0;
  int64_t num_parts = 1;       // of a step, which fetch memory: its rows
  size_t fetched_at_once = 0;  // numbers for each of them
};

TileProgram::Scratch::Scratch(const TileProgram& program)
    : links_(program.num_links_),
      memory_(program.sums_offset() + program.column_sums_.size() * at(program.width_) +
              kLineBytes / sizeof(float)) {
  void* begin = memory_.data();
  size_t space = memory_.size() * sizeof(float);
  registers_ = static_cast<float*>(std::align(kLineBytes, sizeof(float), begin, space));
}

// Calls row(offset, stride, count) for the parts of a tile that lie in one row.
template <class Row>
void TileProgram::for_each_row(const RegionTensor& tensor, int64_t begin, int64_t count,
                               Row row) const {
  if (sizes_.empty()) return row(0, 0, count);
  const int64_t width = sizes_.back();
  int64_t column = begin % width;
  for (int64_t done = 0, index = begin / width; done < count; ++index) {
    int64_t offset = column * tensor.strides.back();
    int64_t rest = index;
    for (size_t dim = sizes_.size() - 1; dim-- > 1;) {
      offset += rest % sizes_[dim] * tensor.strides[dim];
      rest /= sizes_[dim];
    }
    if (sizes_.size() > 1) offset += rest * tensor.strides[0];
    const int64_t part = std::min(width - column, count - done);
    row(offset, tensor.strides.back(), part);
    done += part;
    column = 0;
  }
}

void TileProgram::load(const Load& load, const Tile& tile) const {
  const RegionTensor& tensor = region_.inputs[at(load.input)];
  const bool has_row_numbers = load.result.kind == Place::Kind::kRowRegister;
  float* to = register_of(load.result, tile);
  for_each_row(tensor, tile.begin, tile.count, [&](int64_t offset, int64_t stride, int64_t part) {
    if (has_row_numbers) part = 1;
    const void* memory = tile.inputs[at(load.input)];
    if (tensor.has_window()) {
      std::fill_n(to, part, 0.0F);
      read_row(tensor, memory, offset, stride, tensor.window_width, to + tensor.window_begin);
    } else {
      const int64_t first = tensor.first_column;
      read_row(tensor, memory, offset + first * stride, stride, part - first, to);
      read_row(tensor, memory, offset, stride, first, to + part - first);
    }
    to += part;
  });
}

void TileProgram::store(const Store& store, const Tile& tile) const {
  const RegionTensor& tensor = region_.outputs[at(store.output)].tensor;
  const bool has_row_numbers = store.from.kind == Place::Kind::kRowRegister;
  const float* from = operand_of(store.from, tile).numbers;
  auto* numbers = static_cast<float*>(tile.outputs[at(store.output)]);
  for_each_row(tensor, tile.begin, tile.count, [&](int64_t offset, int64_t stride, int64_t part) {
    if (has_row_numbers) part = 1;
    if (store.is_streamed) {
      stream(numbers + offset, from, at(part));
    } else if (stride == 1) {
      std::memmove(numbers + offset, from, at(part) * sizeof(float));
    } else {
      for (int64_t i = 0; i < part; ++i) numbers[offset + i * stride] = from[i];
    }
    from += part;
  });
}

// Where numbers of a place that is written to are.
float* TileProgram::register_of(const Place& place, const Tile& tile) const {
  const auto index = at(place.index);
  if (place.kind == Place::Kind::kOutput) {
    return static_cast<float*>(tile.outputs[index]) + tile.begin;
  }
  if (place.kind == Place::Kind::kRowRegister) {
    return tile.row_registers + index * row_register_size_;
  }
  return tile.registers + index * register_size_;
}

LoopOperand TileProgram::operand_of(const Place& place, const Tile& tile) const {
  const auto index = at(place.index);
  switch (place.kind) {
    case Place::Kind::kDirect:
      return {.numbers = static_cast<const float*>(tile.inputs[index]) + tile.begin};
    case Place::Kind::kColumn:
      return {.numbers = static_cast<const float*>(tile.inputs[index])};
    case Place::Kind::kSingle:
      return {.number = number_at(tile.inputs[index], region_.inputs[index].type, 0)};
    case Place::Kind::kConstant:
      return {.number = region_.constants[index]};
    default:
      return {.numbers = register_of(place, tile)};
  }
}

RowOperand TileProgram::row_operand_of(const Place& place, const Tile& tile) const {
  size_t stride = at(width_);
  if (place.kind == Place::Kind::kColumn) stride = 0;
  if (place.kind == Place::Kind::kRowRegister) stride = 1;
  return {.numbers = operand_of(place, tile).numbers, .stride = stride};
}

// Calls the function. The numbers at the end of a stretch are its tail.
void TileProgram::call(const Step& step, const Tile& tile) const {
  const Function& function = functions_->at(step.operation);
  const LoopOperand operand = operand_of(step.operands[0], tile);
  const int64_t count = step.is_full ? tile.count : tile.num_rows;
  float* out = register_of(step.result, tile);
  const float* in = operand.numbers;
  if (in == nullptr) {
    std::fill_n(out, count, operand.number);
    in = out;
  } else if (step.operands[0].kind == Place::Kind::kColumn) {
    for (int64_t row = 0; row < tile.num_rows; ++row) std::copy_n(in, width_, out + row * width_);
    in = out;
  }
  if (function.tail == nullptr) return function.body(out, in, at(count));
  const auto granule = static_cast<int64_t>(functions_->granule());
  const int64_t stretch =
      tile.range.stretch > 0 ? tile.range.stretch : std::max<int64_t>(1, num_elements_);
  for (int64_t i = 0; i < count;) {
    const int64_t begin = (tile.begin + i) / stretch * stretch;
    const int64_t end = std::min(begin + stretch, num_elements_);
    const int64_t body_end = end - (end - begin) % granule;
    const int64_t body = std::clamp<int64_t>(body_end - tile.begin - i, 0, count - i);
    const int64_t tail = std::min(end - tile.begin - i, count - i) - body;
    if (body > 0) function.body(out + i, in + i, at(body));
    if (tail > 0) function.tail(out + i + body, in + i + body, at(tail));
    i += body + tail;
  }
}

void TileProgram::run_by_row(const Step& step, const Tile& tile) const {
  std::array<LoopOperand, kMostElementOperands> operands;
  std::array<RowOperand, kMostElementOperands> of_rows;
  for (size_t i = 0; i < step.num_operands && i < operands.size(); ++i) {
    operands[i] = operand_of(step.operands[i], tile);
    of_rows[i] = row_operand_of(step.operands[i], tile);
  }
  float* out = register_of(step.result, tile);
  for (size_t row = 0; row < at(tile.num_rows); ++row) {
    for (size_t i = 0; i < step.num_operands && i < operands.size(); ++i) {
      if (of_rows[i].numbers == nullptr) continue;
      operands[i].numbers = of_rows[i].numbers + row * of_rows[i].stride;
      if (step.operands[i].kind == Place::Kind::kRowRegister) {
        operands[i].number = *operands[i].numbers;
      }
    }
    step.loop(out + row * at(width_), operands.data(), at(width_));
  }
}

void TileProgram::run_rows(const Step& step, const Tile& tile) const {
  std::array<RowOperand, kMostOperands> operands;
  for (size_t i = 0; i < step.num_operands && i < operands.size(); ++i) {
    operands[i] = row_operand_of(step.operands[i], tile);
  }
  if (step.kind == Step::Kind::kColumnSum) {
    float* sums = tile.sums + at(step.result.index) * at(width_);
    return step.row_loop(sums, operands.data(), at(width_), at(tile.num_rows));
  }
  float* out = register_of(step.result, tile);
  const auto index = static_cast<size_t>(&step - steps_.data());
  float* sums = step.sums < 0 ? nullptr : tile.sums + step.sums * width_;
  const bool is_slow = is_row_map(step.operation) && step.operation != Operation::kNormPass;
  const int64_t at_once = is_slow ? 1 : kRowsAtOnce;
  for (int64_t row = 0; row < tile.num_rows; row += at_once) {
    const auto count = at(std::min(at_once, tile.num_rows - row));
    fetch_next(tile, index, row, row + static_cast<int64_t>(count));
    if (step.row_loop != nullptr) {
      step.row_loop(out, operands.data(), at(width_), count);
    } else {
      const RowResult result{.numbers = out, .spread = row_register_size_ / 2, .sums = sums};
      step.row_function(result, operands.data(), at(width_), count);
    }
    for (RowOperand& operand : operands) operand.numbers += count * operand.stride;
    out += step.is_full ? count * at(width_) : count;
  }
}

// Adds the rows to the sums of their blocks. Keeps those of a block that another run has begun.
void TileProgram::add_to_blocks(const Step& step, const Tile& tile) const {
  RowOperand operand = row_operand_of(step.operands[0], tile);
  int64_t row = tile.begin / width_;
  const int64_t end = row + tile.num_rows;
  const int64_t first = tile.scratch->first_row_;
  const int64_t num_heads = tile.scratch->num_head_rows_;
  float* heads = tile.heads + step.result.index * num_heads * width_;
  for (; row < std::min(end, first + num_heads); ++row) {
    std::copy_n(operand.numbers, width_, heads + (row - first) * width_);
    operand.numbers += operand.stride;
  }
  while (row < end) {
    const int64_t block = row >> block_power_;
    const int64_t count = std::min(end, (block + 1) << block_power_) - row;
    float* out = tile.blocks + (step.result.index * num_blocks() + block) * width_;
    if (row % rows_of_block() == 0) std::fill_n(out, width_, 0.0F);
    step.row_loop(out, &operand, at(width_), at(count));
    operand.numbers += at(count) * operand.stride;
    row += count;
  }
}

void TileProgram::run_step(const Step& step, const Tile& tile) const {
  switch (step.kind) {
    case Step::Kind::kFunction:
      return call(step, tile);
    case Step::Kind::kElementsByRow:
      return run_by_row(step, tile);
    case Step::Kind::kRowFunction:
    case Step::Kind::kRowLoop:
    case Step::Kind::kColumnSum:
      return run_rows(step, tile);
    case Step::Kind::kColumnCascade:
      return add_to_blocks(step, tile);
    case Step::Kind::kSumOfPass:
      return;
    case Step::Kind::kElements:
      break;
  }
  run_elements(step, tile, 0);
}

// Computes the step's elements, or the numbers of its rows, from `begin` on.
void TileProgram::run_elements(const Step& step, const Tile& tile, int64_t begin) const {
  std::array<LoopOperand, kMostElementOperands> operands;
  for (size_t i = 0; i < step.num_operands && i < operands.size(); ++i) {
    operands[i] = operand_of(step.operands[i], tile);
    if (operands[i].numbers != nullptr) operands[i].numbers += begin;
  }
  if (step.is_second) operands[0].numbers += row_register_size_ / 2;
  const int64_t count = (step.is_full ? tile.count : tile.num_rows) - begin;
  step.loop(register_of(step.result, tile) + begin, operands.data(), at(count));
}

// Makes the links of all chains, for the first tile.
void TileProgram::set_links(const Tile& tile) const {
  Link* link = tile.scratch->links_.data();
  for (size_t i = 0; i < steps_.size(); i += std::max<size_t>(1, steps_[i].chain)) {
    const size_t end = i + steps_[i].chain;
    for (size_t k = i; k < end; ++k) link = set_step(k, k + 1 == end, link, tile);
  }
}

// Makes the links of a step. Returns where the next ones are.
Link* TileProgram::set_step(size_t index, bool is_last, Link* link, const Tile& tile) const {
  constexpr unsigned kOut = 1U << kMostElementOperands;
  const auto moves = [](const Place& place) {
    return place.kind == Place::Kind::kDirect || place.kind == Place::Kind::kOutput;
  };
  const Step& step = steps_[index];
  link->function = step.link;
  link->moving = 0;
  for (size_t k = 0; k < step.num_operands; ++k) {
    if ((step.held >> k & 1U) != 0) continue;
    LoopOperand operand = operand_of(step.operands[k], tile);
    if (step.is_second) operand.numbers += row_register_size_ / 2;
    link->set(k, operand);
    if (moves(step.operands[k])) link->moving |= 1U << k;
  }
  ++link;
  if (!step.is_kept) return link;
  link->function = is_last ? chain_->store : chain_->keep;
  link->out = register_of(step.result, tile);
  link->moving = moves(step.result) ? kOut : 0;
  return link + 1;
}

void TileProgram::run_chain(size_t first, const Tile& tile) const {
  const Step& step = steps_[first];
  const Link* links = tile.scratch->links_.data() + step.first_link;
  const size_t block = chain_->block;
  // A register of numbers of rows has whole blocks.
  if (!step.is_full) return chain_->run(links, (at(tile.num_rows) + block - 1) / block * block);
  const size_t whole = at(tile.count) / block * block;
  chain_->run(links, whole);
  if (whole == at(tile.count)) return;
  for (size_t i = first; i < first + step.chain; ++i) {
    run_elements(steps_[i], tile, static_cast<int64_t>(whole));
  }
}

// Fetches a part of the memory that the next tile reads and writes, for the rows of a step from
// `begin` to `end`. The processor does not do it by itself, since that memory is on other pages.
void TileProgram::fetch_next(const Tile& tile, size_t step, int64_t begin, int64_t end) const {
  const int64_t next = tile.begin + tile.count;
  const size_t count = at(std::clamp<int64_t>(tile.range.end - next, 0, tile_));
  const size_t before = step * at(tile.num_parts);
  const size_t first = std::min(count, (before + at(begin)) * tile.fetched_at_once);
  const size_t last = std::min(count, (before + at(end)) * tile.fetched_at_once);
  const auto fetch = [&](const void* memory) {
    const float* numbers = static_cast<const float*>(memory) + next;
    for (size_t i = first; i < last; i += kLine) __builtin_prefetch(numbers + i);
  };
  for (const int output : direct_outputs_) fetch(tile.outputs[at(output)]);
  if (!has_rows_ || steps_.size() < kManySteps) return;
  for (size_t i = 0; i < input_place_.size(); ++i) {
    if (input_place_[i].kind == Place::Kind::kDirect) fetch(tile.inputs[i]);
  }
}

void TileProgram::run(std::span<const void* const> inputs, std::span<void* const> outputs,
                      Range range, Scratch& scratch, std::span<float> blocks) const {
  scratch.first_row_ = range.begin / width_;
  const int64_t num_rows = (range.end - range.begin) / width_;
  const int64_t num_heads = -scratch.first_row_ & (rows_of_block() - 1);
  scratch.num_head_rows_ = has_cascades() ? std::min(num_heads, num_rows) : 0;
  scratch.heads_.resize(cascades_.size() * at(scratch.num_head_rows_ * width_));
  float* registers = scratch.registers_;
  Tile tile{.inputs = inputs,
            .outputs = outputs,
            .registers = registers,
            .row_registers = registers + num_registers_ * register_size_,
            .sums = registers + sums_offset(),
            .blocks = blocks.data(),
            .scratch = &scratch,
            .heads = scratch.heads_.data(),
            .range = range};
  std::fill_n(tile.sums, column_sums_.size() * at(width_), 0.0F);
  tile.begin = range.begin;
  set_links(tile);
  for (; tile.begin < range.end; tile.begin += tile.count) {
    tile.count = std::min(tile_, range.end - tile.begin);
    tile.num_rows = tile.count / width_;
    tile.num_parts = has_rows_ ? tile.num_rows : 1;
    tile.fetched_at_once =
        whole_lines(at(tile_) / std::max<size_t>(1, steps_.size() * at(tile.num_parts)) + 1);
    for (const Load& each : loads_) load(each, tile);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step::Kind kind = steps_[i].kind;
      const bool fetches = kind == Step::Kind::kRowFunction || kind == Step::Kind::kRowLoop;
      if (!fetches) fetch_next(tile, i, 0, tile.num_parts);
      if (steps_[i].chain == 0) {
        run_step(steps_[i], tile);
        continue;
      }
      const size_t first = i;
      while (i + 1 < first + steps_[first].chain) fetch_next(tile, ++i, 0, tile.num_parts);
      run_chain(first, tile);
    }
    for (const Store& each : stores_) store(each, tile);
    if (tile.begin + tile.count == range.end) break;
    for (Link& link : scratch.links_) link.move(at(tile.count));
  }
  if (streams_) end_streaming();
}

// Adds up the sums of blocks in the order of ATen's cascade: each level takes the sum of as many of
// the one below it as a block has rows.
void TileProgram::write_cascade(float* out, int64_t stride, const float* blocks) const {
  constexpr int64_t kLevels = 3;
  const int64_t num_whole = (num_elements_ / width_) >> block_power_;
  const int64_t mask = rows_of_block() - 1;
  std::vector<float> levels(at(kLevels * width_));
  const auto add = [&](float* to, const float* from) {
    for (int64_t i = 0; i < width_; ++i) to[i] += from[i];
  };
  for (int64_t block = 0; block < num_whole; ++block) {
    add(levels.data(), blocks + block * width_);
    int64_t count = block + 1;
    for (int64_t level = 1; level < kLevels && (count & mask) == 0; ++level) {
      float* below = &levels[at((level - 1) * width_)];
      add(below + width_, below);
      std::fill_n(below, width_, 0.0F);
      count >>= block_power_;
    }
  }
  std::vector<float> total(at(width_));
  if (num_whole < num_blocks()) add(total.data(), blocks + num_whole * width_);
  for (int64_t level = 0; level < kLevels; ++level) add(total.data(), &levels[at(level * width_)]);
  for (int64_t i = 0; i < width_; ++i) out[i * stride] = total[at(i)];
}

void TileProgram::write_column_sums(std::span<void* const> outputs, std::span<const Scratch> runs,
                                    std::span<float> blocks) const {
  for (const ColumnSum& sum : cascades_) {
    float* own = blocks.data() + sum.index * num_blocks() * width_;
    for (const Scratch& run : runs) {
      const int64_t num_heads = run.num_head_rows_;
      float* block = own + (run.first_row_ >> block_power_) * width_;
      const RowOperand heads{.numbers = run.heads_.data() + sum.index * num_heads * width_,
                             .stride = at(width_)};
      row_loop_of(Operation::kColumnCascade, simd_)(block, &heads, at(width_), at(num_heads));
    }
    write_cascade(static_cast<float*>(outputs[at(sum.output)]),
                  region_.outputs[at(sum.output)].tensor.strides.back(), own);
  }
  for (const ColumnSum& sum : column_sums_) {
    auto* out = static_cast<float*>(outputs[at(sum.output)]);
    const int64_t stride = region_.outputs[at(sum.output)].tensor.strides.back();
    const size_t offset = sums_offset() + at(sum.index) * at(width_);
    for (int64_t column = 0; column < width_; ++column) {
      float total = 0;
      for (const Scratch& scratch : runs) total += scratch.registers_[offset + at(column)];
      out[column * stride] = total;
    }
  }
}

}  // namespace rtrain::compile
