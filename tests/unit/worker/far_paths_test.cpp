#include "host/worker/far_paths.h"

#include <gtest/gtest.h>

namespace rtrain::worker {
namespace {

loop::WorkerContext context(const std::string& far_path) {
  loop::WorkerContext out;
  out.storage_path = "/home/a/results";
  out.run_path = "/home/a/results/run";
  out.far_path = far_path;
  out.starting_checkpoint.emplace();
  out.starting_checkpoint->path = "/home/a/results/run/checkpoints/c";
  return out;
}

TEST(FarPaths, ANodeThatSeesNode0sDiskHasItsPaths) {
  loop::WorkerContext near = context("");
  const FarPaths paths = FarPaths::enter(near);
  EXPECT_TRUE(paths.is_empty());
  EXPECT_EQ(near.run_path, "/home/a/results/run");
  EXPECT_EQ(paths.here("/home/a/results/run/x"), "/home/a/results/run/x");
  EXPECT_EQ(paths.there("/x"), "/x");
}

TEST(FarPaths, AFarNodeHasItsOwnAndTranslatesThoseOfMessages) {
  loop::WorkerContext far = context("/home/b/state/run");
  const FarPaths paths = FarPaths::enter(far);
  EXPECT_EQ(far.run_path, "/home/b/state/run");
  EXPECT_EQ(far.storage_path, "/home/b/state");
  EXPECT_EQ(far.starting_checkpoint->path, "/home/b/state/run/checkpoints/c");
  EXPECT_EQ(paths.here("/home/a/results/run/checkpoints/d"), "/home/b/state/run/checkpoints/d");
  EXPECT_EQ(paths.there("/home/b/state/run/checkpoints/d"), "/home/a/results/run/checkpoints/d");
  EXPECT_EQ(paths.here("/home/a/results/run2/x"), "/home/a/results/run2/x") << "another run";
  EXPECT_EQ(paths.here(""), "") << "a report without a checkpoint";
}

}  // namespace
}  // namespace rtrain::worker
