// host/engine/runtime/torch_version.h: differences between the LibTorch versions, from 2.11 on,
// that the engine can be built with. They are detected from declarations in the headers, so that
// other code is the same for all versions. Others: names of collectives in
// distributed/shm/collective_names.h, CUDA graphs in host/cuda/graphs.cpp.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace rtrain::engine {

// The owning pointer of graph nodes: std::shared_ptr, since 2.13 c10::intrusive_ptr.
using NodePtr = decltype(std::declval<torch::autograd::Node&>().getptr());

// Creates a graph node. T must be derived from Node.
template <class T, class... Args>
auto make_node(Args&&... args) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, T>) {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  } else {
    // Depends on T, because deleteNode does not exist if nodes are intrusive.
    return std::shared_ptr<T>(new T(std::forward<Args>(args)...),
                              [](T* node) { deleteNode(node); });
  }
}

// torch::autograd::_wrap_outputs. Since 2.14 it also returns the node that it attached.
template <class... Args>
auto wrap_outputs(const Args&... args) {
  if constexpr (NodePtr attached; requires { torch::autograd::_wrap_outputs(args..., attached); }) {
    return torch::autograd::_wrap_outputs(args..., attached);
  } else {
    return torch::autograd::_wrap_outputs(args...);
  }
}

// The recording of all threads (ProfilerStateBase), whichever pointer type holds it; null without
// one.
template <class State>
auto global_recording() {
  if constexpr (requires { State::getGlobal(); }) {
    return State::getGlobal();
  } else {
    return State::get(/*global=*/true);
  }
}

}  // namespace rtrain::engine
