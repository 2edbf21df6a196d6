// tests/engine/ranks.h: runs a body on several ranks of one process group, each in its own
// process.
//
// The ranks are forked, because LibTorch's Gloo backend records every collective in unlocked
// process-wide tables, so two ranks cannot be threads. The test program itself therefore runs no
// operator, and no rank runs another test.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <vector>

#include "host/base/text/text.h"
#include "host/engine/distributed/group.h"

namespace rtrain::engine {

inline GroupOptions rank_options(int rank, int world_size) {
  GroupOptions out;
  out.rank = rank;
  out.world_size = world_size;
  out.timeout = std::chrono::seconds(20);
  out.prefix = "test";
  return out;
}

// Runs the body in `world_size` processes. The test fails on failed expectations and uncaught
// exceptions in any of them.
inline void fork_ranks(
    int world_size, const std::function<void(int, const c10::intrusive_ptr<c10d::Store>&)>& body) {
  std::string folder = (std::filesystem::temp_directory_path() / "ranks-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < world_size; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    at::set_num_threads(1);
    try {
      body(rank, c10::make_intrusive<c10d::FileStore>(folder + "/store", world_size));
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "a rank failed, see above";
  }
  std::filesystem::remove_all(folder);
}

// The same, with a group that all ranks have joined before.
inline void run_ranks(int world_size,
                      const std::function<void(const std::shared_ptr<Group>&)>& body) {
  fork_ranks(world_size, [&](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    static const api::HostApi api;
    body(std::make_shared<Group>(rank_options(rank, world_size), store, api));
  });
}

// A small tensor whose elements are all that value.
inline at::Tensor filled(double value) { return at::full({3}, value); }

}  // namespace rtrain::engine
