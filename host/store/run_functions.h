// host/store/run_functions.h: SQL functions of the read side: run_is_live(name), is_final(status)
// and now_ms().
#pragma once

#include <string>

#include "host/store/database.h"

namespace rtrain {

// `storage_path` outlives the database.
void add_run_functions(Database& database, const std::string& storage_path);

}  // namespace rtrain
