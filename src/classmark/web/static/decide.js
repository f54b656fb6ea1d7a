/* The keys of the Decide page. Without this file the page works by its form. */
"use strict";

const SAID = ["assign", "primary", "reject"];
const one = (what) => document.querySelector(what);
const page = () => one("[data-decide]");
const form = () => one("form#decision");
const rows = () => Array.from(document.querySelectorAll("li.choice"));
const box = (row, name) => row.querySelector(`input[name="${name}"]`);
const focused = () => one("li.choice.focused");
const make = (tag, name, text) => Object.assign(document.createElement(tag), { className: name, textContent: text });
let first = null; // the winner of a preference that waits for its loser
let compares = false; // whether the next row that is pressed is that winner
let settled = null; // the row to go back to once the pointer leaves the list
let busy = false;

/* A piece of a page; where it does not come, the words that say why */
async function part(address, told, options = {}) {
  const answer = await fetch(`${address}?${new URLSearchParams(told)}`, options).catch((problem) => {
    if (problem.name !== "AbortError") problem.message = _("The server does not respond.");
    throw problem;
  });
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (answer.ok && !answer.redirected) return found;
  throw new Error(found.querySelector("[role=alert]")?.textContent.trim() || _("This could not be loaded: reload the page."));
}

/* What is focused: its reasons below the list, its words in the text */

function focusRow(row, scrolls = true) {
  if (!row) return;
  if (scrolls && settled) settled = row;
  for (const other of rows()) other.classList.toggle("focused", other === row);
  for (const panel of document.querySelectorAll("[data-of]")) {
    panel.hidden = panel.dataset.of !== row.dataset.number;
  }
  for (const mark of document.querySelectorAll("mark[data-evidence]")) {
    const own = mark.dataset.evidence.split(" ").find((part) => part.startsWith(`${row.dataset.number}:`));
    const [, side, strength, says] = own ? own.split(":") : [];
    mark.className = own ? `${side} s${strength}` : "";
    mark.title = says || "";
  }
  if (scrolls) row.scrollIntoView({ block: "nearest" });
  markMeaning();
  tellEnter();
}

/* Sentences whose meaning speaks for what is focused are marked in the text */
function markMeaning() {
  const text = one(".document .text");
  for (const old of text.querySelectorAll(".says")) {
    old.replaceWith(...old.childNodes);
    text.normalize();
  }
  for (const quote of document.querySelectorAll("[data-of]:not([hidden]) [data-meaning][open] [data-sentence]")) {
    for (const range of rangesOf(quote.textContent, text)) range.surroundContents(make("span", "says", ""));
  }
}

/* Where a sentence stands in a text, a range for each node: lines may be broken, and words marked */
function rangesOf(sentence, text) {
  const words = sentence.replace(/ …$/, "").split(" ").map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const match = new RegExp(words.join("\\s+")).exec(text.textContent);
  const ranges = [];
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let at = 0; match && walker.nextNode(); at += walker.currentNode.length) {
    const node = walker.currentNode;
    const first = Math.max(0, match.index - at);
    const last = Math.min(node.length, match.index + match[0].length - at);
    if (first >= last) continue;
    const range = new Range();
    range.setStart(node, first);
    range.setEnd(node, last);
    ranges.push(range);
  }
  return ranges;
}

function move(step) {
  const all = rows();
  focusRow(all[Math.min(all.length - 1, Math.max(0, all.indexOf(focused()) + step))]);
}

/* What is chosen */

function chip(kind, text, drop) {
  const found = make("span", `chip ${kind}`, "");
  found.title = text;
  const button = make("button", "", "×");
  button.type = "button";
  button.setAttribute("aria-label", _("Remove {name}", { name: text }));
  button.addEventListener("click", drop);
  button.title = _("Remove {name}", { name: text });
  found.append(make("span", "", text), button);
  return found;
}

function chips(row) {
  const star = row.classList.contains("primary") ? "★ " : "";
  if (row.classList.contains("chosen")) {
    return [chip("", star + row.dataset.name, () => toggle(row, star ? "primary" : "assign"))];
  }
  if (row.classList.contains("refused")) {
    return [chip("not", _("not {name}", { name: row.dataset.name }), () => toggle(row, "reject"))];
  }
  return [];
}

function pairChips() {
  return Array.from(document.querySelectorAll("[data-pair]"), (pair) =>
    chip("pair", pair.dataset.pair, () => { pair.remove(); show(); }));
}

function show() {
  for (const row of rows()) {
    row.classList.toggle("chosen", box(row, "assign").checked || box(row, "primary").checked);
    row.classList.toggle("primary", box(row, "primary").checked);
    row.classList.toggle("refused", box(row, "reject").checked);
    row.classList.toggle("over", row === first);
  }
  const found = rows().flatMap(chips).concat(pairChips());
  const none = make("span", "soft", compares ? _("Press the better category, then the other")
    : first ? _("{name} over … press the other, or its digit; Esc cancels", { name: first.dataset.name })
    : found.length ? _("chosen:") : _("nothing chosen yet"));
  one("[data-chosen]").replaceChildren(none, ...found);
  tellEnter();
}

function tellEnter() {
  const words = one("[data-accepts]");
  if (!words) return;
  const chosen = rows().filter((row) => row.classList.contains("chosen"));
  const unsaid = one("[data-chosen] .chip") || "unranked" in page().dataset;
  const only = chosen[0] || (unsaid ? null : focused());
  words.textContent = chosen.length > 1 ? _("Accept {n} and next", { n: chosen.length })
    : only ? _("Accept {name}", { name: only.dataset.name }) : one("[data-chosen] .chip") ? _("Save and next") : _("Choose a category");
}

function toggle(row, name) {
  if (!row) return;
  const on = !box(row, name).checked;
  for (const other of name === "primary" && on ? rows() : []) {
    if (box(other, "primary").checked) {
      box(other, "primary").checked = false;
      box(other, "assign").checked = true;
    }
  }
  for (const other of SAID) box(row, other).checked = other === name && on;
  focusRow(row);
  show();
}

function pick(row) {
  if (first && row) pairWith(row);
  else toggle(row, "assign");
}

/* This over that */

function pairWith(row) {
  const [winner, loser] = [first, row];
  first = null;
  if (winner !== loser) addPair(winner, loser);
  focusRow(row);
  show();
}

function addPair(winner, loser) {
  const words = _("{first} over {second}", { first: winner.dataset.name, second: loser.dataset.name });
  const known = Array.from(document.querySelectorAll("[data-pair]")).find((pair) => pair.dataset.pair === words);
  if (known) return known.remove();
  const pair = make("span", "", "");
  pair.dataset.pair = words;
  for (const [name, of] of [["above", winner], ["below", loser]]) {
    pair.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: of.dataset.category }));
  }
  return one("[data-pairs]").append(pair);
}

function comparing() {
  compares = true;
  show();
}

function over() {
  if (first) pairWith(focused());
  else { first = focused(); show(); }
}

/* Saying it: on disk before "saved" shows; where that fails, what was chosen stays */

function accept() {
  const nothing = !one("[data-chosen] .chip");
  if (nothing && "unranked" in page().dataset) return trouble(_("Nothing is chosen yet: press the number of a category, or click it."));
  if (nothing && focused()) toggle(focused(), "assign");
  return send("accept");
}

async function send(action) {
  if (busy || !form()) return;
  busy = true;
  const slow = setTimeout(() => page()?.classList.add("waiting"), 300);
  const body = new URLSearchParams(new FormData(form()));
  body.set("act", action);
  try {
    const answer = await fetch(form().action, { method: "POST", body });
    take(await answer.text(), answer, action);
  } catch {
    keepUnsent();
    trouble(action === "note" ? _("Not saved: the server does not respond. Your comment is kept; press n to try again.")
      : _("Not saved: the server does not respond. Your choice is kept; press Enter to try again."));
  }
  clearTimeout(slow);
  page()?.classList.remove("waiting");
  busy = false;
}

function take(text, answer, action) {
  const found = new DOMParser().parseFromString(text, "text/html");
  const here = new URL(answer.url).pathname.startsWith(`${PREFIX}/decide`);
  if (action === "note" && answer.ok && here) return takeNote(found);
  if (here && (answer.ok || answer.status === 409)) {
    sessionStorage.removeItem(unsentName());
    return swap(found, answer.url);
  }
  keepUnsent();
  const said = found.querySelector("[role=alert]:not([hidden])")?.textContent.trim().replace(/\.$/, "")
    || (here ? _("the server answered {status}", { status: answer.status }) : _("your session has ended: log in in another tab, then press Enter"));
  return trouble(/^(un|re)do$/.test(action) ? _("Not done: {reason}.", { reason: said }) : _("Not saved: {reason}. Your choice is kept.", { reason: said }));
}

function swap(found, address) {
  const url = new URL(address);
  url.searchParams.delete("saved");
  history.pushState({}, "", url);
  document.title = found.title;
  for (const part of ["main", ".top .tally", ".foot"]) {
    const [old, fresh] = [one(part), found.querySelector(part)];
    if (old && fresh) old.replaceWith(document.adoptNode(fresh));
  }
  scrollTo(0, 0);
  begin();
}

function takeNote(found) {
  one("#note textarea").value = "";
  one("[data-trouble]").hidden = true;
  for (const part of ["input[name=version]", "[data-notes]", ".foot .saved"]) {
    one(part).replaceWith(document.adoptNode(found.querySelector(part)));
  }
}

function trouble(words) {
  const bar = one("[data-trouble]");
  bar.textContent = words;
  bar.hidden = false;
}

const unsentName = () => `unsent ${PREFIX}${page()?.dataset.document}`;

function keepUnsent() {
  const said = rows().flatMap((row) => SAID.filter((name) => box(row, name).checked)
    .map((name) => [row.dataset.category, row.dataset.name, name]));
  const pairs = Array.from(document.querySelectorAll("[data-pair]"), (pair) =>
    Array.from(pair.querySelectorAll("input"), (of) => [of.value, rowOf(of.value).dataset.name]));
  sessionStorage.setItem(unsentName(), JSON.stringify({ said, pairs }));
}

function restoreUnsent() {
  const { said, pairs } = JSON.parse(sessionStorage.getItem(unsentName()) || '{"said": [], "pairs": []}');
  const rowFor = (category, name) => rowOf(category) || addRow(category, name, "");
  for (const [category, name, how] of said) {
    const row = rowFor(category, name);
    for (const other of SAID) box(row, other).checked = other === how;
  }
  for (const [winner, loser] of pairs) addPair(rowFor(...winner), rowFor(...loser));
  if (said.length + pairs.length) trouble(_("Your earlier choice was not saved; it is selected again. Press Enter to save it."));
}

/* A category from the whole tree: one row more, at the end */

const rowOf = (category) => rows().find((row) => row.dataset.category === category);

function addRow(category, name, above) {
  const row = one("#added").content.firstElementChild.cloneNode(true);
  row.dataset.category = category;
  row.dataset.name = name;
  row.dataset.number = String(rows().length + 1);
  row.querySelector(".name").textContent = name;
  row.querySelector(".above").textContent = above;
  for (const said of SAID) box(row, said).value = category;
  for (const mark of row.querySelectorAll("[data-mark]")) mark.ariaLabel = `${mark.title}: ${name}`;
  const panel = one("#added-of").content.firstElementChild.cloneNode(true);
  panel.dataset.of = row.dataset.number;
  panel.querySelector("[data-name]").textContent = name;
  one(".of-focused").append(panel);
  one("ol.choices").append(row);
  part(`${PREFIX}/choice`, { category, document: page().dataset.document })
    .then((found) => panel.replaceChildren(...found.body.childNodes))
    .catch((problem) => panel.append(make("p", "soft", problem.message)));
  return row;
}

function addFound(option) {
  const category = option.dataset.category;
  const above = option.querySelector(".found-path")?.textContent || "";
  const row = rowOf(category) || addRow(category, option.dataset.name, above);
  one("#finder").close();
  if (first) pairWith(row);
  else if (!row.classList.contains("chosen")) toggle(row, "assign");
  else focusRow(row);
}
