// The controls above the charts, and the start.

const options = (id, names) => byId(id).replaceChildren(...names.map((n) => el("option", { value: n }, n)));

function controls() {
  byId("targets").hidden = pages.length < 2;
  options("target", pages.map((p) => p.target ?? ""));
  byId("target").addEventListener("change", (event) => {
    page = pages.find((p) => p.target === event.target.value);
    show(page.head.views[page.first ?? 0]);
    link();
  });
  byId("module").addEventListener("change", (event) => {
    const own = page.head.views.filter((v) => v.module === event.target.value);
    show(own.find((v) => v.space === state.view.space) ?? own[0]);
    link();
  });
  byId("space").addEventListener("change", (event) => {
    show(page.head.views.find((v) => v.module === state.view.module && v.space === event.target.value));
    link();
  });
  drawers.unshift(() => {
    const views = page.head.views;
    options("module", [...new Set(views.map((v) => v.module))]);
    options("space", views.filter((v) => v.module === state.view.module).map((v) => v.space));
    for (const [id, value] of [["target", page.target ?? ""], ["module", state.view.module], ["space", state.view.space]]) byId(id).value = value;
    byId("captures").textContent = page.head.name + (page.base ? " against the base " + page.base.name : "");
    byId("note").textContent = state.lost + (page.note ?? "");
    const warnings = [...(page.head.warnings ?? []), ...(page.base?.warnings ?? []).map((w) => "base: " + w)];
    byId("warnings").hidden = warnings.length === 0;
    byId("warnings").replaceChildren(...warnings.map((w) => el("li", null, w)));
  });
  byId("zoom-in").addEventListener("click", () => zoom(0.5, state.cursor));
  byId("zoom-out").addEventListener("click", () => zoom(2, state.cursor));
  byId("zoom-all").addEventListener("click", () => look(0, state.view.width));
  byId("to-peak").addEventListener("click", () => {
    const peak = state.view.peak;
    if (!peak) return;
    const half = Math.max(4, state.view.width / 20);
    look(peak.x - half, peak.x + half);
  });
  addEventListener("resize", () => { draw(); mark(); });
  addEventListener("hashchange", follow);
}

if (pages.length > 0) {
  controls();
  follow();
} else document.querySelector("main").replaceChildren(el("p", null, "There is nothing to show: no capture holds a plan of memory, a history of allocations or a series."));
