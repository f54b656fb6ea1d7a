"""Promise 10: a project full of hostile text, labels and names is shown, and inert."""

import itertools

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.taxonomy.category import Category
from classmark.workbench.categories.edit import rename
from classmark.workbench.deciding.decide import Decision, decide_on, note_on
from classmark.workbench.files.importing import import_records, put_taxonomy
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import SearchSettings, Settings
from web.browser.conftest import serving
from web.browser.pages import PAGES

ACTS = ["alert(1)", "confirm(1)", "document.title='taken'", "window.taken=1"]
FORMS = [
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    '"><script>{}</script>',
    "'><img src=x onerror={}>",
    "</title><script>{}</script>",
    "</textarea><script>{}</script>",
    '<iframe srcdoc="<script>parent.{}</script>">',
    '<a href="javascript:{}">bees</a>',
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<body onload={}>",
    "<math><mtext><script>{}</script>",
    '" onmouseover="{}',
    "' onfocus='{}' autofocus='",
    "<style>@import 'x';</style>{}",
    '<object data="javascript:{}">',
    '<form action="javascript:{}"><button>bees',
    "{{{{constructor.constructor('{}')()}}}}",
    "{{% raw %}}<script>{}</script>",
    '<div hx-get="/settings" hx-trigger="load">{}</div>',
    '<div hx-on::load="{}">',
    '<base href="https://evil.example/">{}',
    '<meta http-equiv=refresh content="0;url=javascript:{}">',
    "\u202e<script>{}</script>",
]
PAYLOADS = [form.format(act) for form, act in itertools.product(FORMS, ACTS)]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Every payload is a text, a title, an id, a label, a note and a guideline."""
    folder = tmp_path_factory.mktemp("hostile") / "project"
    name = PAYLOADS[0]
    create(folder, Settings(name, search=SearchSettings(log="named")))
    groups = 10
    with Project(folder) as project:
        put_taxonomy(
            project,
            [
                Category(f"c{n} {PAYLOADS[n]}", PAYLOADS[n + 20], note=PAYLOADS[n + 40],
                         synonyms=(PAYLOADS[n + 60],))
                for n in range(groups)
            ],
            "hostile",
        )  # fmt: skip
        ids = [category.id for category in project.store.categories()]
        records = [
            Record(
                Document(
                    f"d{n} {payload}",
                    {"title": payload, "text": f"bees w{n % groups} {payload}",
                     "author": PAYLOADS[-n]},
                ),
                {ids[n % groups]: 1.0} if n < 80 else {},
            )
            for n, payload in enumerate(PAYLOADS)
        ]  # fmt: skip
        import_records(project, records, name)
        train(project)
        rename(project, ids[0], label=PAYLOADS[33])
        index_project(project)
    return folder


def addresses(desk):
    """Every page, and the pages of documents, categories and answers."""
    from urllib.parse import quote

    documents = [quote(id_, safe="") for id_ in sorted(desk.store.ids())]
    yield from PAGES.values()
    for payload in PAYLOADS[:8]:
        yield f"/search?q={quote(payload)}"
        yield f"/inbox?words={quote(payload)}&show={quote(payload)}"
        yield f"/history?who={quote(payload)}&document={quote(payload)}"
    yield from (f"/decide/{id_}" for id_ in documents[:24])
    yield from (f"/taxonomy/{quote(c, safe='')}" for c in list(desk.categories)[:6])


def test_nothing_of_it_runs(browser, hostile):
    assert len(PAYLOADS) == 100
    wrong = []
    with serving(hostile) as served:
        context = browser.new_context(base_url=served.address)
        page = context.new_page()
        page.on("dialog", lambda box: (wrong.append(box.message), box.dismiss()))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e =>"
            "(window.broken ??= []).push(e.violatedDirective + ' ' + e.blockedURI))"
        )
        ours = (served.address, "data:")
        page.on(
            "request",
            lambda r: None if r.url.startswith(ours) else wrong.append(r.url),
        )
        served.enter(page)
        desk, who = served.desk, "<img src=x onerror=alert(2)>"
        first = next(iter(desk.store.ids()))
        decide_on(desk, first, Decision((next(iter(desk.categories)),)), {}, who)
        note_on(desk, first, PAYLOADS[5], who)
        for address in addresses(desk):
            page.goto(address)
            title, taken, broken = page.evaluate(
                "[document.title, window.taken ?? 0, window.broken ?? []]"
            )
            if title == "taken" or taken or broken:
                wrong.append(f"{address}: {title} {taken} {broken}")
        context.close()
    assert not wrong
