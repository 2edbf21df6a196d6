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
  Range range;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t num_rows = 0;
};

TileProgram::Scratch::Scratch(const TileProgram& program)
    : memory_(program.sums_offset() + program.column_sums_.size() * at(program.width_) +
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
  for (int64_t done = 0; done < count;) {
    int64_t rest = (begin + done) / width;
    const int64_t column = (begin + done) % width;
    int64_t offset = column * tensor.strides.back();
    for (size_t dim = sizes_.size() - 1; dim-- > 0;) {
      offset += rest % sizes_[dim] * tensor.strides[dim];
      rest /= sizes_[dim];
    }
    const int64_t part = std::min(width - column, count - done);
    row(offset, tensor.strides.back(), part);
    done += part;
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
    if (stride == 1) {
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
  const bool is_sum = step.kind == Step::Kind::kColumnSum;
  float* out =
      is_sum ? tile.sums + at(step.result.index) * at(width_) : register_of(step.result, tile);
  if (step.row_loop != nullptr) {
    return step.row_loop(out, operands.data(), at(width_), at(tile.num_rows));
  }
  std::array<const float*, kMostOperands> numbers{};
  for (size_t row = 0; row < at(tile.num_rows); ++row) {
    for (size_t i = 0; i < step.num_operands && i < operands.size(); ++i) {
      numbers[i] = operands[i].numbers + row * operands[i].stride;
    }
    float* to = out + (step.is_full ? row * at(width_) : row);
    step.row_function(to, row_register_size_ / 2, numbers.data(), at(width_));
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
    case Step::Kind::kElements:
      break;
  }
  std::array<LoopOperand, kMostElementOperands> operands;
  for (size_t i = 0; i < step.num_operands && i < operands.size(); ++i) {
    operands[i] = operand_of(step.operands[i], tile);
  }
  if (step.is_second) operands[0].numbers += row_register_size_ / 2;
  const int64_t count = step.is_full ? tile.count : tile.num_rows;
  step.loop(register_of(step.result, tile), operands.data(), at(count));
}

// Fetches a part of the memory that the next tile writes to: each step fetches one while it
// computes. The processor does not do it by itself, since that memory is on other pages.
void TileProgram::fetch_next(const Tile& tile, size_t step) const {
  constexpr size_t kLine = kLineBytes / sizeof(float);
  const int64_t begin = tile.begin + tile.count;
  const size_t count = at(std::clamp<int64_t>(tile.range.end - begin, 0, tile_));
  const size_t first = count * step / steps_.size();
  const size_t last = count * (step + 1) / steps_.size();
  for (const int output : direct_outputs_) {
    const float* numbers = static_cast<const float*>(tile.outputs[at(output)]) + begin;
    for (size_t i = first; i < last; i += kLine) __builtin_prefetch(numbers + i, 1);
  }
}

void TileProgram::run(std::span<const void* const> inputs, std::span<void* const> outputs,
                      Range range, Scratch& scratch) const {
  float* registers = scratch.registers_;
  Tile tile{.inputs = inputs,
            .outputs = outputs,
            .registers = registers,
            .row_registers = registers + num_registers_ * register_size_,
            .sums = registers + sums_offset(),
            .range = range};
  std::fill_n(tile.sums, column_sums_.size() * at(width_), 0.0F);
  for (int64_t begin = range.begin; begin < range.end; begin += tile_) {
    tile.begin = begin;
    tile.count = std::min(tile_, range.end - begin);
    tile.num_rows = tile.count / width_;
    for (const Load& each : loads_) load(each, tile);
    for (size_t i = 0; i < steps_.size(); ++i) {
      fetch_next(tile, i);
      run_step(steps_[i], tile);
    }
    for (const Store& each : stores_) store(each, tile);
  }
}

void TileProgram::write_column_sums(std::span<void* const> outputs,
                                    std::span<const Scratch> runs) const {
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
