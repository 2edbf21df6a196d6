#include "host/store/runs/saved_views.h"

#include <unistd.h>

#include <algorithm>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/hex.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr size_t kMostViews = 1000;
constexpr size_t kLongestName = 100;  // its file has a name of twice that length
constexpr size_t kLongestAddress = 16 << 10;
constexpr std::string_view kSuffix = ".json";

std::string folder_of(const std::string& storage_path) { return storage_path + "/.views"; }

std::string file_of(const std::string& storage_path, const std::string& name) {
  return cat(folder_of(storage_path), "/", to_hex(name), kSuffix);
}

// Nil for a file that another program wrote.
Value read_view(const std::string& storage_path, const std::string& file) {
  try {
    Value view =
        from_json(read_text_beneath(storage_path, cat(folder_of(storage_path), "/", file)));
    const bool is_view = view.is_map() && view["name"].is_string() && view["address"].is_string() &&
                         view["saved_at"].is_string();
    return is_view ? view : Value();
  } catch (const Error&) {
    return {};
  }
}

void check(std::string_view what, const std::string& text, size_t longest) {
  if (!text.empty() && text.size() <= longest) return;
  throw Error(Code::kUsage, cat("the ", what, " of a view has ", text.size(),
                                " bytes: it may have 1 to ", longest));
}

}  // namespace

List read_views(const std::string& storage_path) {
  List out;
  for (const std::string& file : folder_entries(folder_of(storage_path))) {
    if (!file.ends_with(kSuffix)) continue;
    if (Value view = read_view(storage_path, file); !view.is_nil()) out.push_back(std::move(view));
  }
  std::sort(out.begin(), out.end(), [](const Value& a, const Value& b) {
    return a["name"].as_string() < b["name"].as_string();
  });
  return out;
}

void save_view(const std::string& storage_path, const std::string& name,
               const std::string& address) {
  check("name", name, kLongestName);
  check("address", address, kLongestAddress);
  const std::string path = file_of(storage_path, name);
  if (!path_exists(path) && folder_entries(folder_of(storage_path)).size() >= kMostViews) {
    throw Error(Code::kUsage, cat("there are ", kMostViews, " views already: remove one"));
  }
  make_folders(folder_of(storage_path));
  replace_text(
      path, to_json(Map{{"name", name}, {"address", address}, {"saved_at", time_text(now_ms())}}));
}

bool remove_view(const std::string& storage_path, const std::string& name) {
  if (name.empty() || name.size() > kLongestName) return false;
  const std::string path = file_of(storage_path, name);
  if (!path_exists(path)) return false;
  if (::unlink(path.c_str()) != 0) throw file_error("remove", path);
  return true;
}

}  // namespace rtrain::store
