// host/store/claim/fenced_write.h: a transaction on a run that begins by proving that the run is
// ours and still where it was.
//
// Who takes a run over raises runs.owner_epoch. From then on every FencedWrite of the old
// controller throws Error(kEnvironment) that names the new owner, and the controller stops
// everything: two live controllers never write one run. It also does where the run's folder was
// moved or removed (RunPlace). Where the store's file alone is gone, the file is written again from
// the one that is still open, and everything goes on. Rolls back when it is destroyed without
// commit().
#pragma once

#include <optional>
#include <string_view>

#include "host/store/claim/run_claim.h"

namespace rtrain {

class FencedWrite {
 public:
  FencedWrite(RunClaim& claim, Durability durability);

  // One statement with its parameters; returns the number of rows it changed.
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

// Calls work(write) with a FencedWrite and commits it; again while that fails for what may pass.
template <class Work>
void write_fenced(RunClaim& claim, Durability durability, Work work) {
  claim.patience([&] {
    FencedWrite write(claim, durability);
    work(write);
    write.commit();
  });
}

}  // namespace rtrain
