// host/machine/processes/process_start.h: the first steps of a process, which make it independent
// of settings that it inherits from its parent.
#pragma once

namespace rtrain::machine {

// Closed standard streams become /dev/null: otherwise a file of ours could get their number, and
// printed text would be written into it. Signals that a parent may have ignored work again:
// SIGCHLD, without which a child's exit status is lost, and SIGPIPE, which ends a command whose
// reader has gone. A write beyond the limit of a file's size (`ulimit -f`) fails (EFBIG) instead of
// ending the process. Threads get stacks of 8 MiB even if `ulimit -s` says less, the main thread up
// to its hard limit. Call it before there are other threads.
void begin_process();

// From here on a write to a pipe without a reader fails (EPIPE) and does not end the process: a
// training does not stop because its terminal is closed. Programs that this process starts are not
// affected.
void outlive_readers();

}  // namespace rtrain::machine
