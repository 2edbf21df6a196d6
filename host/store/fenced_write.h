// host/store/fenced_write.h: a transaction on a run that begins by proving that the run is ours.
//
// Who takes a run over raises runs.owner_epoch. From then on every FencedWrite of the old
// controller throws Error(kEnvironment) that names the new owner, and the controller stops
// everything: two live controllers never write one run. Rolls back when it is destroyed without
// commit().
#pragma once

#include <string_view>

#include "host/store/run_claim.h"

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
  Transaction transaction_;
};

}  // namespace rtrain
