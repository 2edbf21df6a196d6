#include "host/compile/kernel_function.h"

#include <algorithm>
#include <utility>

#include "host/compile/kernel_lines.h"
#include "host/compile/kernel_literals.h"
#include "host/compile/kernel_text.h"

namespace rtrain::compile {
namespace {

using Kind = KernelSchedule::Kind;

// Sums of columns that a thread keeps in registers.
constexpr int64_t kMostHeldSums = 32;

size_t at(int64_t index) { return static_cast<size_t>(index); }

bool is_reduction(Operation operation) {
  return operation == Operation::kRowSum || operation == Operation::kRowMaximum;
}

class Writer : private KernelLines {
 public:
  Writer(const Region& region, const KernelSchedule& schedule,
         const std::vector<size_t>& column_sums)
      : region_(region),
        schedule_(schedule),
        column_sums_(column_sums),
        extents_(region.extents()),
        has_rows_(region.has_rows()) {
    find_levels();
    const int64_t held = int64_t{schedule_.groups_per_row} * schedule_.group;
    holds_sums_ = schedule_.holds_rows && held * std::ssize(column_sums_) <= kMostHeldSums;
  }

  // From the parameters on.
  std::string function() {
    write_parameters();
    line("using Index = ", schedule_.is_wide ? "unsigned long long" : "unsigned int", ";");
    if (has_rows_) {
      write_rows();
    } else {
      write_elements();
    }
    close();
    return take();
  }

 private:
  Extent extent(const Operand& operand) const { return region_.extent(operand, extents_); }

  // An instruction's level: how many reductions have to be complete before it, one after the other.
  void find_levels() {
    for (const Instruction& instruction : region_.instructions) {
      int level = 0;
      for (const Operand& operand : instruction.operands)
        level = std::max(level, this->level(operand));
      levels_.push_back(is_reduction(instruction.operation) ? level + 1 : level);
    }
    for (const Output& output : region_.outputs)
      last_level_ = std::max(last_level_, level(output.from));
  }
  int level(const Operand& operand) const {
    return operand.kind == Operand::Kind::kInstruction ? levels_[at(operand.index)] : 0;
  }

  // Whether there is a number for each element of a group, not one for all.
  bool varies(const RegionTensor& tensor) const {
    return !tensor.is_plain() || (!tensor.strides.empty() && tensor.strides.back() != 0);
  }

  void write_parameters() {
    std::string parameters;
    const auto add = [&](const auto&... parts) {
      parameters += joined(parameters.empty() ? "" : ",", "\n    ", parts...);
    };
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      const bool is_shared = std::ranges::any_of(region_.outputs, [&](const Output& output) {
        return output.shared_input == static_cast<int>(i);
      });
      const char* only = is_shared ? "" : "__restrict__ ";
      add("const ", type_text(region_.inputs[i].type), "* ", only, "in", i);
    }
    for (size_t i = 0; i < region_.outputs.size(); ++i) {
      if (extent(region_.outputs[i].from) != Extent::kColumn) {
        add(type_text(region_.outputs[i].tensor.type), "* out", i);
      }
    }
    for (size_t i = 0; i < region_.draws.size(); ++i) add("const Draw draw", i);
    if (!column_sums_.empty()) add("float* partial");
    open_raw(parameters, ") {");
  }

  // Declares i0, i1 … for dimensions [0, count) out of an index over them.
  void write_indices(const std::string& index, size_t count) {
    std::string rest = index;
    for (size_t dim = count; dim-- > 0;) {
      if (dim == 0) {
        line("const Index i0 = ", rest, ";");
        return;
      }
      line("const Index i", dim, " = ", rest, " % ", region_.sizes[dim], ", rest", dim, " = ", rest,
           " / ", region_.sizes[dim], ";");
      rest = joined("rest", dim);
    }
  }

  // The place of an element among those of the tensor; `count` dimensions of it.
  std::string place(const RegionTensor& tensor, size_t count) const {
    std::string out;
    for (size_t dim = 0; dim < count; ++dim) {
      const int64_t stride = tensor.strides[dim];
      if (stride == 0) continue;
      out += joined(out.empty() ? "" : " + ", "i", dim);
      if (stride != 1) out += joined(" * ", stride);
    }
    return out.empty() ? "0" : out;
  }

  // Loads the group of an input whose first element has the place into `to`.
  void write_load(size_t input, const std::string& to, const std::string& from) {
    const RegionTensor& tensor = region_.inputs[input];
    if (schedule_.joined[input]) {
      line("load<", schedule_.group, ">(", to, ", in", input, " + ", from, ");");
      return;
    }
    line("#pragma unroll");
    const std::string element = joined(to, "[k] = number_of(in", input, "[");
    const std::string head = joined("for (int k = 0; k < ", schedule_.group, "; ++k) ");
    if (tensor.is_plain()) {
      line(head, element, from, " + k * ", tensor.strides.empty() ? 1 : tensor.strides.back(),
           "]);");
      return;
    }
    // The column of a window or of a row that begins with another column.
    open(head.substr(0, head.size() - 1));
    const std::string stride = joined(" * ", tensor.strides.back());
    if (tensor.has_window()) {
      line("const Index c = column + k - ", tensor.window_begin, ";");
      line(to, "[k] = c < ", tensor.window_width, " ? number_of(in", input, "[", from, " + c",
           stride, "]) : 0.0f;");
    } else {
      line("const Index c = column + k + ", tensor.first_column, ";");
      line(element, from, " + (c < ", schedule_.width, " ? c : c - ", schedule_.width, ")", stride,
           "]);");
    }
    close();
  }

  void write_store(size_t output, const std::string& first) {
    const RegionTensor& tensor = region_.outputs[output].tensor;
    if (schedule_.joined[region_.inputs.size() + output]) {
      line("store<", schedule_.group, ">(out", output, " + ", first, ", o", output, ");");
      return;
    }
    const int64_t stride = tensor.strides.empty() ? 1 : tensor.strides.back();
    line("#pragma unroll");
    line("for (int k = 0; k < ", schedule_.group, "; ++k) out", output, "[", first, " + k * ",
         stride, "] = ", stored_text(tensor.type, joined("o", output, "[k]")), ";");
  }

  std::string name_of(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::kConstant:
        return constant_text(region_.constants[at(operand.index)]);
      case Operand::Kind::kInstruction:
        return joined("v", operand.index);
      case Operand::Kind::kDraw:
        return joined("u", operand.index, "[k]");
      case Operand::Kind::kInput:
        break;
    }
    if (!varies(region_.inputs[at(operand.index)])) return joined("a", operand.index);
    return joined("a", operand.index,
                  schedule_.holds_rows ? joined("[g * ", schedule_.group, " + k]") : "[k]");
  }

  void write_instruction(size_t index) {
    const Instruction& instruction = region_.instructions[index];
    if (instruction.operation == Operation::kColumnIndex) {
      line("const float v", index, " = number_of(column + k);");
      return;
    }
    std::vector<std::string> operands;
    for (const Operand& operand : instruction.operands) operands.push_back(name_of(operand));
    line("const float v", index, " = ", kernel_formula(instruction.operation, operands), ";");
  }

  // What has to be computed for each element so that the wanted instructions are known.
  std::vector<bool> needed(const std::vector<Operand>& wanted) const {
    std::vector<bool> out(region_.instructions.size());
    const auto need = [&](const Operand& operand) {
      const bool is_full = operand.kind == Operand::Kind::kInstruction &&
                           extents_[at(operand.index)] == Extent::kFull;
      if (is_full) out[at(operand.index)] = true;
    };
    std::ranges::for_each(wanted, need);
    for (size_t i = out.size(); i-- > 0;) {
      if (out[i]) std::ranges::for_each(region_.instructions[i].operands, need);
    }
    return out;
  }

  // The inputs with a number for each element that the instructions, or `wanted`, read.
  std::vector<size_t> read_inputs(const std::vector<bool>& computed,
                                  const std::vector<Operand>& wanted) const {
    std::vector<bool> is_read(region_.inputs.size());
    const auto read = [&](const Operand& operand) {
      if (operand.kind == Operand::Kind::kInput) is_read[at(operand.index)] = true;
    };
    std::ranges::for_each(wanted, read);
    for (size_t i = 0; i < computed.size(); ++i) {
      if (computed[i]) std::ranges::for_each(region_.instructions[i].operands, read);
    }
    std::vector<size_t> out;
    for (size_t i = 0; i < is_read.size(); ++i) {
      if (is_read[i] && varies(region_.inputs[i])) out.push_back(i);
    }
    return out;
  }

  // Declares the random numbers of the group whose first element is `first`.
  void write_draws(const std::vector<bool>& computed, const std::string& first) {
    std::vector<bool> is_used(region_.draws.size());
    for (size_t i = 0; i < computed.size(); ++i) {
      if (!computed[i]) continue;
      for (const Operand& operand : region_.instructions[i].operands) {
        if (operand.kind == Operand::Kind::kDraw) is_used[at(operand.index)] = true;
      }
    }
    for (size_t i = 0; i < is_used.size(); ++i) {
      if (!is_used[i]) continue;
      line("float u", i, "[", schedule_.group, "];");
      line("draw<", region_.draws[i].vector, ", ", schedule_.group, ">(u", i, ", draw", i,
           ", (Index)(", first, "));");
    }
  }

  std::vector<size_t> full_outputs() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < region_.outputs.size(); ++i) {
      if (extent(region_.outputs[i].from) == Extent::kFull) out.push_back(i);
    }
    return out;
  }

  std::string step() const { return joined("k < ", schedule_.group, "; ++k"); }

  void write_elements() {
    const size_t dims = region_.sizes.size();
    const std::string threads = text_of(schedule_.threads);
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      if (is_single(i)) line("const float a", i, " = number_of(in", i, "[0]);");
    }
    open("for (Index unit = (Index)blockIdx.x * ", threads, " + threadIdx.x; unit < ",
         schedule_.units, "; unit += (Index)gridDim.x * ", threads, ")");
    if (dims > 0)
      write_indices(schedule_.group > 1 ? joined("unit * ", schedule_.group) : "unit", dims);
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      const std::string from = place(region_.inputs[i], dims);
      if (is_single(i)) continue;
      if (!varies(region_.inputs[i])) {
        line("const float a", i, " = number_of(in", i, "[", from, "]);");
        continue;
      }
      line("float a", i, "[", schedule_.group, "];");
      write_load(i, joined("a", i), from);
    }
    for (const size_t output : full_outputs()) line("float o", output, "[", schedule_.group, "];");
    write_draws(std::vector<bool>(region_.instructions.size(), true),
                joined("unit * ", schedule_.group));
    line("#pragma unroll");
    open("for (int k = 0; ", step(), ")");
    for (size_t i = 0; i < region_.instructions.size(); ++i) write_instruction(i);
    for (const size_t i : full_outputs())
      line("o", i, "[k] = ", name_of(region_.outputs[i].from), ";");
    close();
    for (const size_t i : full_outputs()) write_store(i, place(region_.outputs[i].tensor, dims));
    close();
  }

  bool is_single(size_t input) const {
    const RegionTensor& tensor = region_.inputs[input];
    return tensor.is_plain() &&
           std::ranges::all_of(tensor.strides, [](int64_t stride) { return stride == 0; });
  }

  void write_rows() {
    const int per_block = schedule_.units_per_block();
    if (schedule_.kind == Kind::kWarpRows) {
      line("const Index lane = threadIdx.x % 32;");
      line("const Index unit = (Index)blockIdx.x * ", per_block, " + threadIdx.x / 32;");
    } else {
      line("const Index lane = threadIdx.x, unit = blockIdx.x;");
    }
    line("const Index num_units = (Index)gridDim.x * ", per_block, ";");
    begin_sums();
    open("for (Index row = unit; row < ", schedule_.units, "; row += num_units)");
    const size_t dims = region_.sizes.size() - 1;
    if (dims > 0) write_indices("row", dims);
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      if (varies(region_.inputs[i])) continue;
      line("const float a", i, " = number_of(in", i, "[", place(region_.inputs[i], dims), "]);");
    }
    hold_rows();
    for (int level = 0; level <= last_level_; ++level) {
      for (size_t i = 0; i < region_.instructions.size(); ++i) {
        const bool is_of_row =
            extents_[i] == Extent::kRow && !is_reduction(region_.instructions[i].operation);
        if (is_of_row && levels_[i] == level) write_instruction(i);
      }
      write_phase(level);
    }
    write_row_outputs();
    close();
    end_sums();
  }

  std::string lanes() const {
    return schedule_.kind == Kind::kWarpRows ? "32" : text_of(schedule_.threads);
  }

  // Opens a loop over the groups of the thread in a row.
  void open_groups() {
    const int64_t lanes = schedule_.kind == Kind::kWarpRows ? 32 : schedule_.threads;
    if (schedule_.holds_rows) line("#pragma unroll");
    open("for (int g = 0; g < ", schedule_.groups_per_row, "; ++g)");
    line("const Index column = (g * ", lanes, " + lane) * ", schedule_.group, ";");
    const bool is_whole = lanes * schedule_.group * schedule_.groups_per_row == schedule_.width;
    if (!is_whole) line("if (column >= ", schedule_.width, ") break;");
  }

  // The place of the first element of a group of columns.
  std::string row_place(const RegionTensor& tensor) const {
    std::string out = place(tensor, region_.sizes.size() - 1);
    if (!tensor.is_plain() || tensor.strides.back() == 0) return out;
    out = out == "0" ? "" : joined(out, " + ");
    return joined(out, "column",
                  tensor.strides.back() == 1 ? "" : joined(" * ", tensor.strides.back()));
  }

  void hold_rows() {
    if (!schedule_.holds_rows) return;
    std::vector<size_t> held;
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      if (varies(region_.inputs[i])) held.push_back(i);
    }
    if (held.empty()) return;
    for (const size_t i : held)
      line("float a", i, "[", schedule_.groups_per_row * schedule_.group, "];");
    open_groups();
    for (const size_t i : held) {
      write_load(i, joined("(a", i, " + g * ", schedule_.group, ")"), row_place(region_.inputs[i]));
    }
    close();
  }

  // Reductions whose operands have the level, and after the last one the outputs.
  void write_phase(int level) {
    const bool is_last = level == last_level_;
    std::vector<size_t> reductions;
    std::vector<Operand> wanted;
    for (size_t i = 0; i < region_.instructions.size(); ++i) {
      const Instruction& instruction = region_.instructions[i];
      if (!is_reduction(instruction.operation) || levels_[i] != level + 1) continue;
      reductions.push_back(i);
      wanted.push_back(instruction.operands[0]);
    }
    const std::vector<size_t> outputs = is_last ? full_outputs() : std::vector<size_t>();
    for (const size_t i : outputs) wanted.push_back(region_.outputs[i].from);
    if (is_last) {
      for (const size_t i : column_sums_) wanted.push_back(summed(i));
    }
    if (wanted.empty()) return;
    for (const size_t i : reductions) {
      const bool is_sum = region_.instructions[i].operation == Operation::kRowSum;
      line("float r", i, " = ", is_sum ? "0.0f" : "__int_as_float(0xff800000)", ";");
    }
    open_groups();
    const std::vector<bool> computed = needed(wanted);
    if (!schedule_.holds_rows) {
      for (const size_t i : read_inputs(computed, wanted)) {
        line("float a", i, "[", schedule_.group, "];");
        write_load(i, joined("a", i), row_place(region_.inputs[i]));
      }
    }
    for (const size_t i : outputs) line("float o", i, "[", schedule_.group, "];");
    write_draws(computed, joined("row * ", schedule_.width, " + column"));
    line("#pragma unroll");
    open("for (int k = 0; ", step(), ")");
    for (size_t i = 0; i < computed.size(); ++i) {
      if (computed[i]) write_instruction(i);
    }
    for (const size_t i : reductions) {
      line("r", i, " = ", join_of(i), "()(r", i, ", ", name_of(region_.instructions[i].operands[0]),
           ");");
    }
    for (const size_t i : outputs) line("o", i, "[k] = ", name_of(region_.outputs[i].from), ";");
    if (is_last) add_to_sums();
    close();
    for (const size_t i : outputs) write_store(i, row_place(region_.outputs[i].tensor));
    close();
    for (const size_t i : reductions) {
      const std::string function = schedule_.kind == Kind::kWarpRows
                                       ? "join_warp"
                                       : joined("join_block<", schedule_.threads, ">");
      line("const float v", i, " = ", function, "(r", i, ", ", join_of(i), "());");
    }
  }

  const char* join_of(size_t instruction) const {
    return region_.instructions[instruction].operation == Operation::kRowSum ? "Sum" : "Larger";
  }

  void write_row_outputs() {
    bool has_waited = false;
    for (size_t i = 0; i < region_.outputs.size(); ++i) {
      if (extent(region_.outputs[i].from) != Extent::kRow) continue;
      // Other threads may still read what this one overwrites.
      if (!std::exchange(has_waited, true)) {
        line(schedule_.kind == Kind::kWarpRows ? "__syncwarp();" : "__syncthreads();");
      }
      const RegionTensor& tensor = region_.outputs[i].tensor;
      line("if (lane == 0) out", i, "[", place(tensor, region_.sizes.size() - 1),
           "] = ", stored_text(tensor.type, name_of(region_.outputs[i].from)), ";");
    }
  }

  Operand summed(size_t output) const {
    return region_.instructions[at(region_.outputs[output].from.index)].operands[0];
  }

  // Where the partial sums of the unit are.
  std::string sums_place(size_t sum) const {
    return joined("partial[((Index)", sum, " * num_units + unit) * ", schedule_.width,
                  " + column + k]");
  }

  void begin_sums() {
    if (column_sums_.empty()) return;
    for (size_t i = 0; i < column_sums_.size() && holds_sums_; ++i) {
      line("float c", i, "[", schedule_.groups_per_row * schedule_.group, "] = {};");
    }
    if (!holds_sums_) write_sums("0.0f");
  }

  void add_to_sums() {
    for (size_t i = 0; i < column_sums_.size(); ++i) {
      const std::string sum =
          holds_sums_ ? joined("c", i, "[g * ", schedule_.group, " + k]") : sums_place(i);
      line(sum, " = __fadd_rn(", sum, ", ", name_of(summed(column_sums_[i])), ");");
    }
  }

  void end_sums() {
    if (!column_sums_.empty() && holds_sums_) write_sums("");
  }

  // Writes the number, or what the thread keeps, as the unit's partial sums.
  void write_sums(const std::string& number) {
    open_groups();
    open("for (int k = 0; ", step(), ")");
    for (size_t i = 0; i < column_sums_.size(); ++i) {
      const std::string held = joined("c", i, "[g * ", schedule_.group, " + k]");
      line(sums_place(i), " = ", number.empty() ? held : number, ";");
    }
    close();
    close();
  }

  const Region& region_;
  const KernelSchedule& schedule_;
  const std::vector<size_t>& column_sums_;  // outputs
  std::vector<Extent> extents_;
  bool has_rows_ = false;
  bool holds_sums_ = false;
  std::vector<int> levels_;
  int last_level_ = 0;
};

}  // namespace

std::string kernel_function(const Region& region, const KernelSchedule& schedule,
                            const std::vector<size_t>& column_sums) {
  return Writer(region, schedule, column_sums).function();
}

}  // namespace rtrain::compile
