// host/store/checkpoints/run_copy.h: copies all rows of one run from one database to another.
#pragma once

#include <functional>
#include <string>

#include "host/store/db/database.h"

namespace rtrain::store {

// Replaces the rows of the run in `to` by those in the database at `from`, in one transaction,
// inside of which it calls `is_wanted`. Returns false, without any change, if that returns false or
// `from` has no such run. Throws like Database.
bool copy_run(
    Database& to, const std::string& from, const std::string& name,
    const std::function<bool()>& is_wanted = [] { return true; });

}  // namespace rtrain::store
