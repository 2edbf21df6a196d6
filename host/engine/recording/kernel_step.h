// host/engine/recording/kernel_step.h: a region of a plan on a GPU: one kernel, once it is
// compiled.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "host/engine/cuda/kernels_api.h"
#include "host/engine/recording/kernel_compiler.h"
#include "host/engine/recording/pointwise.h"
#include "host/engine/recording/record.h"

namespace rtrain::engine {

class KernelStep {
 public:
  // `calls`: those of the region. Begins to compile.
  KernelStep(const Record& record, RegionBuilder::Built built, const std::vector<int>& calls);

  // Launches the kernel on the current stream, and returns true. Outputs that are not defined
  // become new tensors. Returns false, and does nothing, as long as there is no kernel for these
  // tensors: then the region's operators have to be called.
  bool run(std::vector<at::Tensor>& values);

  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }
  int64_t num_bytes() const { return num_bytes_; }
  bool is_ready() const;
  // Whether there is nothing to wait for: the kernel is loaded, or there will be none.
  bool has_settled() const { return functions_ != nullptr || !refusal().empty(); }
  // Why there will be no kernel; "" if there is one, or may be.
  const std::string& refusal() const;
  int64_t num_launches() const { return num_launches_; }

 private:
  bool has_no_elements() const;
  bool reads_across_threads() const;
  void request(const Record& record, const std::vector<int>& calls);
  bool prepare();
  bool fits(const std::vector<at::Tensor>& values) const;
  void launch();
  std::vector<compile::KernelDraw> draws() const;

  compile::Region region_;
  std::vector<int> inputs_;
  std::vector<int> outputs_;
  at::Device device_;
  std::vector<Geometry> geometry_;  // of the outputs
  int64_t num_bytes_ = 0;
  int64_t num_launches_ = 0;
  std::vector<int64_t> alignments_;  // of inputs and outputs, in elements
  std::vector<size_t> widths_;       // bytes of their elements
  compile::Kernel kernel_;
  std::shared_ptr<CompiledKernel> compiled_;  // null: the region has none
  std::shared_ptr<CudaKernels> functions_;    // once it is loaded
  std::string load_refusal_;
  int64_t num_blocks_ = 0;
  uint64_t draw_threads_ = 0;
  std::vector<void*> addresses_;  // of inputs and outputs in a run
};

}  // namespace rtrain::engine
