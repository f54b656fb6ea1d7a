/* Inbox and Taxonomy by keys. Without this file both still work with links and forms. */
"use strict";

(() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const typing = (target) => target.matches("input:not([type=checkbox]), textarea, select");

  /* Rows of a table: j and k move, Enter follows the link, Space ticks. */
  const stops = () =>
    all("[data-rows] tbody tr").map((row) => row.querySelector("a.title") || row.querySelector("input[type=checkbox]"));

  /* Lines of the tree that are to be seen. */
  const lines = () => all("[data-tree] .line > a").filter((link) => !link.closest("ul[hidden]"));

  function step(stopsNow, by) {
    const at = stopsNow.indexOf(document.activeElement);
    const next = stopsNow[at < 0 ? (by > 0 ? 0 : stopsNow.length - 1) : at + by];
    if (next) next.focus();
  }

  /* Branches are fetched when they are opened for the first time. */
  async function part(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const holder = document.createElement("template");
    holder.innerHTML = answer.ok ? await answer.text() : "";
    if (!answer.ok) {
      const problem = document.createElement("li");
      problem.className = "more soft";
      problem.textContent = _("This could not be loaded: reload the page.");
      holder.content.append(problem);
    }
    return holder.content;
  }

  async function fold(button, open) {
    const list = button.closest("li").querySelector(":scope > ul");
    if (open && !list.childElementCount) list.replaceChildren(await part(button.dataset.fold));
    button.setAttribute("aria-expanded", String(open));
    list.hidden = !open;
  }

  async function more(button) {
    const item = button.closest("li");
    const here = item.previousElementSibling;
    const fresh = await part(button.dataset.more);
    item.replaceWith(fresh);
    const next = here ? here.nextElementSibling : null;
    if (next && next.querySelector("a, button")) next.querySelector("a").focus();
  }

  /* A long level from a letter on */
  async function from(button) {
    const list = button.closest("ul");
    const letters = button.closest("li");
    list.replaceChildren(letters, await part(button.dataset.from));
    list.querySelector(".line > a")?.focus();
  }

  document.addEventListener("click", (event) => {
    const letter = event.target.closest("[data-from]");
    if (letter) from(letter);
    const folds = event.target.closest("[data-fold]");
    if (folds) fold(folds, folds.getAttribute("aria-expanded") !== "true");
    const adds = event.target.closest("[data-more]");
    if (adds) more(adds);
  });

  function treeKey(key) {
    const button = document.activeElement.closest(".line")?.querySelector("[data-fold]");
    if (!button) return;
    const open = button.getAttribute("aria-expanded") === "true";
    if (key === "l" || key === "ArrowRight") { if (open) step(lines(), 1); else fold(button, true); }
    else if (open) fold(button, false);
  }

  document.addEventListener("keydown", (event) => {
    if (typing(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    const inTree = document.querySelector("[data-tree]");
    const shown = inTree ? lines() : stops();
    const acts = {
      j: () => step(shown, 1),
      k: () => step(shown, -1),
      "/": () => document.querySelector("[data-seeker] input, form[role=search] input[type=search]")?.focus(),
    };
    if (inTree && document.activeElement.closest("[data-tree]")) {
      acts.ArrowDown = acts.j;
      acts.ArrowUp = acts.k;
      for (const key of ["l", "h", "ArrowRight", "ArrowLeft"]) acts[key] = () => treeKey(key);
    }
    const tick = document.activeElement.closest("[data-rows] tr")?.querySelector("input[type=checkbox]");
    if (tick && tick !== document.activeElement) acts[" "] = () => tick.click();
    if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
    }
  });

  /* A category dropped on another is moved below it, after a preview; Move does the same */
  const movable = document.querySelector("[data-movable]");
  let dragged = null;
  const lineOf = (event) => event.target.closest?.("[data-movable] .line[data-category]");
  const drops = (event) => {
    const line = lineOf(event);
    const below = line && dragged && dragged.closest("li").contains(line);
    return line && !below ? line : null;
  };
  if (movable) {
    for (const [name, does] of Object.entries({
      dragstart: (event) => {
        dragged = lineOf(event);
        event.dataTransfer.setData("text/plain", dragged?.dataset.category || "");
      },
      dragover: (event) => {
        all(".line.drop-here").forEach((line) => line.classList.remove("drop-here"));
        const line = drops(event);
        if (line) { event.preventDefault(); line.classList.add("drop-here"); }
      },
      drop: (event) => {
        const line = drops(event);
        if (!line) return;
        event.preventDefault();
        const told = new URLSearchParams({ act: "move", category: dragged.dataset.category, to: line.dataset.category });
        location.href = `${PREFIX}/taxonomy/preview?${told}`;
      },
      dragend: () => {
        dragged = null;
        all(".line.drop-here").forEach((line) => line.classList.remove("drop-here"));
      },
    })) movable.addEventListener(name, does);
  }
  const here = document.querySelector("[data-tree] .line.at");
  if (here) {
    const panel = here.closest(".panel");
    const below = here.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    panel.scrollTop = Math.max(0, below - panel.clientHeight / 2);
  }
})();
