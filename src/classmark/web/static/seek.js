/* Categories are found while their names are typed. Without this file names and paths are typed whole. */
"use strict";

(() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  /* Search as you type: a field, and the list of what it finds. */
  function seek(place, chosen) {
    const field = place.querySelector("input");
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
        const answer = await fetch(`${PREFIX}/taxonomy/find?${told}`, { signal: asked.signal });
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
    seek(place, (option) => { location.href = `${PREFIX}/taxonomy?at=${encodeURIComponent(option.dataset.category)}`; });
  }
  for (const place of all("[data-picker]")) {
    seek(place, (option, field) => {
      const above = option.querySelector(".found-path")?.textContent;
      field.value = above ? `${above} › ${option.dataset.name}` : option.dataset.name;
    });
  }
})();
