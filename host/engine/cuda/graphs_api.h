// host/engine/cuda/graphs_api.h: CUDA graphs, as librtrain_cuda.so makes them.
//
// A graph belongs to the thread and the device that captured it. All functions throw c10::Error.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Allocator.h>

#include <memory>
#include <string>

namespace rtrain::engine {

// What other threads may call in CUDA while a stream is being captured.
enum class CudaCaptureMode { kGlobal, kThreadLocal, kRelaxed };

class CudaGraph {
 public:
  virtual ~CudaGraph() = default;
  CudaGraph() = default;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Starts to capture the work that this thread submits to its current stream, which must not be
  // the default stream. Memory comes from the pool; {0, 0} makes a new pool for this graph.
  virtual void capture_begin(c10::MempoolId_t pool, CudaCaptureMode mode) = 0;
  // Ends the capture, on the same stream. If that fails, the process is as before capture_begin and
  // the graph is empty.
  virtual void capture_end() = 0;
  virtual void instantiate() = 0;
  // Submits the captured work to the current stream.
  virtual void replay() = 0;
  // Drops the captured work. The graph can then capture again.
  virtual void reset() = 0;
  virtual c10::MempoolId_t pool() = 0;
  // Makes all graphs captured from now on keep the data that debug_dump writes.
  virtual void enable_debug_mode() = 0;
  virtual void debug_dump(const std::string& path) = 0;
  // Random numbers that the captured work draws from this generator are drawn again by each replay.
  // Call it before capture_begin.
  virtual void register_generator(const at::Generator& generator) = 0;
};

struct CudaGraphsApi {
  std::unique_ptr<CudaGraph> (*create)(bool keep_graph) = nullptr;
  // Creates a pool that several graphs may share.
  c10::MempoolId_t (*new_pool)() = nullptr;
  bool (*is_current_stream_capturing)() = nullptr;
};

}  // namespace rtrain::engine
