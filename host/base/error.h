// host/base/error.h: rtrain's only exception type and the closed list of error codes.
//
// Expected outcomes are return values; exceptional ones are `throw Error(code, message)`; bugs fail
// RT_CHECK. The codes are the same in C++ and in Lua (`err.code`), and each has one exit code on
// the command line.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace rtrain {

enum class Code {
  kUser,         // the user's script or train function raised
  kArgument,     // a function was called with a wrong argument
  kUsage,        // wrong use of the command line
  kConfig,       // bad configuration, never worth a retry
  kEnvironment,  // machine or resources: no LibTorch, no GPU, unwritable path, disk full
  kNotFound,     // a run, file or name does not exist
  kUnsupported,  // known, but not supported by this version
  kWorkerLost,   // a worker died by a signal or left early
  kPeerLost,     // an operation failed because another rank is lost: never the first cause
  kTimeout,      // a deadline passed
  kOutOfMemory,
  kCheckpoint,  // a checkpoint could not be staged, committed or verified
  kNotFinite,   // a loss, gradient or metric is NaN or infinite (FailureConfig.on_nan = 'error')
  kPreempted,
  kInterrupted,
  kTerminated,
  kInternal,  // a bug of rtrain
};

// The code's name as Lua, JSON and messages show it ("worker_lost").
std::string_view code_name(Code code);

// The code with that name; nullopt for an unknown name.
std::optional<Code> code_from_name(std::string_view name);

// The exit code of a process that ends with an uncaught error of this code (guide/failures).
int exit_code(Code code);

class Error : public std::exception {
 public:
  Error(Code code, std::string message, std::string traceback = {})
      : code_(code), message_(std::move(message)), traceback_(std::move(traceback)) {}

  const char* what() const noexcept override { return message_.c_str(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // The Lua traceback, user frames first; empty if there is none.
  const std::string& traceback() const { return traceback_; }

 private:
  Code code_;
  std::string message_;
  std::string traceback_;
};

// An error about arguments that make no sense, for the person who has typed them.
Error usage_error(std::string message);

// Converts any other exception to an Error: a refusal of the system (a thread, a file) becomes
// kEnvironment, bad_alloc becomes kOutOfMemory, and anything else is a bug.
Error error_of(const std::exception& caught);

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

// Throws an Error of code kInternal that names the failing expression. Never aborts.
#define RT_CHECK(expression) \
  ((expression) ? void(0) : ::rtrain::check_failed(#expression, __FILE__, __LINE__))

}  // namespace rtrain
