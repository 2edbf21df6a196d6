// host/arrow/readers/ipc_reader.h: Arrow's own files and streams (IPC, Feather version 2).
#pragma once

#include <memory>
#include <string>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain {

// Both formats, told apart by their first bytes. Every batch is checked in full before it is given:
// an Arrow file holds offsets that readers use as they are.
std::unique_ptr<TableCursor> open_ipc(const std::string& path);

}  // namespace rtrain
