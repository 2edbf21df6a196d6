"""rtrain doc --html: valid pages, links that lead somewhere, a search that knows what is there, the same bytes each time."""

import filecmp
import html.parser
import json
import re
import shutil
import urllib.parse

import pytest

from conftest import SOURCE, Rtrain

VOID = {"meta", "link", "br", "hr", "img", "input"}
MOST_BYTES = 3 * 1024 * 1024


class Page(html.parser.HTMLParser):
    """The ids, links and text of a page, and elements that do not close in the order in which they open."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.unbalanced, self.texts = [], [], [], [], []
        self._open = []
        self.feed(text)
        self.close()
        self.unbalanced += self._open
        self.text = "".join(self.texts)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"an attribute twice in {tag}"
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            assert "a" not in self._open, f"a link in a link: {attributes}"
            self.links.append(attributes["href"])
        elif "href" in attributes or "src" in attributes:
            self.loads.append(attributes.get("href") or attributes["src"])
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(f"/{tag} in line {self.getpos()[0]}")

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Writes the site twice, the second time from another working folder and home."""
    folders = []
    for name in ("site", "other"):
        runner = Rtrain(tmp_path_factory.mktemp(name))
        folders.append(runner.folder.resolve() / "html")
        result = runner("doc", "--html", folders[-1])
        shutil.rmtree(runner.runtime)
        assert result.returncode == 0, result.stderr
        assert f"files in {folders[-1]}" in result.stdout
    return folders


@pytest.fixture(scope="module")
def site(made):
    return made[0]


@pytest.fixture(scope="module")
def pages(site):
    return {file: Page(file.read_text()) for file in sorted(site.rglob("*.html"))}


def target(site, file, link):
    """The file and the place in it that a link of a page leads to."""
    path, place = urllib.parse.urldefrag(link)
    found = (file.parent / urllib.parse.unquote(path)).resolve() if path else file
    assert found.is_relative_to(site), f"{file}: {link} leads out of the site"
    return found, urllib.parse.unquote(place)


def test_every_page_is_valid_and_every_link_leads_to_a_place(site, pages):
    assert len(pages) > 120
    wrong = []
    for file, page in pages.items():
        name = file.relative_to(site)
        wrong += [f"{name}: {each}" for each in page.unbalanced]
        wrong += [f"{name}: the id {each} twice" for each in {each for each in page.ids if page.ids.count(each) > 1}]
        for link in page.links:
            if link.startswith(("https://", "http://")):
                continue
            found, place = target(site, file, link)
            if found not in pages or (place and place not in pages[found].ids):
                wrong.append(f"{name}: {link} leads nowhere")
        for load in page.loads:  # what a browser fetches lies in the folder
            assert target(site, file, load)[0].is_file(), f"{name}: {load}"
    assert not wrong, "\n".join(wrong[:20])


def test_the_bytes_depend_on_nothing_but_the_sources(made):
    first, second = made
    names = sorted(str(path.relative_to(first)) for path in first.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(second)) for path in second.rglob("*") if path.is_file())
    _, different, wrong = filecmp.cmpfiles(first, second, names, shallow=False)
    assert not different and not wrong
    text = b"".join((first / name).read_bytes() for name in names)
    assert len(text) < MOST_BYTES
    for folder in (first.parent, SOURCE):
        assert bytes(folder) not in text
    assert not re.findall(rb"(?:src|@import|url\()\W*https?:", text)  # nothing comes from the network


def test_the_search_knows_pages_headings_and_names(site, pages):
    script = (site / "search-index.js").read_text()
    index = json.loads(re.fullmatch(r"globalThis\.rtrainPages = (.*);\n", script, re.S)[1])
    entries = {}
    for address, rows in index:
        for title, place, kind, text in rows:
            assert not place or place in pages[site / address].ids, (address, place)
            entries.setdefault(title, []).append((address, place, kind, text))
    assert {address for address, _ in index} >= {"porting.html", "examples/hello.html", "api/torch.nn.html"}
    assert ("api/torch.nn.html", "Linear", "class") in [each[:3] for each in entries["nn.Linear"]]
    assert ("guide-failures.html", "exit-codes", "guide/failures") in [each[:3] for each in entries["Exit codes"]]
    assert entries["train.report"][0][3]


def test_guides_examples_and_signatures_are_there(site, pages):
    for guide in (SOURCE / "modules/rtrain/guide").glob("*.md"):
        assert pages[site / f"guide-{guide.stem}.html"].text.count(guide.read_text().splitlines()[0][2:])
    for example in (SOURCE / "examples").glob("*.lua"):
        code = example.read_text().split("\n\n", 1)[1]
        assert code.strip() in pages[site / f"examples/{example.stem}.html"].text, example
    assert "epoch=5 loss=0.018134" in pages[site / "examples/hello.html"].text
    assert "accuracy=0.8791" in pages[site / "examples/fashion_mnist.html"].text
    linear = pages[site / "api/torch.nn.html"].text
    assert "nn.Linear(in_features, out_features, {bias = true, device, dtype}) → nn.Linear" in linear
    assert "x:matmul(other) → torch.Tensor" in pages[site / "api/torch.html"].text
    assert "get_world_rank" in pages[site / "api/types.html"].text
    first = pages[site / "index.html"]
    assert "Ray Train" in first.text
    assert {"guide-start.html", "api/index.html", "examples/index.html"} <= set(first.links)


def test_a_folder_that_cannot_be_made_is_said(rtrain, tmp_path):
    (tmp_path / "file").write_text("")
    result = rtrain("doc", "--html", tmp_path / "file" / "html")
    assert result.returncode == 4 and "file" in result.stderr and "traceback" not in result.stderr
