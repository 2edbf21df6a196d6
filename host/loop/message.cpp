#include "host/loop/message.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace rtrain {
namespace {

constexpr size_t kMaxErrorBytes = size_t{64} << 10;
constexpr size_t kNoteAlign = 4;
size_t align(size_t size) { return (size + kNoteAlign - 1) & ~(kNoteAlign - 1); }

std::string hex(const unsigned char* bytes, size_t size) {
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    out.push_back(kDigits[bytes[i] >> 4]);
    out.push_back(kDigits[bytes[i] & 15]);
  }
  return out;
}

std::string build_id_in_notes(const unsigned char* data, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, data, sizeof(note));
    const size_t total = sizeof(note) + align(note.n_namesz) + align(note.n_descsz);
    if (total > size) break;
    const bool gnu = note.n_namesz == 4 && std::memcmp(data + sizeof(note), "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      return hex(data + sizeof(note) + align(note.n_namesz), note.n_descsz);
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

Value error_to_value(const Error& error, double time_s) {
  return Map{{"code", code_name(error.code())},
             {"message", error.message().substr(0, kMaxErrorBytes)},
             {"traceback", error.traceback().substr(0, kMaxErrorBytes)},
             {"time", time_s}};
}

Error error_from_value(const Value& value) {
  return Error(code_from_name(value["code"].as_string()).value_or(Code::kInternal),
               value["message"].as_string(), value["traceback"].string_or(""));
}

Value to_value(const WorkerContext& c) {
  return Map{{"type", "start"},
             {"world_size", c.world_size},
             {"world_rank", c.world_rank},
             {"local_rank", c.local_rank},
             {"local_world_size", c.local_world_size},
             {"node_rank", c.node_rank},
             {"experiment_name", c.experiment_name},
             {"run_id", c.run_id},
             {"attempt", c.attempt},
             {"nonce", c.nonce},
             {"storage_path", c.storage_path},
             {"run_path", c.run_path},
             {"log_bytes", c.log_bytes},
             {"backend", c.backend},
             {"timeout_s", c.timeout_s},
             {"collective_timeout_s", c.collective_timeout_s},
             {"threads", c.threads},
             {"gpus", List(c.gpus.begin(), c.gpus.end())},
             {"first_index", c.first_index},
             {"starting_checkpoint", c.starting_checkpoint},
             {"validation", c.validation}};
}

WorkerContext worker_context_from_value(const Value& v) {
  const auto number = [&](std::string_view key) { return static_cast<int>(v[key].as_int()); };
  WorkerContext c;
  c.world_size = number("world_size");
  c.world_rank = number("world_rank");
  c.local_rank = number("local_rank");
  c.local_world_size = number("local_world_size");
  c.node_rank = number("node_rank");
  c.experiment_name = v["experiment_name"].as_string();
  c.run_id = v["run_id"].as_string();
  c.attempt = number("attempt");
  c.nonce = v["nonce"].as_string();
  c.storage_path = v["storage_path"].as_string();
  c.run_path = v["run_path"].as_string();
  c.log_bytes = v["log_bytes"].as_int();
  c.backend = v["backend"].as_string();
  c.timeout_s = v["timeout_s"].as_float();
  c.collective_timeout_s = v["collective_timeout_s"].as_float();
  c.threads = number("threads");
  for (const Value& device : v["gpus"].as_list()) {
    c.gpus.push_back(static_cast<int>(device.as_int()));
  }
  c.first_index = v["first_index"].as_int();
  c.starting_checkpoint = v["starting_checkpoint"];
  c.validation = v["validation"];
  return c;
}

std::string build_id() {
  std::string out;
  dl_iterate_phdr(&on_object, &out);
  return out;
}

}  // namespace rtrain
