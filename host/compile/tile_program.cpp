#include "host/compile/tile_program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace rtrain::compile {
namespace {

constexpr size_t kLine = 64 / sizeof(float);  // numbers of a cache line

size_t at(int64_t index) { return static_cast<size_t>(index); }

float number_at(const void* memory, Type type, int64_t index) {
  if (type == Type::kBool) return static_cast<const bool*>(memory)[index] ? 1.0F : 0.0F;
  return static_cast<const float*>(memory)[index];
}

void read_row(const RegionTensor& tensor, const void* memory, int64_t offset, int64_t stride,
              int64_t count, float* to) {
  if (tensor.type == Type::kFloat32 && stride == 1) {
    std::memcpy(to, static_cast<const float*>(memory) + offset, at(count) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = number_at(memory, tensor.type, offset + i * stride);
}

}  // namespace

TileProgram::TileProgram(Region region, Simd simd, const Functions* functions)
    : region_(std::move(region)), sizes_(region_.sizes), simd_(simd), functions_(functions) {
  num_elements_ = region_.num_elements();
  join_dimensions();
  assign_registers();
}

// Joins neighbours that every tensor walks through as one, and drops dimensions of size 1.
void TileProgram::join_dimensions() {
  std::vector<RegionTensor*> tensors;
  for (RegionTensor& input : region_.inputs) tensors.push_back(&input);
  for (Output& output : region_.outputs) tensors.push_back(&output.tensor);
  const auto erase = [&](size_t dim) {
    sizes_.erase(sizes_.begin() + static_cast<std::ptrdiff_t>(dim));
    for (RegionTensor* tensor : tensors) {
      tensor->strides.erase(tensor->strides.begin() + static_cast<std::ptrdiff_t>(dim));
    }
  };
  for (size_t dim = sizes_.size(); dim-- > 0;) {
    if (sizes_[dim] == 1) erase(dim);
  }
  for (size_t dim = sizes_.size(); dim-- > 1;) {
    const bool can_join = std::ranges::all_of(tensors, [&](const RegionTensor* tensor) {
      return tensor->strides[dim - 1] == tensor->strides[dim] * sizes_[dim];
    });
    if (!can_join) continue;
    sizes_[dim] *= sizes_[dim - 1];
    erase(dim - 1);
  }
  region_.sizes = sizes_;
}

// Whether a tile's elements lie one after the other in memory.
bool TileProgram::is_direct(const RegionTensor& tensor) const {
  int64_t expected = 1;
  for (size_t dim = sizes_.size(); dim-- > 0;) {
    if (tensor.strides[dim] != expected) return false;
    expected *= sizes_[dim];
  }
  return tensor.type == Type::kFloat32;
}

bool TileProgram::is_single(const RegionTensor& tensor) const {
  return std::ranges::all_of(tensor.strides, [](int64_t stride) { return stride == 0; });
}

TileProgram::Place TileProgram::place_of(const Operand& operand) const {
  const auto index = at(operand.index);
  switch (operand.kind) {
    case Operand::Kind::kConstant:
      return {.kind = Place::Kind::kConstant, .index = operand.index};
    case Operand::Kind::kInstruction:
      return result_of_[index];
    case Operand::Kind::kInput:
      break;
  }
  if (is_single(region_.inputs[index])) {
    return {.kind = Place::Kind::kSingle, .index = operand.index};
  }
  if (is_direct(region_.inputs[index])) {
    return {.kind = Place::Kind::kDirect, .index = operand.index};
  }
  return {.kind = Place::Kind::kRegister, .index = register_of_input_[index]};
}

// The output into whose memory the instruction can write while later ones still run, or -1.
int TileProgram::direct_output(size_t instruction) const {
  const auto found = std::ranges::find_if(region_.outputs, [&](const Output& output) {
    return output.from.index == static_cast<int>(instruction) && is_direct(output.tensor);
  });
  if (found == region_.outputs.end()) return -1;
  const Operand shared{.kind = Operand::Kind::kInput, .index = found->shared_input};
  for (size_t i = instruction + 1; i < region_.instructions.size(); ++i) {
    const auto& operands = region_.instructions[i].operands;
    if (std::ranges::find(operands, shared) != operands.end()) return -1;
  }
  return static_cast<int>(found - region_.outputs.begin());
}

// An instruction's register is free again after its last use. Registers of inputs stay.
void TileProgram::assign_registers() {
  const size_t count = region_.instructions.size();
  register_of_input_.assign(region_.inputs.size(), -1);
  result_of_.resize(count);
  for (size_t i = 0; i < region_.inputs.size(); ++i) {
    if (is_single(region_.inputs[i]) || is_direct(region_.inputs[i])) continue;
    register_of_input_[i] = static_cast<int>(num_registers_++);
    loads_.push_back({.input = static_cast<int>(i), .result = register_of_input_[i]});
  }
  std::vector<size_t> last_use(count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (const Operand& operand : region_.instructions[i].operands) {
      if (operand.kind == Operand::Kind::kInstruction) last_use[at(operand.index)] = i;
    }
  }
  for (const Output& output : region_.outputs) {
    if (output.from.kind == Operand::Kind::kInstruction) last_use[at(output.from.index)] = count;
  }
  std::vector<int> free;
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = region_.instructions[i];
    Step step{.operation = instruction.operation, .operands = {}, .result = {}};
    for (const Operand& operand : instruction.operands) {
      step.operands[at(step.num_operands++)] = place_of(operand);
    }
    for (size_t k = 0; k < i; ++k) {
      const bool is_register = result_of_[k].kind == Place::Kind::kRegister;
      if (last_use[k] == i && is_register) free.push_back(result_of_[k].index);
    }
    if (const int output = direct_output(i); output >= 0) {
      result_of_[i] = {.kind = Place::Kind::kOutput, .index = output};
    } else {
      if (free.empty()) free.push_back(static_cast<int>(num_registers_++));
      result_of_[i] = {.kind = Place::Kind::kRegister, .index = free.back()};
      free.pop_back();
    }
    step.result = result_of_[i];
    steps_.push_back(std::move(step));
  }
  for (size_t i = 0; i < region_.outputs.size(); ++i) {
    const Place from = place_of(region_.outputs[i].from);
    const int output = static_cast<int>(i);
    if (from.kind != Place::Kind::kOutput || from.index != output) {
      stores_.push_back({.output = output, .from = from});
    }
  }
}

TileProgram::Scratch::Scratch(const TileProgram& program)
    : memory_(program.num_registers_ * at(kTile) + kLine) {
  void* begin = memory_.data();
  size_t space = memory_.size() * sizeof(float);
  registers_ = static_cast<float*>(std::align(kLine * sizeof(float), sizeof(float), begin, space));
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

void TileProgram::load(const Load& load, const void* memory, int64_t begin, int64_t count,
                       float* to) const {
  const RegionTensor& tensor = region_.inputs[at(load.input)];
  for_each_row(tensor, begin, count, [&](int64_t offset, int64_t stride, int64_t part) {
    read_row(tensor, memory, offset, stride, part, to);
    to += part;
  });
}

void TileProgram::store(const Store& store, void* memory, int64_t begin, int64_t count,
                        const float* from) const {
  const RegionTensor& tensor = region_.outputs[at(store.output)].tensor;
  auto* numbers = static_cast<float*>(memory);
  for_each_row(tensor, begin, count, [&](int64_t offset, int64_t stride, int64_t part) {
    if (stride == 1) {
      std::memmove(numbers + offset, from, at(part) * sizeof(float));
    } else {
      for (int64_t i = 0; i < part; ++i) numbers[offset + i * stride] = from[i];
    }
    from += part;
  });
}

// Calls the function for `count` elements, of which `num_body` come before the tail of the range.
void TileProgram::call(Operation operation, float* out, const LoopOperand& operand, int64_t count,
                       int64_t num_body) const {
  const Function& function = functions_->at(operation);
  const float* in = operand.numbers;
  if (in == nullptr) {
    std::fill_n(out, count, operand.number);
    in = out;
  }
  const int64_t body = function.tail == nullptr ? count : num_body;
  if (body > 0) function.body(out, in, at(body));
  if (body < count) function.tail(out + body, in + body, at(count - body));
}

void TileProgram::run(std::span<const void* const> inputs, std::span<void* const> outputs,
                      int64_t begin, int64_t end, Scratch& scratch) const {
  float* memory = scratch.registers_;
  const auto granule = static_cast<int64_t>(functions_ == nullptr ? 1 : functions_->granule());
  const int64_t body_end = end - (end - begin) % granule;
  const auto register_at = [&](int index) { return memory + index * kTile; };
  for (int64_t tile = begin; tile < end; tile += kTile) {
    const int64_t count = std::min(kTile, end - tile);
    const auto operand_of = [&](const Place& place) -> LoopOperand {
      switch (place.kind) {
        case Place::Kind::kRegister:
          return {.numbers = register_at(place.index)};
        case Place::Kind::kOutput:
          return {.numbers = static_cast<const float*>(outputs[at(place.index)]) + tile};
        case Place::Kind::kDirect:
          return {.numbers = static_cast<const float*>(inputs[at(place.index)]) + tile};
        case Place::Kind::kSingle:
          return {.number =
                      number_at(inputs[at(place.index)], region_.inputs[at(place.index)].type, 0)};
        case Place::Kind::kConstant:
          return {.number = region_.constants[at(place.index)]};
      }
      return {};
    };
    for (const Load& each : loads_) {
      load(each, inputs[at(each.input)], tile, count, register_at(each.result));
    }
    for (const Step& step : steps_) {
      std::array<LoopOperand, kMostOperands> operands;
      unsigned single = 0;
      for (size_t i = 0; i < operands.size() && i < at(step.num_operands); ++i) {
        operands[i] = operand_of(step.operands[i]);
        if (operands[i].numbers == nullptr) single |= 1U << i;
      }
      float* result = step.result.kind == Place::Kind::kOutput
                          ? static_cast<float*>(outputs[at(step.result.index)]) + tile
                          : register_at(step.result.index);
      if (is_function(step.operation)) {
        call(step.operation, result, operands[0], count,
             std::clamp(body_end - tile, int64_t{0}, count));
      } else {
        loop_of(step.operation, single, simd_)(result, operands.data(), at(count));
      }
    }
    for (const Store& each : stores_) {
      const LoopOperand from = operand_of(each.from);
      store(each, outputs[at(each.output)], tile, count, from.numbers);
    }
  }
}

}  // namespace rtrain::compile
