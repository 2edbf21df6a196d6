// The memory of the simulated device: pages of the host, FAKE_CUDA_MEMORY bytes for each device.
// Copies to and from pageable memory happen immediately, all others when the stream reaches them.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

#include "../settings.h"
#include "stream.h"

namespace fake_gpu {
namespace {

enum class Kind { kDevice, kPinned };

struct Block {
  size_t size = 0;
  Kind kind = Kind::kDevice;
  int device = 0;
  bool is_mapped = true;  // by this library
};

struct Memory {
  std::mutex mutex;
  std::map<const char*, Block> blocks;  // by the address of the first byte
  std::map<int, size_t> used;
};

Memory& memory() {
  static Memory* const the = new Memory;
  return *the;
}

size_t device_memory() {
  return static_cast<size_t>(fake_nvidia::number("FAKE_CUDA_MEMORY", 80L << 30));
}

// Returns the block that holds the address. The caller holds the mutex.
const Block* block_of(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  auto next = memory().blocks.upper_bound(byte);
  if (next == memory().blocks.begin()) return nullptr;
  --next;
  return byte < next->first + next->second.size ? &next->second : nullptr;
}

bool is_pageable(const void* address) {
  const std::lock_guard lock(memory().mutex);
  return block_of(address) == nullptr;
}

void* map(size_t size) {
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

cudaError_t allocate(void** out, size_t size, Kind kind) {
  *out = nullptr;
  if (size == 0) return cudaSuccess;
  const int device = current_device();
  const std::lock_guard lock(memory().mutex);
  size_t& used = memory().used[device];
  if (kind == Kind::kDevice && used + size > device_memory())
    return fail(cudaErrorMemoryAllocation);
  void* address = map(size);
  if (address == nullptr) return fail(cudaErrorMemoryAllocation);
  if (kind == Kind::kDevice) used += size;
  memory().blocks[static_cast<char*>(address)] = {size, kind, device};
  *out = address;
  return cudaSuccess;
}

cudaError_t release(void* address) {
  if (address == nullptr) return cudaSuccess;
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().blocks.find(static_cast<char*>(address));
  if (found == memory().blocks.end()) return fail(cudaErrorInvalidValue);
  const Block block = found->second;
  memory().blocks.erase(found);
  if (block.kind == Kind::kDevice) memory().used[block.device] -= block.size;
  if (block.is_mapped) munmap(address, block.size);
  return cudaSuccess;
}

// Does the copy immediately if one side is pageable memory of the host, else gives it to the
// stream.
cudaError_t copy(const void* from, const void* to, cudaStream_t handle, Work work) {
  if (sticky_error() != cudaSuccess) return fail(sticky_error());
  Stream& stream = stream_of(handle);
  if (stream.capture() == nullptr && (is_pageable(from) || is_pageable(to))) {
    stream.wait_until_idle();
    work();
    return cudaSuccess;
  }
  stream.give(std::move(work));
  return cudaSuccess;
}

}  // namespace
}  // namespace fake_gpu

using fake_gpu::fail;
using fake_gpu::Kind;
using fake_gpu::memory;

extern "C" {

cudaError_t cudaMalloc(void** out, size_t size) {
  if (const cudaError_t error = fake_gpu::forbid_in_capture()) return error;
  if (fake_gpu::sticky_error() != cudaSuccess) return fail(fake_gpu::sticky_error());
  return fake_gpu::allocate(out, size, Kind::kDevice);
}

cudaError_t cudaFree(void* address) {
  if (const cudaError_t error = fake_gpu::forbid_in_capture()) return error;
  fake_gpu::wait_for_device(fake_gpu::current_device());
  return fake_gpu::release(address);
}

cudaError_t cudaHostAlloc(void** out, size_t size, unsigned) {
  return fake_gpu::allocate(out, size, Kind::kPinned);
}

cudaError_t cudaFreeHost(void* address) { return fake_gpu::release(address); }

cudaError_t cudaHostRegister(void* address, size_t size, unsigned) {
  const std::lock_guard lock(memory().mutex);
  memory().blocks[static_cast<char*>(address)] = {size, Kind::kPinned, fake_gpu::current_device(),
                                                  false};
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* address) { return fake_gpu::release(address); }

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  const std::lock_guard lock(memory().mutex);
  *total = fake_gpu::device_memory();
  *free_bytes = *total - memory().used[fake_gpu::current_device()];
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* address) {
  *out = {};
  const std::lock_guard lock(memory().mutex);
  const fake_gpu::Block* block = fake_gpu::block_of(address);
  out->device = block == nullptr ? -1 : block->device;
  out->type = block == nullptr               ? cudaMemoryTypeUnregistered
              : block->kind == Kind::kPinned ? cudaMemoryTypeHost
                                             : cudaMemoryTypeDevice;
  if (block == nullptr) return cudaSuccess;
  out->devicePointer = const_cast<void*>(address);
  if (block->kind == Kind::kPinned) out->hostPointer = const_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
  return fake_gpu::copy(from, to, stream, [=] { std::memmove(to, from, size); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  if (const cudaError_t error = fake_gpu::forbid_in_capture()) return error;
  if (const cudaError_t error = cudaMemcpyAsync(to, from, size, kind, nullptr)) return error;
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t size,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return fake_gpu::copy(from, to, stream, [=] {
    for (size_t row = 0; row < height; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_pitch,
                  static_cast<const char*>(from) + row * from_pitch, width);
    }
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  fake_gpu::stream_of(stream).give([=] { std::memset(to, value, size); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t size) {
  return cudaMemsetAsync(to, value, size, nullptr);
}

cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
  return cudaSuccess;  // constants are for kernels, which do nothing
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  *address = const_cast<void*>(symbol);
  return cudaSuccess;
}

// Memory shared between processes, and the driver's own allocator, are not simulated.
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t) { return fail(cudaErrorNotSupported); }
cudaError_t cudaFreeAsync(void*, cudaStream_t) { return fail(cudaErrorNotSupported); }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return fail(cudaErrorNotSupported); }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaIpcCloseMemHandle(void*) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  return fail(cudaErrorNotSupported);
}
}
