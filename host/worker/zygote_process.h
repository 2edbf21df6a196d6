// host/worker/zygote_process.h: the other side of host/node/workers/zygote.h, in the process that
// workers are forked from.
#pragma once

namespace rtrain::worker {

// Forks for each request that comes. Returns only in a worker, with its rank: descriptors,
// environment and processors are those that a process has that was started for it, and its parent
// is `parent_pid`. `rank_argument` is where the rank stands on the command line. Ends the process
// when the socket is closed, or the parent is another one. REQUIRES: the process has one thread.
int serve_forks(int parent_pid, char* rank_argument);

}  // namespace rtrain::worker
