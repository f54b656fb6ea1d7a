/* The key t of the Progress page: the numbers of every plot. Without it they still open one by one. */
"use strict";

const tables = Array.from(document.querySelectorAll("details.numbers"));
const button = document.querySelector("[data-numbers]");

function turn() {
  const open = !tables.every((table) => table.open);
  for (const table of tables) table.open = open;
}

if (button && tables.length) {
  button.hidden = false;
  button.addEventListener("click", turn);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "t" && !typing && !event.ctrlKey && !event.altKey && !event.metaKey) turn();
  });
}
