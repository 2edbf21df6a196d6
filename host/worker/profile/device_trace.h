// host/worker/profile/device_trace.h: what the devices of this process have been given, written
// into a folder of the run: LibTorch's flight recorder.
#pragma once

#include <string>

namespace rtrain::worker {

// The recorder that answers; any thread. Null: none.
void set_device_trace(std::string (*trace)());

// Writes nccl-rank-RANK.json where there is something to tell. Waits a second for the driver, which
// may be what hangs: the file then follows when it answers.
void write_device_trace(const std::string& folder, int rank);

}  // namespace rtrain::worker
