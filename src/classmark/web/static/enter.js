// The code stands behind the # of the address: browsers keep that part to themselves.
const form = document.querySelector("form[data-code]");
function enter() {
  const code = location.hash.slice(1);
  if (!code || !form) return;
  history.replaceState(null, "", location.pathname + location.search);
  form.elements.code.value = code;
  form.requestSubmit();
}
addEventListener("hashchange", enter);
enter();
