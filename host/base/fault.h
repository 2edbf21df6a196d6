// host/base/fault.h: named places in the code where a test can make this process fail.
//
// RTRAIN_FAULT=point:nth:action[:filter…][,…] says where and how the controller fails, and the
// workers, which inherit its environment:
//   point   a name of kFaultPoints, or a prefix of names: `ckpt.*`, `*`
//   nth     the n-th time that this process reaches the point; `3+` from the third time on
//   action  kill, segv, abort, stop (SIGKILL, SIGSEGV, SIGABRT, SIGSTOP to this process), exit (at
//           once, with status 0), sleep=MS, errno=NAME (throws kEnvironment with that reason),
//           throw (throws kInternal)
//   filter  controller, worker, rank=N, attempt=N: only in such a process
// With -DRTRAIN_FAULT_POINTS=OFF fault_point() is empty. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace rtrain {

struct FaultPointInfo {
  std::string_view name;
  std::string_view place;
};

// Sorted by name. tests/e2e/runs/test_fault_points.py demands a test for every point.
inline constexpr auto kFaultPoints = std::to_array<FaultPointInfo>({
    {"attempt.begin", "controller: before an attempt's row is written"},
    {"attempt.end", "controller: before an attempt's end is written"},
    {"attempt.heal",
     "controller: before the row of an attempt that replaces lost ranks is written"},
    {"channel.read", "either side: a message has arrived"},
    {"channel.send", "either side: before a message is sent"},
    {"ckpt.clear", "controller: a commit is in place, its staging folder not yet removed"},
    {"ckpt.delete", "controller: a dropped checkpoint lies in the trash"},
    {"ckpt.drop", "controller: before a dropped checkpoint goes to the trash"},
    {"ckpt.manifest", "controller: the ranks are merged, there is no manifest yet"},
    {"ckpt.merge", "controller: before the files of one rank are merged"},
    {"ckpt.rename", "controller: all is synced, the folder has its name not yet"},
    {"ckpt.row", "controller: the folder has its name, the row is not written yet"},
    {"ckpt.stage", "worker: before the copy of a rank's files"},
    {"ckpt.staged", "worker: a rank's files are staged, the report is not sent yet"},
    {"ckpt.sync", "controller: the manifest is written, its folder not yet synced"},
    {"ckpt.sync_parents", "controller: the folder has its name, its parents are not synced"},
    {"db.begin", "before a transaction"},
    {"db.commit", "before the COMMIT of a transaction"},
    {"db.committed", "a transaction is committed"},
    {"elastic.back",
     "worker: another rank is lost, before it says that it is back at its last commit"},
    {"elastic.commit", "worker: all ranks have come to the step, it is not kept as committed yet"},
    {"elastic.prepare", "worker: before its part of a step is kept"},
    {"group.spawn", "controller: before a worker is spawned"},
    {"group.start", "controller: before `start` is sent to a rank"},
    {"lock.take", "controller: before the run's lock is taken"},
    {"log.write", "controller: before a worker's output is written to its log"},
    {"run.create", "controller: the folders of a new run are there, its row is not"},
    {"run.end", "controller: before the run's end is written"},
    {"run.exchange", "rename: the folder has its new name, a link still has the old one"},
    {"run.remove", "rm: the folder is moved away, the row's deletion is not committed"},
    {"run.removed", "rm: the row is deleted, the files are not"},
    {"run.rename", "rename: a link has the new name, the row has the old one"},
    {"spare.start", "controller: before a spare is started"},
    {"spare.wait", "spare: before it waits for a lost rank's place"},
    {"sweep.adopt", "controller: before a leftover checkpoint gets its row"},
    {"sweep.begin", "controller: before leftovers are looked for"},
    {"sweep.clear", "controller: the sweep is committed, staging not yet emptied"},
    {"worker.beat", "worker: before a heartbeat, on the control thread"},
    {"worker.exit", "worker: asked to leave, before its finalizers run"},
    {"worker.failed", "worker: before it says that its function raised"},
    {"worker.hello", "worker: before its first message"},
    {"worker.reported", "worker: the report is in the kernel's hands"},
    {"worker.returned", "worker: before it says that its function returned"},
});

// A name of kFaultPoints, checked by the compiler.
class FaultName {
 public:
  consteval FaultName(const char* name) : index_(0) {    // NOLINT: callers write only the name
    while (kFaultPoints[index_].name != name) ++index_;  // beyond the list: not a constant
  }
  constexpr size_t index() const { return index_; }

 private:
  size_t index_;
};

#ifndef RTRAIN_NO_FAULT_POINTS

inline constexpr bool kHasFaultPoints = true;

// Performs the plan's action for this point, if there is one.
void fault_point(FaultName name);

// Sets the plan and restarts counting; "" for no plan. Throws kUsage. Call it before other threads
// exist.
void set_fault_plan(std::string_view text);

// Sets the values for the plan's filters. `rank` -1: the controller.
void set_fault_process(int rank);
void set_fault_attempt(int attempt);

#else

inline constexpr bool kHasFaultPoints = false;
inline void fault_point(FaultName) {}
inline void set_fault_plan(std::string_view) {}
inline void set_fault_process(int) {}
inline void set_fault_attempt(int) {}

#endif

}  // namespace rtrain
