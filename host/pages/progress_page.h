// host/pages/progress_page.h: the progress of a rank, in shared memory: one page for each rank of a
// ProgressBoard.
//
// A rank writes its own page without a lock or a system call. The process that has started it (the
// controller, or a node's agent) reads the page at any time, also while the rank is stopped and
// after it was killed. Ranks read each other's collectives.
//
// Invariants: 1 a PageCell's data are written between two increments of its version, so that a
// reader notices a torn copy; 2 the page is plain data, the same in every process of one build (the
// board has a version); 3 the worker's main thread holds the lock `alive` for life, so that its
// death is seen as EOWNERDEAD before the kernel has freed its memory.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "host/base/phase_clock.h"
#include "host/base/wait_kind.h"
#include "host/pages/shared_flag.h"

namespace rtrain::pages {

inline constexpr uint32_t kProgressVersion = 10;

// Text in a page. A longer text is cut off.
template <size_t Size>
struct PageText {
  char bytes[Size] = {};

  void set(std::string_view text) {
    const size_t size = text.size() < Size - 1 ? text.size() : Size - 1;
    for (size_t i = 0; i < size; ++i) bytes[i] = text[i];
    bytes[size] = '\0';
  }
  std::string_view view() const {
    size_t size = 0;
    while (size < Size && bytes[size] != '\0') ++size;
    return {bytes, size};
  }
};

// Data with one writer and any number of readers in other processes. A reader that comes while the
// data are being written tries again.
template <class Data>
class PageCell {
 public:
  void write(const Data& data) {
    begin();
    data_ = data;
    end();
  }
  // Changes the data in place.
  template <class Change>
  void update(Change change) {
    begin();
    change(data_);
    end();
  }
  // Returns a copy; nullopt when the writer was stopped while it wrote.
  std::optional<Data> read() const {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const uint64_t before = version_.load(std::memory_order_acquire);
      const Data copy = data_;
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return copy;
    }
    return std::nullopt;
  }

 private:
  void begin() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  void end() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  std::atomic<uint64_t> version_{0};
  Data data_{};
};

inline constexpr int kPageFrames = 8;
using PageFrame = PageText<96>;  // "train.lua:12"

// A call that waits for something outside this process. depth 0: the rank does not wait.
struct BlockedCall {
  int depth = 0;
  WaitKind kind = WaitKind::kOwn;
  double since_s = 0;  // monotonic clock
  PageText<48> operation;
  int num_frames = 0;
  std::array<PageFrame, kPageFrames> frames;  // of Lua, the innermost first
};

// A collective that the rank has called. Its calls are numbered from 1.
struct CollectiveCall {
  uint64_t sequence = 0;
  double time_s = 0;  // monotonic clock
  PageText<32> operation;
  PageText<96> tensors;  // "float32 [64, 3]"
  PageFrame line;

  // Whether two ranks may have called the same collective.
  bool agrees_with(const CollectiveCall& other) const {
    return operation.view() == other.operation.view() && tensors.view() == other.tensors.view();
  }
};

// A collective in a group of some of the ranks. Each group numbers its calls from 1.
struct GroupCall {
  uint64_t group = 0;
  CollectiveCall call;
};

// The number of the collective in which the rank's device waits, whatever the rank's thread does;
// 0: the device does not wait.
struct DeviceWait {
  uint64_t sequence = 0;
  double since_s = 0;  // monotonic clock
};

// The connections from this rank to a node, looked at many times a second. All empty: none.
struct LinkCounts {
  PageText<46> own, peer;  // the numeric addresses of their ends
  uint64_t bytes = 0;      // that have arrived there
  uint64_t looks = 0;
  uint64_t waits = 0;  // of them, those that have seen many bytes under way
};

// train.busy(): until `until_s` no silence of this rank counts as a hang.
struct BusyCall {
  double until_s = 0;
  PageText<96> reason;
};

inline constexpr int kNativeFrames = 48;

struct NativeFrame {
  uint64_t offset = 0;     // of the instruction in the module
  PageText<40> module;     // "libtorch_cpu.so"
  PageText<152> function;  // mangled; empty when unknown
};

// A fatal signal in a worker, and the frames of the thread that it came to.
struct Crash {
  int signal = 0;
  uint64_t address = 0;
  PageText<16> thread;
  PageText<512> reason;  // the text of an exception that was not caught
  int num_lua = 0;
  std::array<PageFrame, kPageFrames> lua;
  int num_native = 0;
  std::array<NativeFrame, kNativeFrames> native;
};

struct ProgressPage {
  static constexpr size_t kCollectives = 64;
  static constexpr size_t kGroupCalls = 32;
  static constexpr size_t kLinks = 16;

  pthread_mutex_t alive;               // robust, shared
  std::atomic<uint32_t> attached{0};   // 1: the worker has locked `alive`
  std::atomic<uint32_t> returned{0};   // 1: its train function has returned, no collective follows
  SharedFlag saving;                   // its main thread waits for its checkpoint
  std::atomic<double> beat_s{0};       // heartbeat of the control thread, monotonic clock
  std::atomic<double> lease_s{0};      // the rank may run until then, boot_s(); 0: no limit
  std::atomic<uint64_t> operators{0};  // calls of LibTorch's operators
  std::atomic<uint64_t> collectives{0};  // calls in the group of all ranks
  std::atomic<uint64_t> group_collectives{0};
  std::atomic<uint64_t> reports{0};
  std::atomic<uint64_t> batches{0};      // that loaders have made
  std::atomic<uint64_t> bytes{0};        // copied to storage
  std::atomic<int> program{0};           // pid of the user's program, where the rank runs one
  std::atomic<int64_t> memory_bytes{0};  // of a spare: as much as a rank of its node has
  PhaseCounts phases;                    // the time of its main thread
  std::atomic<double> report_wait_s{0};  // of it, in waits of WaitKind::kReport that have ended
  PageCell<BlockedCall> blocked;
  PageCell<BusyCall> busy;
  PageCell<DeviceWait> device;
  std::array<PageCell<CollectiveCall>, kCollectives> calls;  // by sequence % kCollectives
  std::array<PageCell<GroupCall>, kGroupCalls> group_calls;  // by group_collectives % kGroupCalls
  std::array<PageCell<LinkCounts>, kLinks> links;            // over which it has sent tensors
  Crash crash;                                               // complete when `signal` is set

  // The rank's collective of this number; nullopt when it was not called yet, or was overwritten.
  std::optional<CollectiveCall> call(uint64_t sequence) const {
    const auto found = calls[sequence % kCollectives].read();
    return found && found->sequence == sequence ? found : std::nullopt;
  }
  // The collective of this number in a group; else nullopt.
  std::optional<CollectiveCall> group_call(uint64_t group, uint64_t sequence) const {
    for (const auto& cell : group_calls) {
      const auto found = cell.read();
      if (found && found->group == group && found->call.sequence == sequence) return found->call;
    }
    return std::nullopt;
  }
  // The number of the group's latest collective; UINT64_MAX where other groups' have replaced it.
  uint64_t group_count(uint64_t group) const {
    const bool is_full = group_collectives.load(std::memory_order_acquire) > kGroupCalls;
    uint64_t out = 0;
    for (const auto& cell : group_calls) {
      const auto found = cell.read();
      if (found && found->group == group && found->call.sequence > out) {
        out = found->call.sequence;
      }
    }
    return out == 0 && is_full ? UINT64_MAX : out;
  }
};

// A sum of all counters: it changes when the rank makes any progress.
inline uint64_t progress_of(const ProgressPage& page) {
  return page.operators.load(std::memory_order_relaxed) +
         page.collectives.load(std::memory_order_relaxed) +
         page.group_collectives.load(std::memory_order_relaxed) +
         page.reports.load(std::memory_order_relaxed) +
         page.batches.load(std::memory_order_relaxed) + page.bytes.load(std::memory_order_relaxed);
}

}  // namespace rtrain::pages
