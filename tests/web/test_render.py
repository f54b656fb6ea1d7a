"""What every page shows."""

from urllib.parse import parse_qs, urlsplit

import pytest

from classmark.web.render import redirect


@pytest.mark.parametrize(
    "text", ["Your account is closed: call 0900 1", "saved", "begun~0", "~", "é~ü"]
)
def test_words_of_others_in_the_address_are_not_shown(client, text):
    for path in ("/inbox", "/taxonomy?at=bread&undo=3"):
        joint = "&" if "?" in path else "?"
        shown = client.get(f"{path}{joint}saved={text}").text
        assert 'role="status"></span>' in shown
        assert "/taxonomy/undo" not in shown
        assert text == "saved" or f">{text}" not in shown


def test_what_the_server_says_is_shown_once_it_sent_a_browser_on(client):
    location = redirect("/inbox", saved="accepted 3 documents").headers["location"]
    (sent,) = parse_qs(urlsplit(location).query)["saved"]
    shown = client.get("/inbox", params={"saved": sent}).text
    assert "data-fresh>accepted 3 documents</span>" in shown
