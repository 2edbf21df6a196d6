// host/store/user_statement.h: SQL that a user wrote.
#pragma once

#include <string>

#include "host/store/database.h"

namespace rtrain {

// A statement that only reads. Throws Error(kUsage) for any other, and for mistakes in it; `what`
// begins the message.
Statement user_statement(Database& database, const std::string& sql, const std::string& what);

}  // namespace rtrain
