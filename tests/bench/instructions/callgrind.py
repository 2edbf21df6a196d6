"""What callgrind writes: instructions by function, alone and with all that it calls."""

import re
from collections import defaultdict

_NAME = re.compile(r"c?fn=\((\d+)\)(?: (.*))?")


class Profile:
    """One dump. `alone` and `with_calls` are instructions by the name of a function."""

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
                if is_call and callee == function:  # a recursion is in its first call already
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
        """Instructions of the functions whose name has it, with all that they call. They do not call each other."""
        return sum(cost for name, cost in self.with_calls.items() if re.search(pattern, name))
