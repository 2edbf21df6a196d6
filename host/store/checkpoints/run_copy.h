// host/store/checkpoints/run_copy.h: all rows of one run, copied from one database to another.
#pragma once

#include <functional>
#include <string>

#include "host/store/db/database.h"

namespace rtrain {

// Replaces what `to` has of the run of that name by what the database at `from` has, in one
// transaction, inside of which it asks whether that is wanted. Nothing happens, and the answer is
// false, where it is not, or where there is no such run. Errors are those of Database.
bool copy_run(
    Database& to, const std::string& from, const std::string& name,
    const std::function<bool()>& is_wanted = [] { return true; });

}  // namespace rtrain
