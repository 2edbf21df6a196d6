// host/worker/profile_recording.h: records the work of this worker, for `rtrain profile`.
//
// Either a trace of operators, by LibTorch's profiler, or what a sampler sees of the stacks, or who
// takes the memory of tensors.
//
// The recording is of all threads and is begun and ended by a thread of its own, as LibTorch's own
// recording on demand is: a main thread that is stuck is seen as well.
#pragma once

#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/worker/progress.h"

namespace rtrain::worker {

// Records as the request asks; the answer is without the request's id. Takes as long as the request
// says; for a thread of its own.
message::Profile record_profile(Progress& progress, const message::AskProfile& asked,
                                const loop::WorkerContext& context);

}  // namespace rtrain::worker
