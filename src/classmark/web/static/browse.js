/* Inbox and Taxonomy by keys. Without this file both still work with links and forms. */
"use strict";

(() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const typing = (target) => target.matches("input:not([type=checkbox]), textarea, select");

  /* Rows of a table: j and k move, Enter follows the link, Space ticks. */
  const stops = () =>
    all("[data-rows] tbody tr").map((row) => row.querySelector("input[type=checkbox]") || row.querySelector("a"));

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
      problem.textContent = "This could not be read. Load the page again.";
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
    if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
    }
  });

  /* Search as you type: a field, and the list of what it finds. */
  function seek(place, chosen) {
    const field = place.querySelector("input:not([type=hidden])");
    const list = place.querySelector("ul");
    let asked = null;
    const options = () => all("[role=option]", list);
    const current = () => list.querySelector("[aria-selected=true]");

    function mark(option) {
      for (const other of options()) other.setAttribute("aria-selected", String(other === option));
      if (option) {
        field.setAttribute("aria-activedescendant", option.id);
        option.scrollIntoView({ block: "nearest" });
      } else field.removeAttribute("aria-activedescendant");
    }
    function close() {
      list.hidden = true;
      field.setAttribute("aria-expanded", "false");
      field.removeAttribute("aria-activedescendant");
    }
    async function ask() {
      if (asked) asked.abort();
      if (!field.value.trim()) { close(); return; }
      asked = new AbortController();
      const told = new URLSearchParams({ q: field.value, top: "20" });
      if (field.dataset.retired) told.set("retired", "true");
      try {
        const answer = await fetch(`/taxonomy/find?${told}`, { signal: asked.signal });
        if (!answer.ok) return;
        const holder = document.createElement("template");
        holder.innerHTML = await answer.text();
        all("[role=option]", holder.content).forEach((option, at) => { option.id = `${list.id}-${at}`; });
        list.replaceChildren(holder.content);
        list.hidden = false;
        field.setAttribute("aria-expanded", "true");
        mark(options()[0]);
      } catch (problem) {
        if (problem.name !== "AbortError") throw problem;
      }
    }
    field.addEventListener("input", ask);
    field.addEventListener("keydown", (event) => {
      const now = options();
      if (event.key === "Escape") { close(); field.blur(); }
      else if (list.hidden) return;
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const at = now.indexOf(current()) + (event.key === "ArrowDown" ? 1 : -1);
        mark(now[(at + now.length) % now.length]);
        event.preventDefault();
      } else if (event.key === "Enter" && current()) {
        event.preventDefault();
        chosen(current(), field);
        close();
      }
    });
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (!option) return;
      event.preventDefault();
      chosen(option, field);
      close();
    });
    field.addEventListener("blur", close);
  }

  for (const place of all("[data-seeker]")) {
    seek(place, (option) => { location.href = `/taxonomy?at=${encodeURIComponent(option.dataset.category)}`; });
  }
  for (const place of all("[data-picker]")) {
    const id = place.querySelector("input[type=hidden]");
    place.addEventListener("input", () => { if (id) id.value = ""; });
    seek(place, (option, field) => {
      const above = option.querySelector(".found-path")?.textContent;
      field.value = id && above ? `${above} › ${option.dataset.name}` : option.dataset.name;
      if (id) id.value = option.dataset.category;
      else field.value = option.dataset.category;
    });
  }
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
        location.href = `/taxonomy/preview?${told}`;
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
