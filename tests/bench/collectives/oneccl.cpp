// tests/bench/collectives/oneccl.cpp: all_reduce of float32 by Intel's oneCCL, in place.
//
//   collectives_oneccl RANKS
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <oneapi/ccl.hpp>
#include <string>
#include <vector>

#include "tests/bench/collectives/timing.h"

// oneCCL calls Intel's tracing through these pointers if they are set; no package has the tracing
// library.
extern "C" {
void* __itt_domain_create_ptr__3_0 = nullptr;
void* __itt_event_create_ptr__3_0 = nullptr;
void* __itt_event_end_ptr__3_0 = nullptr;
void* __itt_event_start_ptr__3_0 = nullptr;
void* __itt_metadata_add_ptr__3_0 = nullptr;
void* __itt_string_handle_create_ptr__3_0 = nullptr;
void* __itt_task_begin_ptr__3_0 = nullptr;
void* __itt_task_end_ptr__3_0 = nullptr;
void* __itt_thread_set_name_ptr__3_0 = nullptr;
}

namespace {

constexpr int kCores = 2;  // the cores that the benchmark gives to all ranks together
constexpr int kFewCalls = 5;

using Address = ccl::kvs::address_type;

// The other ranks connect to rank 0, which sends its address to each of them through a pipe.
ccl::shared_ptr_class<ccl::kvs> make_store(int rank, int ranks, const std::vector<int>& pipe) {
  Address address;
  if (rank > 0) {
    if (read(pipe[0], address.data(), address.size()) != static_cast<ssize_t>(address.size())) {
      std::abort();
    }
    return ccl::create_kvs(address);
  }
  auto store = ccl::create_main_kvs();
  address = store->get_address();
  for (int other = 1; other < ranks; ++other) {
    if (write(pipe[1], address.data(), address.size()) != static_cast<ssize_t>(address.size())) {
      std::abort();
    }
  }
  return store;
}

void measure(int rank, int ranks, const std::vector<int>& pipe) {
  setenv("CCL_LOCAL_RANK", std::to_string(rank).c_str(), 1);
  setenv("CCL_LOCAL_SIZE", std::to_string(ranks).c_str(), 1);
  ccl::init();
  const auto group = ccl::create_communicator(ranks, rank, make_store(rank, ranks, pipe));
  for (const rtrain::CollectiveSize& size : rtrain::kCollectiveSizes) {
    std::vector<float> data(static_cast<size_t>(size.bytes) / sizeof(float));
    // oneCCL spins while it waits: if ranks share a core, a call takes several time slices.
    const int calls = ranks > kCores ? kFewCalls : size.calls;
    const double seconds = rtrain::median_seconds(
        calls, [&] { ccl::barrier(group).wait(); },
        [&] {
          ccl::allreduce(data.data(), data.data(), data.size(), ccl::reduction::sum, group).wait();
        });
    if (rank == 0) std::printf("%s %.9f\n", size.name, seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int ranks = std::atoi(argv[1]);
  std::vector<int> ends(2);
  if (pipe(ends.data()) != 0) return 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      measure(rank, ranks, ends);
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
  return failed;
}
