#include "host/store/db/statement.h"

#include <sqlite3.h>

#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/db/database.h"

namespace rtrain::store {

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      bound_(other.bound_),
      what_(std::move(other.what_)) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::add(int64_t value) {
  RT_CHECK(sqlite3_bind_int64(statement_, ++bound_, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::add(double value) {
  RT_CHECK(sqlite3_bind_double(statement_, ++bound_, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::add(Blob value) {
  const char* bytes = value.bytes.empty() ? "" : value.bytes.data();
  const int result =
      sqlite3_bind_blob64(statement_, ++bound_, bytes, value.bytes.size(), SQLITE_TRANSIENT);
  if (result != SQLITE_OK) throw database_->error(result);
  return *this;
}

Statement& Statement::add(std::string_view value) {
  // SQLite would bind a null pointer as NULL instead of as an empty text.
  const char* bytes = value.empty() ? "" : value.data();
  const int result =
      sqlite3_bind_text64(statement_, ++bound_, bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (result != SQLITE_OK) throw database_->error(result);
  return *this;
}

Statement& Statement::add(std::nullptr_t) {
  RT_CHECK(sqlite3_bind_null(statement_, ++bound_) == SQLITE_OK);
  return *this;
}

bool Statement::next() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  const StorageError failure = database_->error(result);
  const std::string reason = sqlite3_errmsg(database_->handle());
  sqlite3_reset(statement_);
  if (what_.empty() || failure.code() != Code::kInternal) throw failure;
  const char* limit = result == SQLITE_INTERRUPT ? "this takes too long"
                      : result == SQLITE_NOMEM   ? "this takes too much memory"
                      : result == SQLITE_TOOBIG  ? "a text or blob in it is too large"
                                                 : nullptr;
  throw Error(Code::kUsage, cat(what_, ": ", limit != nullptr ? limit : reason));
}

void Statement::run() {
  while (next()) continue;
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bound_ = 0;
}

bool Statement::is_read_only() const { return sqlite3_stmt_readonly(statement_) != 0; }
int Statement::columns() const { return sqlite3_column_count(statement_); }
std::string Statement::column_name(int column) const {
  return sqlite3_column_name(statement_, column);
}
bool Statement::is_null(int column) const { return type(column) == SQLITE_NULL; }
int Statement::type(int column) const { return sqlite3_column_type(statement_, column); }
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const { return std::string(text_view(column)); }

std::string_view Statement::text_view(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

std::optional<int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

}  // namespace rtrain::store
