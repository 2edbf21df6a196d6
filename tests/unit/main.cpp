// tests/unit/main.cpp: runs the unit tests; also the processes that tests start from
// /proc/self/exe, as the executable does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "host/loop/group_guard.h"
#include "tests/unit/test_worker.h"

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 4 && mode == "--worker") {
    return rtrain::run_test_worker(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  if (argc == 4 && mode == "--guard") return rtrain::run_group_guard(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
