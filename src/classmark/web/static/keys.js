/* Dialogs and the help key, on every page. Without this file the pages still work. */
"use strict";

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
