#include "host/engine/recording/kernel_step.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "host/engine/cuda/cuda.h"

namespace rtrain::engine {
namespace {

using State = CompiledKernel::State;

// Bytes and neighbours that a thread may read at once.
constexpr int64_t kWidestAccess = 16;
constexpr int64_t kMostNeighbours = 8;

size_t at(int index) { return static_cast<size_t>(index); }

// Where memory begins is aligned; an argument may be anything.
int64_t alignment_of(const Geometry& geometry) {
  const auto width = static_cast<int64_t>(c10::elementSize(geometry.dtype));
  int64_t out = std::clamp<int64_t>(kWidestAccess / width, 1, kMostNeighbours);
  while (geometry.offset % out != 0) out /= 2;
  return out;
}

}  // namespace

KernelStep::KernelStep(const Record& record, RegionBuilder::Built built,
                       const std::vector<int>& calls)
    : region_(std::move(built.region)),
      inputs_(std::move(built.inputs)),
      outputs_(std::move(built.outputs)),
      device_(built.device),
      num_bytes_(region_.num_bytes()) {
  for (const int output : outputs_) geometry_.push_back(record.values[at(output)].geometry);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    alignments_.push_back(alignment_of(record.values[at(inputs_[i])].geometry));
    widths_.push_back(static_cast<size_t>(compile::width_of(region_.inputs[i].type)));
  }
  for (const Geometry& geometry : geometry_) {
    alignments_.push_back(alignment_of(geometry));
    widths_.push_back(c10::elementSize(geometry.dtype));
  }
  addresses_.resize(widths_.size());
  if (!has_no_elements() && !reads_across_threads()) request(record, calls);
}

bool KernelStep::has_no_elements() const { return region_.num_elements() == 0; }

// Whether a thread may read what another one writes: the same memory, from another column on.
bool KernelStep::reads_across_threads() const {
  return std::ranges::any_of(outputs_, [&](int output) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == output && !region_.inputs[i].is_plain()) return true;
    }
    return false;
  });
}

void KernelStep::request(const Record& record, const std::vector<int>& calls) {
  const CudaApi* cuda = cuda_api();
  if (cuda == nullptr) return;
  std::vector<std::string> comments;
  for (const int call : calls) comments.push_back(record.calls[at(call)].name());
  kernel_ = compile::make_kernel(region_, alignments_, comments);
  const c10::DeviceIndex device = device_.index();
  num_blocks_ = kernel_.schedule.num_blocks(cuda->kernels.multiprocessors(device),
                                            !kernel_.column_sums.empty());
  draw_threads_ =
      compile::draw_threads(region_.num_elements(), cuda->kernels.multiprocessors(device),
                            cuda->kernels.threads_per_multiprocessor(device));
  compiled_ = compile_kernel(kernel_, cuda->kernels.architecture(device));
}

bool KernelStep::is_ready() const {
  return compiled_ != nullptr && load_refusal_.empty() &&
         compiled_->state.load(std::memory_order_acquire) == State::kReady;
}

const std::string& KernelStep::refusal() const {
  static const std::string kNone = "it has no elements, or reads what it writes in another order";
  if (compiled_ == nullptr) return kNone;
  const bool is_refused = compiled_->state.load(std::memory_order_acquire) == State::kRefused;
  return is_refused ? compiled_->refusal : load_refusal_;
}

// Loads the kernel, but not while a graph is captured, which would fail.
bool KernelStep::prepare() {
  if (functions_ != nullptr) return true;
  if (!is_ready() || cuda_api()->graphs.is_current_stream_capturing()) return false;
  try {
    functions_ = cuda_api()->kernels.load(device_.index(), compiled_->image);
  } catch (const std::exception& e) {
    load_refusal_ = e.what();
  }
  return functions_ != nullptr;
}

bool KernelStep::fits(const std::vector<at::Tensor>& values) const {
  const auto is_aligned = [&](size_t tensor, int value) {
    const at::Tensor& given = values[at(value)];
    if (!given.defined()) return true;  // an output that becomes a new tensor
    const auto address = reinterpret_cast<uintptr_t>(given.const_data_ptr());
    return address % (static_cast<size_t>(alignments_[tensor]) * widths_[tensor]) == 0;
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_aligned(i, inputs_[i])) return false;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_aligned(inputs_.size() + i, outputs_[i])) return false;
  }
  return true;
}

bool KernelStep::run(std::vector<at::Tensor>& values) {
  if (!prepare() || !fits(values)) return false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    addresses_[i] = const_cast<void*>(values[at(inputs_[i])].const_data_ptr());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    at::Tensor& output = values[at(outputs_[i])];
    if (!output.defined()) {
      output = at::empty_strided(geometry_[i].sizes, geometry_[i].strides,
                                 at::TensorOptions().dtype(geometry_[i].dtype).device(device_));
    }
    addresses_[inputs_.size() + i] = output.mutable_data_ptr();
  }
  launch();
  return true;
}

// Draws as the operators would, one after the other.
std::vector<compile::KernelDraw> KernelStep::draws() const {
  std::vector<compile::KernelDraw> out;
  const uint64_t increment = compile::draw_increment(region_.num_elements(), draw_threads_);
  for (size_t i = 0; i < kernel_.num_draws; ++i) {
    const CudaDraw draw = cuda_api()->kernels.draw(device_.index(), increment);
    out.push_back({.seed = draw.seed,
                   .offset = draw.offset,
                   .seed_at = draw.seed_at,
                   .offset_at = draw.offset_at,
                   .threads = draw_threads_});
  }
  return out;
}

void KernelStep::launch() {
  at::Tensor partial;
  void* sums = nullptr;
  std::vector<void*> parameters;
  for (size_t i = 0; i < inputs_.size(); ++i) parameters.push_back(&addresses_[i]);
  for (const int output : kernel_.outputs) {
    parameters.push_back(&addresses_[inputs_.size() + at(output)]);
  }
  std::vector<compile::KernelDraw> draws = this->draws();
  for (compile::KernelDraw& draw : draws) parameters.push_back(&draw);
  const bool has_sums = !kernel_.column_sums.empty();
  if (has_sums) {
    partial = at::empty({kernel_.num_partial(num_blocks_)},
                        at::TensorOptions().dtype(at::kFloat).device(device_));
    sums = partial.mutable_data_ptr();
    parameters.push_back(&sums);
  }
  functions_->launch(kernel_.name, num_blocks_, kernel_.schedule.threads, parameters.data());
  ++num_launches_;
  if (!has_sums) return;
  auto num_units = static_cast<unsigned>(kernel_.num_units(num_blocks_));
  parameters = {&sums};
  for (const int output : kernel_.column_sums) {
    parameters.push_back(&addresses_[inputs_.size() + at(output)]);
  }
  parameters.push_back(&num_units);
  functions_->launch(kernel_.columns_name, kernel_.num_column_blocks(),
                     compile::Kernel::kColumnThreads, parameters.data());
  ++num_launches_;
}

}  // namespace rtrain::engine
