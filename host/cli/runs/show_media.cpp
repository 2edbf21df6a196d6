#include "host/cli/runs/show_media.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "host/base/codec/json.h"
#include "host/base/codec/wav.h"
#include "host/base/text/counted.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/runs/media_files.h"
#include "host/cli/screen/pictures.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/store/runs/media_store.h"

namespace rtrain::cli {
namespace {

Map row_of(const store::MediaRow& row, const std::optional<std::string>& path) {
  Map out = store::describe_media(row);
  out.set("path", path ? Value(*path) : Value());
  return out;
}

void print_list(const List& rows, size_t width) {
  std::vector<std::vector<std::string>> lines;
  for (const Value& row : rows) {
    lines.push_back({row["kind"].as_string(), row["name"].as_string(), cat(row["step"].as_int()),
                     cat(row["rank"].as_int()), human_size(row["bytes"].as_int()),
                     row["path"].string_or("")});
  }
  print_table({{"KIND"},
               {.header = "NAME", .key = true},
               {.header = "STEP", .right = true},
               {.header = "RANK", .right = true},
               {.header = "SIZE", .right = true},
               {.header = "PATH", .fills = true}},
              lines, width);
}

// Returns the rows of the last step, for each kind, name and rank.
std::vector<store::MediaRow> newest_of(const std::vector<store::MediaRow>& rows) {
  std::map<std::tuple<std::string, std::string, int64_t>, store::MediaRow> newest;
  for (const store::MediaRow& row : rows)
    newest.insert_or_assign({row.kind, row.name, row.rank}, row);
  std::vector<store::MediaRow> out;
  for (auto& [key, row] : newest) out.push_back(std::move(row));
  return out;
}

// Loads LibTorch, as `rtrain peek` does.
class Pictures {
 public:
  Pictures(PictureForm form, size_t width) : form_(form), size_(picture_size(form, width)) {
    bind::add_host_modules(state_);
  }

  void print(const std::string& label, const std::string& png) {
    lua::push_module_function(state_, "rtrain.data.peek", "picture");
    lua::push_value(state_, Value(png));
    lua::push_value(state_, Value(static_cast<int64_t>(size_)));
    lua::protected_call(state_, 2, 1);
    Value picture = lua::to_value(state_, -1, "the picture");
    lua_pop(state_, 1);
    picture.as_map().set("label", label);
    print_pictures({picture}, form_);
  }

 private:
  lua::State state_;
  PictureForm form_;
  size_t size_;
};

// Returns one character per bin, at most 64; adjacent bins are added up.
std::string bars_of(const List& counts) {
  constexpr size_t kWidest = 64;
  constexpr std::array kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t together = (counts.size() + kWidest - 1) / kWidest;
  std::vector<double> heights((counts.size() + together - 1) / together);
  for (size_t i = 0; i < counts.size(); ++i) heights[i / together] += counts[i].as_float();
  const double highest = *std::max_element(heights.begin(), heights.end());
  std::string out;
  for (const double height : heights) {
    // Rounds up, so that every bin above zero is visible.
    const double part = highest > 0 ? std::ceil(height / highest * (kBars.size() - 1)) : 0;
    out += kBars[static_cast<size_t>(part)];
  }
  return out;
}

void print_histogram(const Value& histogram) {
  std::cout << bars_of(histogram["counts"].as_list()) << "\n"
            << human_number(histogram["min"]) << " to " << human_number(histogram["max"]) << ", "
            << counted(static_cast<size_t>(histogram["num"].as_float()), "number");
  if (const double others = histogram["nonfinite"].as_float(); others > 0) {
    std::cout << " and " << others << " not finite";
  }
  std::cout << "\n";
}

void print_audio(const std::string& wav) {
  const WavFormat format = read_wav_format(wav);
  std::cout << human_number(format.seconds()) << " s, " << format.sample_rate << " Hz, "
            << counted(format.channels, "channel") << "\n";
}

void print_logged_table(const Value& table, size_t width) {
  constexpr size_t kRows = 10;
  std::vector<Column> columns;
  for (const Value& name : table["columns"].as_list()) {
    columns.push_back({.header = name.as_string()});
  }
  std::vector<std::vector<std::string>> lines;
  const List& rows = table["rows"].as_list();
  for (size_t i = 0; i < std::min(rows.size(), kRows); ++i) {
    std::vector<std::string> cells;
    for (const Value& cell : rows[i].as_list()) {
      cells.push_back(cell.is_string() ? cell.as_string() : human_number(cell));
    }
    lines.push_back(std::move(cells));
  }
  print_table(columns, lines, width);
  if (rows.size() > kRows) std::cout << "and " << counted(rows.size() - kRows, "row") << " more\n";
}

void print_contents(const ListingOptions& options, store::OpenRun& run,
                    const std::vector<store::MediaRow>& rows, const std::string& images) {
  std::optional<PictureForm> form;
  std::optional<Pictures> pictures;
  for (const store::MediaRow& row : newest_of(rows)) {
    const std::string label =
        terminal_line(cat(row.kind, " ", row.name, ", step ", row.step, ", rank ", row.rank));
    const bool is_image = row.kind == "image" || row.kind == "video";
    if (is_image && !form) form = picture_form(images);
    if (is_image && *form == PictureForm::kNone) continue;
    const std::string content =
        store::read_media_content(run.store.database(), run.ref.run_id, row.hash);
    if (is_image) {
      if (!pictures) pictures.emplace(*form, options.width());
      pictures->print(label, content);
      continue;
    }
    std::cout << "\n" << label << "\n";
    if (row.kind == "histogram") {
      print_histogram(from_json(content));
    } else if (row.kind == "audio") {
      print_audio(content);
    } else if (row.kind == "table") {
      print_logged_table(from_json(content), options.width());
    } else {
      // Escapes control characters; -o FOLDER writes the unchanged text.
      std::cout << terminal_text(content) << (content.ends_with('\n') ? "" : "\n");
    }
  }
}

}  // namespace

void show_media(const ListingOptions& options, store::OpenRun& run, const MediaOutput& output) {
  const std::vector<store::MediaRow> media =
      store::read_media(run.store.database(), run.ref.run_id);
  std::optional<MediaFiles> files;
  if (!output.folder.empty()) files.emplace(output.folder, output.formulas);
  List rows;
  for (const store::MediaRow& row : media) {
    std::optional<std::string> path;
    if (files) {
      path = files->write(
          row, store::read_media_content(run.store.database(), run.ref.run_id, row.hash));
    }
    rows.push_back(row_of(row, path));
  }
  if (options.for_programs()) return options.print(rows);
  if (rows.empty()) {
    std::cerr << "the run '" << run.ref.name
              << "' has logged no images, videos, audio, histograms, "
              << "tables or texts\n";
    return;
  }
  print_list(rows, options.width());
  if (files) {
    std::cerr << "wrote " << counted(rows.size(), "file") << " to " << output.folder << "\n";
  } else {
    print_contents(options, run, media, output.images);
  }
}

}  // namespace rtrain::cli
