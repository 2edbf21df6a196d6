// host/store/read/checkpoint_rows.h: the checkpoints of a run, for `rtrain checkpoint ls`.
#pragma once

#include "host/base/value.h"
#include "host/store/read/open_store.h"

namespace rtrain::store {

// Kept checkpoints by index: {name, path, index, attempt, metrics, size_bytes, created_at, status,
// latest, best}, `problem` if the validation failed, and `uri` in an object store, whose
// checkpoints are downloaded when they are read. `all` adds `kept`, `state`, and dropped and
// missing ones.
List checkpoint_rows(OpenStore& store, const RunRef& run, bool all);

}  // namespace rtrain::store
