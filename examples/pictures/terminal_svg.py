"""Draws rows of a terminal's cells, as pyte has them, as SVG: one picture, or a recording that is played."""

import html

CELL_WIDTH, LINE_HEIGHT, MARGIN, FONT_SIZE = 8.4, 18, 14, 14
PALETTE = {
    "black": "#3b4048",
    "red": "#f47067",
    "green": "#7ec699",
    "brown": "#e0c285",
    "blue": "#6cb6ff",
    "magenta": "#dcbdfb",
    "cyan": "#76d9e6",
    "white": "#c9d1d9",
    "brightblack": "#8b949e",
    "brightred": "#ff938a",
    "brightgreen": "#a5e0b3",
    "brightbrown": "#f2dca8",
    "brightblue": "#96d0ff",
    "brightmagenta": "#eedcff",
    "brightcyan": "#a5ecf5",
    "brightwhite": "#ffffff",
}
INK, PAPER = "#c9d1d9", "#1c2128"


def colour(name, default):
    return default if name == "default" else PALETTE.get(name) or "#" + name


def svg_line(cells, y):
    """Neighbours that look alike are one text; each is as wide as its cells, whatever the font."""
    out, x = [], 0
    while x < len(cells):
        first = x
        style = (cells[x].fg, cells[x].bg, cells[x].bold)
        while x < len(cells) and (cells[x].fg, cells[x].bg, cells[x].bold) == style:
            x += 1
        text = "".join(cell.data for cell in cells[first:x])
        left, width = MARGIN + first * CELL_WIDTH, (x - first) * CELL_WIDTH
        if style[1] != "default":
            out.append(
                f'<rect x="{left:.1f}" y="{y - 13:.1f}" width="{width:.1f}" height="{LINE_HEIGHT}" '
                f'fill="{colour(style[1], PAPER)}"/>'
            )
        if text.strip():
            weight = ' font-weight="bold"' if style[2] else ""
            kept = text.rstrip()
            out.append(
                f'<text x="{left:.1f}" y="{y:.1f}" '
                f'textLength="{len(kept) * CELL_WIDTH:.1f}" fill="{colour(style[0], INK)}"{weight}'
                f' xml:space="preserve">{html.escape(kept)}</text>'
            )
    return "".join(out)


def picture(title, rows, columns, body=None):
    """The text of a file: the rows, or a body that is drawn in their place."""
    width, height = columns * CELL_WIDTH + 2 * MARGIN, len(rows) * LINE_HEIGHT + 2 * MARGIN
    body = body or "\n".join(svg_line(cells, baseline(i)) for i, cells in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}">\n'
        f"<title>{html.escape(title)}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
        f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT_SIZE}">\n{body}\n</g>\n</svg>\n'
    )


def baseline(row):
    return MARGIN + 13 + row * LINE_HEIGHT


def intervals(frames, row):
    """(cells, first frame, frame after the last) of what a row shows, without the times when it is empty."""
    first = 0
    for i in range(1, len(frames) + 1):
        cells = frames[first][row]
        if i < len(frames) and frames[i][row] == cells:
            continue
        if any(cell.data.strip() for cell in cells):
            yield cells, first, i
        first = i


def recording(title, frames, columns):
    """The text of a file that plays frames again and again: (rows, seconds), all of the same number of rows.

    A row that stays is one element with the time in which it is seen. Whoever asks for less motion sees the last frame.
    """
    times = [0.0]
    for _, seconds in frames:
        times.append(times[-1] + seconds)
    rows = [rows for rows, _ in frames]
    style, body, names = [], [], {}
    for row in range(len(rows[0])):
        for cells, first, after in intervals(rows, row):
            is_last = after == len(rows)
            name = names.setdefault((first, after), f"t{len(names)}")
            body.append(f'<g class="{name}{" last" if is_last else ""}">{svg_line(cells, baseline(row))}</g>')
    for (first, after), name in names.items():
        begin, end = (100 * times[i] / times[-1] for i in (first, after))
        hidden = "0%{visibility:hidden}" if first else ""
        gone = f"{end:.2f}%{{visibility:hidden}}" if after < len(rows) else ""
        style.append(f"@keyframes {name}{{{hidden}{begin:.2f}%{{visibility:visible}}{gone}}}")
        style.append(f".{name}{{animation-name:{name}}}")
    style = (
        f"g g{{visibility:hidden;animation:{times[-1]:.1f}s step-end infinite}}g .last{{visibility:visible}}"
        + "".join(style)
        + "@media (prefers-reduced-motion:reduce){g g{animation:none!important}}"
    )
    return picture(title, rows[0], columns, f"<style>{style}</style>\n" + "\n".join(body))
