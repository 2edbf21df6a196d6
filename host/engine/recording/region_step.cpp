#include "host/engine/recording/region_step.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "host/compile/mersenne.h"
#include "host/engine/recording/functions.h"

namespace rtrain::engine {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

// That of LibTorch's own kernels, which may be less than the processor has (ATEN_CPU_CAPABILITY).
compile::Simd simd() {
  const std::string capability = at::get_cpu_capability();
  if (capability == "DEFAULT") return compile::Simd::kPlain;
  return capability == "AVX2" ? std::min(compile::best_simd(), compile::Simd::kAvx2)
                              : compile::best_simd();
}

compile::Mersenne twister_of(const at::mt19937_data_pod& data) {
  compile::Mersenne out;
  out.state = data.state_;
  out.next = data.left_ == 1 ? compile::Mersenne::kSize : data.next_;
  return out;
}

template <class Number>
void draw(at::CPUGeneratorImpl& generator, Number* out, size_t count, double probability) {
  if (count == 0) return;
  at::mt19937 engine = generator.engine();
  at::mt19937_data_pod data = engine.data();
  compile::Mersenne twister = twister_of(data);
  twister.draw_mask(out, count, probability);
  data.state_ = twister.state;
  data.next_ = static_cast<uint32_t>(twister.next);
  data.left_ = static_cast<int>(compile::Mersenne::kSize + 1 - twister.next);
  engine.set_data(data);
  generator.set_engine(engine);
}

// LibTorch draws in another way where MKL has a processor of Intel.
bool draws_as_libtorch() {
  constexpr uint64_t kSeed = 7;
  constexpr int64_t kCount = 1000;
  const auto theirs = at::make_generator<at::CPUGeneratorImpl>(kSeed);
  const auto ours = at::make_generator<at::CPUGeneratorImpl>(kSeed);
  const at::Tensor expected = at::empty({kCount}).bernoulli_(0.3, theirs);
  const at::Tensor got = at::empty({kCount});
  draw(*at::check_generator<at::CPUGeneratorImpl>(ours), got.mutable_data_ptr<float>(), kCount,
       0.3);
  const bool has_same_state = theirs.get_state().equal(ours.get_state());
  return has_same_state && got.equal(expected);
}

bool is_without_gaps(const Geometry& geometry) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] != 1) dims.emplace_back(geometry.strides[i], geometry.sizes[i]);
  }
  std::ranges::sort(dims);
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace

RegionStep::RegionStep(const Record& record, RegionBuilder::Built built)
    : inputs_(std::move(built.inputs)),
      outputs_(std::move(built.outputs)),
      program_(std::move(built.region), simd(), &functions(record.has_fast_math)),
      scratch_(program_),
      blocks_(program_.num_block_sums()),
      sources_(inputs_.size()),
      targets_(outputs_.size()) {
  for (const int output : outputs_) geometry_.push_back(record.values[at(output)].geometry);
  taken_.assign(outputs_.size(), -1);
}

void RegionStep::take_memory_of(const Record& record, const std::vector<int>& released) {
  compile::Region region = program_.region();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (region.outputs[i].shared_input >= 0) continue;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const int input = static_cast<int>(k);
      const bool can_take =
          std::ranges::count(released, inputs_[k]) > 0 && std::ranges::count(taken_, input) == 0 &&
          std::ranges::count(outputs_, inputs_[k]) == 0 && !record.masks.contains(inputs_[k]) &&
          record.values[at(inputs_[k])].geometry == geometry_[i];
      if (!can_take) continue;
      taken_[i] = region.outputs[i].shared_input = input;
      break;
    }
  }
  program_ = compile::TileProgram(std::move(region), simd(), &functions(record.has_fast_math));
  scratch_ = compile::TileProgram::Scratch(program_);
}

// Gives the output memory: that of an input, if nothing else holds it.
void RegionStep::make_output(size_t index, std::vector<at::Tensor>& values) const {
  at::Tensor& output = values[at(outputs_[index])];
  if (output.defined()) return;
  if (taken_[index] >= 0) {
    const at::Tensor& input = values[at(inputs_[at(taken_[index])])];
    if (input.use_count() == 1 && input.storage().use_count() == 1) {
      output = input;
      return;
    }
  }
  output = at::empty_strided(geometry_[index].sizes, geometry_[index].strides,
                             at::TensorOptions().dtype(at::kFloat));
}

void RegionStep::run(std::vector<at::Tensor>& values) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    make_output(i, values);
    targets_[i] = values[at(outputs_[i])].mutable_data_ptr();
  }
  for (size_t i = 0; i < inputs_.size(); ++i) sources_[i] = values[at(inputs_[i])].const_data_ptr();
  const int64_t count = program_.num_elements();
  const bool is_small = count <= kGrain && !program_.has_column_sums();
  if (!is_small && at::get_num_threads() > 1) return run_on_threads();
  program_.run(sources_, targets_, {.end = count}, scratch_, blocks_);
  program_.write_column_sums(targets_, std::span(&scratch_, 1), blocks_);
}

// Threads take the elements, or rows, that they take in LibTorch's kernels: with these end the
// stretches that have tails, and the parts that are added to sums of columns.
void RegionStep::run_on_threads() {
  const int64_t count = program_.num_elements();
  const int64_t width = std::max<int64_t>(1, program_.row_width());
  const int64_t num_threads = std::min<int64_t>(at::get_num_threads(), at::divup(count, kGrain));
  const int64_t stretch = at::divup(count, std::max<int64_t>(1, num_threads));
  std::vector<compile::TileProgram::Scratch> scratch;
  for (int i = 0; i < at::get_num_threads(); ++i) scratch.emplace_back(program_);
  const int64_t grain = program_.has_column_sums() ? 1 : std::max<int64_t>(1, kGrain / width);
  at::parallel_for(0, count / width, grain, [&](int64_t begin, int64_t end) {
    program_.run(sources_, targets_,
                 {.begin = begin * width, .end = end * width, .stretch = stretch},
                 scratch[at(at::get_thread_num())], blocks_);
  });
  program_.write_column_sums(targets_, scratch, blocks_);
}

std::optional<at::Tensor> safe_softmax(const at::Tensor& self, int64_t dim) {
  if (self.scalar_type() != at::kFloat) return std::nullopt;
  at::Tensor out = at::_softmax(self, dim, false);
  // The sum of a row of softmax is NaN where the row is all -inf, or where it has a NaN.
  if (std::isnan(out.sum().item<float>())) return std::nullopt;
  return out;
}

bool is_mask_draw(const Record& record, const RecordedCall& call) {
  static const bool kDrawsAsLibtorch = draws_as_libtorch();
  if (!kDrawsAsLibtorch || call.name() != "aten::bernoulli_.float" || call.written.size() != 1) {
    return false;
  }
  const Geometry& geometry = record.values[at(call.written[0])].geometry;
  return geometry.dtype == at::kFloat && geometry.device.is_cpu() && is_without_gaps(geometry) &&
         call.arguments[1].isDouble() && call.arguments[2].isNone();
}

void draw_mask_(const at::Tensor& tensor, double probability) {
  auto* generator = at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
  const std::lock_guard lock(generator->mutex_);
  const auto count = static_cast<size_t>(tensor.numel());
  if (tensor.scalar_type() == at::kBool) {
    draw(*generator, tensor.mutable_data_ptr<bool>(), count, probability);
  } else {
    draw(*generator, tensor.mutable_data_ptr<float>(), count, probability);
  }
}

}  // namespace rtrain::engine
