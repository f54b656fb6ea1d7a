/* The keys of the Decide page. Without this file the page still works with a mouse. */
"use strict";

const page = document.querySelector("[data-decide]");
const form = page && page.querySelector("form#decision");

const rows = () => Array.from(page.querySelectorAll("li.choice"));
const focusedRow = () => page.querySelector("li.choice.focused");

function focusRow(row) {
  if (!row) return;
  for (const other of rows()) other.classList.toggle("focused", other === row);
  const why = row.dataset.why;
  for (const panel of page.querySelectorAll("[data-why-panel]")) {
    panel.hidden = panel.id !== why;
  }
  page.dataset.evidence = row.dataset.number;
  for (const text of page.querySelectorAll("[data-evidence-of]")) {
    text.hidden = text.dataset.evidenceOf !== row.dataset.number;
  }
  row.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const all = rows();
  const at = all.indexOf(focusedRow());
  focusRow(all[Math.min(all.length - 1, Math.max(0, at + step))]);
}

function box(row, name) {
  return row.querySelector(`input[name="${name}"]`);
}

function show(row) {
  row.classList.toggle("chosen", box(row, "assign").checked || box(row, "primary").checked);
  row.classList.toggle("primary", box(row, "primary").checked);
  row.classList.toggle("refused", box(row, "reject").checked);
  const list = page.querySelector("[data-chosen]");
  list.replaceChildren(
    ...rows().flatMap((other) => {
      const chosen = other.classList.contains("chosen");
      if (!chosen && !other.classList.contains("refused")) return [];
      const chip = document.createElement("span");
      chip.className = chosen ? "chip" : "chip not";
      const star = other.classList.contains("primary") ? " ★" : "";
      chip.textContent = (chosen ? "" : "not ") + other.dataset.name + star;
      return [chip];
    }),
  );
}

function toggle(row, name) {
  if (!row) return;
  const on = !box(row, name).checked;
  if (name === "primary" && on) {
    for (const other of rows()) {
      if (box(other, "primary").checked) {
        box(other, "primary").checked = false;
        box(other, "assign").checked = true;
        show(other);
      }
    }
  }
  for (const other of ["assign", "primary", "reject"]) box(row, other).checked = false;
  box(row, name).checked = on;
  focusRow(row);
  show(row);
}

function submit(action) {
  form.querySelector("input[name=act]").value = action;
  form.requestSubmit();
}

const ACTS = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  p: () => toggle(focusedRow(), "primary"),
  x: () => toggle(focusedRow(), "reject"),
  s: () => submit("skip"),
  "?": () => submit("unsure"),
  u: () => submit("undo"),
  U: () => submit("redo"),
  w: () => page.classList.toggle("quiet"),
  Enter: () => submit("accept"),
  "/": () => page.querySelector("dialog#finder").showModal(),
  g: () => page.querySelector("dialog#guideline").showModal(),
  F1: () => document.querySelector("dialog#keys").showModal(),
};

function pressed(event) {
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (typing || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey) {
    if (event.key === "z") { event.preventDefault(); submit("undo"); }
    return;
  }
  if (event.target.matches("a, button") && event.key === "Enter") return;
  if (/^[0-9]$/.test(event.key)) {
    toggle(rows()[(Number(event.key) + 9) % 10], "assign");
    event.preventDefault();
  } else if (ACTS[event.key]) {
    event.preventDefault();
    ACTS[event.key]();
  }
}

if (page) {
  document.addEventListener("keydown", pressed);
  for (const row of rows()) {
    row.addEventListener("change", () => { focusRow(row); show(row); });
    row.addEventListener("mouseenter", () => focusRow(row));
    show(row);
  }
  focusRow(rows()[0]);
}
for (const opener of document.querySelectorAll("[data-opens]")) {
  opener.addEventListener("click", () => document.getElementById(opener.dataset.opens).showModal());
}
