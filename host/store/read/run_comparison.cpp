#include "host/store/read/run_comparison.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "host/base/codec/metric_path.h"
#include "host/base/text/line_diff.h"
#include "host/base/text/text.h"
#include "host/store/read/run_document.h"
#include "host/store/runs/source_store.h"

namespace rtrain::store {
namespace {

struct Side {
  RunRef ref;
  Value run;
  List files;             // {kind, path, text}
  bool has_diff = false;  // `files` has the complete diff to the commit

  bool is_dirty() const { return run["environment"]["git_dirty"] == Value(true); }
};

// Flattens nested maps to dotted keys. A list is one value.
void flatten(const Value& value, const std::string& prefix, Map& out) {
  if (!value.is_map() || (value.as_map().empty() && !prefix.empty())) {
    if (!prefix.empty()) out.set(prefix, value);
    return;
  }
  for (const auto& [key, item] : value.as_map()) {
    flatten(item, prefix.empty() ? key_text(key) : cat(prefix, ".", key_text(key)), out);
  }
}

Map flat(const Value& value) {
  Map out;
  flatten(value, "", out);
  return out;
}

// {key: {a, b}}: keys in the order of a, then those only in b. `same`: includes equal values.
Map pairs(const Map& a, const Map& b, bool same = false) {
  Map out;
  const auto add = [&](const Key& key) {
    const std::string name = key_text(key);
    if (same || a[name] != b[name]) out.set(name, Map{{"a", a[name]}, {"b", b[name]}});
  };
  for (const auto& entry : a) add(entry.first);
  for (const auto& entry : b) {
    if (a.find(key_text(entry.first)) == nullptr) add(entry.first);
  }
  return out;
}

Map metrics_of(const Value& metrics) {
  Map out;
  each_metric(metrics, [&](const std::string& path, const Value& value) { out.set(path, value); });
  return out;
}

Map metric_pairs(const Value& a, const Value& b) {
  Map out;
  for (const auto& [key, both] : pairs(metrics_of(a), metrics_of(b), true)) {
    Map row = both.as_map();
    const bool numbers = row["a"].is_number() && row["b"].is_number();
    row.set("delta", numbers ? Value(row["b"].as_float() - row["a"].as_float()) : Value());
    out.set(key, std::move(row));
  }
  return out;
}

// The environment in which the run computed, without the command and job, which differ in any case.
Map environment_of(const Side& side) {
  Map out = flat(side.run["environment"]);
  for (const char* key : {"command", "git_commit", "git_dirty", "git_diff_cut", "job"})
    out.del(key);
  return out;
}

// Splits git's diff by file, without the files that are stored themselves.
List split_diff(const std::string& text, const List& kept) {
  constexpr std::string_view kBegin = "diff --git a/";
  List out;
  for (size_t at = text.find(kBegin); at != std::string::npos;) {
    const size_t next = text.find(cat("\n", kBegin), at);
    const std::string section = text.substr(at, next == std::string::npos ? next : next + 1 - at);
    const std::string path = section.substr(
        kBegin.size(), std::min(section.find(" b/"), section.find('\n')) - kBegin.size());
    const bool is_kept = std::any_of(kept.begin(), kept.end(), [&](const Value& file) {
      return cat("/", path).ends_with(cat("/", file["path"].as_string()));
    });
    if (!is_kept) out.push_back(Map{{"kind", "diff"}, {"path", path}, {"text", section}});
    at = next == std::string::npos ? next : next + 1;
  }
  return out;
}

List files_of(const List& sources) {
  List out;
  for (const Value& source : sources) {
    if (source["kind"] != Value("diff")) out.push_back(source);
  }
  for (const Value& source : sources) {
    if (source["kind"] != Value("diff")) continue;
    for (Value& file : split_diff(source["text"].as_string(), out)) out.push_back(std::move(file));
  }
  return out;
}

Side side_of(OpenStore& store, const RunRef& ref) {
  const List sources = read_sources(store.database(), ref.run_id);
  Side out{.ref = ref, .run = read_run(store, ref), .files = files_of(sources)};
  out.has_diff = out.run["environment"]["git_diff_cut"] != Value(true) &&
                 std::any_of(sources.begin(), sources.end(),
                             [](const Value& source) { return source["kind"] == Value("diff"); });
  return out;
}

// Scripts are compared with each other, whatever their names.
const Value* same_file(const Side& side, const Value& file) {
  for (const Value& each : side.files) {
    if (each["kind"] != file["kind"]) continue;
    if (file["kind"] == Value("script") || each["path"] == file["path"]) return &each;
  }
  return nullptr;
}

std::string title(const Side& side, const Value* file) {
  if (file == nullptr) return "/dev/null";
  const char* what = (*file)["kind"] == Value("diff") ? " (git diff HEAD)" : "";
  return cat(side.ref.name, "/", (*file)["path"].as_string(), what);
}

List changed_files(const Side& a, const Side& b) {
  List all = a.files;
  for (const Value& file : b.files) {
    if (same_file(a, file) == nullptr) all.push_back(file);
  }
  List out;
  for (const Value& file : all) {
    const Value* left = same_file(a, file);
    const Value* right = same_file(b, file);
    const auto text = [](const Value* one) {
      return one == nullptr ? "" : (*one)["text"].as_string();
    };
    const std::string diff = unified_diff(text(left), text(right), title(a, left), title(b, right));
    if (diff.empty()) continue;
    out.push_back(Map{{"kind", file["kind"]}, {"path", file["path"]}, {"diff", diff}});
  }
  return out;
}

// If both have uncommitted changes on the same commit, they differ if a file differs, or if their
// diffs are not known.
Map code_of(const Side& a, const Side& b) {
  const Value& left = a.run["environment"];
  const Value& right = b.run["environment"];
  const auto both = [&](const char* key) { return Map{{"a", left[key]}, {"b", right[key]}}; };
  List files = changed_files(a, b);
  const bool same_commit = left["git_commit"] == right["git_commit"];
  const bool may_differ = !same_commit || !files.empty() || !a.has_diff || !b.has_diff;
  Map out;
  if (!same_commit) out.set("git_commit", both("git_commit"));
  if (left["git_dirty"] != right["git_dirty"] || (a.is_dirty() && may_differ)) {
    out.set("git_dirty", both("git_dirty"));
  }
  out.set("files", std::move(files));
  return out;
}

}  // namespace

Value compare_runs(OpenStore& store, const RunRef& first, const RunRef& second) {
  const Side a = side_of(store, first);
  const Side b = side_of(store, second);
  const auto name = [](const Side& side) {
    return Map{{"name", side.ref.name}, {"run_id", side.ref.run_id}};
  };
  return Map{{"a", name(a)},
             {"b", name(b)},
             {"config", pairs(flat(a.run["config"]), flat(b.run["config"]))},
             {"scaling", pairs(flat(a.run["scaling"]), flat(b.run["scaling"]))},
             {"code", code_of(a, b)},
             {"environment", pairs(environment_of(a), environment_of(b))},
             {"metrics", metric_pairs(a.run["metrics"], b.run["metrics"])}};
}

}  // namespace rtrain::store
