"""Scripts that measure a page of a dashboard in a browser, for tests and benchmarks."""

# Milliseconds until the first content is painted; null before.
PAINT = "return performance.getEntriesByName('first-contentful-paint').map((each) => each.startTime)[0] ?? null"
# Bytes of the page as they were sent, without answers of an API.
WEIGHT = """return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
  .filter((each) => !each.name.includes('/api/')).reduce((sum, each) => sum + each.encodedBodySize, 0)"""
# Finds the figure with the title: the beginning of other scripts.
FIGURE = """
const figure = [...document.querySelectorAll('figure')]
  .find((each) => each.querySelector('figcaption').firstChild.textContent === arguments[0]);
"""
# Milliseconds that the page takes for each move of the pointer over the chart with the title: all charts with their
# cursors, the tooltip and its layout.
POINTER_MS = (
    FIGURE
    + """
const canvas = figure.querySelector('canvas');
const box = canvas.getBoundingClientRect();
const times = [];
for (let at = 0; at < 40; ++at) {
  const began = performance.now();
  canvas.dispatchEvent(new PointerEvent('pointermove', {
    clientX: box.left + (0.2 + at / 100) * box.width, clientY: box.top + box.height / 2, bubbles: true}));
  document.querySelector('.tooltip').getBoundingClientRect();
  times.push(performance.now() - began);
}
return times;
"""
)
# Milliseconds from a click on the head of a column until the table begins with another run.
SORT_MS = """
const first = () => document.querySelector('.grid tbody:not(.gap) tr').dataset.name;
const head = [...document.querySelectorAll('.grid th button')].find((each) => each.dataset.key === arguments[0]);
const before = first();
const began = performance.now();
head.click();
return new Promise((resolve) => {
  const look = () => (first() === before ? setTimeout(look) : resolve(performance.now() - began));
  look();
});
"""
