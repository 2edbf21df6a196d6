#include "host/arrow/types/status.h"

#include <arrow/util/io_util.h>
#include <parquet/exception.h>

#include <exception>
#include <new>
#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

// The first line, without the names of exception classes with which Parquet begins it.
std::string_view short_text(std::string_view text) {
  text = trim(text.substr(0, text.find('\n')));
  for (const std::string_view noise :
       {"Invalid: ", "IOError: ", "NotImplemented: ", "Not yet implemented: ",
        "Couldn't deserialize thrift: ", "TProtocolException: "}) {
    if (text.starts_with(noise)) text.remove_prefix(noise.size());
  }
  while (text.ends_with('.') || text.ends_with(':') || text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Code code_of(const ::arrow::Status& status, const FileTask& task) {
  if (status.IsOutOfMemory()) return Code::kOutOfMemory;
  if (status.IsNotImplemented()) return Code::kUnsupported;
  if (::arrow::internal::ErrnoFromStatus(status) != 0) return Code::kEnvironment;
  if (status.IsIOError() && std::string_view(task.verb) == "write") return Code::kEnvironment;
  return Code::kArgument;
}

}  // namespace

FileTask FileTask::with(std::string more) const { return {verb, path, std::move(more), prefix}; }

std::string failure_text(const FileTask& task, std::string_view detail) {
  return cat("cannot ", std::string_view(task.verb), " '", task.path, "'",
             task.part.empty() ? "" : ", ", task.part, ": ", detail);
}

void fail(const ::arrow::Status& status, const FileTask& task) {
  const Code code = code_of(status, task);
  const std::string_view prefix = code == Code::kArgument ? task.prefix : "";
  throw Error(code, failure_text(task, cat(prefix, short_text(status.message()))));
}

void rethrow(const FileTask& task) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const parquet::ParquetStatusException& e) {
    fail(e.status(), task);
  } catch (const std::bad_alloc&) {
    throw Error(Code::kOutOfMemory, failure_text(task, "not enough memory"));
  } catch (const std::exception& e) {
    throw Error(Code::kArgument,
                failure_text(task, cat(std::string_view(task.prefix), short_text(e.what()))));
  }
}

}  // namespace rtrain::arrow
