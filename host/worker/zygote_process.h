// host/worker/zygote_process.h: the zygote, from which workers are forked: the other side of
// host/node/workers/zygote.h.
#pragma once

namespace rtrain::worker {

// Forks a worker for each request. Returns only in a worker, with its rank. The worker has the
// descriptors, the environment and the processors of a process that was started for this rank, and
// its parent is `parent_pid`. It changes `rank_argument`, the rank on the command line. Ends the
// zygote when the socket is closed or its parent has ended. REQUIRES: the process has one thread.
int serve_forks(int parent_pid, char* rank_argument);

}  // namespace rtrain::worker
