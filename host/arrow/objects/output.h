// host/arrow/objects/output.h: what Arrow's writers write into: a file or an object that appears
// under its name complete or not at all.
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

#include "host/base/files/new_file.h"

namespace rtrain {

class Output : public arrow::io::OutputStream {
 public:
  // Gives it its name. Without this nothing is left of it, and what was there before stays.
  virtual arrow::Status commit() = 0;
};

// `path`: of a file, or a URI (host/arrow/objects/object_store.h), for which the durability says
// nothing. Throws Error(kEnvironment) when it cannot be made, Error(kNotFound) without its bucket.
std::shared_ptr<Output> open_output(const std::string& path, NewFile::Durability durability);

}  // namespace rtrain
