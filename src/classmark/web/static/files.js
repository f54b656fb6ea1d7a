/* What a file would be read as, anew when something is chosen. Without this file "Update the preview" does it. */
"use strict";

const form = document.querySelector("form.read-as");

/* Roles of columns change only what is read; all else may change the columns, too. */
async function lookAgain(event) {
  if (!event.target.closest("[data-part]")) {
    form.requestSubmit();
    return;
  }
  const asRead = document.getElementById("as-read");
  asRead.setAttribute("aria-busy", "true");
  for (const button of asRead.querySelectorAll("button")) button.disabled = true;
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  try {
    const answer = await fetch(address);
    const part = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("as-read");
    if (!answer.ok || !part) throw new Error("no preview");
    document.getElementById("as-read").replaceWith(document.adoptNode(part));
    history.replaceState(null, "", address);
  } catch {
    form.requestSubmit();
  }
}

document.addEventListener("change", (event) => { if (form && event.target.form === form) lookAgain(event); });
