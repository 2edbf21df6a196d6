// tests/unit/main.cpp: runs the unit tests. It is also the program of the processes that tests
// start from /proc/self/exe, as the executable does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "host/loop/processes/group_guard.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/worker/zygote_process.h"
#include "tests/unit/test_worker.h"

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 4 && mode == "--worker") {
    const int parent_pid = std::atoi(argv[3]);
    const bool is_zygote = argv[2] == std::string_view(rtrain::loop::kZygoteRank);
    const int rank =
        is_zygote ? rtrain::worker::serve_forks(parent_pid, argv[2]) : std::atoi(argv[2]);
    return rtrain::run_test_worker(rank, parent_pid);
  }
  if (argc == 4 && mode == "--guard") return rtrain::loop::run_group_guard(argv[2], argv[3]);
  // A child that exits with the given code, or waits for a signal.
  if (argc == 3 && mode == "--child") {
    if (argv[2] == std::string_view("wait")) pause();
    std::puts("the child ends");
    return std::atoi(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
