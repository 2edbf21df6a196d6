"""The tables of behaviours and faults in tests/README.md agree with the tests that there are."""

import re

from test_documents import SOURCE

TESTS = SOURCE / "tests"
BEHAVIOURS = {*range(1, 17), *range(20, 59), *range(60, 66), *range(70, 101), *range(105, 113), *range(115, 126), 135}
FAULTS = {*range(1, 16), *range(18, 30), *range(31, 49), *range(52, 70)}


def named_tests():
    """Name → file of every test that carries numbers: B_021_…, B_056_F_027_…."""
    found = {}
    for path in TESTS.rglob("*"):
        if path.suffix in (".cpp", ".py", ".lua") and path.name != "test_behaviours.py":
            for name in re.findall(r"\b(?:test_)?([BF]_\d{3}_\w+)", path.read_text()):
                found[name] = path.relative_to(TESTS)
    return found


def rows(letter):
    """Number → the third column of the table's rows: `B-21` or, for a row of several, `B-115, B-116`."""
    table = {}
    for line in (TESTS / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = re.findall(rf"\b{letter}-?(\d+)\b", cells[0]) if line.startswith("|") else []
        for number in numbers:
            assert int(number) not in table, f"{letter}-{number} is there twice"
            table[int(number)] = cells[-1]
    return table


def check(letter, expected):
    table, tests = rows(letter), named_tests()
    assert sorted(table) == sorted(expected)
    for number, cell in table.items():
        cited = re.findall(r"`([BF]_\d{3}_\w+)`", cell)
        missing = [name for name in cited if name not in tests]
        assert not missing, f"{letter}-{number}: no such test: {missing}"
        own = [name for name in tests if f"{letter}_{number:03}_" in re.match(r"(?:[BF]_\d{3}_)+", name).group()]
        assert set(own) <= set(cited), f"{letter}-{number}: not in the table: {sorted(set(own) - set(cited))}"
        assert cited or len(cell) > 20, f"{letter}-{number} has neither a test nor a reason"


def test_every_behaviour_has_its_test_or_a_reason():
    check("B", BEHAVIOURS)


def test_every_fault_has_its_test_or_a_reason():
    check("F", FAULTS)
