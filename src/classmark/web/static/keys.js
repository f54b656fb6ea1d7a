/* Dialogs and the help key, on every page. Without this file the pages still work. */
"use strict";

const PREFIX = document.body.dataset.prefix; // of every address, where several projects are served
/* A text in the language of the page, with values for what stands in braces */
const WORDS = JSON.parse(document.body.dataset.words || "{}");
function _(text, values = {}) {
  return (WORDS[text] || text).replace(/\{(\w+)\}/g, (braces, name) => name in values ? values[name] : braces);
}

function openDialog(name) {
  const dialog = document.getElementById(name);
  if (dialog && !dialog.open) dialog.showModal();
  return dialog;
}

const isTyping = (target) => target.matches("input:not([type=checkbox], [type=radio]), textarea, select");

document.addEventListener("keydown", (event) => {
  const helps = event.key === "F1" || event.key === "?" && !isTyping(event.target) && !event.ctrlKey && !event.altKey && !event.metaKey;
  if (!helps) return;
  event.preventDefault();
  if (!document.querySelector("dialog[open]")) openDialog("keys");
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) openDialog(opener.dataset.opens);
  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog").close();
});

/* A page that does not come at once says so */
const AT_ONCE = 700; // milliseconds
let leaving = 0;

function leave(event) {
  const link = event.target.closest("a[href]");
  if (event.type === "click" && (!link || link.download || link.hasAttribute("download") || link.target || link.hash && link.pathname === location.pathname)) return;
  clearTimeout(leaving);
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  setTimeout(() => {
    if (event.defaultPrevented) return;
    leaving = setTimeout(() => { document.querySelector("[data-working]").hidden = false; }, AT_ONCE);
  });
}

document.addEventListener("click", leave);
document.addEventListener("submit", leave);
window.addEventListener("pageshow", () => {
  clearTimeout(leaving);
  const shown = document.querySelector("[data-working]");
  if (shown) shown.hidden = true;
});
