#include "host/engine/memory/out_of_memory.h"

#include <optional>
#include <string_view>

#include "host/base/text/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/memory/live_tensors.h"
#include "host/engine/memory/size_text.h"

namespace rtrain::engine {
namespace {

constexpr size_t kMostTensors = 5;

// The part of LibTorch's text between `first` and `last`; "" if they do not occur.
std::string_view between(std::string_view text, std::string_view first, std::string_view last) {
  const size_t start = text.find(first);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + first.size());
  return text.substr(0, text.find(last));
}

// The device in LibTorch's text "GPU 0 has a total capacity of".
std::optional<int> device_of(std::string_view text) {
  const std::string_view number = between(text, "GPU ", " has");
  if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::stoi(std::string(number));
}

std::optional<CudaMemory> whole_memory(int device) {
  if (cuda_api() == nullptr) return std::nullopt;
  try {
    return cuda_api()->devices.memory(device);
  } catch (const c10::Error&) {
    return std::nullopt;  // report the error with what is known
  }
}

// "out of memory on cuda:0. Tried to allocate 2.00 GiB; 1.21 GiB of 79.11 GiB are free", and the
// limit of set_per_process_memory_fraction.
std::string headline(std::string_view text, int device, const std::optional<DeviceMemory>& own) {
  std::string out = cat("out of memory on cuda:", device);
  const std::string_view wanted = between(text, "Tried to allocate ", ". GPU");
  if (!wanted.empty()) out += cat(". Tried to allocate ", wanted);
  const auto memory = whole_memory(device);
  if (!memory) return out;
  out +=
      cat("; ", size_text(memory->free_bytes), " of ", size_text(memory->total_bytes), " are free");
  if (!own || own->total_bytes >= memory->total_bytes) return out;
  return out + cat(", of which this process may take ", size_text(own->total_bytes), " in all");
}

std::string figures(const DeviceMemory& device) {
  return cat("\n  ", device.name, ": tensors hold ", size_text(device.allocated_bytes), " (",
             size_text(device.peak_bytes), " at most), ", size_text(device.reserved_bytes),
             " are reserved");
}

// Reserved memory that no tensor uses is fragmented: its gaps were too small for the request.
std::string gaps(const DeviceMemory& device) {
  const int64_t unused = device.reserved_bytes - device.allocated_bytes;
  if (unused < device.reserved_bytes / 10) return "";
  return cat("; with PYTORCH_ALLOC_CONF=expandable_segments:True fewer of the ", size_text(unused),
             " that are reserved and unused are lost in gaps");
}

std::string advice(const std::optional<DeviceMemory>& device) {
  return cat(
      "\n  what helps: a smaller batch; the same batch in parts, with backward() for each and one "
      "step() (gradient accumulation); torch.autocast('cuda', fn, {dtype = torch.bfloat16})",
      device ? gaps(*device) : "");
}

std::optional<DeviceMemory> memory_of(int device) {
  for (DeviceMemory& memory : device_memory()) {
    if (memory.index == device) return std::move(memory);
  }
  return std::nullopt;
}

std::string tensor_lines(const LiveTensors& tensors) {
  if (tensors.largest.empty()) return "";
  std::string out = "\n  the largest tensors that the script holds:";
  for (const LiveTensor& tensor : tensors.largest) {
    out += cat("\n    ", size_text(tensor.bytes), "  ", tensor.text,
               tensor.name.empty() ? "" : "  " + tensor.name);
  }
  return out;
}

// Memory of tensors beyond those that the script can reach.
std::string hidden_line(int64_t allocated, int64_t known) {
  constexpr int64_t kWorthTelling = int64_t{1} << 20;
  if (allocated - known < kWorthTelling) return "";
  return cat("\n  ", size_text(allocated - known),
             " more are kept for backward() and by LibTorch itself");
}

struct Report {
  std::string head;
  std::string tensors;
};

Error device_error(const OutOfMemory& failure, int device, const Report& report) {
  const auto memory = memory_of(device);
  std::string text = cat(report.head, headline(failure.text, device, memory));
  for (const DeviceMemory& each : device_memory()) {
    if (each.index == device || each.reserved_bytes > 0) text += figures(each);
  }
  return Error(Code::kOutOfMemory, cat(text, report.tensors, advice(memory)));
}

}  // namespace

Error out_of_memory_error(const OutOfMemory& failure) {
  const auto device = device_of(failure.text);
  if (!device) return Error(Code::kOutOfMemory, failure.text);
  return device_error(failure, *device, {});
}

std::optional<Error> translate_out_of_memory(const std::exception& e) {
  const auto* full = dynamic_cast<const c10::OutOfMemoryError*>(&e);
  if (full == nullptr) return std::nullopt;
  return out_of_memory_error(OutOfMemory(*full));
}

Error out_of_memory_error(lua_State* L, const OutOfMemory& failure, const std::string& operation,
                          const std::string& arguments) {
  const auto number = device_of(failure.text);
  const c10::Device device =
      number ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(*number)) : c10::kCPU;
  const LiveTensors tensors = live_tensors(L, device, kMostTensors);
  const std::string detail = arguments.empty() ? "" : cat(" (", arguments, ")");
  if (!number) {
    return Error(Code::kOutOfMemory,
                 cat(operation, ": ", failure.text, detail, tensor_lines(tensors)));
  }
  const auto memory = memory_of(*number);
  const int64_t allocated = memory ? memory->allocated_bytes : 0;
  return device_error(failure, *number,
                      {.head = cat(operation, detail, ": "),
                       .tensors = tensor_lines(tensors) + hidden_line(allocated, tensors.bytes)});
}

}  // namespace rtrain::engine
