// host/engine/runtime/torch_version.h: what differs between the LibTorch versions that an engine is
// built against, from 2.11 on. Each difference is found in what the headers declare, so that code
// elsewhere is the same for all of them. The collectives' names:
// distributed/shm/collective_names.h; CUDA graphs: host/cuda/graphs.cpp.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace rtrain {

// Who counts a node of the graph: a std::shared_ptr, from 2.13 on a c10::intrusive_ptr.
using NodePtr = decltype(std::declval<torch::autograd::Node&>().getptr());

// A new node of the graph, whose class is derived from Node.
template <class T, class... Args>
auto make_node(Args&&... args) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, T>) {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  } else {
    // Looked for when T is known: deleteNode is gone where nodes count themselves.
    return std::shared_ptr<T>(new T(std::forward<Args>(args)...),
                              [](T* node) { deleteNode(node); });
  }
}

// torch::autograd::_wrap_outputs. From 2.14 on it also says which node it has attached.
template <class... Args>
auto wrap_outputs(const Args&... args) {
  if constexpr (NodePtr attached; requires { torch::autograd::_wrap_outputs(args..., attached); }) {
    return torch::autograd::_wrap_outputs(args..., attached);
  } else {
    return torch::autograd::_wrap_outputs(args...);
  }
}

// The recording of all threads (ProfilerStateBase), as a pointer of either kind; null without one.
template <class State>
auto global_recording() {
  if constexpr (requires { State::getGlobal(); }) {
    return State::getGlobal();
  } else {
    return State::get(/*global=*/true);
  }
}

}  // namespace rtrain
