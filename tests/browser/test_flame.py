"""The flame graph of `rtrain profile --flame` in a real browser: a picture file that contains a script."""

from test_profile_flame import end, line_of, program

# The visible boxes: [title, x, width of its rectangle].
BOXES = """
return [...document.querySelectorAll('g.box')].filter((g) => g.style.display !== 'none')
  .map((g) => [g.querySelector('title').textContent, Number(g.querySelector('rect').getAttribute('x')),
    Number(g.querySelector('rect').getAttribute('width'))]);
"""
CLICK = """
const event = (name) => new MouseEvent(name, {bubbles: true});
const box = [...document.querySelectorAll('g.box')].find((g) => g.querySelector('title').textContent.includes(arguments[0]));
box.dispatchEvent(event('mouseover'));
box.dispatchEvent(event('click'));
return document.querySelector('#info').textContent;
"""
SEARCH = """
window.prompt = () => arguments[0];
window.dispatchEvent(new KeyboardEvent('keydown', {key: '/', cancelable: true}));
return [document.querySelector('#found').textContent,
  [...document.querySelectorAll('g.box rect')].filter((rect) => rect.style.fill)
    .map((rect) => rect.previousSibling.textContent)];
"""
ESCAPE = "window.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));"


def test_a_flame_graph_is_looked_through(rtrain, browser, screenshot):
    """The fixture fails the test if the picture's script raises an error."""
    running = rtrain.started("run", rtrain.script(program("native")), reports=2)
    picture = rtrain.folder / "flame.svg"
    result = rtrain("profile", "counted", "--flame", "--steps", "60", "--timeout", "100", "-o", picture)
    assert result.returncode == 0, result.stderr
    end(rtrain, "counted")
    running.wait()
    window = browser()
    window.open(picture.as_uri())
    everything = window.run(BOXES)
    assert everything[0][0].startswith("all (100.00 %")
    hot = f"train.lua:{line_of(rtrain, 'first')}"
    (first, *_) = [box for box in everything if hot in box[0]]
    screenshot(window, "flame")

    # A click shows the box at full width, with its callers and callees.
    assert hot in window.run(CLICK, hot)
    shown = window.run(BOXES)
    (wide,) = [box for box in shown if box[0] == first[0] and abs(box[2] - everything[0][2]) < 1]
    assert wide[1] == everything[0][1] or wide[1] < 1
    assert len(shown) <= len(everything) and any("mm" in box[0] for box in shown), shown
    window.run(ESCAPE)
    assert window.run(BOXES) == everything

    # A search marks all matches; a text that is not a valid pattern is searched literally.
    found, marked = window.run(SEARCH, "train.lua:")
    assert (
        found.startswith("found: ")
        and found.endswith(" %")
        and marked
        and all("train.lua:" in title for title in marked)
    )
    assert window.run(SEARCH, "(")[1], "an open bracket alone"
    assert window.run(SEARCH, "") == ["", []]
