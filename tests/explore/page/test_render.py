"""One file, in which names are data."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from cormorant.explore import page, palette
from cormorant.explore.page.render import ASSETS, SCRIPTS, embedded

from .models import HOSTILE, large, small

NASTY = ["</script><b>", "<!--<script>", "\u2028\u2029", "]]>&amp;", "@SCRIPT@@DATA@", "\ud800", "\x00'\"\\", "‮evil"]


@pytest.mark.parametrize("name", NASTY)
def test_embedded_json_is_inert_and_means_the_same(name):
    text = embedded({"name": name})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"name": name}


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        embedded([float("nan")])


def inline(text, pattern):
    (found,) = re.findall(pattern, text, re.DOTALL)
    return found


def test_hostile_names_stay_in_the_data():
    names = np.array(NASTY[:4], dtype=object)
    text = page.render(page.document(small(column_names_=names), title="</title><script>x"))
    assert text.count("<script") == 2  # the data and our own
    assert text.count("</script>") == 2
    assert "</title><script>x" not in text
    data = json.loads(inline(text, r'<script type="application/json" id="data">(.*?)</script>'))
    assert data["columns"]["names"] == [*NASTY[:2], "", NASTY[3]]  # of separators of lines nothing is left
    assert data["title"] == "</title><script>x"


def test_placeholders_in_names_are_not_filled():
    text = page.render(page.document(small(column_names_=np.array(["@SCRIPT@", "@DATA@", "@STYLE@", "a"]))))
    data = json.loads(inline(text, r'id="data">(.*?)</script>'))
    assert data["columns"]["names"][:3] == ["@SCRIPT@", "@DATA@", "@STYLE@"]


def test_the_policy_names_exactly_our_script_and_style():
    text = page.render(page.document(small()))
    policy = inline(text, r'Content-Security-Policy" content="(.*?)"')
    for kind, pattern in (("script", r'<script type="module">(.*?)</script>'), ("style", r"<style>(.*?)</style>")):
        digest = base64.b64encode(hashlib.sha256(inline(text, pattern).encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_only_a_served_page_may_connect():
    text = page.render(page.document(small()) | {"served": True})
    assert "connect-src 'self'" in text


def test_colours_are_those_of_the_figures():
    text = page.render(page.document(small()))
    for colour in (palette.TOGETHER, palette.APART, palette.BLUE):
        assert colour in text
        assert colour not in (ASSETS / "page.css").read_text()
    assert not re.search("@[A-Z_]+@", text)  # nothing is left to fill


def test_nothing_comes_from_elsewhere():
    text = page.render(page.document(small()))
    assert set(re.findall(r"https?://[^\s'\"]*", text)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_every_script_is_in_the_page():
    assert {file.name for file in ASSETS.iterdir()} == {"page.html", "page.css", *SCRIPTS}


def test_scripts_never_make_markup_of_text():
    dangerous = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function")
    for name in SCRIPTS:
        assert not dangerous.search((ASSETS / name).read_text(encoding="utf-8")), name


def test_write(tmp_path):
    target = tmp_path / "new" / "page.html"
    assert page.write(small(), target) == target
    assert HOSTILE not in target.read_text()
    assert [file.name for file in target.parent.iterdir()] == ["page.html"]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        page.write(small(), target)
    page.write(small(), target, title="again", overwrite=True)
    assert '"title":"again"' in target.read_text()


def test_write_needs_a_file(tmp_path):
    with pytest.raises(FileExistsError, match="is a folder, and a file is to be written"):
        page.write(small(), tmp_path, overwrite=True)


def test_a_failed_write_leaves_the_old_page(tmp_path):
    target = page.write(small(), tmp_path / "page.html")
    before = target.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        page.write(small(weights_=np.full(4, np.nan)), target, overwrite=True)
    assert target.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_large_pages_are_below_five_megabytes(tmp_path):
    model = large(n_components=200, n_columns=25_000)
    model.column_names_ = np.array([f"<{i} a rather long name, as product titles are>" for i in range(25_000)])
    assert page.write(model, tmp_path / "page.html").stat().st_size < 5_000_000
