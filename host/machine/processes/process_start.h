// host/machine/processes/process_start.h: what a process does first, so that it need not care what
// its parent has left it.
#pragma once

namespace rtrain::machine {

// Closed standard streams become /dev/null: a file of ours with such a number would be written into
// by whatever prints. What a parent may have ignored works again: SIGCHLD, without which nobody
// learns how a child ended, and SIGPIPE, which ends a command whose reader has gone. A write beyond
// the limit of a file's size (`ulimit -f`) fails (EFBIG) instead of ending the process. Threads get
// stacks of 8 MiB although `ulimit -s` says less, the main thread up to its hard limit. Before
// other threads.
void begin_process();

// From here on a write to a pipe without a reader fails (EPIPE) and ends nothing: who trains does
// not stop because its terminal is closed. Programs that this process starts are not concerned.
void outlive_readers();

}  // namespace rtrain::machine
