#include "stream.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <utility>

namespace fake_gpu {
namespace {

// Never destroyed: threads of streams and LibTorch's exit handlers use the state until the process
// ends.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Stream*> defaults;
  std::vector<Stream*> streams;
  std::vector<std::shared_ptr<Capture>> captures;
  uint64_t captures_begun = 0;
  cudaError_t sticky = cudaSuccess;
};

State& state() {
  static State* const the = new State;
  return *the;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

double now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

// The caller holds the mutex.
bool forbids(const Capture& capture) {
  if (capture.has_ended || thread_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal)
    return true;
  return capture.thread == std::this_thread::get_id() &&
         capture.mode != cudaStreamCaptureModeRelaxed;
}

Stream& default_stream(int device) {
  const std::lock_guard lock(state().mutex);
  Stream*& stream = state().defaults[device];
  if (stream == nullptr) {
    stream = new Stream(device);
    state().streams.push_back(stream);
  }
  return *stream;
}

cudaError_t make_stream(cudaStream_t* handle) {
  auto* stream = new Stream(current_device());
  const std::lock_guard lock(state().mutex);
  state().streams.push_back(stream);
  *handle = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}

// Waiting for a captured stream is an error and invalidates the capture.
cudaError_t spoil(const std::shared_ptr<Capture>& capture) {
  capture->is_invalid = true;
  return fail(cudaErrorStreamCaptureUnsupported);
}

}  // namespace

void Stream::give(Work work) {
  const std::lock_guard lock(state().mutex);
  if (capture_ != nullptr) {
    capture_->graph->nodes.push_back(std::move(work));
    return;
  }
  work_.push_back(std::move(work));
  if (!has_thread_) std::thread([this] { run(); }).detach();
  has_thread_ = true;
  state().changed.notify_all();
}

void Stream::run() {
  std::unique_lock lock(state().mutex);
  for (;;) {
    state().changed.wait(lock, [this] { return !work_.empty(); });
    const Work work = std::move(work_.front());
    work_.pop_front();
    is_busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    is_busy_ = false;
    state().changed.notify_all();
  }
}

bool Stream::is_idle() const {
  const std::lock_guard lock(state().mutex);
  return work_.empty() && !is_busy_;
}

void Stream::wait_until_idle() {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [this] { return work_.empty() && !is_busy_; });
}

std::shared_ptr<Capture> Stream::capture() const {
  const std::lock_guard lock(state().mutex);
  return capture_;
}

void Stream::join(std::shared_ptr<Capture> capture) {
  const std::lock_guard lock(state().mutex);
  capture_ = std::move(capture);
}

Stream& stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
    return default_stream(current_device());
  return *reinterpret_cast<Stream*>(handle);
}

std::shared_ptr<Event>& event_of(cudaEvent_t handle) {
  return *reinterpret_cast<std::shared_ptr<Event>*>(handle);
}

void wait_for_device(int device) {
  std::vector<Stream*> streams;
  {
    const std::lock_guard lock(state().mutex);
    streams = state().streams;
  }
  for (Stream* stream : streams) {
    if (stream->device() == device) stream->wait_until_idle();
  }
}

cudaError_t forbid_in_capture() {
  const std::lock_guard lock(state().mutex);
  for (const auto& capture : state().captures) {
    if (!forbids(*capture)) continue;
    capture->is_invalid = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

cudaError_t fail(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t sticky_error() {
  const std::lock_guard lock(state().mutex);
  return state().sticky;
}

void set_sticky_error(cudaError_t error) {
  const std::lock_guard lock(state().mutex);
  state().sticky = error;
}

}  // namespace fake_gpu

using fake_gpu::Capture;
using fake_gpu::Event;
using fake_gpu::event_of;
using fake_gpu::fail;
using fake_gpu::Graph;
using fake_gpu::state;
using fake_gpu::sticky_error;
using fake_gpu::Stream;
using fake_gpu::stream_of;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = std::exchange(fake_gpu::last_error, cudaSuccess);
  return error == cudaSuccess ? sticky_error() : error;
}

cudaError_t cudaPeekAtLastError() {
  return fake_gpu::last_error == cudaSuccess ? sticky_error() : fake_gpu::last_error;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return fake_gpu::make_stream(stream); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return fake_gpu::make_stream(stream);
}

// The stream is kept, because its thread may still work.
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Stream& stream = stream_of(handle);
  if (const auto capture = stream.capture()) return fake_gpu::spoil(capture);
  if (sticky_error() != cudaSuccess) return fail(sticky_error());
  return stream.is_idle() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  Stream& stream = stream_of(handle);
  if (const auto capture = stream.capture()) return fake_gpu::spoil(capture);
  stream.wait_until_idle();
  return fail(sticky_error());
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = fake_gpu::forbid_in_capture()) return error;
  fake_gpu::wait_for_device(fake_gpu::current_device());
  return fail(sticky_error());
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned) {
  stream_of(handle).give([=] { callback(handle, cudaSuccess, data); });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  Stream& stream = stream_of(handle);
  const std::shared_ptr<Event> event = event_of(event_handle);
  std::unique_lock lock(state().mutex);
  if (const auto capture = event->capture; capture != nullptr && !capture->has_ended) {
    lock.unlock();
    if (handle == nullptr || handle == cudaStreamLegacy) {  // this stream cannot be captured
      capture->is_invalid = true;
      return fail(cudaErrorStreamCaptureImplicit);
    }
    stream.join(capture);  // from here on this stream is captured, too
    return cudaSuccess;
  }
  const uint64_t awaited = event->recorded;
  lock.unlock();
  if (stream.capture() != nullptr) return cudaSuccess;  // the work before the capture is done
  stream.give([=] {
    std::unique_lock inner(state().mutex);
    state().changed.wait(inner, [&] { return event->reached >= awaited; });
  });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned) {
  *handle = reinterpret_cast<cudaEvent_t>(new std::shared_ptr<Event>(new Event));
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  delete &event_of(handle);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  Stream& stream = stream_of(stream_handle);
  const std::shared_ptr<Event> event = event_of(handle);
  const auto capture = stream.capture();
  uint64_t number = 0;
  {
    const std::lock_guard lock(state().mutex);
    event->capture = capture;
    if (capture != nullptr) return cudaSuccess;
    number = ++event->recorded;
  }
  stream.give([=] {
    const std::lock_guard lock(state().mutex);
    event->reached = number;
    event->time_ms = fake_gpu::now_ms();
    state().changed.notify_all();
  });
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned) {
  return cudaEventRecord(handle, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  if (const cudaError_t error = fake_gpu::forbid_in_capture()) return error;
  if (sticky_error() != cudaSuccess) return fail(sticky_error());
  const std::lock_guard lock(state().mutex);
  const Event& event = *event_of(handle);
  if (event.capture != nullptr) return fail(cudaErrorCapturedEvent);
  return event.reached == event.recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  if (const cudaError_t error = fake_gpu::forbid_in_capture()) return error;
  const std::shared_ptr<Event> event = event_of(handle);
  {
    std::unique_lock lock(state().mutex);
    const uint64_t awaited = event->recorded;
    state().changed.wait(lock, [&] { return event->reached >= awaited; });
  }
  return fail(sticky_error());
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(state().mutex);
  const Event& a = *event_of(from);
  const Event& b = *event_of(to);
  if (a.recorded == 0 || b.recorded == 0) return fail(cudaErrorInvalidResourceHandle);
  if (a.reached != a.recorded || b.reached != b.recorded) return cudaErrorNotReady;
  *ms = static_cast<float>(b.time_ms - a.time_ms);
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, fake_gpu::thread_mode);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (handle == nullptr) return fail(cudaErrorStreamCaptureUnsupported);
  Stream& stream = stream_of(handle);
  if (stream.capture() != nullptr) return fail(cudaErrorIllegalState);
  stream.wait_until_idle();
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  {
    const std::lock_guard lock(state().mutex);
    capture->id = ++state().captures_begun;
    state().captures.push_back(capture);
  }
  stream.join(capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  *graph = nullptr;
  const auto capture = stream_of(handle).capture();
  if (capture == nullptr) return fail(cudaErrorIllegalState);
  std::vector<Stream*> streams;
  {
    const std::lock_guard lock(state().mutex);
    capture->has_ended = true;
    std::erase(state().captures, capture);
    streams = state().streams;
  }
  for (Stream* stream : streams) {
    if (stream->capture() == capture) stream->join(nullptr);
  }
  if (capture->is_invalid) return fail(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(new std::shared_ptr<Graph>(capture->graph));
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const auto capture = stream_of(handle).capture();
  *status = capture == nullptr    ? cudaStreamCaptureStatusNone
            : capture->is_invalid ? cudaStreamCaptureStatusInvalidated
                                  : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  const auto capture = stream_of(handle).capture();
  cudaStreamIsCapturing(handle, status);
  if (id != nullptr) *id = capture == nullptr ? 0 : capture->id;
  if (graph != nullptr) *graph = nullptr;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(
      new std::shared_ptr<Graph>(*reinterpret_cast<std::shared_ptr<Graph>*>(graph)));
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  const auto graph = *reinterpret_cast<std::shared_ptr<Graph>*>(executable);
  stream_of(handle).give([graph] {
    for (const fake_gpu::Work& node : graph->nodes) node();
  });
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<std::shared_ptr<Graph>*>(executable);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<std::shared_ptr<Graph>*>(graph);
  return cudaSuccess;
}

// Returns only the number of nodes, not the nodes.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = (*reinterpret_cast<std::shared_ptr<Graph>*>(graph))->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*,
                                         size_t* count) {
  *count = 0;
  return cudaSuccess;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  FILE* file = std::fopen(path, "w");
  if (file == nullptr) return fail(cudaErrorInvalidValue);
  std::fprintf(file, "digraph fake { nodes [label=\"%zu\"]; }\n",
               (*reinterpret_cast<std::shared_ptr<Graph>*>(graph))->nodes.size());
  std::fclose(file);
  return cudaSuccess;
}
}
