"""The ticks of web/chart/axis.js and web/chart/ticks.js, for ranges that people have and for the ends of doubles."""

import functools
import http.server
import threading

import pytest

from conftest import SOURCE

# Returns [number of ranges, ranges of strictly increasing ticks, the first ranges with another outcome].
PROPERTIES = r"""
return import('/chart/axis.js').then(({Axis}) => {
  const bits = new DataView(new ArrayBuffer(8));
  let seed = 1n;
  const random = () => {  // of 64 bits
    seed = (seed * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return seed ^ (seed >> 33n);
  };
  const double = (of) => {
    bits.setBigUint64(0, of & 0xffffffffffffffffn);
    return bits.getFloat64(0);
  };
  const next = (value) => {  // one ulp further from zero
    bits.setFloat64(0, value);
    return double(bits.getBigUint64(0) + 1n);
  };
  const anywhere = () => {
    for (;;) {
      const value = double(random());
      if (Number.isFinite(value)) return value;
    }
  };
  const some = [0, 1, 0.1, 1 / 3, 1e-5, 123456.789, 2 ** 53, 1e15, 1e22, 1e300, 1e308, Number.MAX_VALUE, 1e-300,
    2.2250738585072014e-308, 1e-310, 5e-324];
  const values = [...some, ...some.map((value) => -value)];
  const ranges = [];
  for (const a of values) {
    ranges.push([a, a], [a, next(a)], [a, a * (1 + 1e-12)]);
    for (const b of values) ranges.push([a, b]);
  }
  for (let i = 0; i < 3000; ++i) {
    const value = anywhere();
    ranges.push([value, value], [value, next(value)], [value, anywhere()], [value, value * (1 + 1e-6)]);
    const denormal = double(random() >> 12n);
    ranges.push([denormal, next(denormal)], [-denormal, denormal], [0, denormal]);
  }
  const wrong = [];
  let count = 0;
  for (const [a, b] of ranges) {
    const from = Math.min(a, b), to = Math.max(a, b);
    if (!Number.isFinite(from) || !Number.isFinite(to)) continue;
    for (const log of [false, true]) {
      for (const most of [2, 5, 9]) {
        ++count;
        const axis = new Axis(from, to, log);
        const ticks = axis.ticks(most);
        const problem =
          ticks.length > 2 * most ? 'many' :
          !ticks.every(Number.isFinite) ? 'not finite' :
          !ticks.every((tick, at) => at === 0 || tick > ticks[at - 1]) ? 'not sorted' :
          !ticks.every((tick) => { const at = axis.place(tick); return at >= -1e-6 && at <= 1 + 1e-6; }) ? 'outside' :
          axis.log && !ticks.every((tick) => tick > 0) ? 'not positive' :
          !(axis.place(from) <= axis.place(to)) && !(axis.log && from <= 0) ? 'turned' : '';
        if (problem) wrong.push([problem, from, to, log, most, ticks.slice(0, 12)].map(String).join(' | '));
      }
    }
  }
  return [count, wrong.length, wrong.slice(0, 20)];
});
"""


# Returns [number of axes, axes with too many ticks or with the same text twice, the first of them].
TEXTS = r"""
return Promise.all([import('/chart/axis.js'), import('/chart/ticks.js')]).then(([{Axis}, {ticksOf}]) => {
  let seed = 1;
  const random = () => { seed = seed * 16807 % 2147483647; return seed / 2147483647; };
  const wrong = [];
  let count = 0;
  for (let i = 0; i < 20000; ++i) {
    const from = (random() - 0.5) * 10 ** (Math.floor(random() * 40) - 20);
    const to = from + Math.abs(from) * 10 ** (-12 * random()) + (random() < 0.3 ? 10 ** (30 * random() - 10) : 0);
    for (const log of [false, true]) {
      for (const unit of ['', 'bytes', 'bytes/s', 's', 'count']) {
        if (log && to <= 0) continue;
        ++count;
        const texts = ticksOf(new Axis(from, to, log), 5, unit).map((tick) => tick.text);
        const isWrong = texts.length > 12 || new Set(texts).size < texts.length
          || texts.some((text) => !/^[-−]?\d/.test(text) || /NaN|Infinity|undefined/.test(text));
        if (isWrong) wrong.push([from, to, log, unit, ...texts].join(' | '));
      }
    }
  }
  return [count, wrong.length, wrong.slice(0, 20)];
});
"""
# Returns the texts of the ticks of [from, to, log, unit, …].
SHOWN = """
return Promise.all([import('/chart/axis.js'), import('/chart/ticks.js')]).then(([{Axis}, {ticksOf}]) =>
  arguments[0].map(([from, to, log, unit]) => ticksOf(new Axis(from, to, log), 5, unit).map((tick) => tick.text).join(' ')));
"""


@pytest.fixture
def pages():
    """The address of the folder of the pages."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/favicon.ico":
                return super().do_GET()
            self.send_response(204)
            return self.end_headers()

        def log_message(self, *args):
            pass

    served = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(SOURCE / "web"))
    )
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{served.server_address[1]}"
    served.shutdown()
    thread.join()
    served.server_close()


def test_every_range_has_few_finite_and_sorted_ticks(browser, pages):
    window = browser()
    window.open(f"{pages}/chart/axis.js")
    count, wrong, first = window.run(PROPERTIES)
    assert count > 100000 and wrong == 0, "\n".join(first)


def test_texts_of_ticks_differ(browser, pages):
    window = browser()
    window.open(f"{pages}/chart/axis.js")
    count, wrong, first = window.run(TEXTS)
    assert count > 100000 and wrong == 0, "\n".join(first)


def test_texts_of_ticks_have_units(browser, pages):
    window = browser()
    window.open(f"{pages}/chart/axis.js")
    wanted = {
        (0, 82e6, False, ""): "0 20M 40M 60M 80M",
        (0, 82e6, False, "bytes"): "0 MiB 20 MiB 40 MiB 60 MiB",
        (0, 3e9, False, "bytes/s"): "0 GiB/s 1 GiB/s 2 GiB/s",
        (1, 1e9, True, ""): "1 100 10k 1M 100M",
        (1, 1e9, True, "bytes"): "1 B 64 B 4 KiB 256 KiB 16 MiB",
        (1e-6, 3e-6, False, ""): "1.0e-6 1.5e-6 2.0e-6 2.5e-6 3.0e-6",
        (0, 3, False, "count"): "0 1 2 3",
        (0, 47, False, "s"): "0 s 10 s 20 s 30 s 40 s",
        (0, 3 * 86400, False, "s"): "0 s 1 d 2 d 3 d",
        (3600, 3900, False, "s"): "1 h 1 h 1 m 1 h 2 m 1 h 3 m 1 h 4 m 1 h 5 m",
    }
    assert window.run(SHOWN, [list(key) for key in wanted]) == list(wanted.values())
