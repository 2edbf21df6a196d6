"""The pictures of sixel data, as a terminal sees them: width, height and rows of (red, green, blue)."""

import re

SEQUENCE = re.compile(rb"\x1bP[\d;]*q(.*?)\x1b\\", re.S)
PART = re.compile(
    r'"(?P<raster>[\d;]+)|#(?P<colour>[\d;]+)|!(?P<count>\d+)(?P<repeated>[?-~])|(?P<six>[?-~])|(?P<move>[$-])'
)


def pictures(output):
    return [_picture(data.decode("ascii")) for data in SEQUENCE.findall(output)]


def without_pictures(output):
    return SEQUENCE.sub(b"", output)


def _picture(data):
    colours, pixels, colour, x, y, at = {}, {}, None, 0, 0, 0
    while at < len(data):
        part = PART.match(data, at)
        assert part, f"not sixel: {data[at : at + 20]!r}"
        at = part.end()
        if part["raster"]:
            _, _, width, height = map(int, part["raster"].split(";"))
        elif part["colour"]:
            colour, *definition = map(int, part["colour"].split(";"))
            if definition:
                assert definition[0] == 2 and max(definition[1:]) <= 100, "red, green and blue in percents"
                colours[colour] = tuple(round(percent * 255 / 100) for percent in definition[1:])
        elif part["move"]:
            x, y = 0, y + (6 if part["move"] == "-" else 0)
        else:
            bits = ord(part["six"] or part["repeated"]) - ord("?")
            for _ in range(int(part["count"] or 1)):
                for row in range(6):
                    if bits >> row & 1:
                        assert (x, y + row) not in pixels, "a pixel has one colour"
                        pixels[x, y + row] = colours[colour]
                x += 1
    assert set(pixels) == {(x, y) for x in range(width) for y in range(height)}, "all of them, and no other ones"
    return width, height, [[pixels[x, y] for x in range(width)] for y in range(height)]
