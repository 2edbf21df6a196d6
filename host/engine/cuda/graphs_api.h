// host/engine/cuda/graphs_api.h: CUDA graphs, as librtrain_cuda.so makes them.
//
// A graph belongs to the thread and the device that captured it. All functions throw c10::Error.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Allocator.h>

#include <memory>
#include <string>

namespace rtrain {

// What other threads may ask of CUDA while a stream is being captured.
enum class CudaCaptureMode { kGlobal, kThreadLocal, kRelaxed };

class CudaGraph {
 public:
  virtual ~CudaGraph() = default;
  CudaGraph() = default;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Begins to capture what this thread gives its current stream, which must not be the default one.
  // Its memory comes from the pool; {0, 0} is one of its own.
  virtual void capture_begin(c10::MempoolId_t pool, CudaCaptureMode mode) = 0;
  // Ends the capture, on the same stream. Where that fails the process is as before capture_begin,
  // and the graph holds nothing.
  virtual void capture_end() = 0;
  virtual void instantiate() = 0;
  // Gives the captured work to the current stream.
  virtual void replay() = 0;
  // Drops what was captured; it may be captured again then.
  virtual void reset() = 0;
  virtual c10::MempoolId_t pool() = 0;
  // Keeps what debug_dump writes, in all graphs captured from now on.
  virtual void enable_debug_mode() = 0;
  virtual void debug_dump(const std::string& path) = 0;
  // Random numbers drawn from it in the capture are drawn again by each replay; before
  // capture_begin.
  virtual void register_generator(const at::Generator& generator) = 0;
};

struct CudaGraphsApi {
  std::unique_ptr<CudaGraph> (*create)(bool keep_graph) = nullptr;
  // A new pool that several graphs may share.
  c10::MempoolId_t (*new_pool)() = nullptr;
  bool (*is_current_stream_capturing)() = nullptr;
};

}  // namespace rtrain
