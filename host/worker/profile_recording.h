// host/worker/profile_recording.h: records what this worker does, for `rtrain profile`.
//
// The recording is of all threads and is begun and ended by a thread of its own, as LibTorch's own
// recording on demand is: a main thread that is stuck is seen as well.
#pragma once

#include "host/base/value.h"
#include "host/loop/message.h"
#include "host/worker/progress.h"

namespace rtrain {

// Carries the message `profile` out; gives the fields of its answer (host/loop/message.h). Takes as
// long as the message says; for a thread of its own.
Map record_profile(Progress& progress, const Value& request, const WorkerContext& context);

}  // namespace rtrain
