"""Coming in with a real browser: the code stays in it, forms carry the token."""

import pytest

FORGED = """<form method="post" action="{0}/settings/theme">
<input name="theme" value="dark"><button>Win a prize</button></form>"""
BY_HTMX = """() => {
  const form = document.createElement("form");
  form.setAttribute("hx-post", "/settings/theme");
  form.setAttribute("hx-trigger", "now");
  form.innerHTML = '<input name="theme" value="dark">';
  document.body.append(form);
  htmx.process(form);
  form.dispatchEvent(new Event("now"));
}"""

TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((it) => it.getBoundingClientRect().right > innerWidth + 1)
  .map((it) => it.outerHTML.slice(0, 80))"""


@pytest.fixture
def visitor(browser, served):
    """A page in which nobody has come in."""
    context = browser.new_context(base_url=served.address)
    yield context.new_page()
    context.close()


def test_the_printed_address_brings_in_and_keeps_its_code(visitor, served):
    asked = []
    visitor.on("request", lambda request: asked.append(request.url))
    visitor.goto(f"{served.address}/enter?next=/settings/me#{served.code}")
    visitor.wait_for_url("**/settings/me")
    assert "have all rights" in visitor.inner_text("main")
    assert asked
    assert not any(served.code in address for address in asked)
    visitor.go_back()
    assert served.code not in visitor.url


def test_the_address_works_from_the_door_too(visitor, served):
    visitor.goto("/settings/me")
    assert "/enter?next=" in visitor.url
    visitor.fill("[name=code]", "a guess")
    visitor.press("[name=code]", "Enter")
    visitor.wait_for_selector(".message.bad")
    visitor.evaluate("(code) => { location.hash = code; }", served.code)
    visitor.wait_for_url("**/settings/me")


def test_a_forged_request_of_another_page_changes_nothing(page, served):
    page.goto("/settings/me")
    other = page.context.new_page()
    other.set_content(FORGED.format(served.address))
    with other.expect_response("**/settings/theme") as answer:
        other.click("button")
    assert answer.value.status == 403
    page.reload()
    assert page.get_attribute("html", "data-theme") == "system"


def test_htmx_sends_the_token_of_the_page(page):
    page.goto("/settings/me")
    with page.expect_response("**/settings/theme") as answer:
        page.evaluate(BY_HTMX)
    assert answer.value.status == 303
    assert answer.value.request.headers["x-csrf"]


def test_settings_with_the_keyboard_alone(page):
    page.goto("/settings")
    page.get_by_text("Advanced", exact=True).focus()
    page.keyboard.press("Enter")
    page.focus("[name='learning.center']")
    page.keyboard.press("Control+A")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.wait_for_url("**/settings?saved=**")
    assert "saved" in page.inner_text(".saved")
    assert page.input_value("[name='learning.center']") == "7"


def test_nothing_is_wider_than_the_window(page):
    for width in (683, 1024, 1366):
        page.set_viewport_size({"width": width, "height": 768})
        for path in ("", "/model", "/people", "/tokens", "/me"):
            page.goto(f"/settings{path}")
            assert page.evaluate(TOO_WIDE) == [], (width, path)
