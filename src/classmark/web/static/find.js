/* Answers without a new page, and keys. Without this file all still works. */
"use strict";

const live = () => document.querySelector("[data-live]");
const rows = () => Array.from(document.querySelectorAll("[data-row]"));

const isOpen = (row) => !row.classList.contains("answered");
const listed = () => rows().map((row) => row.dataset.id).join("\n");
let busy = false; // an answer is under way, or its list is not on the screen yet
let shownAt = 0; // when the list came onto the screen: older keys were meant for another

function focusRow(row) {
  if (!row) return;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest("[data-row]"));
  focusRow(all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))]);
}

function trouble(said) {
  const box = document.querySelector("[data-trouble]");
  box.textContent = said;
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
}

/* Where to go on: a batch that is new begins at its first open row */
function goOn(at, before) {
  const all = rows();
  const anew = live().hasAttribute("data-batch") && listed() !== before;
  if (at < 0 && !anew) return;
  const from = anew ? 0 : at;
  focusRow(all.slice(from).find(isOpen) || all.find(isOpen) || all[Math.min(from, all.length - 1)]);
}

function painted() {
  return new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
}

function showAnswer(text, answer) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const part = fresh.querySelector("[data-live]");
  if (!part) {
    const said = fresh.querySelector(".message.bad, [role=alert]");
    trouble(said ? said.textContent.trim() : _("Not done: reload the page."));
    return;
  }
  const [at, before] = [rows().indexOf(document.activeElement.closest("[data-row]")), listed()];
  part.setAttribute("aria-busy", "true");
  live().replaceWith(document.adoptNode(part));
  for (const name of [".foot .saved", ".top .tally"]) {
    const [old, now] = [document.querySelector(name), fresh.querySelector(name)];
    if (old && now) old.replaceWith(document.adoptNode(now));
  }
  if (answer.redirected) {
    const where = new URL(answer.url);
    where.searchParams.delete("saved");
    history.replaceState(null, "", where);
  }
  goOn(at, before);
}

async function send(form, button) {
  if (busy) return;
  busy = true;
  const body = new URLSearchParams(new FormData(form, button));
  live().setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    showAnswer(await answer.text(), answer);
  } catch {
    trouble(_("Not saved: the server does not respond. Try again."));
  } finally {
    await painted();
    [busy, shownAt] = [false, performance.now()];
    live().removeAttribute("aria-busy");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!live() || !live().contains(form) || /\/(screen|manage)$/.test(form.action)) return;
  event.preventDefault();
  send(form, event.submitter);
});

/* Only the row that is seen to have the focus is answered */
function answer(name) {
  const row = document.activeElement.closest("[data-row]");
  const button = row?.querySelector(`button[name=${name}]`);
  if (button) button.form.requestSubmit(button);
  else if (live()) focusRow(rows().find(isOpen));
}

function press(key) {
  const button = document.querySelector(`[data-key="${key}"]`);
  if (button) button.form.requestSubmit(button);
}

const MOVES = ["j", "k", "ArrowDown", "ArrowUp"];
const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  y: () => answer("yes"),
  "+": () => answer("yes"),
  n: () => answer("no"),
  "-": () => answer("no"),
  s: () => answer("skip"),
  u: () => press("u"),
  U: () => press("U"),
  o: () => {
    const row = document.activeElement.closest("[data-row]") || rows()[0];
    const link = row && row.querySelector(":is(h2, h3) a");
    if (link) link.click();
  },
  "/": () => {
    const box = document.querySelector("input[type=search]");
    if (box) { box.focus(); box.select(); }
  },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select");
  if (typing || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("[type=radio]") && event.key.startsWith("Arrow")) return; // the next choice
  if (event.ctrlKey) {
    if (event.key === "z") { event.preventDefault(); if (!busy) press("u"); }
    return;
  }
  if (!KEYS[event.key] || !rows().length && !"uU/".includes(event.key)) return;
  event.preventDefault();
  const late = busy || event.repeat || event.timeStamp < shownAt;
  if (late && !MOVES.includes(event.key)) return;
  KEYS[event.key]();
});

if (live() && document.activeElement === document.body) focusRow(rows().find(isOpen));

const again = document.querySelector("[data-again]");
if (again) setTimeout(() => location.reload(), Number(again.dataset.again));

const drop = document.querySelector(".drop");
if (drop) {
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    drop.querySelector("input[type=file]").files = event.dataTransfer.files;
  });
}
