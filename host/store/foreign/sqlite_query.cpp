#include "host/store/foreign/sqlite_query.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr int64_t kSampledRows = 1000;
constexpr int kPatienceMs = 30'000;
constexpr std::array kTypeNames = {"null", "int64", "float64", "string", "binary"};

// The name of a value's type in SQL.
std::string_view sql_name(int type) {
  switch (type) {
    case SQLITE_INTEGER:
      return "INTEGER";
    case SQLITE_FLOAT:
      return "REAL";
    case SQLITE_TEXT:
      return "TEXT";
    case SQLITE_BLOB:
      return "BLOB";
    default:
      return "NULL";
  }
}

// The name of the column that such values make.
std::string_view value_type_name(int type) {
  return type == SQLITE_INTEGER ? "int64"
         : type == SQLITE_FLOAT ? "float64"
         : type == SQLITE_TEXT  ? "string"
                                : "binary";
}

unsigned bit(int type) { return 1U << type; }

// The type of a column without values, by SQLite's rules for declared types.
ValueColumn::Type declared_type(const char* declared) {
  std::string name = declared == nullptr ? "" : declared;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("INT")) return ValueColumn::Type::kInteger;
  if (has("CHAR") || has("CLOB") || has("TEXT")) return ValueColumn::Type::kText;
  if (has("BLOB")) return ValueColumn::Type::kBlob;
  if (has("REAL") || has("FLOA") || has("DOUB")) return ValueColumn::Type::kReal;
  return ValueColumn::Type::kNull;
}

bool has_bytes(const std::string& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return !missing && size > 0;
}

}  // namespace

SqliteQuery::SqliteQuery(std::string path, const std::string& sql, const Value& parameters)
    : path_(std::move(path)) {
  try {
    connect();
    prepare(sql);
    bind(parameters);
  } catch (...) {
    sqlite3_finalize(statement_);
    sqlite3_close_v2(database_);
    throw;
  }
}

SqliteQuery::~SqliteQuery() {
  sqlite3_finalize(statement_);
  sqlite3_close_v2(database_);
}

void SqliteQuery::open(const std::string& name, int flags) {
  sqlite3_close_v2(std::exchange(database_, nullptr));
  const int result = sqlite3_open_v2(name.c_str(), &database_,
                                     flags | SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  if (result != SQLITE_OK) fail(result);
  sqlite3_busy_timeout(database_, kPatienceMs);
}

// A file with a write-ahead log needs a file of shared memory next to it. Where that cannot be
// made, a file without a log is read as one that does not change.
void SqliteQuery::connect() {
  if (!path_exists(path_)) throw Error(Code::kNotFound, cat("no such file: '", path_, "'"));
  if (std::filesystem::is_directory(path_)) {
    throw Error(Code::kArgument, cat("cannot read '", path_, "': it is a folder"));
  }
  open(path_, 0);
  const auto look = [&] {
    return sqlite3_exec(database_, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
  };
  int result = look();
  if ((result & 0xff) == SQLITE_CANTOPEN && !has_bytes(path_ + "-wal")) {
    std::string uri = "file:";
    for (const char c : path_) {
      uri += c == '?' ? "%3f" : c == '#' ? "%23" : c == '%' ? "%25" : std::string(1, c);
    }
    open(uri + "?immutable=1", SQLITE_OPEN_URI);
    result = look();
  }
  if (result != SQLITE_OK) fail(result);
}

void SqliteQuery::fail(int result) const {
  const std::string message =
      database_ == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database_);
  const auto text = [&](std::string_view detail) {
    return cat("cannot read '", path_, "'", row_ > 0 ? cat(", row ", row_) : "", ": ", detail);
  };
  switch (result & 0xff) {
    case SQLITE_NOTADB:
      throw Error(Code::kArgument, text("it is not an SQLite database"));
    case SQLITE_CORRUPT:
      throw Error(Code::kArgument, text(cat("it is damaged: ", message)));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(Code::kEnvironment, text(cat("another program has locked it for ",
                                               kPatienceMs / 1000, " s: ", message)));
    case SQLITE_NOMEM:
      throw Error(Code::kOutOfMemory, text("not enough memory"));
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      throw Error(Code::kEnvironment, text(message));
    default:
      throw Error(Code::kArgument,
                  cat("cannot run the query on '", path_, "'", row_ > 0 ? cat(", row ", row_) : "",
                      ": ", message, tables_like(message)));
  }
}

// The suggestion to append to a message about an unknown table.
std::string SqliteQuery::tables_like(std::string_view message) const {
  constexpr std::string_view kUnknown = "no such table: ";
  if (!message.starts_with(kUnknown)) return "";
  std::vector<std::string> names;
  sqlite3_exec(
      database_, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name",
      [](void* out, int, char** values, char**) {
        static_cast<std::vector<std::string>*>(out)->emplace_back(values[0]);
        return 0;
      },
      &names, nullptr);
  return suggestion(std::string(message.substr(kUnknown.size())), names);
}

void SqliteQuery::refuse(std::string_view detail) const {
  throw Error(Code::kArgument, cat("cannot run the query on '", path_, "': ", detail));
}

void SqliteQuery::prepare(const std::string& sql) {
  const char* rest = nullptr;
  const int result = sqlite3_prepare_v2(database_, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                        &statement_, &rest);
  if (result != SQLITE_OK) fail(result);
  if (statement_ == nullptr) refuse("it is empty");
  sqlite3_stmt* second = nullptr;
  const int more = sqlite3_prepare_v2(database_, rest, -1, &second, nullptr);
  const bool is_one = more == SQLITE_OK && second == nullptr;
  sqlite3_finalize(second);
  if (!is_one) refuse("it has to be one statement");
  if (sqlite3_column_count(statement_) == 0 || sqlite3_stmt_readonly(statement_) == 0) {
    refuse("nothing but reading is allowed: say SELECT");
  }
  std::set<std::string> names;
  for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
    if (!names.insert(column_name(i)).second) {
      refuse(cat("two columns are named '", column_name(i), "': say AS"));
    }
  }
}

std::string SqliteQuery::column_name(int column) const {
  return sqlite3_column_name(statement_, column);
}

void SqliteQuery::bind_one(int place, const Value& value) {
  int result = SQLITE_OK;
  if (value.is_map() && value.as_map().empty()) {
    result = sqlite3_bind_null(statement_, place);
  } else if (value.is_bool()) {
    result = sqlite3_bind_int(statement_, place, value.as_bool() ? 1 : 0);
  } else if (value.is_int()) {
    result = sqlite3_bind_int64(statement_, place, value.as_int());
  } else if (value.is_float()) {
    result = sqlite3_bind_double(statement_, place, value.as_float());
  } else if (value.is_string()) {
    const std::string& text = value.as_string();
    result = sqlite3_bind_text64(statement_, place, text.data(), text.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
  } else {
    refuse(cat("sql_params: value ", place, " is not a number, a string, a boolean or torch.none"));
  }
  if (result != SQLITE_OK) fail(result);
}

void SqliteQuery::bind(const Value& parameters) {
  const int wanted = sqlite3_bind_parameter_count(statement_);
  const bool by_name = parameters.is_map() && !parameters.as_map().empty();
  const List none;
  const List& list = parameters.is_list() ? parameters.as_list() : none;
  if (!by_name && static_cast<int>(list.size()) != wanted) {
    refuse(cat("it has ", wanted, " parameters, and sql_params ", list.size()));
  }
  for (int place = 1; place <= wanted; ++place) {
    if (!by_name) {
      bind_one(place, list[static_cast<size_t>(place) - 1]);
      continue;
    }
    const char* name = sqlite3_bind_parameter_name(statement_, place);
    const Value* value = name == nullptr ? nullptr : parameters.as_map().find(name + 1);
    if (value == nullptr) {
      refuse(cat("sql_params has no value for ", name == nullptr ? "?" : name));
    }
    bind_one(place, *value);
  }
}

// SQLite would begin again after the end.
bool SqliteQuery::step() {
  if (is_over_) return false;
  const int result = sqlite3_step(statement_);
  is_over_ = result != SQLITE_ROW;
  if (is_over_ && result != SQLITE_DONE) fail(result);
  return !is_over_;
}

std::vector<SqliteQuery::Type> SqliteQuery::sample() {
  const auto count = static_cast<size_t>(sqlite3_column_count(statement_));
  std::vector<unsigned> kinds(count);
  for (row_ = 0; row_ < kSampledRows && step(); ++row_) {
    for (size_t i = 0; i < count; ++i) {
      kinds[i] |= bit(sqlite3_column_type(statement_, static_cast<int>(i)));
    }
  }
  sqlite3_reset(statement_);
  row_ = 0;
  is_over_ = false;
  std::vector<Type> out;
  for (size_t i = 0; i < count; ++i) out.push_back(sampled_type(static_cast<int>(i), kinds[i]));
  return out;
}

SqliteQuery::Type SqliteQuery::sampled_type(int column, unsigned kinds) const {
  kinds &= ~bit(SQLITE_NULL);
  if (kinds == 0) return declared_type(sqlite3_column_decltype(statement_, column));
  if (kinds == bit(SQLITE_INTEGER)) return Type::kInteger;
  if ((kinds & ~(bit(SQLITE_INTEGER) | bit(SQLITE_FLOAT))) == 0) return Type::kReal;
  if (kinds == bit(SQLITE_TEXT)) return Type::kText;
  if (kinds == bit(SQLITE_BLOB)) return Type::kBlob;
  std::string names;
  for (const int type : {SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB}) {
    if ((kinds & bit(type)) != 0) names += cat(names.empty() ? "" : " and ", sql_name(type));
  }
  refuse(cat("column '", column_name(column), "' holds ", names,
             ": say CAST(… AS TEXT) or AS BLOB in the query"));
}

Value SqliteQuery::columns() {
  if (columns_.empty()) {
    const std::vector<Type> types = sample();
    for (size_t i = 0; i < types.size(); ++i) {
      columns_.emplace_back(column_name(static_cast<int>(i)), types[i]);
    }
  }
  List out;
  for (const ValueColumn& column : columns_) {
    out.push_back(
        Map{{"name", column.name()}, {"type", kTypeNames[static_cast<size_t>(column.type())]}});
  }
  return out;
}

void SqliteQuery::set_types(const Value& types) {
  const int count = sqlite3_column_count(statement_);
  if (!types.is_list() || static_cast<int>(types.as_list().size()) != count) {
    refuse("its columns have changed");
  }
  for (int i = 0; i < count; ++i) {
    const std::string& name = types.as_list()[static_cast<size_t>(i)].as_string();
    const auto found = std::find(kTypeNames.begin(), kTypeNames.end(), name);
    RT_CHECK(found != kTypeNames.end());
    columns_.emplace_back(column_name(i), static_cast<Type>(found - kTypeNames.begin()));
  }
}

int64_t SqliteQuery::skip(int64_t count) {
  int64_t done = 0;
  for (; done < count && step(); ++done) ++row_;
  return done;
}

void SqliteQuery::read_value(int place) {
  ValueColumn& column = columns_[static_cast<size_t>(place)];
  const int type = sqlite3_column_type(statement_, place);
  const auto misfit = [&](std::string_view what, std::string_view better) {
    throw Error(Code::kArgument,
                cat("cannot read '", path_, "', row ", row_, ": column '", column.name(),
                    "' holds ", what, ", and is ", kTypeNames[static_cast<size_t>(column.type())],
                    " by the first rows or by column_types: ", better));
  };
  if (type == SQLITE_NULL) return column.add_null();
  if (type == SQLITE_INTEGER && column.type() == Type::kInteger) {
    return column.add(int64_t{sqlite3_column_int64(statement_, place)});
  }
  if (type == SQLITE_INTEGER && column.type() == Type::kReal) {
    constexpr int64_t kExact = int64_t{1} << 53;
    const int64_t value = sqlite3_column_int64(statement_, place);
    if (value < -kExact || value > kExact) {
      misfit(cat("the integer ", value),
             "a float64 cannot hold it: say CAST(… AS INTEGER) in the query");
    }
    return column.add(static_cast<double>(value));
  }
  if (type == SQLITE_FLOAT && column.type() == Type::kReal) {
    return column.add(sqlite3_column_double(statement_, place));
  }
  const bool is_text = type == SQLITE_TEXT && column.type() == Type::kText;
  if (!is_text && !(type == SQLITE_BLOB && column.type() == Type::kBlob)) {
    misfit(sql_name(type),
           cat("say column_types = {['", column.name(), "'] = '", value_type_name(type),
               "'}, or CAST(… AS ", sql_name(type), ") in the query"));
  }
  const void* data = is_text ? static_cast<const void*>(sqlite3_column_text(statement_, place))
                             : sqlite3_column_blob(statement_, place);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, place));
  const std::string_view bytes(size == 0 ? "" : static_cast<const char*>(data), size);
  if (is_text && !is_utf8(bytes))
    misfit("a text that is not UTF-8", "say CAST(… AS BLOB) in the query");
  column.add(bytes);
}

std::shared_ptr<api::ArrowBatch> SqliteQuery::next(int64_t max_rows, int64_t max_bytes) {
  columns();
  int64_t rows = 0;
  int64_t bytes = 0;
  while (rows < max_rows && bytes < max_bytes && step()) {
    bytes = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      read_value(static_cast<int>(i));
      bytes += columns_[i].size_bytes();
    }
    ++rows;
    ++row_;
  }
  if (rows == 0) return nullptr;
  auto out = std::make_shared<api::ArrowBatch>();
  out->num_rows = rows;
  for (ValueColumn& column : columns_) out->columns.push_back(column.finish());
  return out;
}

}  // namespace rtrain::store
