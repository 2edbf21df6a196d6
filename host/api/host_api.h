// host/api/host_api.h: the functions of the executable that librtrain_engine.so calls: one
// versioned struct of function pointers.
//
// The engine is loaded from memory at first use. Of the executable it links only lua_*, and calls
// all else through this struct. Each change of the struct is a new version, with which an older
// engine does not open. Thread: any, unless a function says otherwise. All throw rtrain::Error.
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

// A group of some of the ranks. Its collectives have their own numbers.
struct CollectiveGroup {
  uint64_t id = 0;         // the same on all its ranks, different for each group of the attempt
  std::vector<int> ranks;  // in the order of the group
  uint64_t count = 0;      // the number of this rank's collectives in it

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

  // Whether this process is a worker now: only then can the store below be used.
  bool (*has_store)() = nullptr;

  // The attempt's key-value store, which the controller holds. All throw kPeerLost once the channel
  // to it is closed; but store_set and store_delete then do nothing, since destructors call them.
  void (*store_set)(const std::string& key, const std::string& value) = nullptr;
  // Waits until the key exists. Throws kTimeout, which names the key.
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

  // The engine calls these before and after a call that may block. The controller then knows where
  // and for what the rank waits. Messages show the operation.
  void (*enter_blocking)(WaitKind kind, const char* operation) = nullptr;
  void (*leave_blocking)() = nullptr;
  // The engine calls these where a phase of the main thread begins and ends, as with PhaseClock. On
  // another thread they do nothing.
  int (*enter_phase)(TrainPhase phase) = nullptr;
  void (*leave_phase)(int depth) = nullptr;
  void (*mark_collective)() = nullptr;
  // Called before a collective moves data, with its name and its tensors as a text that is the same
  // on every rank. `group`: null for all ranks. Returns its number in the order of this rank's
  // calls; 0 in a group of some ranks, and outside of a worker. Throws Error(kUser) when another
  // rank has called a different one in its place.
  uint64_t (*enter_collective)(const char* operation, const std::string& tensors,
                               CollectiveGroup* group) = nullptr;
  // The device waits in this rank's collective with this number; 0: it waits in none.
  void (*set_device_wait)(uint64_t number) = nullptr;
  // "rank 1 has not called it, its last one is …": a text about the ranks that have not called the
  // collective with this number, or with 0 this rank's latest, in the group if one is given. Empty:
  // all have called it. Nullopt: the other ranks' pages cannot be read.
  std::optional<std::string> (*absent_ranks)(uint64_t number,
                                             const CollectiveGroup* group) = nullptr;
  // This rank cannot continue, whatever its main thread does: notifies the controller, gives it
  // some time, and ends the process. Returns where this process is not a worker process.
  void (*end_worker)(const Error& error) = nullptr;
  // Sets the function that returns the devices' state as JSON, for `rtrain stack`; it may be slow.
  void (*set_device_trace)(std::string (*trace)()) = nullptr;
  // Counters that the engine increments, so that the controller sees this process's progress.
  std::atomic<uint64_t>* operators = nullptr;
  std::atomic<uint64_t>* batches = nullptr;

  // Creates a Lua state with all modules, for a loader thread. The calling thread closes it with
  // close_state.
  lua_State* (*new_state)() = nullptr;
  void (*close_state)(lua_State* L) = nullptr;

  // A thread of the engine begins and ends to write this file (an absolute path). A report whose
  // checkpoint has the file waits for the end. Null where this process makes no reports.
  void (*write_begun)(const std::string& path) = nullptr;
  void (*write_ended)(const std::string& path, const std::optional<Error>& error) = nullptr;

  // Lowers the calling thread's priority: it works in the background of the training.
  void (*enter_background)() = nullptr;

  // Writes one line to the process's stderr (a worker's stderr goes to its log).
  void (*warn)(const std::string& text) = nullptr;
};

// The engine's only exported symbol. Pushes the module table `torch._C` onto the stack. Called once
// for each Lua state.
using EngineOpen = int (*)(lua_State* L, const HostApi* host);
inline constexpr const char* kEngineOpenName = "rtrain_engine_open";

}  // namespace rtrain::api
