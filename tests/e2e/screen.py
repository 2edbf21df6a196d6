"""What a terminal shows for the bytes that it receives: rows of text, including all that has scrolled off at the top.

It implements the cursor movements that rtrain uses, and fails at any other. A line that is wider than the terminal
wraps to the next row, and is wrapped again when the terminal gets another width, as in most current terminals.
"""

import re
import unicodedata

CONTROL = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])")


def width_of(character):
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    def __init__(self, columns):
        self.columns = columns
        self._lines, self._line, self._at = [[]], 0, 0  # the cells of each unwrapped line; the cursor
        self._is_behind = False  # the last column was written and the cursor has not wrapped yet
        self._rest = b""

    def feed(self, data):
        """Takes bytes, which may end within a character or an escape sequence."""
        text, self._rest = _decoded(self._rest + data)
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                control = CONTROL.match(text, at)
                if control is None and len(text) - at < 12:
                    self._rest = text[at:].encode() + self._rest
                    return self
                assert control, f"a movement that nobody knows: {text[at : at + 12]!r}"
                self._move(*control.groups())
                at = control.end()
            else:
                self._write(text[at])
                at += 1
        return self

    def rows(self):
        """Returns all rows without trailing spaces; empty rows at the end are left out."""
        rows = []
        for line in self._lines:
            for begin in range(0, max(len(line), 1), self.columns):
                rows.append("".join(line[begin : begin + self.columns]).rstrip())
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def text(self):
        return "\n".join(self.rows())

    def _row_begin(self):
        return (self._at - (1 if self._is_behind else 0)) // self.columns * self.columns

    def _move(self, private, numbers, letter):
        count = int(numbers.split(";")[0] or 1) if letter in "ABCD" else int(numbers.split(";")[0] or 0)
        if letter == "m" or private:
            return
        if letter == "A":
            for _ in range(count):
                self._up()
        elif letter == "B":
            for _ in range(count):
                self._down()
        elif letter == "C":
            self._at = min(self._at + count, self._row_begin() + self.columns - 1)
        elif letter == "D":
            self._at = max(self._at - count, self._row_begin())
        elif letter == "G":
            self._at = self._row_begin() + max(count, 1) - 1
        elif letter == "K":
            self._erase(count)
        elif letter == "J" and count == 0:
            self._erase(0)
            del self._lines[self._line + 1 :]
        else:
            raise AssertionError(f"a movement that nobody knows: {numbers}{letter}")
        self._is_behind = False

    def _up(self):
        begin = self._row_begin()
        column = self._at - begin
        if begin > 0:
            self._at = begin - self.columns + column
        elif self._line > 0:
            self._line -= 1
            self._at = max(len(self._lines[self._line]) - 1, 0) // self.columns * self.columns + column

    def _down(self):
        begin = self._row_begin()
        column = self._at - begin
        if begin + self.columns < len(self._lines[self._line]):
            self._at = begin + self.columns + column
            return
        self._line += 1
        self._at = column
        if self._line == len(self._lines):
            self._lines.append([])

    def _erase(self, part):
        line, begin = self._lines[self._line], self._row_begin()
        end = min(begin + self.columns, len(line))
        first, last = {0: (self._at, end), 1: (begin, self._at + 1), 2: (begin, end)}[part]
        if last >= len(line):
            del line[first:]
        else:
            line[first:last] = [" "] * (last - first)

    def _write(self, character):
        if character == "\n":
            self._down()
        elif character == "\r":
            self._at = self._row_begin()
        elif character == "\b":
            self._at = max(self._at - 1, self._row_begin())
        elif character != "\x07":
            return self._put(character)
        self._is_behind = False

    def _put(self, character):
        line, width = self._lines[self._line], width_of(character)
        if width == 0:
            if self._at > 0:
                line[self._at - 1] += character
            return
        if self._at % self.columns + width > self.columns:  # a wide character does not span two rows
            line.append(" ")
            self._at += 1
        line.extend([" "] * (self._at + width - len(line)))
        line[self._at : self._at + width] = [character] + [""] * (width - 1)
        self._at += width
        self._is_behind = self._at % self.columns == 0


def _decoded(data):
    """Returns the text, and the bytes of an incomplete character at the end."""
    for cut in range(4):
        try:
            return data[: len(data) - cut].decode(), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace"), b""
