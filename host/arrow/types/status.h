// host/arrow/types/status.h: Arrow's statuses and exceptions as rtrain::Error that names the file.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <string>
#include <utility>

namespace rtrain::arrow {

// The operation in progress, for messages: "cannot read 'a.parquet', row group 3".
struct FileTask {
  const char* verb;  // "read", "write"
  std::string path;
  std::string part = {};  // "row group 3", "column 'x'"; may be empty
  // Text before Arrow's reason if that names a detail of the format: "it is damaged: ".
  const char* prefix = "";

  FileTask with(std::string more) const;
};

// "cannot read 'a.parquet', row group 3: <detail>"
std::string failure_text(const FileTask& task, std::string_view detail);

// Throws the status as an Error: kOutOfMemory, kUnsupported, kEnvironment for errors of the system
// and for all errors while writing, else kArgument. Shortens Arrow's text.
[[noreturn]] void fail(const ::arrow::Status& status, const FileTask& task);

inline void check(const ::arrow::Status& status, const FileTask& task) {
  if (!status.ok()) fail(status, task);
}

template <class T>
T take(::arrow::Result<T> result, const FileTask& task) {
  if (!result.ok()) fail(result.status(), task);
  return std::move(result).ValueUnsafe();
}

// Throws the current exception: an Error unchanged, others as fail() does.
[[noreturn]] void rethrow(const FileTask& task);

// Calls the function. Converts exceptions of Arrow and Parquet to an Error that names the file.
template <class Function>
auto in_file(const FileTask& task, Function&& function) {
  try {
    return function();
  } catch (...) {
    rethrow(task);
  }
}

}  // namespace rtrain::arrow
