#include "host/cuda/graphs.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>

namespace rtrain::cuda {
namespace {

cudaStreamCaptureMode to_cuda(engine::CudaCaptureMode mode) {
  switch (mode) {
    case engine::CudaCaptureMode::kThreadLocal:
      return cudaStreamCaptureModeThreadLocal;
    case engine::CudaCaptureMode::kRelaxed:
      return cudaStreamCaptureModeRelaxed;
    case engine::CudaCaptureMode::kGlobal:
      break;
  }
  return cudaStreamCaptureModeGlobal;
}

// Fixes LibTorch's graph after a failed capture: LibTorch leaves generators and allocator in the
// state of a capture, so that drawing any random number later would be an error.
//
// The members of LibTorch's class differ between its versions; the templates detect them.
class TorchGraph final : public at::cuda::CUDAGraph {
 public:
  using at::cuda::CUDAGraph::CUDAGraph;

  void end_or_abandon() {
    try {
      capture_end();
    } catch (...) {
      abandon();
      throw;
    }
  }

  // Since 2.14 LibTorch's replay() no longer instantiates the graph; only Python's does.
  void instantiate_and_replay() {
    if (capture_ended_ && !has_graph_exec_) instantiate();
    replay();
  }

  // Since 2.14 LibTorch itself registers the generators that a capture draws from.
  void register_generator(const at::Generator& generator) { register_with(*this, generator); }

  // Since 2.14 LibTorch has no function for this; Python calls CUDA's, as this does.
  void write_dot(const std::string& path) { write_dot_of(*this, path); }

 private:
  // Since 2.12 a generator has a separate state for each capture.
  template <class State, class Graph>
  static void end_capture_of(State& state, const Graph& graph) {
    if constexpr (requires { state.capturing_; }) {
      state.capturing_ = false;
      state.offset_intragraph_ = 0;
    } else {
      state.remove_capture_state(graph.capture_id_);
    }
  }

  // Since 2.14 reset() releases the pool of a failed capture, unless it is marked as released.
  template <class Graph>
  static void forget_pool(Graph& graph) {
    if constexpr (requires { graph.allocated_pool_; }) {
      graph.allocated_pool_ = false;
      graph.capturing_to_pool_ = false;
    }
  }

  template <class Graph>
  static void register_with(Graph& graph, const at::Generator& generator) {
    if constexpr (requires { graph.register_generator_state(generator); }) {
      graph.register_generator_state(generator);
    }
  }

  template <class Graph>
  static void write_dot_of(Graph& graph, const std::string& path) {
    if constexpr (requires { graph.debug_dump(path); }) {
      graph.debug_dump(path);
    } else {
      TORCH_CHECK(
          graph.has_graph_,
          "debug_dump: the graph was not kept: call enable_debug_mode() before the capture");
      C10_CUDA_CHECK(
          cudaGraphDebugDotPrint(graph.graph_, path.c_str(), cudaGraphDebugDotFlagsVerbose));
    }
  }

  void abandon() noexcept {
    for (auto& [state, increment] : captured_generator_states_) end_capture_of(*state, *this);
    if (capture_ended_) return;  // the pool is the graph's, whose reset() gives it back
    namespace allocator = c10::cuda::CUDACachingAllocator;
    // Throws if capture_end had already done this.
    try {
      allocator::endAllocateToPool(capture_dev_, mempool_id_);
    } catch (const std::exception&) {
    }
    try {
      allocator::releasePool(capture_dev_, mempool_id_);
    } catch (const std::exception&) {
    }
    forget_pool(*this);
    cudaGetLastError();  // clears the error that ended the capture, which was reported
  }
};

class OwnedGraph final : public engine::CudaGraph {
 public:
  explicit OwnedGraph(bool keep_graph) : graph_(keep_graph) {}

  void capture_begin(c10::MempoolId_t pool, engine::CudaCaptureMode mode) override {
    graph_.capture_begin(pool, to_cuda(mode));
  }
  void capture_end() override { graph_.end_or_abandon(); }
  void instantiate() override { graph_.instantiate(); }
  void replay() override { graph_.instantiate_and_replay(); }
  void reset() override { graph_.reset(); }
  c10::MempoolId_t pool() override { return graph_.pool(); }
  void enable_debug_mode() override { graph_.enable_debug_mode(); }
  void debug_dump(const std::string& path) override { graph_.write_dot(path); }
  void register_generator(const at::Generator& generator) override {
    graph_.register_generator(generator);
  }

 private:
  TorchGraph graph_;
};

std::unique_ptr<engine::CudaGraph> create(bool keep_graph) {
  return std::make_unique<OwnedGraph>(keep_graph);
}

c10::MempoolId_t new_pool() { return at::cuda::graph_pool_handle(); }

bool is_current_stream_capturing() {
  return at::cuda::currentStreamCaptureStatus() != at::cuda::CaptureStatus::None;
}

}  // namespace

engine::CudaGraphsApi cuda_graphs_api() {
  return {.create = &create,
          .new_pool = &new_pool,
          .is_current_stream_capturing = &is_current_stream_capturing};
}

}  // namespace rtrain::cuda
