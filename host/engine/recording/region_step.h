// host/engine/recording/region_step.h: steps of a plan that are not one call of an operator:
// regions, and masks of dropout.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "host/compile/tile_program.h"
#include "host/engine/recording/pointwise.h"
#include "host/engine/recording/record.h"

namespace rtrain::engine {

class RegionStep {
 public:
  RegionStep(const Record& record, RegionBuilder::Built built);

  // Computes the outputs from the inputs, both by number of value. Outputs that are not defined
  // become new tensors.
  void run(std::vector<at::Tensor>& values);

  // Lets new outputs take the memory of inputs that no later step uses.
  void take_memory_of(const Record& record, const std::vector<int>& released);

  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }
  // Bytes that the region reads and writes.
  int64_t num_bytes() const { return program_.region().num_bytes(); }

 private:
  void make_output(size_t index, std::vector<at::Tensor>& values) const;
  void run_on_threads();

  std::vector<int> inputs_;
  std::vector<int> outputs_;
  std::vector<Geometry> geometry_;  // of the outputs
  std::vector<int> taken_;          // for each output: the input whose memory it takes, or -1
  compile::TileProgram program_;
  compile::TileProgram::Scratch scratch_;
  std::vector<float> blocks_;  // sums of columns
  std::vector<const void*> sources_;
  std::vector<void*> targets_;
};

// The result of _safe_softmax(self, dim), which is softmax but for rows that are all -inf. Nothing
// if there may be such rows.
std::optional<at::Tensor> safe_softmax(const at::Tensor& self, int64_t dim);

// Whether draw_mask_ is the call: bernoulli_ of a probability, of memory without gaps, from the
// default generator, whose numbers this process can make itself.
bool is_mask_draw(const Record& record, const RecordedCall& call);
// What bernoulli_(probability) does, with the same random numbers. A tensor of float32 or bool.
void draw_mask_(const at::Tensor& tensor, double probability);

}  // namespace rtrain::engine
