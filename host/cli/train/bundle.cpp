// rtrain bundle FILE -o JOB.run: packs a training script, the modules it requires, its data and
// rtrain into one file that trains wherever it is copied.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/bundle/bundle_file.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/machine/libraries/arrow_library.h"
#include "host/machine/libraries/libtorch.h"
#include "host/store/files/file.h"
#include "packaging/bundle/footer.h"

// Assembled by packaging/cmake/Embed.cmake: packaging/bundle/run.cpp.
extern "C" {
extern const unsigned char rtrain_bundle_start_begin[];
extern const unsigned char rtrain_bundle_start_end[];
}

namespace rtrain::cli {
namespace {

namespace fs = std::filesystem;

struct BundleOptions {
  std::string file;
  std::vector<std::string> data;
  std::string output;
  bool with_libtorch = false;
  bool json = false;
};

using Entries = std::vector<bundle::BundleEntry>;

void add_file(Entries& out, const std::string& name, const fs::path& source) {
  out.push_back({name, source.string(), ""});
}

// Adds the file if it exists.
void add_if_there(Entries& out, const std::string& folder, const fs::path& source) {
  std::error_code ignored;
  if (fs::exists(source, ignored)) add_file(out, folder + source.filename().string(), source);
}

// Adds this executable and the library next to it in a package.
void add_program(Entries& out) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  add_file(out, "bin/rtrain", self);
  add_if_there(out, "lib/rtrain/", self.parent_path() / "../lib/rtrain/libstdc++.so.6");
}

// Adds LibTorch's CPU libraries, and Arrow if it is found, in the places where the executable
// searches first.
void add_libraries(Entries& out) {
  const machine::LibTorchSearch search = machine::find_libtorch();
  if (!search.found) throw Error(Code::kEnvironment, machine::libtorch_refusal(search));
  const fs::path lib = search.found->lib;
  const std::string torch = "bin/lib/torch/";
  add_if_there(out, torch, lib / "../version.py");
  for (const char* name : {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}) {
    add_if_there(out, torch + "lib/", lib / name);
  }
  for (const char* name : {"libcudart.so.13", "libcupti.so.13"}) {
    add_if_there(out, "bin/lib/nvidia/cu13/lib/", lib / "../../nvidia/cu13/lib" / name);
  }
  const machine::ArrowLibrarySearch arrow = machine::find_arrow_library();
  if (!arrow.found) return;
  for (const char* name : {"libarrow.so.2600", "libparquet.so.2600", "libarrow_s3.so.2600"}) {
    add_if_there(out, "bin/lib/pyarrow/", fs::path(arrow.found->lib) / name);
  }
}

// Adds a file, or all files of a folder. Both must be below the script's folder.
void add_data(Entries& out, const fs::path& script_folder, const std::string& data) {
  const fs::path path = store::absolute_path(data);
  const std::string below = path.lexically_relative(script_folder).string();
  if (below.starts_with("..")) {
    throw Error(Code::kUsage, cat("bundle: ", data, " is not below the folder of the script, ",
                                  script_folder.string(), ": the script would not find it there"));
  }
  const std::string kind = store::path_kind(path.string());
  if (kind.empty()) throw Error(Code::kUsage, cat("bundle: there is no ", data));
  if (kind != "folder") return add_file(out, "job/" + below, path);
  for (const std::string& entry : store::folder_entries(path.string())) {
    add_data(out, script_folder, (path / entry).string());
  }
}

// Calls rtrain.project.requires, in Lua.
List required_modules(const std::string& script) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.project.requires", "of");
  lua::push_value(state, script);
  lua::protected_call(state, 1, 1);
  const Value modules = lua::to_value(state, -1, "the modules");
  return modules.is_list() ? modules.as_list() : List{};  // an empty table is a map
}

void write(const BundleOptions& options) {
  const fs::path script = store::absolute_path(options.file);
  const List modules = required_modules(script.string());
  Entries entries;
  add_program(entries);
  if (options.with_libtorch) add_libraries(entries);
  const std::string name = script.filename().string();
  entries.push_back({kBundleCommand, "", cat("run\n@job/", name, "\n")});
  const size_t first = entries.size();
  add_file(entries, "job/" + name, script);
  for (const Value& module : modules) {
    add_file(entries, "job/" + module["place"].as_string(), module["path"].as_string());
  }
  for (const std::string& data : options.data) add_data(entries, script.parent_path(), data);
  List files;
  for (size_t i = first; i < entries.size(); ++i) files.emplace_back(entries[i].name.substr(4));

  const std::string_view program(
      reinterpret_cast<const char*>(rtrain_bundle_start_begin),
      static_cast<size_t>(rtrain_bundle_start_end - rtrain_bundle_start_begin));
  const bundle::BundleSize size = bundle::write_bundle(options.output, program, entries);
  if (options.json) {
    return print_json(Map{{"path", store::absolute_path(options.output)},
                          {"size_bytes", size.file},
                          {"unpacked_bytes", size.unpacked},
                          {"files", files},
                          {"libtorch", options.with_libtorch}});
  }
  std::cout << options.output << ": " << human_size(size.file) << ", unpacked "
            << human_size(size.unpacked) << "\n";
  for (const Value& file : files) std::cout << "  " << file.as_string() << "\n";
  if (!options.with_libtorch) {
    std::cout << "without LibTorch: a machine that runs it needs version "
              << machine::engine_minors_text() << " (`" << machine::libtorch_install_command()
              << "`), or --with-libtorch\n";
  }
}

}  // namespace

void add_bundle(Parser& parser) {
  auto options = std::make_shared<BundleOptions>();
  Command command = parser.command(
      "bundle", "Make one file of a script, its modules, data and rtrain, which trains anywhere");
  command.argument("FILE", &options->file, "training script").required();
  command.argument("DATA", &options->data, "files and folders below the script's folder")
      .offers({.sources = {Source::kFiles}, .words = {}});
  command.option("-o,--output", &options->output, "the file to write")
      .required()
      .value_name("FILE");
  command.flag("--with-libtorch", &options->with_libtorch,
               "also LibTorch for CPUs, and Arrow where it is found (540 MB, packed 120)");
  command.flag("--json", &options->json, "one JSON document");
  command.footer(
      "The modules that the script requires are found in its text. Started, the file unpacks "
      "itself\n"
      "once into ~/.cache/rtrain/bundles and is `rtrain run FILE`, whose options it takes; with\n"
      "--rtrain as its first word it is rtrain: ./job.run --rtrain ls. The script finds its data\n"
      "next to itself: arg[0]:match '^.*/'.\n"
      "Keys of --json: path, size_bytes, unpacked_bytes, files, libtorch");
  command.action([options] { write(*options); });
}

}  // namespace rtrain::cli
