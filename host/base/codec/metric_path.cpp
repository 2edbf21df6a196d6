#include "host/base/codec/metric_path.h"

#include <span>

#include "host/base/codec/json_scan.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

const Value* entry(const Value& map, std::string_view name) {
  return map.is_map() ? map.as_map().find(name) : nullptr;
}

std::optional<std::string_view> entry(std::string_view map, std::string_view name) {
  const std::string key(name);
  return find_in_json(map, {&key, 1});
}

template <class Json, class Found>
Found find(const Json& metrics, std::string_view path) {
  if (Found found = entry(metrics, path)) return found;
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    const Found inner = entry(metrics, path.substr(0, slash));
    if (!inner) continue;
    if (Found found = find<Json, Found>(*inner, path.substr(slash + 1))) return found;
  }
  return {};
}

template <class See>
void each_below(const std::string& path, const Value& value, const See& see) {
  if (!value.is_map() || value.as_map().empty()) return see(path, value);
  for (const auto& [key, item] : value.as_map()) {
    each_below(cat(path, "/", key_text(key)), item, see);
  }
}

template <class See>
void each_below(std::string_view path, std::string_view value, const See& see) {
  bool has_any = false;
  if (value.starts_with('{')) {
    each_json_entry(value, [&](std::string_view name, std::string_view item) {
      has_any = true;
      const std::string_view front = path.substr(0, path.size() - 1);
      each_below(std::string_view(cat(front, "/", name.substr(1))), item, see);
    });
  }
  if (!has_any) see(path, value);
}

}  // namespace

const Value* find_metric(const Value& metrics, std::string_view path) {
  return find<Value, const Value*>(metrics, path);
}

std::optional<std::string_view> find_metric_text(std::string_view metrics, std::string_view path) {
  return find<std::string_view, std::optional<std::string_view>>(metrics, path);
}

void each_metric(const Value& metrics,
                 const std::function<void(const std::string&, const Value&)>& see) {
  if (!metrics.is_map()) return;
  for (const auto& [key, value] : metrics.as_map()) each_below(key_text(key), value, see);
}

void each_metric_text(std::string_view metrics,
                      const std::function<void(std::string_view, std::string_view)>& see) {
  each_json_entry(metrics, [&](std::string_view name, std::string_view value) {
    each_below(name, value, see);
  });
}

}  // namespace rtrain
