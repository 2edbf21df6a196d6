// host/base/codec/validation_request.h: the validation that a report requests for its checkpoint.
//
// It comes from train.report() (modules/rtrain/functions/validation.lua), is kept in the manifest
// and the row of the checkpoint, and goes to the process that validates it. A later controller may
// do that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/base/value.h"

namespace rtrain {

struct ValidationRequest {
  static constexpr std::string_view kClass = "ValidationRequest";
  Value fn_kwargs = Map{};  // the second argument of the validation function
  // Seconds. As Lua gave it, so that a whole number is stored as one.
  std::optional<Value> timeout_s = {};

  std::optional<double> limit_s() const {
    return timeout_s ? std::optional(timeout_s->as_float()) : std::nullopt;
  }
  bool operator==(const ValidationRequest&) const = default;

  static constexpr RecordFields kFields{required("fn_kwargs", &ValidationRequest::fn_kwargs),
                                        optional("timeout_s", &ValidationRequest::timeout_s)};
};

// What the validating process gets.
struct ValidationTask : ValidationRequest {
  static constexpr std::string_view kClass = "ValidationTask";
  std::string checkpoint;  // its folder

  static constexpr RecordFields kFields{required("fn_kwargs", &ValidationTask::fn_kwargs),
                                        optional("timeout_s", &ValidationTask::timeout_s),
                                        required("checkpoint", &ValidationTask::checkpoint)};
};

}  // namespace rtrain
