// rtrain show RUN: everything recorded about one run.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/base/text/text_width.h"
#include "host/cli/parser/command.h"
#include "host/cli/runs/show_media.h"
#include "host/cli/screen/listing.h"
#include "host/cli/screen/pictures.h"
#include "host/store/read/run_document.h"
#include "host/store/runs/source_store.h"

namespace rtrain::cli {
namespace {

// A shorter wait is part of a normal start.
constexpr double kWaitS = 1;

// Prints lines within a width. Continuation lines are indented.
class Page {
 public:
  explicit Page(size_t width) : width_(width) {}

  // Prints the text after `beginning`; further lines are indented to its width.
  void add(std::string_view beginning, std::string_view text) const {
    const size_t indent = text_width(beginning);
    const size_t room = width_ == kAnyWidth ? width_ : std::max(width_, indent + kLeast) - indent;
    std::string before(beginning);
    for (const std::string& paragraph : split(text, '\n')) {
      for (const std::string& line : wrapped(terminal_cell(paragraph), room)) {
        std::cout << before << line << "\n";
        before.assign(indent, ' ');
      }
    }
  }

  void add_field(std::string_view label, const std::string& text) const {
    constexpr size_t kLabelWidth = 12;
    if (!text.empty()) add(cat(label, std::string(kLabelWidth - label.size(), ' ')), text);
  }

 private:
  static constexpr size_t kLeast = 20;
  size_t width_;
};

std::string error_message(const Value& error) {
  if (!error.is_map()) return "";
  const Value& message = error["message"];
  return message.is_string() ? message.as_string() : to_json(error);
}

std::string words(const Value& list) {
  std::vector<std::string> texts;
  if (!list.is_list()) return "";
  for (const Value& item : list.as_list()) texts.push_back(brief_name(human_number(item)));
  return join(texts, " ");
}

// Returns the value with long strings shortened.
Value with_brief_texts(const Value& value) {
  if (value.is_string()) return brief_value(value.as_string());
  if (value.is_list()) {
    List out;
    for (const Value& item : value.as_list()) out.push_back(with_brief_texts(item));
    return out;
  }
  if (!value.is_map()) return value;
  Map out;
  for (const auto& [key, item] : value.as_map()) {
    const std::string* name = std::get_if<std::string>(&key);
    out.set(name != nullptr ? Key(brief_name(*name)) : key, with_brief_texts(item));
  }
  return out;
}

std::string exits(const Value& workers) {
  std::vector<std::string> parts;
  for (const Value& worker : workers.as_list()) {
    std::string part = cat("rank ", worker["rank"].as_int(), " pid ", worker["pid"].as_int());
    if (!worker["signal"].is_nil()) part += cat(" signal ", worker["signal"].as_int());
    if (!worker["exit_code"].is_nil()) part += cat(" exit ", worker["exit_code"].as_int());
    parts.push_back(std::move(part));
  }
  return join(parts, ", ");
}

// Returns for example "rank 0 cuda:0: 97 % busy, 21.5 GB in use (20.4 GB its own), 700 W, 71 °C,
// slowed down".
std::string gpu_text(const Value& worker) {
  const Value& gpu = worker["gpu"];
  std::vector<std::string> parts;
  const auto add = [&](const char* key, const char* unit) {
    if (!gpu[key].is_nil()) {
      parts.push_back(cat(std::llround(gpu[key].as_float()), unit));
    }
  };
  add("utilization_percent", " % busy");
  if (const Value& used = gpu["memory_used_bytes"]; !used.is_nil()) {
    const Value& own = gpu["memory_own_bytes"];
    parts.push_back(cat(
        human_size(static_cast<int64_t>(used.as_float())), " in use",
        own.is_nil() ? ""
                     : cat(" (", human_size(static_cast<int64_t>(own.as_float())), " its own)")));
  }
  add("power_w", " W");
  add("temperature_c", " °C");
  if (!gpu["slowed"].is_nil() && gpu["slowed"].as_float() > 0) parts.emplace_back("slowed down");
  return cat("rank ", worker["rank"].as_int(), " ", worker["device"].as_string(), ": ",
             join(parts, ", "));
}

// Returns for example "rank 0 dataset train: data stall 3.1 % (waiting for rows 1.2 s, …)".
std::string data_text(const Value& worker, const std::string& name, const Value& times) {
  const auto seconds = [&times](const char* key) {
    return times[key].is_nil() ? "?" : human_duration(times[key].as_float());
  };
  const Value& stall = times["stall_percent"];
  const std::string out = cat(
      "rank ", worker["rank"].as_int(), " dataset ", name, ": data stall ",
      stall.is_nil() ? "?" : cat(std::llround(stall.as_float()), " %"), " (waiting for rows ",
      seconds("wait_s"), ", other ranks ", seconds("ranks_s"), ", batching ", seconds("batching_s"),
      ", collating ", seconds("collate_s"), "; loop body ", seconds("body_s"), ")");
  const Value& ingest = times["ingest_workers"];
  if (ingest.is_nil()) return out;
  return cat(out, ", ", counted(static_cast<size_t>(ingest.as_float()), "ingest worker"));
}

void print_data(const Page& page, const Value& worker) {
  if (worker["data"].is_nil()) return;
  for (const auto& [name, times] : worker["data"].as_map()) {
    page.add("     ", data_text(worker, std::get<std::string>(name), times));
  }
}

// Returns for example "data 3 %, forward 31 %, …": fractions of the train function's time.
std::string timing_text(const Value& timing) {
  double all_s = 0;
  for (const auto& [key, seconds] : timing.as_map()) all_s += seconds.as_float();
  std::vector<std::string> parts;
  for (const char* phase : {"data", "forward", "backward", "optimizer", "communication", "wait",
                            "checkpoint", "report", "other"}) {
    const Value& seconds = timing[cat(phase, "_s")];
    if (seconds.is_nil() || all_s <= 0) continue;
    constexpr double kPercent = 100;
    const double share = kPercent * seconds.as_float() / all_s;
    if (share <= 0) continue;
    parts.push_back(cat(phase, share < 1 ? " <1" : cat(" ", std::llround(share)), " %"));
  }
  return cat("time  ", human_duration(all_s), ": ", join(parts, ", "));
}

void print_attempts(const Page& page, const Value& attempts) {
  std::cout << "\nattempts\n";
  for (const Value& attempt : attempts.as_list()) {
    page.add(cat("  ", attempt["attempt"].as_int(), "  "),
             cat(attempt["status"].as_string(), "  ", human_time(attempt["started_at"]), "  ",
                 exits(attempt["workers"])));
    if (!attempt["heal_s"].is_nil()) {
      page.add("     ", cat("all workers had the state again after ",
                            std::llround(attempt["heal_s"].as_float() * 1000), " ms"));
    }
    if (!attempt["timing"].is_nil()) page.add("     ", timing_text(attempt["timing"]));
    for (const Value& worker : attempt["workers"].as_list()) {
      if (!worker["gpu"].is_nil()) page.add("     ", gpu_text(worker));
      print_data(page, worker);
    }
    const std::string message = error_message(attempt["error"]);
    if (!message.empty()) page.add("     ", message);
  }
}

// Returns for example "storage 3 ms, link n1 12 ms; link n2: no answer within 2 s".
std::string checks_text(const Value& checks) {
  std::vector<std::string> fine;
  std::vector<std::string> bad;
  for (const Value& check : checks.as_list()) {
    const std::string peer = check["peer"].string_or("");
    const std::string name = cat(check["check"].as_string(), peer.empty() ? "" : " ", peer);
    if (check["problem"].is_nil()) {
      fine.push_back(cat(name, " ", std::llround(check["seconds"].as_float() * 1000), " ms"));
    } else {
      bad.push_back(cat(name, ": ", check["problem"].as_string()));
    }
  }
  const std::string problems = join(bad, "; ");
  return cat(join(fine, ", "), fine.empty() || bad.empty() ? "" : "; ", problems);
}

void print_nodes(const Page& page, const Value& nodes) {
  if (nodes.as_list().empty()) return;
  std::cout << "\nnodes\n";
  for (const Value& node : nodes.as_list()) {
    const std::string address = node["address"].as_string();
    page.add(cat("  ", node["node"].as_int(), "  "),
             cat(node["host"].as_string(), address.empty() ? "" : " ", address, "  ",
                 checks_text(node["checks"])));
    if (node["evicted_at"].is_nil()) continue;
    page.add("     ",
             cat("evicted ", human_time(node["evicted_at"]), ": ", node["reason"].as_string()));
  }
}

void print_checkpoints(const Page& page, const Value& checkpoints) {
  if (checkpoints.as_list().empty()) return;
  std::cout << "\ncheckpoints\n";
  for (const Value& checkpoint : checkpoints.as_list()) {
    page.add("  ", cat(checkpoint["path"].as_string(), "  ",
                       human_size(checkpoint["size_bytes"].as_int()),
                       checkpoint["best"].as_bool() ? "  best" : "",
                       checkpoint["latest"].as_bool() ? "  latest" : ""));
  }
}

void print_annotations(const Page& page, const Value& annotations) {
  if (annotations.as_list().empty()) return;
  std::cout << "\nannotations\n";
  for (const Value& note : annotations.as_list()) {
    page.add(cat("  ", human_time(note["time"]), "  "),
             cat("rank ", note["rank"].as_int(), "  ", note["severity"].as_string(), ": ",
                 note["text"].as_string()));
  }
}

std::string time_text(const Value& run) {
  const double waited = run["waiting_s"].as_float();
  return cat(human_time(run["started_at"]), " UTC, ", human_duration(run["duration_s"].as_float()),
             waited < kWaitS ? ""
                             : cat(" (", human_duration(waited), " waiting for its resources, ",
                                   human_duration(run["running_s"].as_float()), " running)"));
}

struct Options : ListingOptions {
  bool diff = false;
  bool script = false;
  bool media = false;
  std::string output;
  std::string images;
  bool escape_formulas = false;
};

MediaOutput media_output(const Options& options) {
  return {.folder = options.output,
          .formulas =
              options.escape_formulas ? store::CsvFormulas::kEscaped : store::CsvFormulas::kKept,
          .images = options.images};
}

const Value* source_of(const List& sources, std::string_view kind) {
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const Value& source) {
    return source["kind"] == Value(kind);
  });
  return found == sources.end() ? nullptr : &*found;
}

// Returns for example "2 files, +10 −3".
std::string changes_text(const std::string& diff) {
  size_t files = 0;
  size_t added = 0;
  size_t removed = 0;
  for (const std::string& line : split(diff, '\n')) {
    if (line.starts_with("diff --git ")) ++files;
    if (line.starts_with("+") && !line.starts_with("+++ ")) ++added;
    if (line.starts_with("-") && !line.starts_with("--- ")) ++removed;
  }
  return cat(counted(files, "file"), ", +", added, " −", removed);
}

std::string git_text(const Value& environment, const List& sources, const std::string& name) {
  if (environment["git_commit"].is_nil()) return "";
  const std::string& commit = environment["git_commit"].as_string();
  if (environment["git_dirty"] != Value(true)) return commit;
  const Value* diff = source_of(sources, "diff");
  if (diff == nullptr) return cat(commit, " (with changes)");
  return cat(commit, " (with changes: ", changes_text((*diff)["text"].as_string()),
             "; rtrain show ", shell_word(name), " --diff)");
}

// Returns for example "2 cores, 8.2 GB, Linux 6.1.0, LibTorch 2.11.0, rtrain 0.1.0".
std::string machine_text(const Value& environment) {
  std::vector<std::string> parts;
  if (const Value& cores = environment["cores"]; !cores.is_nil()) {
    parts.push_back(counted(static_cast<size_t>(cores.as_int()), "core"));
  }
  if (const Value& memory = environment["memory_bytes"]; !memory.is_nil()) {
    parts.push_back(human_size(memory.as_int()));
  }
  const auto add = [&](const char* what, const char* key) {
    std::string text = environment[key].string_or("");
    text.erase(std::min(text.find(", "), text.size()));  // omits LibTorch's own commit
    if (!text.empty()) parts.push_back(cat(what, " ", text));
  };
  add("Linux", "kernel");
  add("LibTorch", "libtorch");
  add("rtrain", "version");
  return join(parts, ", ");
}

std::string variables_text(const Value& variables) {
  std::vector<std::string> parts;
  if (!variables.is_map()) return "";
  for (const auto& [name, value] : variables.as_map()) {
    parts.push_back(cat(std::get<std::string>(name), "=", shell_word(value.as_string())));
  }
  return join(parts, " ");
}

void print_run(const Page& page, const Value& run, const Value& details, const List& sources) {
  const Value& environment = run["environment"];
  page.add_field("name", cat(run["name"].as_string(), "  (", run["run_id"].as_string(), ")"));
  page.add_field("status", run["status"].as_string());
  page.add_field("started", time_text(run));
  page.add_field("script", run["script"].as_string());
  page.add_field("command", words(environment["command"]));
  page.add_field("host", environment["hostname"].string_or(""));
  page.add_field("machine", machine_text(environment));
  page.add_field("variables", variables_text(environment["variables"]));
  page.add_field("git", git_text(environment, sources, run["name"].as_string()));
  page.add_field("tags", words(run["tags"]));
  page.add_field("note", details["note"].string_or(""));
  page.add_field("workers", cat(run["num_workers"].as_int()));
  if (run["config"] != Value(Map())) {
    page.add_field("config", to_json(with_brief_texts(run["config"])));
  }
  page.add_field("scaling", to_json(with_brief_texts(run["scaling"])));
  page.add_field("metrics", human_metrics(run["metrics"]));
  if (!run["last_report"].is_nil()) {
    page.add_field("last report", human_metrics(run["last_report"]));
  }
  page.add_field("path", run["path"].as_string());
  page.add_field("uri", run["uri"].string_or(""));
  page.add_field("error", error_message(details["error"]));
  print_attempts(page, run["attempts"]);
  print_nodes(page, run["nodes"]);
  print_checkpoints(page, run["checkpoints"]);
  print_annotations(page, run["annotations"]);
  for (const Value& event : details["events"].as_list()) {
    if (event["level"] == Value("info")) continue;
    page.add(cat(human_time(event["time"]), "  "),
             cat(event["level"].as_string(), ": ", event["text"].as_string()));
  }
}

// Prints only the diff or the script, unchanged.
void print_source(const Options& options, const store::OpenRun& run, const List& sources) {
  const std::string_view kind = options.diff ? "diff" : "script";
  const Value* source = source_of(sources, kind);
  if (source == nullptr) {
    throw Error(Code::kUsage, cat("the run '", run.ref.name, "' keeps no ", kind));
  }
  if (options.for_programs()) return options.print(*source);
  std::cout << (*source)["text"].as_string();
}

}  // namespace

void add_show(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("show", "Show one run");
  add_run_argument(command, *options);
  const Option diff = command.flag("--diff", &options->diff,
                                   "print the git diff that the run keeps, and nothing else");
  command.flag("--script", &options->script, "print the script that the run keeps").excludes(diff);
  command
      .flag("--media", &options->media,
            "images, videos, audio, histograms, tables and texts that the run has logged, the "
            "newest shown")
      .excludes(diff);
  command
      .option("-o,--output", &options->output, "with --media: write them to files in this folder")
      .value_name("FOLDER");
  command.flag("--escape-formulas", &options->escape_formulas,
               "in tables of -o: write a ' before a text that a spreadsheet would compute");
  add_images_option(command, options->images);
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "Keys of --json: name, run_id, status, num_workers, started_at, ended_at, duration_s,\n"
      "waiting_s (for cores and GPUs), running_s (all attempts), script, metrics (of the last\n"
      "report), tags, note, config, scaling, last_report, attempts, checkpoints,\n"
      "best_checkpoints, annotations, nodes, path, uri (in an object store), environment.\n"
      "last_report: training_iteration, time_total_s (of all attempts), timestamp, pid, hostname,\n"
      "node_ip.\n"
      "attempts: attempt, status (HEALED: lost workers were replaced in the next one, while the\n"
      "others lived), error, started_at, ended_at, heal_s (how long that took), timing, workers\n"
      "(rank, pid, host, device, gpu, data, timing, lost_s, exit_code, signal). lost_s: as of\n"
      "`rtrain watch`. timing: where the time of the train function went, in seconds, of an\n"
      "attempt the mean of its ranks: data_s, forward_s (from a batch to its backward),\n"
      "backward_s, optimizer_s, communication_s (what the thread waited for), wait_s (for\n"
      "ranks of its node that came later), checkpoint_s (and reports), report_s (their waits\n"
      "for the other ranks and the commit), other_s; --series time/data_s and so on. gpu: what\n"
      "the device was last seen to do: utilization_percent, memory_used_bytes,\n"
      "memory_own_bytes, power_w, temperature_c, slowed; `rtrain metrics --series gpu/power_w`\n"
      "and so on has all of it.\n"
      "data: by dataset, where the time of the rank's\n"
      "loops went, in seconds: wait_s, ranks_s, batching_s, collate_s, body_s; stall_percent,\n"
      "ingest_workers; --series data/NAME/wait_s and so on. annotations: time, attempt, rank,\n"
      "severity, text.\n"
      "nodes: node, host, address, checks (check, peer, seconds, problem), evicted_at, reason.\n"
      "environment: git_commit, git_dirty, git_diff_cut (the diff that is kept is not whole),\n"
      "hostname, command, version, libtorch, kernel, cores, memory_bytes, variables; of a QUEUED\n"
      "run launcher and job. With --diff or --script: kind, path, text. With --media a list: kind\n"
      "(image, video, audio, histogram, table, text), name, step, rank, attempt, time, bytes, "
      "hash\n"
      "(XXH3-64), path (of the file that -o wrote: .png, .wav, .json, .csv, .txt).\n"
      "checkpoints, best_checkpoints: as those of `rtrain checkpoint ls`");
  command.action([options] {
    if (!options->output.empty() && !options->media) {
      throw Error(Code::kUsage, "show -o FOLDER writes media: say --media too");
    }
    if (!options->images.empty() && !options->media) {
      throw Error(Code::kUsage, "show --images FORM is for images of --media: say --media too");
    }
    if (options->escape_formulas && options->output.empty()) {
      throw Error(Code::kUsage, "show --escape-formulas is for the tables of --media -o FOLDER");
    }
    store::OpenRun run = options->open_run();
    if (options->media) return show_media(*options, run, media_output(*options));
    const List sources = store::read_sources(run.store.database(), run.ref.run_id);
    if (options->diff || options->script) return print_source(*options, run, sources);
    Value document = store::read_run(run.store, run.ref);
    const Value details = store::read_details(run.store.database(), run.ref.run_id);
    if (!options->for_programs()) {
      return print_run(Page(options->width()), document, details, sources);
    }
    document.as_map().set("note", details["note"]);
    options->print(document);
  });
}

}  // namespace rtrain::cli
