// The unpickler alone: the bytes of data.pkl. Every key has a storage of up to 1 MiB.
#include <c10/core/CPUAllocator.h>

#include <string_view>

#include "host/engine/files/pickle_reader.h"
#include "tests/soak/fuzz/run_reader.h"
#include "tests/soak/fuzz/touch.h"

namespace {

using namespace rtrain;
using namespace rtrain::engine;

c10::Storage any_storage(const StorageRequest& request) {
  constexpr int64_t kMaxBytes = 1 << 20;
  const auto item_size = static_cast<int64_t>(c10::elementSize(request.type));
  if (request.numel > kMaxBytes / item_size) throw Error(Code::kArgument, "no such storage");
  c10::Storage out(c10::Storage::use_byte_size_t(), request.numel * item_size,
                   c10::GetCPUAllocator(), /*resizable=*/true);
  if (out.nbytes() > 0) std::memset(out.mutable_data(), 0, out.nbytes());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  return run_reader([&] { touch(unpickle(bytes, &any_storage)); });
}
