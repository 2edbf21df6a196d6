// host/engine/distributed/shm/collective_names.h: LibTorch's single-tensor collectives, which
// were renamed in 2.13 (ProcessGroup) and 2.14 (Backend). The rest of the engine uses the new
// names.
#pragma once

#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <type_traits>
#include <vector>

namespace rtrain::engine {

// Gives a backend the names that single-tensor collectives have since 2.14. Before, they are
// _allgather_base, _reduce_scatter_base and alltoall_base; a class that overrides the new names is
// called through both.
template <class Base>
class WithNewNames : public Base {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Sizes = std::vector<int64_t>;
  using Base::Base;

  virtual WorkPtr all_gather_single(at::Tensor& output, at::Tensor& input,
                                    const c10d::AllgatherOptions& options) {
    return Base::_allgather_base(output, input, options);
  }
  virtual WorkPtr reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                                        const c10d::ReduceScatterOptions& options) {
    return Base::_reduce_scatter_base(output, input, options);
  }
  virtual WorkPtr all_to_all_single(at::Tensor& output, at::Tensor& input, Sizes& output_sizes,
                                    Sizes& input_sizes, const c10d::AllToAllOptions& options) {
    return Base::alltoall_base(output, input, output_sizes, input_sizes, options);
  }
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    return all_gather_single(output, input, options);
  }
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    return reduce_scatter_single(output, input, options);
  }
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, Sizes& output_sizes,
                        Sizes& input_sizes, const c10d::AllToAllOptions& options) override {
    return all_to_all_single(output, input, output_sizes, input_sizes, options);
  }
};

template <class Backend>
concept HasNewNames = requires {
  &Backend::all_gather_single;
};

// Base class of rtrain's backends.
template <class Base>
using Renamed = std::conditional_t<HasNewNames<Base>, Base, WithNewNames<Base>>;

// Call the collective on a group or a backend under whichever name it has.
template <class Group>
c10::intrusive_ptr<c10d::Work> start_all_gather_single(Group& group, at::Tensor& output,
                                                       at::Tensor& input,
                                                       const c10d::AllgatherOptions& options) {
  if constexpr (HasNewNames<Group>) {
    return group.all_gather_single(output, input, options);
  } else {
    return group._allgather_base(output, input, options);
  }
}

template <class Group>
c10::intrusive_ptr<c10d::Work> start_reduce_scatter_single(
    Group& group, at::Tensor& output, at::Tensor& input,
    const c10d::ReduceScatterOptions& options) {
  if constexpr (HasNewNames<Group>) {
    return group.reduce_scatter_single(output, input, options);
  } else {
    return group._reduce_scatter_base(output, input, options);
  }
}

template <class Group>
c10::intrusive_ptr<c10d::Work> start_all_to_all_single(Group& group, at::Tensor& output,
                                                       at::Tensor& input,
                                                       std::vector<int64_t>& output_sizes,
                                                       std::vector<int64_t>& input_sizes,
                                                       const c10d::AllToAllOptions& options) {
  if constexpr (HasNewNames<Group>) {
    return group.all_to_all_single(output, input, output_sizes, input_sizes, options);
  } else {
    return group.alltoall_base(output, input, output_sizes, input_sizes, options);
  }
}

}  // namespace rtrain::engine
