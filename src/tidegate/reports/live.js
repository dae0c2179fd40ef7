/* Fetches the parts that changed, as the server says. Nothing is written here: text of the server is put in as it is,
   escaped by the server, and the policy of the page runs no script that is not a file. */
(() => {
  "use strict";
  const tags = {};
  const state = document.getElementById("state"), band = document.getElementById("band");
  let lookedAt = "", lost = false;

  /* How long ago. */
  const ago = (iso) => {
    const seconds = Math.max(0, (Date.now() - Date.parse(iso)) / 1000);
    if (Number.isNaN(seconds)) return "";
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
    }
    return seconds < 10 ? "just now" : `${Math.floor(seconds / 10) * 10} s ago`;
  };
  const tellAges = (part) => {
    for (const time of part.querySelectorAll("time[datetime]")) {
      let beside = time.nextElementSibling;
      if (!beside || beside.tagName !== "SMALL") { beside = document.createElement("small"); time.after(" ", beside); }
      const words = ago(time.dateTime);
      if (beside.textContent !== words) beside.textContent = words;
    }
  };
  const tellState = () => {
    const words = lost ? "connection lost, trying again" : lookedAt ? `looked ${ago(lookedAt)}` : "looking";
    if (state.textContent !== words) state.textContent = words;
    state.classList.toggle("lost", lost);
  };

  const shown = (part) => { part.dispatchEvent(new CustomEvent("tidegate:shown", { bubbles: true })); tellAges(part); };
  const fetched = async (path) => {
    const answer = await fetch(path, { cache: "no-store" });
    if (answer.status === 401) { location.reload(); return null; }
    return answer.ok ? answer.text() : null;
  };

  /* The inside of a table is fetched when it is opened. */
  const fill = async (table) => {
    const inside = table.querySelector("[data-table]");
    if (!inside || inside.dataset.has === table.dataset.tag) return;
    const tag = table.dataset.tag;
    const text = await fetched(`/table?name=${encodeURIComponent(inside.dataset.table)}`);
    if (text === null) return;
    const open = [...inside.querySelectorAll("details")].map((fold) => fold.open);
    inside.innerHTML = text;
    inside.dataset.has = tag;
    inside.querySelectorAll("details").forEach((fold, i) => { if (i in open) fold.open = open[i]; });
    shown(inside);
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.matches && event.target.matches("details.table[data-tag]") && event.target.open) fill(event.target);
  }, true);

  /* A part that changed: elements with a key stay where they did not change, and stay open where they were. */
  const put = (part, text) => {
    const found = document.createElement("template");
    found.innerHTML = text;
    const before = new Map([...part.querySelectorAll(":scope > [data-key]")].map((one) => [one.dataset.key, one]));
    const runsOpen = new Set([...part.querySelectorAll(".runs details[open]")].map((fold) => fold.querySelector("dd")?.textContent));
    for (const fresh of [...found.content.children]) {
      const old = before.get(fresh.dataset.key);
      if (!old) continue;
      if (old.dataset.tag && old.dataset.tag === fresh.dataset.tag) { fresh.replaceWith(old); continue; }
      if (!old.open) continue;
      fresh.open = true;
      const filled = old.querySelector("[data-table]"), empty = fresh.querySelector("[data-table]");
      if (filled && empty) { empty.replaceWith(filled); fill(fresh); }
    }
    const scrolled = [...part.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
    const focus = part.contains(document.activeElement) ? document.activeElement : null;
    part.replaceChildren(found.content);
    part.querySelectorAll(".scroll").forEach((one, i) => { if (scrolled[i]) one.scrollTo(...scrolled[i]); });
    for (const fold of part.querySelectorAll(".runs details")) {
      if (runsOpen.has(fold.querySelector("dd")?.textContent)) fold.open = true;
    }
    if (focus && focus.isConnected && document.activeElement !== focus) focus.focus({ preventScroll: true });
    shown(part);
  };

  const update = async (name) => {
    const text = await fetched(`/parts/${name}`);
    if (text === null) { delete tags[name]; return; }
    const part = document.getElementById(`part-${name}`);
    put(part, text);
    const isEmpty = !text.trim();
    for (const one of document.querySelectorAll(`[data-of="${name}"]`)) one.hidden = isEmpty;
    if (name === "verdict") {
      const about = part.firstElementChild.dataset;
      band.className = `band ${about.status}`;
      document.title = about.title;
      lookedAt = about.at || "";
      tellState();
    }
    if (name === "tables") choose();
  };

  /* Only the tables that somebody looks for. */
  const search = document.getElementById("search"), attention = document.getElementById("attention");
  const tools = document.querySelector(".tools"), count = document.getElementById("shown");
  const all = document.getElementById("all"), FEW = 20;
  let isWhole = false;
  const choose = () => {
    const tables = [...document.querySelectorAll("#part-tables > .table")];
    const wanted = search.value.trim().toLowerCase();
    const found = tables.filter((table) => table.dataset.key.toLowerCase().includes(wanted) && !(attention.checked && table.dataset.calm));
    const few = new Set(isWhole || found.length <= FEW + 5 ? found : found.filter((table, i) => i < FEW || table.open || !table.dataset.calm));
    for (const table of tables) table.hidden = !few.has(table);
    tools.hidden = tables.length < 6;
    count.textContent = found.length === tables.length ? `${tables.length} tables` : `${found.length} of ${tables.length} tables`;
    all.hidden = few.size === found.length;
    all.textContent = `Show all ${found.length} tables`;
  };
  all.addEventListener("click", () => {
    const first = document.querySelector("#part-tables > .table[hidden] > summary");
    isWhole = true;
    choose();
    if (first) first.focus();
  });
  search.addEventListener("input", choose);
  attention.addEventListener("change", choose);
  document.addEventListener("keydown", (event) => {
    const writes = event.target.matches && event.target.matches("input, textarea, select");
    if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !tools.hidden) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && event.target === search) { search.value = ""; choose(); }
  });

  /* The section that is being read. */
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.dataset.of, link]));
  const mark = () => {
    let current = "";
    for (const [name, link] of links) {
      const section = document.getElementById(name);
      if (!link.hidden && section.getBoundingClientRect().top < 140) current = name;
    }
    for (const [name, link] of links) {
      if (name === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });

  for (const one of document.querySelectorAll("[data-of]")) one.hidden = true;
  const events = new EventSource("/events");
  events.addEventListener("parts", async (event) => {
    lost = false;
    tellState();
    const now = JSON.parse(event.data);
    const changed = Object.keys(now).filter((name) => tags[name] !== now[name]);
    for (const name of changed) tags[name] = now[name];
    await Promise.all(changed.map(update));
    mark();
  });
  events.addEventListener("error", () => { lost = true; tellState(); });
  setInterval(() => { tellState(); tellAges(document); }, 5000);
})();
