/* Which key does what on the Decide page; the finder, the panel of similar documents. */
"use strict";

let asked = null; // the search of the tree that is under way

async function find(words) {
  asked?.abort();
  asked = new AbortController();
  try {
    const found = await part(`${PREFIX}/taxonomy/find`, { q: words }, { signal: asked.signal });
    one("#found").replaceChildren(...found.querySelectorAll("li"));
    selectFound(0);
  } catch (problem) {
    if (problem.name !== "AbortError") one("#found").replaceChildren(make("li", "soft", problem.message));
  }
}

function selectFound(step) {
  const options = Array.from(one("#found").querySelectorAll("[role=option]"));
  const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const next = options[Math.min(options.length - 1, Math.max(0, at + step))];
  for (const option of options) option.setAttribute("aria-selected", String(option === next));
  one("#finder input").setAttribute("aria-activedescendant", next?.id || "");
  next?.scrollIntoView({ block: "nearest" });
}

function finderKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { event.preventDefault(); selectFound(step); }
  if (event.key === "Escape") { event.preventDefault(); one("#finder").close(); }
  if (event.key !== "Enter") return;
  event.preventDefault();
  const chosen = one("#found [aria-selected=true]");
  if (chosen) addFound(chosen);
}

function openFinder() {
  const input = openDialog("finder").querySelector("input");
  input.value = "";
  input.focus();
  one("#found").replaceChildren();
}

/* A category that is missing is made here, and chosen */

function openNew() {
  const words = one("#finder input").value.trim();
  one("#finder").close();
  const name = openDialog("new-category").querySelector("[name=label]");
  name.value = words;
  name.focus();
  part(`${PREFIX}/taxonomy/parents`, {})
    .then((found) => one("#new-category select").replaceChildren(...found.querySelectorAll("option")))
    .catch((problem) => { one("#new-category [role=alert]").textContent = problem.message; });
}

async function makeCategory(form) {
  const said = form.querySelector("[role=alert]");
  said.hidden = true;
  const body = new URLSearchParams(new FormData(form));
  body.set("csrf", document.body.dataset.csrf);
  try {
    const answer = await fetch(`${PREFIX}/taxonomy/new`, { method: "POST", body });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const option = found.querySelector("[role=option]");
    if (!option) throw new Error(found.querySelector("[role=alert]")?.textContent.trim() || _("Not created: reload the page."));
    one("#new-category").close();
    addFound(option);
  } catch (problem) {
    said.textContent = problem.message;
    said.hidden = false;
  }
}

function openGuideline() {
  const row = focused();
  if (!row) return;
  const own = one(`[data-of="${row.dataset.number}"]`);
  const text = own?.querySelector("[data-guideline]")?.textContent || own?.querySelector("[data-scope]")?.textContent;
  one("#guideline [data-name]").textContent = row.dataset.name;
  one("#guideline [data-text]").textContent = text || _("This category has no guideline yet.");
  one("#guideline [data-edit]").href = `${PREFIX}/taxonomy/${encodeURIComponent(row.dataset.category)}`;
  openDialog("guideline");
}

async function similar() {
  const panel = one("[data-alike]");
  panel.hidden = !panel.hidden;
  if (panel.hidden || panel.dataset.read) return;
  panel.dataset.read = "yes";
  try {
    panel.replaceChildren(...(await part(`${PREFIX}/alike`, { document: page().dataset.document })).body.childNodes);
  } catch (problem) {
    panel.replaceChildren(make("p", "soft", problem.message));
    delete panel.dataset.read;
  }
  panel.scrollIntoView({ block: "nearest" });
}

/* What speaks for a category by its meaning is looked for when it is opened */

const openMeaning = () => one(`[data-of="${focused()?.dataset.number}"] [data-meaning]`);

function meaning() {
  const details = openMeaning();
  if (details) details.open = !details.open;
}

async function readMeaning(details) {
  const place = details.querySelector("div");
  details.dataset.read = "yes";
  try {
    const told = { category: details.dataset.meaning, document: page().dataset.document };
    place.replaceChildren(...(await part(`${PREFIX}/why`, told)).body.childNodes);
  } catch (problem) {
    place.replaceChildren(make("p", "soft", problem.message));
    delete details.dataset.read;
  }
  details.scrollIntoView({ block: "nearest" });
  markMeaning();
}

/* Documents nearly the same are told below the text, once they are found */
const LATER = 300; // milliseconds: the document itself, and the next one, come first

function twins() {
  const place = one("[data-twins]");
  if (place?.isConnected) part(`${PREFIX}/twins`, { document: page().dataset.document })
    .then((found) => place.replaceChildren(...found.body.childNodes))
    .catch(() => place.replaceChildren());
}

function quiet() {
  const on = page().classList.toggle("quiet");
  localStorage.setItem("quiet", on ? "yes" : "");
}

function escape() {
  if (first || compares) { first = null; compares = false; show(); }
  one("[data-alike]").hidden = true;
  one("[data-trouble]").hidden = true;
}

function sendNote() {
  const area = one("#note textarea");
  if (busy || !area.value.trim()) return area.focus();
  one("form#decision input[name=note]").value = area.value;
  one("#note").close();
  return send("note").then(() => { one("form#decision input[name=note]").value = ""; });
}

const ACTS = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  p: () => toggle(focused(), "primary"),
  x: () => toggle(focused(), "reject"),
  ">": over,
  s: () => send("skip"),
  l: () => send("unsure"),
  u: () => send("undo"),
  U: () => send("redo"),
  w: quiet,
  m: meaning,
  e: similar,
  g: openGuideline,
  n: () => openDialog("note"),
  "/": openFinder,
  Enter: accept,
  Escape: escape,
};

/* Where no document is shown, the last decision can still be taken back */
const WITHOUT_DOCUMENT = { u: ACTS.u, U: ACTS.U };

function pressed(event) {
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (!form() || typing || event.altKey || event.metaKey || one("dialog[open]")) return;
  if (event.ctrlKey) {
    const act = { z: "undo", Z: "redo", y: "redo" }[event.key];
    if (act) { event.preventDefault(); send(act); }
    return;
  }
  if (event.key === "Enter" && event.target.matches("a, button, summary")) return;
  const acts = page() ? ACTS : WITHOUT_DOCUMENT;
  if (page() && /^[0-9]$/.test(event.key)) {
    event.preventDefault();
    pick(rows().filter((row) => row.dataset.key).find((row) => row.dataset.key === event.key));
  } else if (acts[event.key] && !(event.repeat && !/^(j|k|Arrow.*)$/.test(event.key))) {
    event.preventDefault();
    acts[event.key]();
  }
}

/* Where a pointer pressed a button, the keys belong to the page again */
function clicked(event) {
  const act = event.target.closest("[data-act]")?.dataset.act;
  if (act) {
    event.preventDefault();
    if (event.detail > 0) one("main h1")?.focus({ preventScroll: true });
    if (act === ">" && event.detail > 0 && !first) comparing();
    else (page() ? ACTS : WITHOUT_DOCUMENT)[act]();
  }
  const row = event.target.closest("li.choice");
  if (row) rowClicked(event, row);
  const option = event.target.closest("#found [role=option]");
  if (option) { event.preventDefault(); addFound(option); }
}

function rowClicked(event, row) {
  const mark = event.target.closest("[data-mark]")?.dataset.mark;
  settled = row;
  if (mark || first || compares) event.preventDefault();
  if (mark === "about") { focusRow(row); openGuideline(); }
  else if (mark) toggle(row, mark);
  else if (first) pairWith(row);
  else if (compares) { first = row; compares = false; focusRow(row); show(); }
}

/* What was learned meanwhile is told; what is on the screen stays as it is */

let learned = 0;

function tellLearned() {
  const place = one("[data-learned]");
  if (place && learned) place.textContent = _("learned from {n}", { n: learned });
}

function listen() {
  const source = new EventSource(`${PREFIX}/api/v1/events`);
  source.addEventListener("learned", (event) => {
    learned += Number(/\d+/.exec(JSON.parse(event.data).said)?.[0] || 0);
    tellLearned();
  });
  window.addEventListener("pagehide", () => source.close());
}

function begin() {
  first = null;
  compares = false;
  settled = null;
  tellLearned();
  one("main h1")?.focus({ preventScroll: true });
  if (!page()) return;
  page().classList.toggle("quiet", localStorage.getItem("quiet") === "yes");
  restoreUnsent();
  focusRow(rows()[0], false);
  show();
  setTimeout(twins, LATER);
}

document.addEventListener("keydown", pressed);
document.addEventListener("click", clicked);
document.addEventListener("change", (event) => {
  const row = event.target.closest("li.choice");
  if (!row) return;
  for (const other of SAID) if (event.target.checked && other !== event.target.name) box(row, other).checked = false;
  focusRow(row);
  show();
});
/* A pointer over a row shows its reasons; once it leaves the list, those of before are back */
document.addEventListener("mousemove", (event) => {
  const row = event.target.closest("li.choice");
  if (row && row !== focused() && (event.movementX || event.movementY)) {
    settled ||= focused();
    focusRow(row, false);
  } else if (settled && !event.target.closest("ol.choices")) {
    if (settled.isConnected) focusRow(settled, false);
    settled = null;
  }
});
document.addEventListener("toggle", (event) => {
  if (!event.target.matches("[data-meaning]")) return;
  if (event.target.open && !event.target.dataset.read) readMeaning(event.target);
  markMeaning();
}, true);
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-new-category]")) { event.preventDefault(); makeCategory(event.target); }
  if (event.target !== form()) return;
  event.preventDefault();
  const act = event.submitter?.value || "accept";
  if (act === "accept") accept(); else send(act);
});
document.addEventListener("input", (event) => {
  if (event.target.matches("#finder input")) find(event.target.value);
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("#finder input")) finderKey(event);
  if (event.target.matches("#note textarea") && event.ctrlKey && event.key === "Enter") sendNote();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-notes-it]")) sendNote();
  if (event.target.closest("[data-new]")) openNew();
});
window.addEventListener("popstate", () => window.location.reload());
listen();
begin();
