// host/engine/files/named_file.h: adds the file's name to errors of reading it.
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <string>
#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {

// "cannot load 'x.pt': …" with the code of the error.
inline Error error_of_file(std::string_view verb, const std::string& path,
                           const std::exception& error) {
  const Error own = TorchTranslate::from(error);
  return Error(own.code(), cat("cannot ", verb, " '", path, "': ", own.message()));
}

// Calls the reader. Rethrows its errors as Error with the verb and the path: out of memory as
// kOutOfMemory, LibTorch's errors as kArgument, because they mean that the file is damaged.
template <class Reader>
auto in_named_file(std::string_view verb, const std::string& path, const Reader& reader) {
  try {
    return reader();
  } catch (const Error& error) {
    throw error_of_file(verb, path, error);
  } catch (const std::bad_alloc& error) {
    throw error_of_file(verb, path, error);
  } catch (const c10::OutOfMemoryError& error) {
    throw error_of_file(verb, path, error);
  } catch (const c10::Error& error) {
    throw Error(Code::kArgument, cat("cannot ", verb, " '", path, "': it is damaged (",
                                     split(error.what_without_backtrace(), '\n').front(), ")"));
  }
}

}  // namespace rtrain::engine
