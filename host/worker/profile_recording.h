// host/worker/profile_recording.h: records the work of this worker, for `rtrain profile`.
//
// A recording is one of three: a trace of operators by LibTorch's profiler, stacks that a sampler
// takes, or the lines whose tensors use memory.
//
// It covers all threads. A thread of its own begins and ends it, as in LibTorch's recording on
// demand, so that it also works while the main thread hangs.
#pragma once

#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/worker/progress.h"

namespace rtrain::worker {

// Makes the requested recording, and returns the answer without the request's id. Takes as long as
// the request says. Thread: one of its own.
message::Profile record_profile(Progress& progress, const message::AskProfile& asked,
                                const loop::WorkerContext& context);

}  // namespace rtrain::worker
