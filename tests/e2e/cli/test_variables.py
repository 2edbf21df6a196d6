"""`rtrain env --variables` lists every environment variable that the code reads, with its default and its value."""

import re

from conftest import SOURCE

LIST = SOURCE / "host" / "cli" / "machine" / "variables.cpp"


def names_in(text, suffix):
    """Returns the variables that a source text of C++ or Lua reads or mentions: RTRAIN_… and the arguments of
    getenv."""
    names = set(re.findall(r"""getenv(?:\(| )["'](\w+)["']""", text))
    if suffix == ".lua":
        return names | set(re.findall(r"\bRTRAIN_[A-Z][A-Z_]*[A-Z]\b", text))
    for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
        names |= set(re.findall(r"\bRTRAIN_[A-Z][A-Z_]*[A-Z]\b", literal))
    return names | set(re.findall(r"\$(RTRAIN_[A-Z][A-Z_]*[A-Z])\b", text))


def names_of_launchers():
    """Returns the variables that the launchers read: the quoted words in capitals with an underscore."""
    found = set()
    folder = SOURCE / "modules" / "rtrain" / "launch"
    for path in [*folder.glob("*.lua"), *(folder / "launchers").glob("*.lua")]:
        found |= set(re.findall(r"'([A-Z][A-Z0-9]*_\w+|RANK)'", path.read_text()))
    return found - {"PCI_BUS_ID"}


def read_names():
    """Returns name → one of the files that read the variable."""
    found = dict.fromkeys(names_of_launchers(), "modules/rtrain/launch")
    for folder in ("host", "modules"):
        for path in (SOURCE / folder).rglob("*"):
            if path.suffix in (".h", ".cpp", ".lua") and path != LIST:
                found.update(dict.fromkeys(names_in(path.read_text(), path.suffix), path.relative_to(SOURCE)))
    return found


def test_the_list_has_every_variable_that_the_code_reads(rtrain):
    listed = {row["name"] for row in rtrain.json("env", "--variables")}
    read = read_names()
    assert len(read) > 30
    assert {name: str(path) for name, path in read.items() if name not in listed} == {}
    own = {
        row["name"]
        for row in rtrain.json("env", "--variables")
        if row["name"].startswith("RTRAIN_") or row["group"].startswith("Of launchers")
    }
    assert own <= set(read), "nobody reads it any more"


def test_a_variable_that_is_not_listed_is_found():
    assert names_in('double s = seconds_setting("RTRAIN_NEW_S", 5);', ".cpp") == {"RTRAIN_NEW_S"}
    assert names_in("local folder = os.getenv 'NEW_FOLDER'", ".lua") == {"NEW_FOLDER"}
    assert names_in('Parser parser("rtrain", "rtrain " RTRAIN_VERSION);', ".cpp") == set()


def test_each_has_a_meaning_and_the_value_that_is_set(rtrain):
    rtrain.env["RTRAIN_GPU_SAMPLE_S"] = "7"
    rtrain.env.pop("RTRAIN_DATA", None)
    rows = {row["name"]: row for row in rtrain.json("env", "--variables")}
    assert all(row["meaning"] and row["group"] for row in rows.values())
    assert (rows["RTRAIN_GPU_SAMPLE_S"]["default"], rows["RTRAIN_GPU_SAMPLE_S"]["value"]) == ("5", "7")
    assert rows["RTRAIN_DATA"]["value"] is None
    text = rtrain("env", "--variables").stdout
    assert re.search(r"^  RTRAIN_GPU_SAMPLE_S +seconds .*\(default: 5\); now 7$", text, re.MULTILINE)
    assert text.startswith("Files and libraries\n")


def test_a_secret_is_not_shown(rtrain):
    rtrain.env["RTRAIN_SECRET"] = "a-secret-of-the-run-a-secret-of-the-run"
    rtrain.env["RTRAIN_SECRET_FILE"] = "/run/secret"
    rows = {row["name"]: row for row in rtrain.json("env", "--variables")}
    assert rows["RTRAIN_SECRET"]["value"] == "***"
    assert rows["RTRAIN_SECRET_FILE"]["value"] == "/run/secret"
    assert "a-secret-of" not in rtrain("env", "--variables").stdout
