// host/store/db/schema.h: the tables and views of rtrain.db and its forward migrations.
#pragma once

#include <string>

namespace rtrain::store {

class Database;

inline constexpr int kSchemaVersion = 9;

// Migrates the file from its `PRAGMA user_version` to kSchemaVersion in one transaction. Throws
// kEnvironment if a newer rtrain wrote the file.
void migrate(Database& database);

// The documented definition of every table and view, as `rtrain sql --schema` prints it.
std::string schema_text();

// Throws kEnvironment for a database that is not a store. Accepts a newer version for reading;
// migrate() refuses it.
void check_is_store(Database& database);

}  // namespace rtrain::store
