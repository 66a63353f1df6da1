"use strict";
// Model text only ever becomes a text node: no innerHTML, no attribute but dir and labels of our own.
(() => {
  const PAGE = 50;
  const COLLAPSED = 1500; // characters; a longer completion starts in a box of its own height
  const rows = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const words = (code) => code.replaceAll("_", " ");
  const called = document.querySelector("table").dataset;
  let state = {};

  function node(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function haystack(row) {
    row.search ??= [row.name, row.problem, row.completion.join(""), row.answer ?? "", row.gold, row.detail].join("\n").toLowerCase();
    return row.search;
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const filtered = ["outcome", "reason", "q", "page"].some((name) => given.has(name));
    const view = given.get("view") ?? (filtered ? "rows" : byId("failures").querySelector("article") ? "failures" : "rows");
    state = {
      view, outcome: given.get("outcome") ?? "", reason: given.get("reason") ?? "", q: given.get("q") ?? "",
      page: Math.max(1, parseInt(given.get("page") ?? "1", 10) || 1),
    };
  }

  function go(change) {
    Object.assign(state, change);
    const kept = new URLSearchParams();
    for (const name of ["outcome", "reason", "q"]) if (state[name]) kept.set(name, state[name]);
    if (state.page > 1) kept.set("page", state.page);
    if (kept.size === 0) kept.set("view", "rows");
    history.replaceState(null, "", "#" + kept);
    draw();
  }

  function completion(row) {
    const [before, answer, after] = row.completion;
    const box = node("pre", { tabindex: "0", dir: "auto", "aria-label": called.completion });
    const mark = node("mark", { title: "the place that was read" }, answer);
    box.append(before, ...(answer ? [mark] : []), after);
    const parts = [box];
    if (before.length + answer.length + after.length > COLLAPSED) {
      box.classList.add("collapsed");
      const more = node("button", { type: "button", "aria-expanded": "false" }, "Show all of it");
      more.addEventListener("click", () => {
        const open = !box.classList.toggle("collapsed");
        more.setAttribute("aria-expanded", open);
        more.textContent = open ? "Show less" : "Show all of it";
      });
      parts.push(more);
      requestAnimationFrame(() => { box.scrollTop = answer ? mark.offsetTop - 60 : 0; });
    }
    return parts;
  }

  function detail(row) {
    const cell = node("td", { colspan: "5" });
    const add = (title, ...content) => cell.append(node("h4", {}, title), ...content);
    cell.append(node("p", { class: "why", dir: "auto" }, row.detail || words(row.reason)));
    if (row.problem) add("Problem", node("pre", { class: "plain prose", dir: "auto" }, row.problem));
    add(called.completion, ...completion(row));
    add(called.gold, node("pre", { class: "plain", dir: "auto" }, row.gold));
    const how = row.reading ? `read as ${words(row.reading)}, ` : "";
    cell.append(node("p", { class: "small" }, `${how}${row.ms} ms`));
    return node("tr", { class: "detail" }, cell);
  }

  function cell(label, ...content) {
    return node("td", { "data-label": label }, node("div", { dir: "auto" }, ...content));
  }

  function line(row, open) {
    const toggle = node("button", { type: "button", class: "toggle", "aria-expanded": "false" }, row.name);
    const answer = row.answer === null ? node("i", {}, "none") : node("code", {}, row.answer);
    const made = node("tr", { class: "line" },
      cell("Row", toggle), cell("Outcome", node("span", { class: `tag tag-${row.outcome}` }, row.outcome)),
      cell(called.answer, answer), cell(called.gold, node("code", {}, row.expected ?? row.gold)), cell("Reason", words(row.reason)));
    let shown = null;
    const flip = () => {
      if (shown) { shown.remove(); shown = null; } else { shown = detail(row); made.after(shown); }
      toggle.setAttribute("aria-expanded", shown !== null);
    };
    made.addEventListener("click", (event) => {
      if (event.target === toggle || String(getSelection()) === "") flip();
    });
    if (open) queueMicrotask(flip);
    return made;
  }

  function draw() {
    for (const view of ["rows", "failures"]) {
      byId(view).hidden = state.view !== view;
      if (state.view === view) byId(`tab-${view}`).setAttribute("aria-current", "page");
      else byId(`tab-${view}`).removeAttribute("aria-current");
    }
    for (const name of ["outcome", "reason", "q"]) if (byId(name).value !== state[name]) byId(name).value = state[name];
    const wanted = state.q.toLowerCase();
    const found = rows.filter((row) => (!state.outcome || row.outcome === state.outcome)
      && (!state.reason || row.reason === state.reason) && (!wanted || haystack(row).includes(wanted)));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const page = Math.min(state.page, pages);
    const some = found.slice((page - 1) * PAGE, page * PAGE);
    byId("body").replaceChildren(...some.map((row) => line(row, found.length === 1)));
    byId("count").textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    byId("page").textContent = `page ${page} of ${pages}`;
    byId("previous").disabled = page <= 1;
    byId("next").disabled = page >= pages;
    document.querySelector(".pager").hidden = pages === 1;
  }

  const start = () => { read(); draw(); };
  const turn = (step) => { go({ page: state.page + step }); byId("count").scrollIntoView({ block: "start" }); };
  let typing = 0;
  byId("outcome").addEventListener("change", (event) => go({ outcome: event.target.value, page: 1 }));
  byId("reason").addEventListener("change", (event) => go({ reason: event.target.value, page: 1 }));
  byId("q").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => go({ q: event.target.value, page: 1 }), 120);
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  addEventListener("hashchange", start);
  start();
  document.documentElement.dataset.ready = "yes";
})();
