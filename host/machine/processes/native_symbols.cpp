#include "host/machine/processes/native_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "host/base/files/fd.h"

namespace rtrain::machine {
namespace {

// An index into the list of addresses, and the address's offset in the module's file.
struct Wanted {
  uint64_t offset = 0;
  size_t place = 0;
};

struct Module {
  std::string path;
  uint64_t base = 0;
  std::vector<std::pair<uint64_t, uint64_t>> segments;  // first and last address
  std::vector<Wanted> wanted;

  bool holds(uint64_t address) const {
    return std::ranges::any_of(segments, [address](const auto& segment) {
      return address >= segment.first && address < segment.second;
    });
  }
};

int add_module(dl_phdr_info* info, size_t, void* modules) {
  Module module;
  const std::string_view name = info->dlpi_name;
  module.path = name.empty() ? "/proc/self/exe" : std::string(name);
  module.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uint64_t from = module.base + header.p_vaddr;
    module.segments.emplace_back(from, from + header.p_memsz);
  }
  static_cast<std::vector<Module>*>(modules)->push_back(std::move(module));
  return 0;
}

// A file's bytes, mapped while this exists; empty if the file cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (fd.get() < 0 || fstat(fd.get(), &info) != 0 || info.st_size <= 0) return;
    const auto size = static_cast<size_t>(info.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (bytes != MAP_FAILED) bytes_ = {static_cast<const char*>(bytes), size};
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Objects at an offset of the file; empty if the file ends before them.
  template <class T>
  std::span<const T> read(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), count};
  }

 private:
  std::string_view bytes_;
};

// Returns the larger symbol table of an executable or library that has both.
const Elf64_Shdr* symbol_table(std::span<const Elf64_Shdr> sections) {
  const Elf64_Shdr* found = nullptr;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_SYMTAB) return &section;
    if (section.sh_type == SHT_DYNSYM) found = &section;
  }
  return found;
}

// Says quickly whether a function may have a wanted address: it looks at few bits, since a library
// has half a million functions.
class WantedPages {
 public:
  // `sorted` is sorted by offset.
  explicit WantedPages(std::span<const Wanted> sorted) : bits_((page(sorted.back().offset)) + 1) {
    for (const Wanted& wanted : sorted) bits_[page(wanted.offset)] = true;
  }
  bool may_have(uint64_t from, uint64_t size) const {
    const uint64_t last = page(from + size);
    for (uint64_t at = page(from); at <= last && at < bits_.size(); ++at) {
      if (bits_[at]) return true;
    }
    return false;
  }

 private:
  static uint64_t page(uint64_t offset) { return offset >> 12U; }

  std::vector<bool> bits_;
};

void find_functions(Module& module, std::vector<NativeSymbol>& out) {
  const MappedFile file(module.path);
  const auto header = file.read<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto sections = file.read<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  const Elf64_Shdr* table = symbol_table(sections);
  if (table == nullptr || table->sh_link >= sections.size()) return;
  const auto symbols = file.read<Elf64_Sym>(table->sh_offset, table->sh_size / sizeof(Elf64_Sym));
  const Elf64_Shdr& texts = sections[table->sh_link];
  const auto names = file.read<char>(texts.sh_offset, texts.sh_size);
  std::ranges::sort(module.wanted, {}, &Wanted::offset);
  const WantedPages pages(module.wanted);
  for (const Elf64_Sym& symbol : symbols) {
    if (!pages.may_have(symbol.st_value, symbol.st_size)) continue;
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
    auto next = std::ranges::lower_bound(module.wanted, symbol.st_value, {}, &Wanted::offset);
    for (; next != module.wanted.end() && next->offset < symbol.st_value + symbol.st_size; ++next) {
      if (symbol.st_name >= names.size()) break;
      const char* name = names.data() + symbol.st_name;
      out[next->place].function.assign(name, strnlen(name, names.size() - symbol.st_name));
    }
  }
}

// An embedded library is in a memory file, named "/memfd:librtrain_engine.so (deleted)".
std::string module_name(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t size =
      path.starts_with("/proc/self/") ? readlink(path.c_str(), target.data(), target.size()) : -1;
  std::string_view name = size < 0 ? std::string_view(path)
                                   : std::string_view(target.data(), static_cast<size_t>(size));
  constexpr std::string_view kMemory = "/memfd:";
  if (name.starts_with(kMemory)) name = name.substr(kMemory.size());
  name = name.substr(name.rfind('/') + 1);
  return std::string(name.substr(0, name.find(" (deleted)")));
}

}  // namespace

std::vector<NativeSymbol> native_symbols(const std::vector<uint64_t>& addresses) {
  std::vector<Module> modules;
  dl_iterate_phdr(&add_module, &modules);
  std::vector<NativeSymbol> out(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (Module& module : modules) {
      if (!module.holds(addresses[i])) continue;
      module.wanted.push_back({addresses[i] - module.base, i});
      break;
    }
  }
  for (Module& module : modules) {
    if (module.wanted.empty()) continue;
    const std::string name = module_name(module.path);
    for (const Wanted& wanted : module.wanted) out[wanted.place].module = name;
    find_functions(module, out);
  }
  return out;
}

}  // namespace rtrain::machine
