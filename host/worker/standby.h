// host/worker/standby.h: a worker process that waits for the loss of a rank, whose place it will
// take (train.elastic): LibTorch is loaded by then.
#pragma once

namespace rtrain {

// Loads LibTorch and waits for the rank, which the controller writes to the channel before anything
// else. Ends the process when the channel is closed, or the parent is another one. First thing in
// main.
int wait_for_rank(int parent_pid);

}  // namespace rtrain
