// host/arrow/types/status.h: Arrow's statuses and exceptions as rtrain::Error that names the file.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <string>
#include <utility>

namespace rtrain {

// What is being done, for messages: "cannot read 'a.parquet', row group 3".
struct FileTask {
  const char* verb;  // "read", "write"
  std::string path;
  std::string part = {};  // "row group 3", "column 'x'"; may be empty
  // Goes before Arrow's reason where that names a detail of the format: "it is damaged: ".
  const char* prefix = "";

  FileTask with(std::string more) const;
};

// "cannot read 'a.parquet', row group 3: <detail>"
std::string failure_text(const FileTask& task, std::string_view detail);

// Throws the status as an Error: kOutOfMemory, kUnsupported, kEnvironment for the system's refusals
// and everything while writing, else kArgument. Arrow's text comes without its noise.
[[noreturn]] void fail(const arrow::Status& status, const FileTask& task);

inline void check(const arrow::Status& status, const FileTask& task) {
  if (!status.ok()) fail(status, task);
}

template <class T>
T take(arrow::Result<T> result, const FileTask& task) {
  if (!result.ok()) fail(result.status(), task);
  return std::move(result).ValueUnsafe();
}

// Throws the exception that is being handled: an Error as it is, others as fail() does.
[[noreturn]] void rethrow(const FileTask& task);

// Calls the function; what Arrow and Parquet throw becomes an Error that names the file.
template <class Function>
auto in_file(const FileTask& task, Function&& function) {
  try {
    return function();
  } catch (...) {
    rethrow(task);
  }
}

}  // namespace rtrain
