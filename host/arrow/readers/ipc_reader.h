// host/arrow/readers/ipc_reader.h: Arrow's own files and streams (IPC, Feather version 2).
#pragma once

#include <memory>
#include <string>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain::arrow {

// Reads both formats and detects which by the first bytes. Validates every batch in full before it
// returns it, because readers use the offsets in an Arrow file without checks.
std::unique_ptr<TableCursor> open_ipc(const std::string& path);

}  // namespace rtrain::arrow
