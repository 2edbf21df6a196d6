// host/arrow/readers/ipc_options.h: how Arrow's IPC readers are called here.
#pragma once

#include <arrow/ipc/options.h>

#include "host/arrow/types/memory.h"

namespace rtrain::arrow {

// Arrow's memory from our pool, no threads, and buffers that the engine may use as they are.
inline ::arrow::ipc::IpcReadOptions ipc_read_options() {
  auto out = ::arrow::ipc::IpcReadOptions::Defaults();
  out.memory_pool = memory_pool();
  out.use_threads = false;
  out.ensure_alignment = ::arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return out;
}

}  // namespace rtrain::arrow
