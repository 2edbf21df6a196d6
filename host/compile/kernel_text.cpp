#include "host/compile/kernel_text.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "host/compile/kernel_function.h"
#include "host/compile/kernel_lines.h"
#include "host/compile/kernel_literals.h"
#include "host/compile/lowering.h"

namespace rtrain::compile {
namespace {

constexpr int kColumnsPerBlock = 32;

uint64_t hash_of(const std::string& text) {
  uint64_t out = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return out;
}

// The function that adds up partial sums, from its parameters on.
class ColumnsWriter : private KernelLines {
 public:
  std::string function(const Region& region, const std::vector<size_t>& sums, int64_t width) {
    std::string parameters = "const float* partial";
    for (size_t i = 0; i < sums.size(); ++i) {
      parameters += joined(", ", type_text(region.outputs[sums[i]].tensor.type), "* sum", i);
    }
    open_raw(parameters, ", unsigned int num_units) {");
    line("__shared__ float parts[8][32];");
    line("const unsigned int first = threadIdx.x / 32;");
    line("const unsigned int column = blockIdx.x * 32 + threadIdx.x % 32;");
    for (size_t i = 0; i < sums.size(); ++i) {
      open("");
      line("float sum = 0.0f;");
      line("const float* from = partial + (unsigned long long)num_units * ",
           i * static_cast<size_t>(width), " + column;");
      open("for (unsigned int unit = first; column < ", width, " && unit < num_units; unit += 8)");
      line("sum = __fadd_rn(sum, from[(unsigned long long)unit * ", width, "]);");
      close();
      line("parts[first][threadIdx.x % 32] = sum;");
      line("__syncthreads();");
      open("if (first == 0 && column < ", width, ")");
      line("for (int i = 1; i < 8; ++i) sum = __fadd_rn(sum, parts[i][threadIdx.x]);");
      const RegionTensor& tensor = region.outputs[sums[i]].tensor;
      line("sum", i, "[column * ", tensor.strides.back(), "] = ", stored_text(tensor.type, "sum"),
           ";");
      close();
      line("__syncthreads();");
      close();
    }
    close();
    return take();
  }
};

}  // namespace

uint64_t draw_threads(int64_t count, int multiprocessors, int threads_per_multiprocessor) {
  constexpr int kBlock = 256;
  const int64_t most = int64_t{multiprocessors} * (threads_per_multiprocessor / kBlock);
  return static_cast<uint64_t>(std::min<int64_t>(most, (count + kBlock - 1) / kBlock) * kBlock);
}

uint64_t draw_increment(int64_t count, uint64_t threads) {
  constexpr uint64_t kNumbersOfCall = 4;
  return ((static_cast<uint64_t>(count) - 1) / (threads * kNumbersOfCall) + 1) * kNumbersOfCall;
}

int64_t Kernel::num_units(int64_t num_blocks) const {
  return num_blocks * schedule.units_per_block();
}

int64_t Kernel::num_partial(int64_t num_blocks) const {
  return std::ssize(column_sums) * num_units(num_blocks) * schedule.width;
}

int64_t Kernel::num_column_blocks() const {
  return (schedule.width + kColumnsPerBlock - 1) / kColumnsPerBlock;
}

Kernel make_kernel(const Region& region, std::span<const int64_t> alignments,
                   std::span<const std::string> comments) {
  Region lower = lowered(region);
  lower.join_dimensions();
  Kernel out;
  out.schedule = choose_schedule(lower, alignments);
  out.num_draws = lower.draws.size();
  const std::vector<Extent> extents = lower.extents();
  std::vector<size_t> sums;
  for (size_t i = 0; i < lower.outputs.size(); ++i) {
    const bool is_sum = lower.extent(lower.outputs[i].from, extents) == Extent::kColumn;
    (is_sum ? out.column_sums : out.outputs).push_back(static_cast<int>(i));
    if (is_sum) sums.push_back(i);
  }
  const std::string function = kernel_function(lower, out.schedule, sums);
  const std::string columns =
      out.column_sums.empty() ? "" : ColumnsWriter().function(lower, sums, out.schedule.width);
  char name[32];
  std::snprintf(name, sizeof name, "region_%016llx",
                static_cast<unsigned long long>(hash_of(joined(function, columns))));
  out.name = name;
  for (const std::string& comment : comments) out.text += joined("// ", comment, "\n");
  const auto head = [](int64_t threads, const std::string& named) {
    return joined("extern \"C\" __global__ void __launch_bounds__(", threads, ") ", named, "(");
  };
  out.text += joined(head(out.schedule.threads, out.name), function);
  if (columns.empty()) return out;
  out.columns_name = joined(out.name, "_columns");
  out.text += joined("\n", head(Kernel::kColumnThreads, out.columns_name), columns);
  return out;
}

}  // namespace rtrain::compile
