"""Parses the output of callgrind: instructions by function, alone and with all callees."""

import re
from collections import defaultdict

_NAME = re.compile(r"c?fn=\((\d+)\)(?: (.*))?")


class Profile:
    """One dump. `alone` and `with_calls` map a function's name to instructions."""

    def __init__(self, path):
        self.trigger = ""
        self.total = 0
        self.alone = defaultdict(int)
        self.with_calls = defaultdict(int)
        self._names = {}
        self._called = defaultdict(int)
        with open(path, errors="replace") as file:
            self._read(file)

    def _read(self, lines):
        function = callee = None
        is_call = False
        for line in lines:
            if line.startswith("fn="):
                function = self._name(line)
            elif line.startswith("cfn="):
                callee = self._name(line)
            elif line.startswith("calls="):
                is_call = True
            elif line[0] in "+-*0123456789" and function is not None:
                cost = int(line.split()[1])
                self.with_calls[function] += cost
                if is_call and callee == function:  # the outermost call contains the recursive calls already
                    self.with_calls[function] -= cost
                if not is_call:
                    self.alone[function] += cost
                is_call = False
            elif line.startswith("desc: Trigger: Client Request: "):
                self.trigger = line.split(": ")[-1].strip()
            elif line.startswith("totals: "):
                self.total = int(line.split()[1])

    def _name(self, line):
        number, name = _NAME.match(line).groups()
        if name:
            self._names[number] = name
        return self._names[number]

    def of(self, pattern):
        """Returns the instructions of the functions that match the pattern, with all callees. These functions must not
        call each other.
        """
        return sum(cost for name, cost in self.with_calls.items() if re.search(pattern, name))
