"""Rules of accessibility on each page: names, roles, contrast, headings, labels, the order of focus, no trap, and less
motion where it is asked for.
"""

from conftest import wait_until
from dash_server import dash, results  # noqa: F401  (fixtures)
from pages import CONTRAST, PAGES, UNNAMED, go, page, shows  # noqa: F401  (a fixture)
from webdriver import KEYS

# Problems of a page, as texts.
RULES = """
const out = [];
const seen = (node) => node.getClientRects().length > 0;
const text = (node) => node.outerHTML.slice(0, 160);
const all = (selector) => [...document.querySelectorAll(selector)];
const textOf = (id) => document.getElementById(id)?.textContent ?? '';
const name = (node) => node.getAttribute('aria-label')
  || (node.getAttribute('aria-labelledby') ?? '').split(' ').map(textOf).join(' ').trim()
  || [...node.labels ?? []].map((label) => label.textContent.trim()).join(' ')
  || node.querySelector?.('title')?.textContent || node.textContent.trim() || node.alt;

// One main, one h1, no level of headings left out.
for (const [selector, count] of [['main', 1], ['h1', 1], ['header', 1], ['title', 1]]) {
  if (all(selector === 'title' ? 'head title' : selector).length !== count) out.push(`${count} ${selector} expected`);
}
let level = 0;
for (const heading of all('main :is(h1, h2, h3, h4)').filter(seen)) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) out.push(`h${next} after h${level}: ${text(heading)}`);
  if (!heading.textContent.trim()) out.push(`an empty heading: ${text(heading)}`);
  level = next;
}
if (!document.documentElement.lang) out.push('no language');

// Names of whatever is used or says something.
const named = 'a[href], button, input, select, textarea, canvas, img, dialog, summary, [tabindex="0"], [role=region], '
  + '[role=tablist], [role=tab], [role=tabpanel], [role=group], [role=img], [role=log], nav';
for (const node of all(named).filter(seen)) {
  if (!name(node) && !node.closest('[aria-hidden=true]')) out.push(`without a name: ${text(node)}`);
}
for (const node of all('input, select, textarea').filter(seen)) {
  if (!node.labels.length && !node.getAttribute('aria-label')) out.push(`without a label: ${text(node)}`);
}
for (const node of all('img')) if (!node.hasAttribute('alt')) out.push(`without alt: ${text(node)}`);
for (const node of all('th')) if (!node.scope) out.push(`th without scope: ${text(node)}`);

// Roles with what they need.
const known = ['alert', 'button', 'combobox', 'dialog', 'group', 'img', 'listbox', 'log', 'option', 'region', 'status', 'tab',
  'tablist', 'tabpanel', 'tooltip', 'separator', 'checkbox', 'menu', 'menuitem', 'slider', 'switch', 'grid', 'row', 'gridcell',
  'list', 'listitem', 'presentation', 'none', 'toolbar', 'radiogroup', 'radio', 'search'];
for (const node of all('[role]')) if (!known.includes(node.getAttribute('role'))) out.push(`role: ${text(node)}`);
for (const tab of all('[role=tab]')) {
  if (!tab.closest('[role=tablist]') || !tab.hasAttribute('aria-selected')) out.push(`tab: ${text(tab)}`);
}
for (const list of all('[role=tablist]')) {
  if (list.querySelectorAll('[aria-selected=true]').length > 1) out.push('two tabs are selected');
}
for (const attribute of ['aria-labelledby', 'aria-controls', 'aria-describedby', 'aria-activedescendant', 'for']) {
  for (const node of all(`[${attribute}]`)) {
    for (const id of node.getAttribute(attribute).split(' ')) {
      if (!document.getElementById(id)) out.push(`${attribute} names no node: ${text(node)}`);
    }
  }
}
const ids = all('[id]').map((node) => node.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) out.push(`two nodes with the id ${id}`);

// No order of focus of its own, and nothing to use within what is hidden or within another control.
for (const node of all('[tabindex]')) if (node.tabIndex > 0) out.push(`tabindex: ${text(node)}`);
for (const node of all('[aria-hidden=true] :is(a, button, input), a a, a button, button a')) out.push(`within: ${text(node)}`);
// A box that scrolls is reached with the keyboard.
for (const node of all('main *')) {
  const style = getComputedStyle(node);
  const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY)
    && (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
  if (scrolls && node.tabIndex < 0 && !node.querySelector('a[href], button, input, [tabindex="0"]')) {
    out.push(`scrolls without the keyboard: ${text(node)}`);
  }
}
return [...new Set(out)];
"""
# The focused node: its place in the document, and whether it can be seen.
PLACE = """
const node = document.activeElement;
if (node === document.body || node === document.documentElement) return [-1, true];
const box = node.getBoundingClientRect();
return [[...document.querySelectorAll('*')].indexOf(node), box.width > 0 && box.height > 0];
"""
MOVING = """
return [...document.querySelectorAll('*')].filter((node) => ['', '::before', '::after'].some((part) => {
  const style = getComputedStyle(node, part || undefined);
  return (style.animationName !== 'none' && style.animationPlayState === 'running')
    || style.transitionDuration.split(', ').some((each) => parseFloat(each) > 0);
})).map((node) => node.outerHTML.slice(0, 80));
"""


def test_each_page_follows_the_rules(page):
    problems = {}
    for name in PAGES:
        go(page, name)
        problems[name] = page.run(RULES) + page.run(CONTRAST) + page.run(UNNAMED)
    assert problems == {name: [] for name in PAGES}


def test_the_focus_goes_through_each_page_and_leaves_it(page):
    for name in ("runs", "run", "logs", "compare"):
        go(page, name)
        walk(page)


def walk(page):
    """Goes with Tab from the beginning of a page to its end: in the order of the document, each stop in sight; and back."""
    page.run("document.activeElement.blur(); document.querySelector('.skip').focus()")
    places = [page.run(PLACE)]
    stops = page.run(
        "return [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]"
        ".filter((node) => node.tabIndex >= 0 && !node.disabled && node.getClientRects().length).length"
    )
    for _ in range(2 * stops):  # charts that come in sight have more
        page.press(KEYS["Tab"])
        places.append(page.run(PLACE))
        if places[-1][0] <= places[0][0]:
            break
    inside = [place for place, _ in places if place >= 0]
    assert places[-1][0] <= places[0][0], "the focus leaves the page"
    forward = inside[:-1] if inside[-1] <= inside[0] and len(inside) > 1 else inside
    assert forward == sorted(set(forward)) and len(forward) >= stops - 2
    assert all(is_seen for _, is_seen in places)
    page.run("document.querySelector('.skip').focus()")
    page.press(KEYS["Tab"])
    page.press(KEYS["Shift"], KEYS["Tab"])
    assert page.run(PLACE)[0] == places[0][0]


def test_the_content_is_one_key_away(page):
    page.run("document.activeElement.blur()")
    page.press(KEYS["Tab"])
    assert page.run("return document.activeElement.className") == "skip"
    page.press(KEYS["Enter"])
    assert page.run("return document.activeElement.id") == "main"
    shows(page, "2 runs")


def test_a_dialog_keeps_the_focus_and_gives_it_back(page):
    page.run("document.querySelector('nav a').focus()")
    page.press("?")
    wait_until(lambda: page.count("dialog[open]") == 1, message="the dialog")
    for _ in range(6):
        page.press(KEYS["Tab"])
        assert page.run(
            "return document.activeElement === document.body || Boolean(document.activeElement.closest('dialog'))"
        )
    assert page.run(RULES) == []
    page.press(KEYS["Escape"])
    wait_until(lambda: page.count("dialog") == 0, message="no dialog")
    assert page.run("return document.activeElement.textContent") == "Runs"


def test_nothing_moves_where_less_motion_is_asked_for(dash, browser):
    window = browser(flags=["--force-prefers-reduced-motion"])
    window.open(dash().url.geturl())
    shows(window, "2 runs")
    assert window.run("return matchMedia('(prefers-reduced-motion: reduce)').matches")
    window.run("document.querySelector('main').insertAdjacentHTML('beforeend', '<p class=loading>Loading</p>')")
    assert window.run(MOVING) == []
    for name in PAGES:
        go(window, name)
        assert window.run(MOVING) == [], name
