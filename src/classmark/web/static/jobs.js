/* How far jobs are; the page anew when they have ended. Without this file "Look again" does it. */
"use strict";

const SOON = 1000; // milliseconds until the next look
const LATER = 4000; // where the server did not answer

/* Whether something was typed or chosen that a new page would lose */
function isTyped() {
  return Array.from(document.querySelectorAll("main :is(input, textarea, select)")).some((field) => {
    if (field.type === "file") return field.files.length > 0;
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.matches("select")) return Array.from(field.options).some((option) => option.selected !== option.defaultSelected && option.index > 0);
    return field.value !== field.defaultValue;
  });
}

async function look() {
  const box = document.querySelector("[data-poll]");
  if (!box) return;
  let wait = SOON;
  try {
    const answer = await fetch(box.dataset.poll);
    const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-jobs]");
    if (answer.ok && part) box.replaceWith(document.adoptNode(part));
    else wait = LATER;
  } catch {
    wait = LATER;
  }
  if (document.querySelector("[data-poll]")) setTimeout(look, wait);
  else if (!isTyped()) location.reload();
}

setTimeout(look, SOON);
