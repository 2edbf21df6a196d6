// tests/unit/test_worker.h: this program as `--worker RANK PID`: a worker that behaves as
// $TEST_WORKER says, for tests that start workers.
//
//   echo      says hello, then sends every message back; leaves at `exit` with the code 3
//   print     prints "one", "two" on stdout, "three" on stderr, says hello; leaves at `exit`
//   nonsense  writes bytes that are not a message, and stays
//   daemon    starts a process in its own session that holds descriptor 7, and says hello
//   flood     says hello, prints 1 MiB, and says `printed`
//   validate  a validation: returns {acc = 0.75} for its `start`
//   hang      takes its progress page and says only hello; at `exit` its main thread ends, and
//             another thread continues
#pragma once

namespace rtrain {

inline constexpr const char* kTestWorker = "TEST_WORKER";

// Returns its exit code.
int run_test_worker(int rank, int controller_pid);

}  // namespace rtrain
