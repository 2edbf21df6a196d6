"""The colours of the pages: contrast with what is behind them, and the palette of curves for people who see two of the
three primary colours.
"""

import itertools
import math
import re

import pytest

from conftest import SOURCE

LEAST_CONTRAST = 4.5
LEAST_DISTANCE = 12

# Machado, Oliveira and Fernandes (2009), severity 1, in linear RGB.
SIGHTS = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour):
    """#rrggbb in linear RGB."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(first, second):
    """The ratio of WCAG 2."""
    lights = [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (first, second))]
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def seen(colour, sight):
    return [min(1, max(0, sum(a * b for a, b in zip(row, linear(colour))))) for row in SIGHTS[sight]]


def lab(rgb):
    """CIELAB of linear RGB, for the white D65."""
    rows = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    whole = [sum(a * b for a, b in zip(row, rgb)) / white for row, white in zip(rows, (0.95047, 1, 1.08883))]
    x, y, z = [part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in whole]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(first, second):
    """CIEDE2000 of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean**7 / (mean**7 + 25**7))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 and c2 else 0
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = (h1 + turn / 2) % 360
    waves = ((0.17, 1, 30, -1), (0.24, 2, 0, 1), (0.32, 3, -6, 1), (0.20, 4, 63, -1))
    weight = 1 + sum(sign * part * math.cos(math.radians(times * hue - shift)) for part, times, shift, sign in waves)
    scales = (
        1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2),
        1 + 0.045 * chroma,
        1 + 0.015 * chroma * weight,
    )
    parts = (l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)))
    dl, dc, dh = (part / scale for part, scale in zip(parts, scales))
    rotation = math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    rotation *= -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    return math.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)


def test_the_distance_is_ciede2000():
    """Pairs of the test data of Sharma, Wu and Dalal (2005)."""
    pairs = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ]
    for first, second, wanted in pairs:
        assert distance(first, second) == pytest.approx(wanted, abs=1e-4)


def palette(name):
    text = (SOURCE / "web" / "chart" / "palette.js").read_text()
    return re.findall("#[0-9a-f]{6}", re.search(rf"const {name} = \[(.*?)\]", text)[1])


def variables():
    """Each colour of the style sheet, as (light, dark)."""
    text = (SOURCE / "web" / "style.css").read_text()
    return {
        name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", text)
    }


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read_on_each_background(theme):
    colours = {name: pair[theme] for name, pair in variables().items()}
    for text in ("text", "quiet", "link", "live", "good", "bad", "warn", "magenta"):
        for back in ("back", "panel"):
            assert contrast(colours[text], colours[back]) >= LEAST_CONTRAST, (text, back)
    for text, back in (("text", "mark"), ("quiet", "mark"), ("bad", "alarm"), ("text", "alarm"), ("quiet", "alarm")):
        assert contrast(colours[text], colours[back]) >= LEAST_CONTRAST, (text, back)


@pytest.mark.parametrize("name, theme", [("LIGHT", 0), ("DARK", 1)])
def test_curves_differ_for_all_eyes(name, theme):
    colours = palette(name)
    assert len(colours) == 8
    for colour in colours:
        assert contrast(colour, variables()["back"][theme]) >= LEAST_CONTRAST, colour
    for sight in SIGHTS:
        for first, second in itertools.combinations(colours, 2):
            away = distance(lab(seen(first, sight)), lab(seen(second, sight)))
            assert away >= LEAST_DISTANCE, (sight, first, second)
