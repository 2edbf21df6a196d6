// host/api/host_api.h: what the executable offers to librtrain_engine.so: one versioned struct of
// function pointers.
//
// The engine is loaded from memory at first use and links nothing of the executable but lua_*; the
// rest goes through here. It refuses to open with another version: a change of the struct is one.
// Every function may be called from any thread unless it says otherwise, and throws rtrain::Error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/phase_clock.h"
#include "host/base/wait_kind.h"

struct lua_State;

namespace rtrain::api {

// Some of the ranks, whose collectives are counted apart from those of all.
struct CollectiveGroup {
  uint64_t id = 0;         // the same on all of them, and no other group's of the attempt
  std::vector<int> ranks;  // in the order of the group
  uint64_t count = 0;      // of this rank's collectives in it

  // "the group of ranks 0, 2"
  std::string text() const {
    std::string out = "the group of ranks ";
    for (const int rank : ranks) out += (rank == ranks[0] ? "" : ", ") + std::to_string(rank);
    return out;
  }
};

struct HostApi {
  static constexpr uint32_t kVersion = 6;
  uint32_t version = kVersion;

  // Whether this process is a worker now, so that the store below is there.
  bool (*has_store)() = nullptr;

  // The attempt's key-value store, kept by the controller. All throw kPeerLost once the channel to
  // it is closed, except store_set and store_delete, which then do nothing (destructors call them).
  void (*store_set)(const std::string& key, const std::string& value) = nullptr;
  // Waits until the key exists; throws kTimeout naming the key.
  std::string (*store_get)(const std::string& key, std::chrono::milliseconds timeout) = nullptr;
  int64_t (*store_add)(const std::string& key, int64_t delta) = nullptr;
  bool (*store_check)(const std::vector<std::string>& keys) = nullptr;
  void (*store_wait)(const std::vector<std::string>& keys,
                     std::chrono::milliseconds timeout) = nullptr;
  bool (*store_delete)(const std::string& key) = nullptr;
  int64_t (*store_num_keys)() = nullptr;
  // Returns the value after the call.
  std::string (*store_compare_set)(const std::string& key, const std::string& expected,
                                   const std::string& desired) = nullptr;

  // Brackets a call that may block, so that the controller can say where a rank waits and knows
  // for what. The operation is the text that people see.
  void (*enter_blocking)(WaitKind kind, const char* operation) = nullptr;
  void (*leave_blocking)() = nullptr;
  // Brackets what a rank's main thread spends its time on, as PhaseClock does; nothing on another
  // thread.
  int (*enter_phase)(TrainPhase phase) = nullptr;
  void (*leave_phase)(int depth) = nullptr;
  void (*mark_collective)() = nullptr;
  // A collective is about to move data: its name and its tensors as text, the same on every rank.
  // Gives its number in the order of this rank's calls, 0 where nobody counts and for one of a
  // group of some ranks (null: of all). Throws Error(kUser) when another rank has called another
  // one at this place in the order.
  uint64_t (*enter_collective)(const char* operation, const std::string& tensors,
                               CollectiveGroup* group) = nullptr;
  // The device waits in the collective of that number, which this rank has given to it; 0: in none.
  void (*set_device_wait)(uint64_t number) = nullptr;
  // "rank 1 has not called it, its last one is …" of the ranks that have not come to the collective
  // of that number; 0 is this rank's latest. Of the group's, where there is one. Empty: all have;
  // nothing: the ranks cannot be seen.
  std::optional<std::string> (*absent_ranks)(uint64_t number,
                                             const CollectiveGroup* group) = nullptr;
  // This rank cannot go on, whatever its own thread is stuck in: tells the controller, waits for
  // being ended, and ends the process. Returns where that is not a worker of its own.
  void (*end_worker)(const Error& error) = nullptr;
  // What is asked for the device's state with the stacks of this process: JSON. May wait long.
  void (*set_device_trace)(std::string (*trace)()) = nullptr;
  // What this process has done so far, for the controller to see that it goes on.
  std::atomic<uint64_t>* operators = nullptr;
  std::atomic<uint64_t>* batches = nullptr;

  // A new Lua state with all modules, for a loader thread; closed by the caller's thread with
  // close_state.
  lua_State* (*new_state)() = nullptr;
  void (*close_state)(lua_State* L) = nullptr;

  // A file that a thread of the engine writes: a report whose checkpoint holds it waits for the
  // end. The path is absolute. Null where nobody reports.
  void (*write_begun)(const std::string& path) = nullptr;
  void (*write_ended)(const std::string& path, const std::optional<Error>& error) = nullptr;

  // The calling thread works alongside the training from now on and gives way to it.
  void (*enter_background)() = nullptr;

  // One line on the process's stderr (a worker's goes to its log).
  void (*warn)(const std::string& text) = nullptr;
};

// The engine's only exported symbol: pushes the module table `torch._C`. Called once for each Lua
// state.
using EngineOpen = int (*)(lua_State* L, const HostApi* host);
inline constexpr const char* kEngineOpenName = "rtrain_engine_open";

}  // namespace rtrain::api
