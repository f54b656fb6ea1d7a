"""The settings' page of meaning, in a real browser."""

import pytest

from meaning.tiny_models import TABLE, write_safetensors, write_tokenizer

pytestmark = pytest.mark.needs("tokenizers")


def test_a_source_is_chosen_and_computed_while_the_page_shows_how_far(
    page, served, tmp_path
):
    write_safetensors(tmp_path / "model.safetensors", embeddings=TABLE)
    write_tokenizer(tmp_path / "tokenizer.json")
    page.goto("/settings")
    page.get_by_role("link", name="Meaning").click()
    page.get_by_label("Source of vectors").select_option("static")
    page.get_by_label("Model or folder", exact=True).fill(str(tmp_path))
    page.get_by_role("button", name="Save").click()
    documents = f"{len(served.desk.state.ids):,}"
    page.get_by_text(f"0 of {documents} documents", exact=True).wait_for()
    page.get_by_role("button", name="Compute").click()
    page.get_by_text(f"{documents} of {documents} documents", exact=True).wait_for()
    page.get_by_text("vectors computed").wait_for()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Compute").wait_for(state="detached")
    assert not (served.desk.folder / "meaning").exists()
