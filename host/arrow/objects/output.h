// host/arrow/objects/output.h: the target of Arrow's writers: a file or an object that appears
// under its name complete or not at all.
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

#include "host/base/files/new_file.h"

namespace rtrain::arrow {

class Output : public ::arrow::io::OutputStream {
 public:
  // Gives the file its name. Without it the written data are removed and an older file is
  // unchanged.
  virtual ::arrow::Status commit() = 0;
};

// `path`: of a file, or a URI (host/arrow/objects/object_store.h), for which `durability` has no
// effect. Throws Error(kEnvironment) if it cannot be created, Error(kNotFound) if its bucket does
// not exist.
std::shared_ptr<Output> open_output(const std::string& path, NewFile::Durability durability);

}  // namespace rtrain::arrow
