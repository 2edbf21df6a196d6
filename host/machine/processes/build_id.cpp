#include "host/machine/processes/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>

#include "host/base/text/hex.h"

namespace rtrain::machine {
namespace {

constexpr size_t kNoteAlign = 4;
size_t align(size_t size) { return (size + kNoteAlign - 1) & ~(kNoteAlign - 1); }

std::string build_id_in_notes(const unsigned char* data, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, data, sizeof(note));
    const size_t total = sizeof(note) + align(note.n_namesz) + align(note.n_descsz);
    if (total > size) break;
    const bool gnu = note.n_namesz == 4 && std::memcmp(data + sizeof(note), "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      const unsigned char* id = data + sizeof(note) + align(note.n_namesz);
      return to_hex({reinterpret_cast<const char*>(id), note.n_descsz});
    }
    data += total;
    size -= total;
  }
  return {};
}

// The first object that is listed is the executable: returning 1 ends the walk there.
int on_object(dl_phdr_info* info, size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* data = reinterpret_cast<const unsigned char*>(info->dlpi_addr + header.p_vaddr);
    std::string id = build_id_in_notes(data, header.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(out) = std::move(id);
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string out;
  dl_iterate_phdr(&on_object, &out);
  return out;
}

}  // namespace rtrain::machine
