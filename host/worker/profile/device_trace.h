// host/worker/profile/device_trace.h: writes LibTorch's flight recorder, which has the latest work
// of this process's devices, into a folder of the run.
#pragma once

#include <string>

namespace rtrain::worker {

// Sets the function that returns the recorder's content; null: there is none. Any thread.
void set_device_trace(std::string (*trace)());

// Writes nccl-rank-RANK.json unless the recorder is empty. Waits a second for the driver, which may
// hang; the file is written later where the driver answers later.
void write_device_trace(const std::string& folder, int rank);

}  // namespace rtrain::worker
