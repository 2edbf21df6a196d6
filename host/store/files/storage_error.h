// host/store/files/storage_error.h: an Error of a file or of the database that knows whether
// waiting may help.
#pragma once

#include <string>

#include "host/base/error.h"

namespace rtrain::store {

class StorageError : public Error {
 public:
  StorageError(Code code, std::string message, bool may_pass)
      : Error(code, std::move(message)), may_pass_(may_pass) {}

  // True for a full disk and for another program's lock.
  bool may_pass() const { return may_pass_; }

 private:
  bool may_pass_;
};

}  // namespace rtrain::store
