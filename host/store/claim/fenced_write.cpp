#include "host/store/claim/fenced_write.h"

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/store/claim/run_owner.h"

namespace rtrain::store {
namespace {

Error fenced(RunClaim& claim) {
  claim.lost = true;
  Statement query = claim.database.prepare("SELECT owner FROM runs WHERE run_id = ?");
  if (!query.add(claim.run_id).next()) {
    return Error(Code::kEnvironment,
                 cat("the run '", claim.name, "' was removed from ", claim.database.path(),
                     " while it was running: this controller stops, nothing more is written"));
  }
  return Error(Code::kEnvironment, cat("the run '", claim.name, "' was taken over by ",
                                       RunOwner::from_json(query.text(0)).to_text(),
                                       ": this controller stops, nothing more is written"));
}

}  // namespace

void RunClaim::check() {
  place.check();
  Statement query = database.prepare("SELECT 1 FROM runs WHERE run_id = ? AND owner_epoch = ?");
  if (!query.add(run_id).add(owner_epoch).next()) throw fenced(*this);
}

FencedWrite::FencedWrite(RunClaim& claim, Durability durability)
    : claim_(claim), durability_(durability), started_s_(monotonic_s()) {
  claim.place.check();
  transaction_.emplace(claim.database, durability);
  try {
    while (!claim.database.is_in_place()) {
      claim.database.write_copy();
      transaction_.reset();
      claim.database.reopen();
      if (claim.on_restored) claim.on_restored();
      transaction_.emplace(claim.database, durability);
    }
  } catch (const Error&) {
    claim.place.check();  // the folder may be going too: that is the cause then
    throw;
  }
  const int64_t rows = run("UPDATE runs SET updated_at = ? WHERE run_id = ? AND owner_epoch = ?",
                           now_ms(), claim.run_id, claim.owner_epoch);
  if (rows != 1) throw fenced(claim);
}

void FencedWrite::commit() {
  transaction_->commit();
  const double now = monotonic_s();
  claim_.commit_s = now - started_s_;
  claim_.unsynced = durability_ == Durability::kNormal;
  if (durability_ == Durability::kFull) claim_.last_sync_s = now;
}

}  // namespace rtrain::store
