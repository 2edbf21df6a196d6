// NCCL on the simulated device: processes share a file in /dev/shm and really exchange and reduce
// data. Each collective runs on the thread of its stream and, like real NCCL, waits forever for a
// missing rank. FAKE_NCCL_HANG=all_reduce,…: these collectives never end. FAKE_NCCL_ASYNC_ERROR=N:
// ncclCommGetAsyncError returns N after the first collective. FAKE_NCCL_SEES_DEATHS=1: it returns
// ncclRemoteError when the process of a rank is gone. FAKE_NCCL_KILL=FILE: a process that connects
// and finds the file removes it and ends. Collectives pass the links of a ring (link.h).
#include <fcntl.h>
#include <nccl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "../settings.h"
#include "link.h"
#include "stream.h"

namespace fake_gpu {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr int kMostRanks = 16;

struct Board {
  std::atomic<int> joined;
  std::atomic<int> arrived;
  std::atomic<int> round;
  std::atomic<int> pids[kMostRanks];
  std::atomic<int> devices[kMostRanks];           // numbers among all devices of the machine
  std::atomic<int> mail[kMostRanks][kMostRanks];  // [from][to], 1: a letter waits
  alignas(64) char slots[];  // a chunk for each rank, then one for each pair of ranks
};

struct Communicator {
  Board* board = nullptr;
  int rank = 0;
  int ranks = 0;
  int device = 0;
  std::atomic<bool> is_aborted{false};
  std::atomic<bool> has_run{false};

  char* slot(int of) const { return board->slots + kChunk * static_cast<size_t>(of); }
  char* letter(int from, int to) const { return slot(ranks + from * ranks + to); }
};

// Shared with the work of the streams, which may outlive ncclCommDestroy.
using Comm = std::shared_ptr<Communicator>;
Comm& of(ncclComm_t handle) { return *reinterpret_cast<Comm*>(handle); }

template <typename Condition>
bool wait(const Communicator& comm, Condition condition) {
  while (!condition()) {
    if (comm.is_aborted) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

// Returns false if the communicator was aborted.
bool wait_for_all(const Communicator& comm) {
  Board& board = *comm.board;
  const int round = board.round;
  if (++board.arrived == comm.ranks) {
    board.arrived = 0;
    ++board.round;
    return true;
  }
  return wait(comm, [&] { return board.round != round; });
}

// Waits as long as a letter takes between two ranks. Returns false if the communicator was aborted.
bool cross(const Communicator& comm, int from, int to) {
  const Link link = link_between(comm.board->devices[from], comm.board->devices[to]);
  take_time(link);
  return wait(comm, [&] { return link != Link::kBroken; });
}

size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

template <typename T>
T combine(T a, T b, ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return static_cast<T>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);
  }
}

float from_bfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out = 0;
  std::memcpy(&out, &wide, sizeof out);
  return out;
}

uint16_t to_bfloat16(float value) {
  uint32_t wide = 0;
  std::memcpy(&wide, &value, sizeof wide);
  return static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
}

// Converts normal numbers and zero; tests send no others.
float from_half(uint16_t bits) {
  if ((bits & 0x7fff) == 0) return 0;
  const uint32_t wide = (static_cast<uint32_t>(bits & 0x8000) << 16) |
                        ((static_cast<uint32_t>(bits & 0x7fff) << 13) + (112u << 23));
  float out = 0;
  std::memcpy(&out, &wide, sizeof out);
  return out;
}

uint16_t to_half(float value) {
  uint32_t wide = 0;
  std::memcpy(&wide, &value, sizeof wide);
  const auto sign = static_cast<uint16_t>((wide >> 16) & 0x8000);
  const uint32_t magnitude = wide & 0x7fffffff;
  if (magnitude < (113u << 23)) return sign;
  return static_cast<uint16_t>(sign | (((magnitude - (112u << 23)) + 0x0fff) >> 13));
}

template <typename T, typename Read, typename Write>
void reduce_as(const Communicator& comm, void* out, size_t count, ncclRedOp_t op, Read read,
               Write write) {
  for (size_t i = 0; i < count; ++i) {
    auto value = read(reinterpret_cast<const T*>(comm.slot(0))[i]);
    for (int rank = 1; rank < comm.ranks; ++rank)
      value = combine(value, read(reinterpret_cast<const T*>(comm.slot(rank))[i]), op);
    if (op == ncclAvg)
      value = static_cast<decltype(value)>(value / static_cast<decltype(value)>(comm.ranks));
    static_cast<T*>(out)[i] = write(value);
  }
}

template <typename T>
void reduce_plain(const Communicator& comm, void* out, size_t count, ncclRedOp_t op) {
  const auto same = [](T value) { return value; };
  reduce_as<T>(comm, out, count, op, same, same);
}

// Reduces the contents of all slots to one result.
void reduce_slots(const Communicator& comm, void* out, size_t count, ncclDataType_t type,
                  ncclRedOp_t op) {
  switch (type) {
    case ncclInt8:
      return reduce_plain<int8_t>(comm, out, count, op);
    case ncclUint8:
      return reduce_plain<uint8_t>(comm, out, count, op);
    case ncclInt32:
      return reduce_plain<int32_t>(comm, out, count, op);
    case ncclUint32:
      return reduce_plain<uint32_t>(comm, out, count, op);
    case ncclInt64:
      return reduce_plain<int64_t>(comm, out, count, op);
    case ncclUint64:
      return reduce_plain<uint64_t>(comm, out, count, op);
    case ncclFloat32:
      return reduce_plain<float>(comm, out, count, op);
    case ncclFloat64:
      return reduce_plain<double>(comm, out, count, op);
    case ncclFloat16:
      return reduce_as<uint16_t>(comm, out, count, op, from_half, to_half);
    default:
      return reduce_as<uint16_t>(comm, out, count, op, from_bfloat16, to_bfloat16);
  }
}

// For each chunk of the data, calls publish(at, size) to fill this rank's slot and, once all slots
// are filled, take(at, size).
template <typename Publish, typename Take>
void in_chunks(const Communicator& comm, size_t bytes, Publish publish, Take take) {
  for (size_t at = 0; at < bytes; at += kChunk) {
    const size_t size = std::min(kChunk, bytes - at);
    publish(at, size);
    if (!cross(comm, comm.rank, (comm.rank + 1) % comm.ranks) || !wait_for_all(comm)) return;
    take(at, size);
    if (!wait_for_all(comm)) return;
  }
}

// Calls pass(at, size) for each letter of a message, until it returns false. A message without
// bytes is a letter too.
template <typename Pass>
void in_letters(size_t bytes, Pass pass) {
  for (size_t at = 0; at == 0 || at < bytes; at += kChunk) {
    if (!pass(at, std::min(kChunk, bytes - at))) return;
  }
}

ncclResult_t run(ncclComm_t handle, cudaStream_t stream, const char* name,
                 std::function<void(const Communicator&)> work) {
  const Comm comm = of(handle);
  const bool hangs = fake_nvidia::lists("FAKE_NCCL_HANG", name);
  stream_of(stream).give([=] {
    if (hangs) {
      wait(*comm, [] { return false; });
      return;
    }
    work(*comm);
    comm->has_run = true;
  });
  return ncclSuccess;
}

std::string path_of(const ncclUniqueId& id) { return std::string("/dev/shm/") + id.internal; }

Board* map_board(const ncclUniqueId& id, int ranks) {
  const size_t chunks = static_cast<size_t>(ranks + ranks * ranks);
  const int fd = open(path_of(id).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(sizeof(Board) + chunks * kChunk)) != 0)
    return nullptr;
  void* address =
      mmap(nullptr, sizeof(Board) + chunks * kChunk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return address == MAP_FAILED ? nullptr : static_cast<Board*>(address);
}

bool all_live(const Communicator& comm) {
  for (int rank = 0; rank < comm.ranks; ++rank) {
    if (kill(comm.board->pids[rank], 0) != 0) return false;
  }
  return true;
}

ncclResult_t join(ncclComm_t* handle, int ranks, const ncclUniqueId& id, int rank) {
  if (ranks > kMostRanks) return ncclInvalidArgument;
  auto comm = std::make_shared<Communicator>();
  comm->board = map_board(id, ranks);
  if (comm->board == nullptr) return ncclSystemError;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->device = current_device();
  comm->board->pids[rank] = getpid();
  comm->board->devices[rank] = fake_nvidia::visible_devices()[static_cast<size_t>(comm->device)];
  const char* const victim = std::getenv("FAKE_NCCL_KILL");
  if (victim != nullptr && unlink(victim) == 0) kill(getpid(), SIGKILL);
  ++comm->board->joined;
  wait(*comm, [&] { return comm->board->joined == ranks; });
  unlink(path_of(id).c_str());
  *handle = reinterpret_cast<ncclComm_t>(new Comm(comm));
  return ncclSuccess;
}

}  // namespace
}  // namespace fake_gpu

using fake_gpu::Communicator;
using fake_gpu::in_chunks;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "fake-nccl-%d-%08x%08x", getpid(), random(),
                random());
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  return fake_gpu::join(comm, ranks, id, rank);
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return fake_gpu::join(comm, ranks, id, rank);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int, ncclUniqueId* id,
                                      ncclConfig_t*) {
  return fake_gpu::join(comm, ranks, id[0], rank);
}

ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*) {
  return ncclInvalidUsage;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete &fake_gpu::of(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  fake_gpu::of(comm)->is_aborted = true;
  return ncclCommDestroy(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* error) {
  if (fake_nvidia::number("FAKE_NCCL_SEES_DEATHS", 0) != 0) {
    *error = fake_gpu::all_live(*fake_gpu::of(handle)) ? ncclSuccess : ncclRemoteError;
    return ncclSuccess;
  }
  const long wanted = fake_nvidia::number("FAKE_NCCL_ASYNC_ERROR", 0);
  *error = fake_gpu::of(handle)->has_run ? static_cast<ncclResult_t>(wanted) : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = fake_gpu::of(comm)->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = fake_gpu::of(comm)->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t, void*, size_t, void** handle) {
  *handle = nullptr;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }
ncclResult_t ncclMemAlloc(void** out, size_t size) {
  return cudaMalloc(out, size) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* address) {
  return cudaFree(address) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const size_t width = fake_gpu::bytes_of(type);
  return fake_gpu::run(comm, stream, "all_reduce", [=](const Communicator& c) {
    in_chunks(
        c, count * width,
        [&](size_t at, size_t size) {
          std::memcpy(c.slot(c.rank), static_cast<const char*>(from) + at, size);
        },
        [&](size_t at, size_t size) {
          fake_gpu::reduce_slots(c, static_cast<char*>(to) + at, size / width, type, op);
        });
  });
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  const size_t width = fake_gpu::bytes_of(type);
  return fake_gpu::run(comm, stream, "reduce", [=](const Communicator& c) {
    in_chunks(
        c, count * width,
        [&](size_t at, size_t size) {
          std::memcpy(c.slot(c.rank), static_cast<const char*>(from) + at, size);
        },
        [&](size_t at, size_t size) {
          if (c.rank == root)
            fake_gpu::reduce_slots(c, static_cast<char*>(to) + at, size / width, type, op);
        });
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return fake_gpu::run(comm, stream, "broadcast", [=](const Communicator& c) {
    in_chunks(
        c, count * fake_gpu::bytes_of(type),
        [&](size_t at, size_t size) {
          if (c.rank == root) std::memcpy(c.slot(root), static_cast<const char*>(from) + at, size);
        },
        [&](size_t at, size_t size) {
          std::memcpy(static_cast<char*>(to) + at, c.slot(root), size);
        });
  });
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * fake_gpu::bytes_of(type);
  return fake_gpu::run(comm, stream, "all_gather", [=](const Communicator& c) {
    in_chunks(
        c, bytes,
        [&](size_t at, size_t size) {
          std::memcpy(c.slot(c.rank), static_cast<const char*>(from) + at, size);
        },
        [&](size_t at, size_t size) {
          for (int rank = 0; rank < c.ranks; ++rank)
            std::memcpy(static_cast<char*>(to) + static_cast<size_t>(rank) * bytes + at,
                        c.slot(rank), size);
        });
  });
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const size_t width = fake_gpu::bytes_of(type);
  return fake_gpu::run(comm, stream, "reduce_scatter", [=](const Communicator& c) {
    for (int owner = 0; owner < c.ranks; ++owner) {
      const char* part =
          static_cast<const char*>(from) + static_cast<size_t>(owner) * count * width;
      in_chunks(
          c, count * width,
          [&](size_t at, size_t size) { std::memcpy(c.slot(c.rank), part + at, size); },
          [&](size_t at, size_t size) {
            if (c.rank == owner)
              fake_gpu::reduce_slots(c, static_cast<char*>(to) + at, size / width, type, op);
          });
    }
  });
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  return fake_gpu::run(comm, stream, "send", [=](const Communicator& c) {
    auto& mail = c.board->mail[c.rank][to];
    fake_gpu::in_letters(count * fake_gpu::bytes_of(type), [&](size_t at, size_t size) {
      if (!fake_gpu::wait(c, [&] { return mail == 0; })) return false;
      std::memcpy(c.letter(c.rank, to), static_cast<const char*>(from) + at, size);
      if (!fake_gpu::cross(c, c.rank, to)) return false;
      mail = 1;
      return true;
    });
  });
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  return fake_gpu::run(comm, stream, "recv", [=](const Communicator& c) {
    auto& mail = c.board->mail[from][c.rank];
    fake_gpu::in_letters(count * fake_gpu::bytes_of(type), [&](size_t at, size_t size) {
      if (!fake_gpu::wait(c, [&] { return mail == 1; })) return false;
      std::memcpy(static_cast<char*>(to) + at, c.letter(from, c.rank), size);
      mail = 0;
      return true;
    });
  });
}
}
