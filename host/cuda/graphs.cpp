#include "host/cuda/graphs.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>

namespace rtrain {
namespace {

cudaStreamCaptureMode to_cuda(CudaCaptureMode mode) {
  switch (mode) {
    case CudaCaptureMode::kThreadLocal:
      return cudaStreamCaptureModeThreadLocal;
    case CudaCaptureMode::kRelaxed:
      return cudaStreamCaptureModeRelaxed;
    case CudaCaptureMode::kGlobal:
      break;
  }
  return cudaStreamCaptureModeGlobal;
}

// LibTorch's graph, which after a capture that failed leaves generators and allocator in the state
// of a capture: every random number drawn later would be an error.
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

 private:
  void abandon() noexcept {
    for (auto& [state, increment] : captured_generator_states_) {
      state->capturing_ = false;
      state->offset_intragraph_ = 0;
    }
    if (capture_ended_) return;  // the pool is the graph's, whose reset() gives it back
    namespace allocator = c10::cuda::CUDACachingAllocator;
    // It throws where capture_end came that far.
    try {
      allocator::endAllocateToPool(capture_dev_, mempool_id_);
    } catch (const std::exception&) {
    }
    try {
      allocator::releasePool(capture_dev_, mempool_id_);
    } catch (const std::exception&) {
    }
    cudaGetLastError();  // the error that ended the capture was reported
  }
};

class OwnedGraph final : public CudaGraph {
 public:
  explicit OwnedGraph(bool keep_graph) : graph_(keep_graph) {}

  void capture_begin(c10::MempoolId_t pool, CudaCaptureMode mode) override {
    graph_.capture_begin(pool, to_cuda(mode));
  }
  void capture_end() override { graph_.end_or_abandon(); }
  void instantiate() override { graph_.instantiate(); }
  void replay() override { graph_.replay(); }
  void reset() override { graph_.reset(); }
  c10::MempoolId_t pool() override { return graph_.pool(); }
  void enable_debug_mode() override { graph_.enable_debug_mode(); }
  void debug_dump(const std::string& path) override { graph_.debug_dump(path); }
  void register_generator(const at::Generator& generator) override {
    graph_.register_generator_state(generator);
  }

 private:
  TorchGraph graph_;
};

std::unique_ptr<CudaGraph> create(bool keep_graph) {
  return std::make_unique<OwnedGraph>(keep_graph);
}

c10::MempoolId_t new_pool() { return at::cuda::graph_pool_handle(); }

bool is_current_stream_capturing() {
  return at::cuda::currentStreamCaptureStatus() != at::cuda::CaptureStatus::None;
}

}  // namespace

CudaGraphsApi cuda_graphs_api() {
  return {.create = &create,
          .new_pool = &new_pool,
          .is_current_stream_capturing = &is_current_stream_capturing};
}

}  // namespace rtrain
