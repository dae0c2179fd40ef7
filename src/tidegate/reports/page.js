/* Niceties only: the page says everything without this script. */
(() => {
  "use strict";
  const root = document.documentElement;

  /* Light or dark, remembered where the browser allows it. */
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = (mode) => {
    try { return mode ? localStorage.setItem("tidegate-theme", mode) : localStorage.getItem("tidegate-theme"); } catch { return null; }
  };
  const current = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const show = () => { button.textContent = current() === "dark" ? "☀ Light" : "☾ Dark"; };
  const before = stored();
  if (before === "light" || before === "dark") root.dataset.theme = before;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    stored(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();

  /* One tooltip beside the cell, instead of the browser's slow one. */
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  root.classList.add("script");
  const cellOf = (event) => (event.target.closest ? event.target.closest("a.d") : null);
  const place = (cell) => {
    const at = cell.getBoundingClientRect(), size = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - size.width / 2), root.clientWidth - size.width - 8);
    const above = at.top - size.height - 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 8 ? above : at.bottom + 8) + scrollY}px`;
  };
  const tell = (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    if (cell.title) { cell.setAttribute("aria-label", cell.title); cell.removeAttribute("title"); }
    tip.textContent = cell.getAttribute("aria-label");
    tip.hidden = false;
    place(cell);
  };
  const hush = (event) => { if (cellOf(event)) tip.hidden = true; };
  document.addEventListener("mouseover", tell);
  document.addEventListener("focusin", tell);
  document.addEventListener("mouseout", hush);
  document.addEventListener("focusout", hush);

  /* A calendar is one stop of the tab key; arrows walk inside it. The live page says when it shows a new one. */
  const oneStop = (part) => {
    for (const calendar of part.querySelectorAll(".calendar")) {
      calendar.querySelectorAll("a.d").forEach((cell, i) => { if (i) cell.tabIndex = -1; });
    }
  };
  oneStop(document);
  document.addEventListener("tidegate:shown", (event) => oneStop(event.target));
  const next = (cells, from, key) => {
    if (key === "ArrowRight") return cells[from + 1];
    if (key === "ArrowLeft") return cells[from - 1];
    const at = cells[from].getBoundingClientRect(), way = key === "ArrowDown" ? 1 : -1;
    const steps = way > 0 ? cells.slice(from + 1) : cells.slice(0, from).reverse();
    return steps.find((cell) => {
      const to = cell.getBoundingClientRect();
      return (to.top - at.top) * way > 2 && Math.abs(to.left - at.left) < at.width / 2;
    });
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
    const cell = cellOf(event);
    if (!cell || !/^Arrow(Left|Right|Up|Down)$/.test(event.key)) return;
    event.preventDefault();
    const cells = [...cell.closest(".calendar").querySelectorAll("a.d")];
    const to = next(cells, cells.indexOf(cell), event.key);
    if (!to) return;
    cell.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });

  /* A link to a row opens what it is folded into. */
  const unfold = () => {
    const row = document.getElementById(location.hash.slice(1));
    if (!row || !row.closest("details")) return;
    for (let fold = row.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    row.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
})();
