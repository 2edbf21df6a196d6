// rtrain plot RUN… METRIC: draws curves of runs, in the terminal or to a picture.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/moving_average.h"
#include "host/base/rank_ranges.h"
#include "host/base/text/counted.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/chart_file.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/listing.h"
#include "host/machine/terminal_size.h"
#include "host/plot/terminal_chart.h"
#include "host/store/read/curves/curve_points.h"
#include "host/store/series/series_store.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::vector<std::string> words;  // RUN… METRIC
  std::vector<std::string> tags;
  std::string by = "step";
  std::string output;
  double smooth = 0;
  int64_t rank = 0;
  int chart_width = 0;
  int chart_height = 0;
  bool log_x = false;
  bool log_y = false;
  bool series = false;
};

struct CurveSource {
  store::RunRef run;
  std::string metric;
  std::string name;  // of the curve
  store::CurvePoints points;
};

struct FoundCurve {
  plot::Curve curve;
  size_t infinite = 0;  // infinite points, which the curve leaves out
};

std::vector<store::RunRef> runs_of(store::OpenStore& store, const Options& options) {
  std::vector<store::RunRef> out;
  for (size_t i = 0; i + 1 < options.words.size(); ++i) {
    out.push_back(store.find(options.words[i]));
  }
  for (store::RunRef& run : tagged_runs(store, options.tags)) out.push_back(std::move(run));
  if (!out.empty()) return out;
  throw Error(Code::kUsage, no_tagged_run(store, options.tags));
}

double x_of(const store::SeriesPoint& point, int64_t begin_ms, bool by_time) {
  constexpr double kMsPerSecond = 1000;
  return by_time ? static_cast<double>(point.time_ms - begin_ms) / kMsPerSecond
                 : static_cast<double>(point.step);
}

std::vector<plot::PlotPoint> plot_points(const std::vector<store::SeriesPoint>& points,
                                         bool by_time) {
  std::vector<plot::PlotPoint> out;
  for (const store::SeriesPoint& point : points) {
    out.push_back({x_of(point, points.front().time_ms, by_time), point.value});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const plot::PlotPoint& a, const plot::PlotPoint& b) { return a.x < b.x; });
  return out;
}

// Returns twice the number of columns that can be distinguished.
size_t columns_of(const Options& options) {
  constexpr size_t kDotsWide = 2;
  size_t columns = plot::ChartSize().columns;
  if (const size_t width = options.width(); width != kAnyWidth) columns = width;
  if (!options.output.empty()) columns = static_cast<size_t>(plot::PictureSize().width);
  if (options.chart_width > 0) columns = static_cast<size_t>(options.chart_width);
  return 2 * (options.output.empty() ? columns * kDotsWide : columns);
}

// Returns a curve, with its unsmoothed points below.
plot::Curve curve_of(const CurveSource& source, const std::vector<store::SeriesPoint>& points,
                     const Options& options) {
  plot::Curve out{.name = source.name, .points = plot_points(points, options.by == "time")};
  if (options.smooth <= 0) return out;
  out.faint = std::move(out.points);
  out.points = plot::smoothed(out.faint, options.smooth);
  return out;
}

// Returns the logged points as chart columns if there are more points than can be shown.
std::optional<FoundCurve> charted(store::OpenStore& store, const CurveSource& source,
                                  const Options& options) {
  const bool by_time = options.by == "time";
  store::ChartQuery query{
      .columns = columns_of(options), .by_time = by_time, .is_log = options.log_x};
  const auto columns_of_points = [&] {
    return store::chart_columns(store.database(), source.run.run_id, source.metric, options.rank,
                                query);
  };
  const std::vector<store::SeriesSummary> columns = columns_of_points();
  const store::SeriesSummary all = store::total(columns);
  constexpr size_t kPerColumn = 4;
  const bool is_short = static_cast<size_t>(all.count) <= kPerColumn * query.columns;
  // The least value above zero is not known.
  const bool is_below_axis = options.log_y && all.finite() > 0 && all.least.value <= 0;
  if (is_short || is_below_axis) return std::nullopt;
  FoundCurve out{.curve = {.name = source.name, .points = {}},
                 .infinite = static_cast<size_t>(all.infinities)};
  out.curve.points = plot_points(store::drawn_points(columns), by_time);
  if (options.smooth <= 0) return out;
  query.smoothing = options.smooth;
  out.curve.faint = std::move(out.curve.points);
  out.curve.points = plot_points(store::drawn_points(columns_of_points()), by_time);
  return out;
}

FoundCurve found_curve(store::OpenStore& store, const CurveSource& source, const Options& options) {
  const std::vector<store::SeriesPoint>& reported = source.points.reported;
  if (!reported.empty()) return {curve_of(source, reported, options)};
  if (auto found = charted(store, source, options)) return *std::move(found);
  const auto points =
      store::series_points(store.database(), source.run.run_id, source.metric, options.rank);
  return {curve_of(source, points, options)};
}

// Returns the error for a metric that no run has for the requested rank.
Error no_points(store::OpenStore& store, const std::vector<store::RunRef>& runs,
                const std::string& metric, const Options& options) {
  const std::string problem =
      cat("no points of '", terminal_line(metric), "' of rank ", options.rank, " in ",
          runs.size() == 1 ? runs.front().name : counted(runs.size(), "run"));
  for (const store::RunRef& run : runs) {
    const std::vector<int64_t> ranks = store::ranks_of_curve(store.database(), run.run_id, metric);
    if (ranks.empty() || std::ranges::count(ranks, options.rank) > 0) continue;  // without --logged
    return Error(Code::kUsage,
                 cat(problem, ": ", runs.size() == 1 ? "" : cat("in ", run.name, " "),
                     rank_ranges(ranks), ranks.size() == 1 ? " has some" : " have some"));
  }
  store::ReportCharts charts;
  const std::vector<std::string> names =
      options.series ? store::series_keys(store.database(), runs.front().run_id)
                     : store::curve_names(store.database(), charts, runs.front().run_id).all();
  return Error(Code::kUsage, cat(problem, suggestion(metric, names)));
}

// Returns the runs that have the metric. Throws if no run has it.
std::vector<CurveSource> sources_of(store::OpenStore& store, const std::vector<store::RunRef>& runs,
                                    const Options& options) {
  std::vector<CurveSource> out;
  const std::vector<std::string> metrics = split(options.words.back(), ',');
  for (const std::string& metric : metrics) {
    const size_t before = out.size();
    for (const store::RunRef& run : runs) {
      auto points =
          store::curve_points(store.database(), run.run_id, metric, options.rank, options.series);
      if (!points) {
        std::cerr << "rtrain: the run " << run.name << " has no '" << terminal_line(metric)
                  << "'\n";
        continue;
      }
      const std::string name = metrics.size() == 1 ? run.name
                               : runs.size() == 1  ? metric
                                                   : cat(run.name, " ", metric);
      out.push_back({run, metric, name, std::move(*points)});
    }
    if (out.size() > before) continue;
    throw no_points(store, runs, metric, options);
  }
  return out;
}

// Converts seconds to a larger unit if the times are long.
std::string scale_times(std::vector<plot::Curve>& curves) {
  double most = 0;
  for (const plot::Curve& curve : curves) most = std::max(most, curve.points.back().x);
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  const double unit = most > 2 * kHour ? kHour : most > 2 * kMinute ? kMinute : 1;
  for (plot::Curve& curve : curves) {
    for (plot::PlotPoint& point : curve.points) point.x /= unit;
    for (plot::PlotPoint& point : curve.faint) point.x /= unit;
  }
  return unit == kHour ? "hours" : unit == kMinute ? "minutes" : "seconds";
}

plot::Chart chart_of(store::OpenStore& store, const std::vector<CurveSource>& sources,
                     const Options& options) {
  plot::Chart chart{.title = join(split(options.words.back(), ','), ", "),
                    .x_label = options.by,
                    .log_x = options.log_x,
                    .log_y = options.log_y,
                    .curves = {}};
  size_t dropped = 0;
  for (const CurveSource& source : sources) {
    FoundCurve found = found_curve(store, source, options);
    dropped += found.infinite;
    chart.curves.push_back(std::move(found.curve));
  }
  if (options.by == "time") chart.x_label = scale_times(chart.curves);
  dropped += plot::drop_unplaceable(chart);
  if (dropped > 0) {
    std::cerr << "rtrain: " << counted(dropped, "point") << " left out: "
              << (options.log_x || options.log_y ? "not above zero, or infinite\n" : "infinite\n");
  }
  return chart;
}

// Prints all points, one after the other.
void print_points(store::OpenStore& store, const CurveSource& source, const Options& options) {
  MovingAverage average(options.smooth);
  std::optional<int64_t> begin;
  const auto print = [&](const store::SeriesPoint& point) {
    if (begin) std::cout << ",";
    if (!begin) begin = point.time_ms;
    const double y = options.smooth > 0 ? average.add(point.value) : point.value;
    std::cout << to_json(List{x_of(point, *begin, options.by == "time"), y});
  };
  for (const store::SeriesPoint& point : source.points.reported) print(point);
  if (!source.points.reported.empty()) return;
  store::each_valid_point(store.database(), source.run.run_id, source.metric, options.rank,
                          [&](const store::LoggedPoint& logged) { print(logged.point); });
}

void print_documents(store::OpenStore& store, const std::vector<CurveSource>& sources,
                     const Options& options) {
  const bool is_document = options.json == "true";
  if (is_document) std::cout << "[";
  for (const CurveSource& source : sources) {
    if (is_document && &source != &sources.front()) std::cout << ",\n";
    std::string document = to_json(Map{{"name", source.run.name},
                                       {"run_id", source.run.run_id},
                                       {"metric", source.metric},
                                       {"x", options.by}});
    document.pop_back();  // removes the closing bracket, which follows the points
    std::cout << document << ",\"points\":[";
    print_points(store, source, options);
    std::cout << "]}" << (is_document ? "" : "\n");
  }
  if (is_document) std::cout << "]\n";
}

void write_picture(const plot::Chart& chart, const Options& options) {
  plot::PictureSize size;
  if (options.chart_width > 0) size.width = options.chart_width;
  if (options.chart_height > 0) size.height = options.chart_height;
  write_chart(chart, options.output, size);
}

void print_chart(const plot::Chart& chart, const Options& options) {
  constexpr size_t kMostRows = 24;
  plot::ChartSize size;
  if (const auto terminal = machine::terminal_size(STDOUT_FILENO)) {
    // Leaves lines for the legend and the next prompt.
    const size_t others = chart.curves.size() + 2;
    size.rows =
        std::min<size_t>(terminal->rows - std::min<size_t>(others, terminal->rows), kMostRows);
  }
  if (const size_t columns = options.width(); columns != kAnyWidth) size.columns = columns;
  if (options.chart_width > 0) size.columns = static_cast<size_t>(options.chart_width);
  if (options.chart_height > 0) size.rows = static_cast<size_t>(options.chart_height);
  for (const std::string& line : plot::terminal_chart(chart, size, wants_colour())) {
    std::cout << line << "\n";
  }
}

void plot(const Options& options) {
  if (!options.output.empty()) check_chart_path(options.output);
  if (options.words.size() < 2 && options.tags.empty()) {
    throw Error(Code::kUsage, "plot: expected RUN… METRIC, or --tag TAG METRIC");
  }
  std::optional<store::OpenStore> store = options.open_store();
  if (!store) throw Error(Code::kUsage, "plot: there are no runs yet");
  const std::vector<CurveSource> sources = sources_of(*store, runs_of(*store, options), options);
  if (options.for_programs()) return print_documents(*store, sources, options);
  const plot::Chart chart = chart_of(*store, sources, options);
  return options.output.empty() ? print_chart(chart, options) : write_picture(chart, options);
}

}  // namespace

void add_plot(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.command("plot", "Draw a metric of runs, in the terminal or as SVG or PNG");
  command
      .argument("RUN", &options->words,
                "one run or more, then METRIC: what they reported or logged; A,B draws both")
      .required()
      .then_offers({.sources = {Source::kRuns, Source::kMetrics}});
  command.option("--tag", &options->tags, "also all runs with this tag (all of several)")
      .value_name("TAG")
      .repeatable();
  command.option("--by", &options->by, "step (default), or time: since the curve's first point")
      .value_name("X")
      .one_of({"step", "time"});
  command.option("--smooth", &options->smooth, "moving average; what the past weighs, from 0 to 1")
      .value_name("WEIGHT")
      .within(0, 0.9999);
  command.flag("--log-x", &options->log_x, "logarithmic x axis");
  command.flag("--log-y", &options->log_y, "logarithmic y axis");
  command.flag("--logged", &options->series, "what train.log recorded, where both are there");
  command.old_flag("--series", &options->series, "--logged");
  command.option("--rank", &options->rank, "of this rank (default 0)").value_name("R").at_least(0);
  command.option("-o,--output", &options->output, "write this file, .svg or .png")
      .value_name("FILE");
  command.option("--width", &options->chart_width, "columns, with -o pixels")
      .value_name("N")
      .within(20, 10000);
  command.option("--height", &options->chart_height, "lines, with -o pixels")
      .value_name("N")
      .within(6, 10000);
  add_listing_options(command, *options);
  command.footer(
      "Keys of --json, for each curve: name, run_id, metric, x, points (a list of x\n"
      "and y, in the order in which they were reported or logged)");
  command.action([options] { plot(*options); });
}

}  // namespace rtrain::cli
