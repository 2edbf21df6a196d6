#include "host/dash/offline_page.h"

#include <algorithm>
#include <deque>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/base64.h"
#include "host/base/text/text.h"
#include "host/dash/page_style.h"
#include "host/store/read/curves/curve_points.h"
#include "host/store/read/logs/run_logs.h"
#include "host/store/read/run_document.h"
#include "host/store/read/run_listing.h"
#include "host/store/runs/media_store.h"

namespace rtrain::dash {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// In JSON "<" occurs only in strings.
std::string without_markup(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

class Answers {
 public:
  Answers(std::ostream& out, const Api& api, const OfflineLimits& limits)
      : out_(out), api_(api), limits_(limits), media_left_(limits.media_bytes) {}

  OfflineOmissions write(const std::vector<store::RunRef>& runs) {
    out_ << R"({"made_at":)" << to_json(time_text(now_ms())) << R"(,"answers":{"":null)";
    List rows;
    for (const store::RunRef& run : runs) rows.push_back(write_run(run));
    write_comparisons(runs);
    write_sweeps(rows);
    write_answer("api/runs", {}, Value(std::move(rows)));
    write_json("api/views", {}, ask("/api/views", {}));
    out_ << "}}";
    return omitted_;
  }

 private:
  static std::string path_of(const store::RunRef& run) { return cat("api/runs/", run.name); }

  // The key is the path and the query's pairs, as in web/server/stored.js.
  void write_json(const std::string& path, const Pairs& query, std::string_view json) {
    std::string key = path;
    for (const auto& [name, value] : query) key += cat("\n", name, "=", value);
    out_ << ",\n" << without_markup(to_json(Value(key))) << ":" << without_markup(trim(json));
  }
  void write_answer(const std::string& path, const Pairs& query, const Value& answer) {
    write_json(path, query, to_json(answer));
  }

  // Returns the API's answer.
  std::string ask(const std::string& path, const Pairs& query) const {
    http::HttpRequest request;
    request.method = "GET";
    request.path = path;
    for (const auto& [name, value] : query) request.query.add(name, value);
    http::HttpResponse answer = api_.answer(request).response;
    if (answer.status == 200) return std::move(answer.body);
    throw Error(Code::kEnvironment,
                cat(path, ": ", from_json(answer.body)["error"]["message"].as_string()));
  }
  // Asks by the run's id, since the beginning of a name could match another run.
  std::string ask_run(const store::RunRef& run, const std::string& part,
                      const Pairs& query = {}) const {
    return ask(cat("/api/runs/", run.run_id, part), query);
  }

  // Writes the answers about one run, and returns its row in the list of runs.
  Value write_run(const store::RunRef& run) {
    const std::string path = path_of(run);
    store::OpenRun open = api_.open_run(run.run_id);
    for (const char* part : {"", "/hangs", "/curves", "/sources"}) {
      write_json(path + part, {}, ask_run(run, part));
    }
    write_json("api/nodes", {{"run", run.name}}, ask("/api/nodes", {{"run", run.run_id}}));
    write_curves(run, open);
    for (int64_t rank = 0; rank < num_ranks(run, open); ++rank) {
      const Pairs query = {{"rank", cat(rank)}};
      for (const char* part : {"/memory", "/flame"}) {
        write_json(path + part, query, ask_run(run, part, query));
      }
    }
    write_logs(run);
    write_media(run, open);
    const store::RunFilter it{
        .where = cat("run_id = '", run.run_id, "'"), .sort = {}, .archived = true};
    store::Database& database = open.store.database();
    Value row = store::RunListing(database).rows(it).at(0);
    row.as_map().set("config", store::read_config(database, run.run_id));
    return row;
  }

  // Returns the number of ranks whose curves and memory are written.
  int64_t num_ranks(const store::RunRef& run, store::OpenRun& open) const {
    const int64_t workers = store::read_run(open.store, run)["num_workers"].int_or(1);
    return std::clamp<int64_t>(workers, 1, limits_.ranks);
  }

  void write_curves(const store::RunRef& run, store::OpenRun& open) {
    const store::CurveNames all =
        store::curve_names(open.store.database(), api_.report_charts(), run.run_id);
    std::vector<std::string> names = all.all();
    if (names.size() > limits_.curves) {
      omitted_.curves += names.size() - limits_.curves;
      names.resize(limits_.curves);
    }
    const std::vector<std::string> both = all.both();
    const int64_t ranks = num_ranks(run, open);
    for (const std::string& name : names) {
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const size_t parts = rank == 0 ? limits_.parts : limits_.parts_of_others;
        write_curve(run, {{"name", name}, {"rank", cat(rank)}}, parts);
        if (std::binary_search(both.begin(), both.end(), name)) {
          write_curve(run, {{"name", name}, {"rank", cat(rank)}, {"logged", "1"}}, parts);
        }
      }
    }
  }

  void write_curve(const store::RunRef& run, const Pairs& query, size_t parts) {
    Pairs asked = query;
    asked.emplace_back("points", cat(parts));
    write_json(path_of(run) + "/curve", query, ask_run(run, "/curve", asked));
  }

  // Writes the last lines of each rank, over all attempts, in their order.
  void write_logs(const store::RunRef& run) {
    std::map<int64_t, std::deque<std::pair<int64_t, Value>>> by_rank;
    store::RunLogs logs(run, {.all_attempts = true});
    logs.find();
    int64_t total = 0;
    logs.each_new_line(true, [&](const store::RunLogLine& line) {
      auto& lines = by_rank[line.rank];
      lines.emplace_back(total++, store::describe_log_line(line));
      if (lines.size() > limits_.lines) lines.pop_front();
    });
    std::vector<std::pair<int64_t, Value>> kept;
    for (auto& [rank, lines] : by_rank) {
      std::move(lines.begin(), lines.end(), std::back_inserter(kept));
    }
    std::sort(kept.begin(), kept.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    List out;
    for (auto& [at, line] : kept) out.push_back(std::move(line));
    write_answer(path_of(run) + "/logs", {}, Map{{"lines", std::move(out)}, {"total", total}});
  }

  void write_media(const store::RunRef& run, store::OpenRun& open) {
    std::vector<store::MediaRow> rows = store::read_media(open.store.database(), run.run_id);
    List listed;
    for (const store::MediaRow& row : rows) listed.push_back(store::describe_media(row));
    write_answer(path_of(run) + "/media", {}, Value(std::move(listed)));
    std::stable_sort(
        rows.begin(), rows.end(),
        [](const store::MediaRow& a, const store::MediaRow& b) { return a.step > b.step; });
    std::map<std::string, bool> is_in;  // by hash
    for (const store::MediaRow& row : rows) {
      const auto [entry, is_new] = is_in.emplace(row.hash, false);
      if (is_new && static_cast<size_t>(row.size_bytes) <= media_left_) {
        entry->second = true;
        media_left_ -= static_cast<size_t>(row.size_bytes);
        write_content(run, row,
                      store::read_media_content(open.store.database(), run.run_id, row.hash));
      }
      if (!entry->second) ++omitted_.media;
    }
  }

  void write_content(const store::RunRef& run, const store::MediaRow& row,
                     const std::string& content) {
    const std::string path = path_of(run) + "/media/content";
    const Pairs query = {{"hash", row.hash}};
    if (row.kind == "image" || row.kind == "video") {
      write_answer(path, query, cat("data:image/png;base64,", to_base64(content)));
    } else if (row.kind == "audio") {
      write_answer(path, query, cat("data:audio/wav;base64,", to_base64(content)));
    } else if (row.kind == "text") {
      write_answer(path, query, Value(content));
    } else {
      write_json(path, query, content);
    }
  }

  // Writes the objective of each sweep that has a tag among the runs.
  void write_sweeps(const List& runs) {
    constexpr std::string_view kTag = "sweep:";
    std::set<std::string> names;
    for (const Value& run : runs) {
      for (const Value& tag : run["tags"].as_list()) {
        const std::string& text = tag.as_string();
        if (text.starts_with(kTag)) names.insert(text.substr(kTag.size()));
      }
    }
    for (const std::string& name : names) {
      write_json("api/sweep", {{"name", name}}, ask("/api/sweep", {{"name", name}}));
    }
  }

  void write_comparisons(const std::vector<store::RunRef>& runs) {
    if (runs.size() > limits_.compared) return;
    for (const store::RunRef& a : runs) {
      for (const store::RunRef& b : runs) {
        if (a.run_id == b.run_id) continue;
        write_json("api/compare", {{"a", a.name}, {"b", b.name}},
                   ask("/api/compare", {{"a", a.run_id}, {"b", b.run_id}}));
      }
    }
  }

  std::ostream& out_;
  const Api& api_;
  const OfflineLimits& limits_;
  size_t media_left_;
  OfflineOmissions omitted_;
};

const std::string& page_text(const std::vector<PageFile>& pages, std::string_view path) {
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&](const PageFile& page) { return page.path == path; });
  RT_CHECK(found != pages.end());
  return found->bytes;
}

// REQUIRES: the text contains `part`.
void replace(std::string& text, std::string_view part, std::string_view with) {
  const size_t at = text.find(part);
  RT_CHECK(at != std::string::npos);
  text.replace(at, part.size(), with);
}

// Returns the first page's head with its style and without scripts.
std::string head_of(const std::vector<PageFile>& pages, const std::string& nonce) {
  std::string out = page_text(pages, "/");
  replace(out, R"(<meta charset="utf-8">)",
          cat(R"(<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-)",
              nonce, "'; style-src 'nonce-", nonce,
              R"('; img-src data:; media-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">)"));
  replace(
      out, R"(href="icon.svg")",
      cat(R"(href="data:image/svg+xml;base64,)", to_base64(page_text(pages, "/icon.svg")), "\""));
  out = with_style(std::move(out), page_text(pages, "/style.css"), nonce);
  replace(out, "<script type=\"module\" src=\"main.js\"></script>\n", "");
  return out;
}

}  // namespace

OfflineOmissions write_offline_page(std::ostream& out, const Api& api,
                                    const std::vector<store::RunRef>& runs,
                                    const std::vector<PageFile>& pages,
                                    const OfflineLimits& limits) {
  const std::string nonce = random_hex(kNonceDigits);
  const std::string page = head_of(pages, nonce);
  const size_t end = page.rfind("</body>");
  RT_CHECK(end != std::string::npos);
  out << std::string_view(page).substr(0, end) << R"(<script type="application/json" id="stored">)";
  const OfflineOmissions omitted = Answers(out, api, limits).write(runs);
  out << "</script>\n<script nonce=\"" << nonce << "\">\n"
      << page_text(pages, "/main.js") << "</script>\n"
      << std::string_view(page).substr(end);
  return omitted;
}

}  // namespace rtrain::dash
