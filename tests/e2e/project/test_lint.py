"""scripts/lint: each rule fails on code that it forbids. The trees are made up: a file or two with one mistake."""

import json
import os
import re
import subprocess

import pytest

from conftest import SOURCE, nightly
from lint_trees import lint  # noqa: F401  (a fixture)

pytestmark = nightly


@pytest.mark.parametrize(
    "path, text, wrong",
    [
        ("host/lua/a.h", "// as host/lua/gone.h does\n", "host/lua/a.h:1: names host/lua/gone.h, which does not exist"),
        ("host/lua/a.cpp", "int x;  // see gone.h\n", "host/lua/a.cpp:1: names gone.h, which does not exist"),
        (
            "modules/torch/a.lua",
            "-- what modules/torch/gone.lua makes\n",
            "modules/torch/a.lua:1: names modules/torch/gone.lua",
        ),
        ("README.md", "See `scripts/gone.py`.\n", "README.md:1: names scripts/gone.py"),
        ("ARCHITECTURE.md", "x " * 51 + "\n", "ARCHITECTURE.md:1: a line of 102 columns, at most 100"),
        (
            "modules/rtrain/guide/a.md",
            "x " * 63 + "\n",
            "modules/rtrain/guide/a.md:1: a line of 126 columns, at most 125",
        ),
        ("README.md", f"| {'word ' * 16}| `code of two words` |\n", "README.md:1: a cell of 16 words, at most 15"),
        ("host/cli/a.cpp", "lua_pushcfunction(L, &f);\n", "host/cli/a.cpp:1: gives Lua a function without a guard"),
        (
            "host/cli/a.cpp",
            "return {\n    .x = {},\n    .y = f({1})};\n",
            "host/cli/a.cpp:2: .x = {} stands before a call",
        ),
    ],
)
def test_what_a_comment_or_a_document_gets_wrong_is_named(lint, path, text, wrong):
    code, said = lint("lint-texts", {path: text})
    assert code == 1
    assert said.startswith(wrong)


def test_a_bound_function_that_its_header_leaves_out_is_named(lint):
    code, said = lint(
        "lint-texts",
        {"host/bind/a.h": "//   known() → text\n", "host/bind/a.cpp": 'method<&f>("known"), method<&g>("left_out")\n'},
    )
    assert (code, said) == (1, "host/bind/a.cpp:1: 'left_out' is not described in a.h\n")


def test_texts_that_are_right_are_clean(lint):
    assert lint(
        "lint-texts",
        {
            "host/lua/a.h": "// next to b.h and host/lua/b.h; LibTorch's caffe2/serialize/versions.h\n",
            "host/lua/b.h": "lua_pushcfunction(L, f);\n",
            "host/lua/b.cpp": "A a{.x = f(), .y = {}, .z = 1};\nB b({.x = {}}, f());\n",
            "host/engine/a.cpp": "lua_pushcclosure(L, &guarded<&f>, 1);\n",
            "README.md": f"| {'word ' * 15}| `code {'of ' * 20} words` |\n",
        },
    ) == (0, "")


ALIVE = {
    "README.md": "See `data.txt` and `Embed.cmake`.\n",
    "data.txt": "",
    "modules/torch/nn.lua": "",
    "packaging/cmake/Embed.cmake": "",
    "host/base/a.h": "// unused() is in a comment alone\nint a(int x);\nclass A {\n public:\n  int b() { return 1; }\n};\n",
    "host/base/a.cpp": '#include "host/base/a.h"\n\nint a(int x) { return x; }\n',
    "host/base/b.cpp": '#include "host/base/a.h"\n\nint b() { return a(1) + A().b(); }\n',
    "tests/CMakeLists.txt": "",
}


@pytest.fixture
def lint_dead(lint, tmp_path):
    """Runs lint-dead over a repository of the given files; returns exit code, output."""

    def run(files):
        lint("lint-web", files)
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
        return lint("lint-dead", {})

    return run


@pytest.mark.parametrize(
    "path, text, wrong",
    [
        ("data/gone.txt", "gone.txt", "data/gone.txt:1: nothing refers to this file"),
        ("host/base/gone.h", "", "host/base/gone.h:1: nothing refers to this file"),
        ("scripts/gone", "", "scripts/gone:1: nothing refers to this file"),
        ("tests/e2e/programs/gone.lua", "", "tests/e2e/programs/gone.lua:1: nothing refers to this file"),
        (
            "host/base/a.cpp",
            '#include "host/base/a.h"\n\nint gone(int x) { return x; }\nint c() { return gone(1); }\n',
            "host/base/a.h:7: only host/base/a.cpp calls gone: it belongs there alone",
        ),
        ("host/base/a.cpp", '#include "host/base/a.h"\n', "host/base/a.h:7: nothing calls gone"),
    ],
)
def test_what_is_dead_is_named(lint_dead, path, text, wrong):
    files = {**ALIVE, path: text}
    if path == "host/base/a.cpp":
        files["host/base/a.h"] += "int gone(int x);\n"
    code, said = lint_dead(files)
    assert code == 1
    assert wrong + "\n" in said


def test_what_is_in_use_is_clean(lint_dead):
    assert lint_dead(ALIVE) == (0, "")


@pytest.fixture
def lint_commits(tmp_path):
    """Runs lint-commits over a repository with commits of these subjects after its start; returns exit code, output."""

    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", tmp_path, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def run(*lines, start=None):
        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "A start that no rule allows; it is old.")
        start = start or git("rev-parse", "HEAD")
        for line in lines:
            git("commit", "-q", "--allow-empty", "-m", line, "-m", "Problem: a long body. " + "x" * 100)
        done = subprocess.run(
            [SOURCE / "scripts" / "lint-commits", tmp_path, start], capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    "line, wrong",
    [
        ("cli: " + "x" * 68, "has 73 characters, at most 72"),
        ("a summary without its area", "does not begin with `area: `"),
        ("Area: a summary", "does not begin with `area: `"),
        ("cli: a summary.", "ends with a full stop"),
        ("cli: one thing; another one", "has two topics: make two commits of it"),
    ],
)
def test_a_first_line_that_is_wrong_is_named(lint_commits, line, wrong):
    code, said = lint_commits("cli: right", line)
    assert code == 1
    assert re.fullmatch(rf"[0-9a-f]{{7,}} {re.escape(wrong)}: {re.escape(line)}\n", said)


def test_first_lines_that_are_right_are_clean(lint_commits):
    assert lint_commits("cli: " + "x" * 67, "tests, host/store: two areas, Words.lua", "lint: v1.2 is read") == (0, "")


def test_commits_that_are_not_there_are_not_checked(lint_commits):
    assert lint_commits("wrong", start="0" * 40) == (0, "")


WEB = {
    "web/a.js": "import {b} from './room/b.js';\n\nconst [c, {d: e}] = b(`${() => `}`}`, /[/}]/);\nc(e);\n",
    "web/room/b.js": "// not used: `f`\nexport const b = (value) => value;\n",
    "web/style.css": ".used { margin: .5em; }\n",
    "web/index.html": '<p class="used"></p>\n',
}


@pytest.mark.parametrize(
    "path, text, wrong",
    [
        ("web/a.js", "b; // " + "x" * 115, "5: a line of 121 columns, at most 120"),
        ("web/style.css", "x" * 121, "2: a line of 121 columns, at most 120"),
        ("web/a.js", "import {g} from './room/b.js';\ng();", "5: imports g, which ./room/b.js does not export"),
        ("web/room/b.js", "export const h = 1;", "3: exports h, which no file imports"),
        ("web/c.js", "c(`${b(1)}`);", "1: calls b of b.js and does not import it"),
        ("web/room/b.js", "import {c} from '../a.js';", "3: imports c and does not use it"),
        ("web/a.js", "const i = {i: 'i', j: a.i, k: `i`}; // i", "5: declares i and does not use it"),
        ("web/a.js", "const {i: j} = c;", "5: declares j and does not use it"),
        ("web/a.js", "class A { #l = 1; }\nc(A);", "5: declares #l and does not use it"),
        ("web/style.css", "p.gone b { margin: 0; }", "2: describes the class gone, which no element has"),
    ],
)
def test_what_is_wrong_in_a_page_is_named(lint, path, text, wrong):
    code, said = lint("lint-web", {**WEB, path: f"{WEB.get(path, '')}{text}\n"})
    assert code == 1
    assert f"{path}:{wrong}\n" in said


def test_pages_that_are_right_are_clean(lint):
    assert lint("lint-web", WEB) == (0, "")


@pytest.fixture
def lint_cpp(lint, tmp_path):
    """Runs lint-cpp over a tree whose sources a build compiles; returns exit code and its (file:line, check)
    findings."""

    def run(files):
        compiled = [
            {"directory": str(tmp_path), "file": path, "command": f"c++ -I{tmp_path} -std=c++20 -o a.o -c {path}"}
            for path in files
            if path.endswith(".cpp")
        ]
        code, said = lint("lint-cpp", {**files, "build/compile_commands.json": json.dumps(compiled)})
        return code, sorted({*re.findall(rf"^{tmp_path}/(\S+:\d+):\d+: error: .*\[([\w-]+)", said, re.MULTILINE)})

    return run


@pytest.mark.parametrize("folder", ["base", "arrow", "engine/data", "cuda"])
def test_a_name_of_the_wrong_case_is_found(lint_cpp, folder):
    assert lint_cpp(
        {
            f"host/{folder}/a.h": "#pragma once\nint WrongInHeader();\n",
            f"host/{folder}/a.cpp": f'#include "host/{folder}/a.h"\n\nint WrongInSource() {{ return 1; }}\n',
        }
    ) == (1, [(f"host/{folder}/{place}", "readability-identifier-naming") for place in ("a.cpp:3", "a.h:2")])


def test_a_mistake_is_found(lint_cpp):
    assert lint_cpp(
        {
            "host/engine/a.cpp": "#include <string>\nint use(std::string);\n\n"
            "int twice(std::string text) {\n  return use(std::move(text)) +\n         use(text);\n}\n"
        }
    ) == (1, [("host/engine/a.cpp:6", "bugprone-use-after-move")])


@pytest.mark.parametrize("definition", ["int size = {};", "  int size = {};", "using Size = int[{}];"])
def test_files_that_define_the_same_name_are_read_apart(lint_cpp, definition):
    files = {
        f"host/engine/{name}.cpp": f"namespace {{\n{definition.format(number)}\n}}\nint {name}Wrong();\n"
        for number, name in enumerate("abc", 1)
    }
    assert lint_cpp(files) == (1, [(f"host/engine/{name}.cpp:4", "readability-identifier-naming") for name in "abc"])


def test_files_that_the_build_compiles_together_are_read(lint, tmp_path):
    names = [tmp_path / "host/engine" / f"{name}.cpp" for name in "ab"]
    command = {"directory": str(tmp_path), "file": "build/group.cxx", "command": "c++ -o a.o -c build/group.cxx"}
    code, said = lint(
        "lint-cpp",
        {
            "host/engine/a.cpp": "int a();\n",
            "host/engine/b.cpp": "int WrongName();\n",
            "build/group.cxx": "".join(f'#include "{name}"\n' for name in names),
            "build/compile_commands.json": json.dumps([command]),
        },
    )
    assert code == 1 and "b.cpp:1" in said and "not built here" not in said


def test_cpp_that_does_not_compile_is_named(lint_cpp):
    assert lint_cpp({"host/engine/a.cpp": "int a();\n", "host/engine/b.cpp": "int b() { return gone; }\n"}) == (
        1,
        [("host/engine/b.cpp:1", "clang-diagnostic-error")],
    )


def test_cpp_that_is_right_is_clean(lint_cpp):
    assert lint_cpp(
        {"host/engine/a.cpp": "void zero_(int& value) { value = 0; }\n", "host/cuda/b.cpp": "int size = 1;\n"}
    ) == (0, [])


def test_only_what_changed_lately_is_read_unless_all_is_asked_for(lint, tmp_path):
    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", tmp_path, *arguments],
            check=True,
            capture_output=True,
        )

    names = ("old", "new", "header", "edited", "commented")
    files = {f"host/base/{name}.cpp": f"int {name}Wrong();\n" for name in names}
    files["build/compile_commands.json"] = json.dumps(
        [{"directory": str(tmp_path), "file": path, "command": f"c++ -I{tmp_path} -o a.o -c {path}"} for path in files]
    )
    lint("lint-cpp", {**files, ".gitignore": "build\nhost/base/new.cpp\n"})
    git("init", "-q")
    git("add", ".")
    for number in range(51):
        git("commit", "-q", "--allow-empty", "-m", str(number))
    git("add", "-f", "host/base/new.cpp")
    git("commit", "-q", "-m", "new")
    changed = {
        "header.h": "",
        "edited.cpp": "int editedWrong(int a);\n",
        "commented.cpp": "// Why.\nint commentedWrong();\n",
    }
    lint("lint-cpp", {f"host/base/{name}": text for name, text in changed.items()})
    git("add", "host/base/header.h")
    code, said = lint("lint-cpp", {})
    assert code == 1 and sorted(re.findall(r"'(\w+)Wrong'", said)) == ["edited", "header", "new"]
    done = subprocess.run([SOURCE / "scripts/lint-cpp", "--all", tmp_path], capture_output=True, text=True, timeout=60)
    assert sorted(re.findall(r"'(\w+)Wrong'", done.stdout)) == sorted(names)


def test_a_clang_tidy_that_fails_without_a_finding_fails_the_lint(lint, tmp_path, monkeypatch):
    broken = tmp_path / "bin" / "clang-tidy"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho out of memory >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    command = {"directory": str(tmp_path), "file": "host/engine/a.cpp", "command": "c++ -o a.o -c host/engine/a.cpp"}
    assert lint(
        "lint-cpp", {"host/engine/a.cpp": "int a();\n", "build/compile_commands.json": json.dumps([command])}
    ) == (1, "out of memory\n")


def test_cpp_that_was_not_built_is_named(lint):
    files = {"host/cuda/a.cpp": "int WrongName();\n"}
    assert lint("lint-cpp", files) == (1, "lint-cpp: build/compile_commands.json is missing: run scripts/build\n")
    assert lint("lint-cpp", {**files, "build/compile_commands.json": "[]"}) == (
        0,
        "lint-cpp: not built here, so not read: host/cuda\n",
    )
