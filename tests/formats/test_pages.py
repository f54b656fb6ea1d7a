"""Web pages, as far as they need no package of their own."""

import sys

import pytest

from classmark.formats.pages import normal_address, read_pages
from classmark.problems import MissingExtra


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    (tmp_path / "a.html").write_text("<p>bees")
    monkeypatch.setitem(sys.modules, "resiliparse.parse.html", None)
    with pytest.raises(MissingExtra, match=r"pip install 'classmark\[pages\]'"):
        list(read_pages(tmp_path))


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        ("https://a.example", "https://a.example/"),
        ("https://A.example:443/x/../y", "https://a.example/x/../y"),
        ("http://a.example:8080/?a=b c", "http://a.example:8080/?a=b%20c"),
        ("http://a.example/bär", "http://a.example/b%C3%A4r"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://me:word@a.example/", "http://a.example/"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[bad/", ""),
        ("http://a.example:99999/", ""),
        ("http:///x", ""),
        ("", ""),
    ],
)
def test_addresses_are_compared_in_one_form(address, normal):
    assert normal_address(address) == normal
