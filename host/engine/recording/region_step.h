// host/engine/recording/region_step.h: steps of a plan that are not one call of an operator:
// regions, and masks of dropout.
#pragma once

#include <ATen/core/Tensor.h>

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

  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }
  // Bytes that the region reads and writes.
  int64_t num_bytes() const;

 private:
  std::vector<int> inputs_;
  std::vector<int> outputs_;
  std::vector<Geometry> geometry_;  // of the outputs
  compile::TileProgram program_;
  compile::TileProgram::Scratch scratch_;
  std::vector<const void*> sources_;
  std::vector<void*> targets_;
};

// Whether draw_mask_ is the call: bernoulli_ of a probability, of memory without gaps, from the
// default generator, whose numbers this process can make itself.
bool is_mask_draw(const Record& record, const RecordedCall& call);
// What bernoulli_(probability) does, with the same random numbers.
void draw_mask_(const at::Tensor& tensor, double probability);

}  // namespace rtrain::engine
