// tests/bench/collectives/rtrain.cpp: the time of collectives through c10d, without Lua.
//
//   collectives_bench shm|gloo|hosts|copy RANKS
//
// Prints "NAME SECONDS" for each size, from rank 0: the median call of all_reduce on float32. With
// shm the largest tensor lies in the arena, as DistributedDataParallel's buckets do. hosts: each
// half of the ranks is on a separate simulated node. copy: all ranks copy equally many bytes within
// their own memory at the same time.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "host/engine/distributed/collectives.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/memory/tensor_place.h"
#include "tests/bench/collectives/timing.h"

namespace rtrain {
namespace {

void measure(const std::string& backend, int rank, int ranks, const std::string& folder) {
  at::set_num_threads(1);
  engine::install_allocator();
  engine::GroupOptions options;
  options.rank = rank;
  options.world_size = ranks;
  options.prefix = "bench";
  options.backend = backend == "gloo" ? "gloo" : "cpu:shm,cuda:nccl";
  if (backend == "hosts") options.address = rank < ranks / 2 ? "127.0.0.1" : "127.0.0.2";
  static const api::HostApi api;
  const auto group = std::make_shared<engine::Group>(
      options, c10::make_intrusive<c10d::FileStore>(folder + "/store", ranks), api);
  for (const CollectiveSize& size : kCollectiveSizes) {
    const engine::TensorPlaceScope place(size.is_shared ? group->tensor_place() : nullptr);
    const at::Tensor tensor = at::empty({size.bytes / 4}).zero_();
    const at::Tensor other = at::empty({size.bytes / 4}).zero_();
    const auto call = [&] {
      if (backend == "copy") {
        std::memcpy(other.mutable_data_ptr(), tensor.const_data_ptr(), tensor.nbytes());
      } else {
        engine::all_reduce(group, tensor, "sum");
      }
    };
    const double seconds = median_seconds(
        size.calls, [&] { engine::barrier(group); }, call);
    if (rank == 0) std::printf("%s %.9f\n", size.name, seconds);
  }
  group->close();
}

}  // namespace
}  // namespace rtrain

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[2]);
  std::string folder = (std::filesystem::temp_directory_path() / "collectives-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      rtrain::measure(argv[1], rank, ranks, folder);
      std::fflush(nullptr);
      _exit(0);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) failed = 1;
  }
  std::filesystem::remove_all(folder);
  return failed;
}
