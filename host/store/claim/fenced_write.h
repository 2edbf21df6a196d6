// host/store/claim/fenced_write.h: a transaction on a run that first checks that this
// controller still owns the run and that its folder is still in place.
//
// A controller that takes over a run raises runs.owner_epoch. From then on every FencedWrite of
// the old controller throws Error(kEnvironment) that names the new owner, and the old
// controller stops, so that two live controllers never write to one run. It also throws if the
// run's folder was moved or removed (RunPlace). If only the store's file is missing, it is
// written again from the open one, and the write continues. The destructor rolls back unless
// commit() was called.
#pragma once

#include <optional>
#include <string_view>

#include "host/store/claim/run_claim.h"

namespace rtrain::store {

class FencedWrite {
 public:
  FencedWrite(RunClaim& claim, Durability durability);

  // Runs one statement with its parameters. Returns the number of rows it changed.
  template <class... Args>
  int64_t run(std::string_view sql, const Args&... args) {
    return claim_.database.run(sql, args...);
  }
  Statement prepare(std::string_view sql) { return claim_.database.prepare(sql); }

  void commit();

 private:
  RunClaim& claim_;
  Durability durability_;
  double started_s_;
  std::optional<Transaction> transaction_;
};

// Calls work(write) with a FencedWrite and commits it. Repeats it after temporary failures.
template <class Work>
void write_fenced(RunClaim& claim, Durability durability, Work work) {
  claim.patience([&] {
    FencedWrite write(claim, durability);
    work(write);
    write.commit();
  });
}

}  // namespace rtrain::store
