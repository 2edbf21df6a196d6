// host/engine/recording/recorder/refusal.h: operators that cannot be in a recording.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <string>

namespace rtrain::engine {

// Why the operator cannot be in a recording, with these arguments; empty if it can.
std::string refusal_of(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

// Why tensors of the device cannot be in a recording; empty if they can.
std::string refusal_of(c10::Device device);

}  // namespace rtrain::engine
