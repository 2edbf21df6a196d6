#include "host/plot/flame_graph.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>

#include "host/base/text/text.h"
#include "host/plot/svg_text.h"

namespace rtrain::plot {
namespace {

constexpr double kWidth = 1200;
constexpr double kRowHeight = 18;
constexpr double kTop = 64;
constexpr double kBottom = 12;
constexpr double kFontSize = 11;
constexpr double kCharWidth = 6.4;   // a little more than most fonts need
constexpr double kLeastWidth = 0.2;  // pixels; narrower boxes are not drawn

enum class Kind { kRoot, kThread, kScript, kModule, kNative, kWaiting };

struct Node {
  Kind kind = Kind::kRoot;
  double seconds = 0;
  std::map<std::pair<Kind, std::string>, std::unique_ptr<Node>> children = {};

  Node& child(Kind child_kind, const std::string& name) {
    std::unique_ptr<Node>& node = children[{child_kind, name}];
    if (!node) node = std::make_unique<Node>(Node{.kind = child_kind});
    return *node;
  }
};

Kind kind_of(const profile::StackFrame& frame) {
  if (frame.line > 0) {
    return frame.file.starts_with("rtrain://") ? Kind::kModule : Kind::kScript;
  }
  return frame.name == profile::kWaiting ? Kind::kWaiting : Kind::kNative;
}

std::unique_ptr<Node> tree_of(const profile::SampledStacks& stacks) {
  auto root = std::make_unique<Node>();
  for (const profile::ThreadStacks& thread : stacks.threads) {
    for (const profile::WeightedStack& stack : thread.stacks) {
      root->seconds += stack.seconds;
      Node* node = &root->child(Kind::kThread, thread.name);
      node->seconds += stack.seconds;
      for (const int place : stack.frames) {
        const profile::StackFrame& frame = stacks.frames[static_cast<size_t>(place)];
        node = &node->child(kind_of(frame), frame.text());
        node->seconds += stack.seconds;
      }
    }
  }
  return root;
}

// Colours of one kind vary a little with the name, so that neighbours can be distinguished.
std::string colour(Kind kind, const std::string& name) {
  unsigned hash = 0;
  for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  const int shade = static_cast<int>(hash % 12);
  struct Hue {
    int hue, saturation, light;
  };
  constexpr std::array<Hue, 6> kHues = {Hue{0, 0, 80}, {0, 0, 72},    {28, 90, 60},
                                        {48, 80, 66},  {355, 62, 74}, {212, 50, 76}};
  const Hue& hue = kHues.at(static_cast<size_t>(kind));
  return cat("hsl(", hue.hue, ",", hue.saturation, "%,", hue.light + shade, "%)");
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

// Adds each box before the boxes that it calls; of neighbours the widest is first.
void add_boxes(const Node& node, const std::string& name, const Node& root, FlameBox box,
               std::vector<FlameBox>& out) {
  const auto share = [&](const Node& of) {
    return root.seconds > 0 ? of.seconds / root.seconds : 1.0;
  };
  box.width = share(node);
  if (box.width * kWidth < kLeastWidth && box.depth > 0) return;
  box.name = name;
  box.seconds = node.seconds;
  box.colour = colour(node.kind, name);
  out.push_back(box);
  std::vector<std::pair<const std::string*, const Node*>> children;
  for (const auto& [key, child] : node.children) children.emplace_back(&key.second, child.get());
  std::ranges::stable_sort(
      children, [](const auto& a, const auto& b) { return a.second->seconds > b.second->seconds; });
  double begin = box.begin;
  for (const auto& [child_name, child] : children) {
    add_boxes(*child, *child_name, root, {.name = {}, .depth = box.depth + 1, .begin = begin}, out);
    begin += root.seconds > 0 ? share(*child) : 0;
  }
}

std::string shortened(const std::string& name, size_t most) {
  return name.size() <= most ? name : cat(name.substr(0, most - 2), "..");
}

std::string box_svg(const FlameBox& box) {
  constexpr double kPercent = 100;
  std::array<char, 64> share{};
  std::snprintf(share.data(), share.size(), "%.2f %%, %.3f s", kPercent * box.width, box.seconds);
  const double x = box.begin * kWidth;
  const double y = kTop + box.depth * kRowHeight;
  const double width = box.width * kWidth;
  const auto fits = static_cast<size_t>(std::max(0.0, (width - 6) / kCharWidth));
  return cat("<g class=\"box\"><title>", svg_text(box.name), " (", std::string_view(share.data()),
             ")</title><rect x=\"", number(x), "\" y=\"", number(y), "\" width=\"", number(width),
             "\" height=\"", number(kRowHeight - 1), "\" fill=\"", box.colour,
             "\" rx=\"1\"/><text x=\"", number(x + 3), "\" y=\"", number(y + kRowHeight - 6), "\">",
             fits < 3 ? "" : svg_text(shortened(box.name, fits)), "</text></g>\n");
}

constexpr const char* kScript = R"js(
(function () {
  'use strict';
  var svg = document.documentElement;
  var boxes = Array.prototype.slice.call(svg.querySelectorAll('g.box'));
  var width = WIDTH, charWidth = CHAR;
  var info = svg.getElementById('info'), found = svg.getElementById('found');
  var items = boxes.map(function (g) {
    var rect = g.querySelector('rect');
    var title = g.querySelector('title').textContent;
    return {
      g: g, rect: rect, label: g.querySelector('text'), title: title,
      name: title.replace(/ \([^()]*\)$/, ''),
      x: parseFloat(rect.getAttribute('x')), w: parseFloat(rect.getAttribute('width')),
      y: parseFloat(rect.getAttribute('y'))
    };
  });
  function place(item, x, w) {
    item.rect.setAttribute('x', x.toFixed(2));
    item.rect.setAttribute('width', Math.max(0, w).toFixed(2));
    item.label.setAttribute('x', (x + 3).toFixed(2));
    var fits = Math.floor((w - 6) / charWidth);
    item.label.textContent = fits < 3 ? '' :
      item.name.length <= fits ? item.name : item.name.slice(0, fits - 2) + '..';
  }
  function zoom(target) {
    var scale = width / target.w, end = target.x + target.w;
    items.forEach(function (item) {
      var above = item.y < target.y && item.x <= target.x + 0.02 && item.x + item.w >= end - 0.02;
      var inside = item.y >= target.y && item.x >= target.x - 0.02 && item.x + item.w <= end + 0.02;
      item.g.style.display = above || inside ? '' : 'none';
      item.g.style.opacity = above ? 0.5 : 1;
      if (above) place(item, 0, width);
      if (inside) place(item, (item.x - target.x) * scale, item.w * scale);
    });
  }
  function reset() {
    items.forEach(function (item) {
      item.g.style.display = '';
      item.g.style.opacity = 1;
      place(item, item.x, item.w);
    });
  }
  function search(text) {
    var pattern = null, covered = [], total = 0;
    if (text) {
      try { pattern = new RegExp(text, 'i'); }
      catch (error) { pattern = { test: function (name) { return name.indexOf(text) >= 0; } }; }
    }
    items.forEach(function (item) {
      var hit = pattern !== null && pattern.test(item.name);
      item.rect.style.fill = hit ? '#b040d0' : '';
      if (!hit) return;
      // Boxes come with those above them first: the boxes below a hit are counted already.
      var inside = covered.some(function (other) {
        return item.y > other.y && item.x >= other.x - 0.02 &&
          item.x + item.w <= other.x + other.w + 0.02;
      });
      if (!inside) { covered.push(item); total += item.w; }
    });
    found.textContent = text ? 'found: ' + (100 * total / width).toFixed(1) + ' %' : '';
  }
  items.forEach(function (item) {
    item.g.addEventListener('click', function () { zoom(item); });
    item.g.addEventListener('mouseover', function () { info.textContent = item.title; });
    item.g.addEventListener('mouseout', function () { info.textContent = ''; });
  });
  function ask() {
    var text = window.prompt('Search for a name (a regular expression)', '');
    if (text !== null) search(text);
  }
  svg.getElementById('reset').addEventListener('click', reset);
  svg.getElementById('search').addEventListener('click', ask);
  window.addEventListener('keydown', function (event) {
    if (event.key === 'Escape') reset();
    if ((event.key === 'f' && (event.ctrlKey || event.metaKey)) || event.key === '/') {
      event.preventDefault();
      ask();
    }
  });
})();
)js";

void replace_once(std::string& text, std::string_view name, const std::string& value) {
  text.replace(text.find(name), name.size(), value);
}

}  // namespace

std::vector<FlameBox> flame_boxes(const profile::SampledStacks& stacks) {
  const std::unique_ptr<Node> root = tree_of(stacks);
  std::vector<FlameBox> out;
  add_boxes(*root, "all", *root, {}, out);
  return out;
}

std::string svg_flame_graph(const profile::SampledStacks& stacks, const std::string& title) {
  int depth = 0;
  std::string boxes;
  for (const FlameBox& box : flame_boxes(stacks)) {
    depth = std::max(depth, box.depth);
    boxes += box_svg(box);
  }
  const double height = kTop + (depth + 1) * kRowHeight + kBottom;
  std::string script = kScript;
  replace_once(script, "WIDTH", number(kWidth));
  replace_once(script, "CHAR", number(kCharWidth));
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", number(kWidth), "\" height=\"",
             number(height), "\" viewBox=\"0 0 ", number(kWidth), " ", number(height),
             "\" font-family=\"monospace\" font-size=\"", kFontSize,
             "\">\n<style>g.box{cursor:pointer}g.box:hover rect{stroke:#000;stroke-width:0.7}"
             "g.box text{pointer-events:none}.button{cursor:pointer;fill:#1a5fb4}</style>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"",
             number(kWidth / 2), "\" y=\"20\" font-size=\"15\" text-anchor=\"middle\">",
             svg_text(title),
             "</text>\n<text id=\"search\" class=\"button\" x=\"3\" y=\"36\">search (/)</text>\n"
             "<text id=\"reset\" class=\"button\" x=\"100\" y=\"36\">all (Escape)</text>\n"
             "<text id=\"found\" x=\"",
             number(kWidth - 3),
             "\" y=\"36\" text-anchor=\"end\"></text>\n"
             "<text id=\"info\" x=\"3\" y=\"54\"></text>\n",
             boxes, "<script><![CDATA[", script, "]]></script>\n</svg>\n");
}

}  // namespace rtrain::plot
