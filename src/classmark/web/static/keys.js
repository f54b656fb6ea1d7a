/* Dialogs and the help key, on every page. Without this file the pages still work. */
"use strict";

function openDialog(name) {
  const dialog = document.getElementById(name);
  if (dialog && !dialog.open) dialog.showModal();
  return dialog;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "F1") return;
  event.preventDefault();
  if (!document.querySelector("dialog[open]")) openDialog("keys");
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) openDialog(opener.dataset.opens);
  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog").close();
});
