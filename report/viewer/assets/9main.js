// The controls above the charts, and the start.

function controls() {
  const views = page.head.views;
  const modules = [...new Set(views.map((v) => v.module))];
  byId("module").replaceChildren(...modules.map((m) => el("option", { value: m }, m)));
  byId("module").addEventListener("change", (event) => {
    const own = views.filter((v) => v.module === event.target.value);
    show(own.find((v) => v.space === state.view.space) ?? own[0]);
    link();
  });
  byId("space").addEventListener("change", (event) => {
    show(views.find((v) => v.module === state.view.module && v.space === event.target.value));
    link();
  });
  drawers.unshift(() => {
    const own = views.filter((v) => v.module === state.view.module);
    byId("space").replaceChildren(...own.map((v) => el("option", { value: v.space }, v.space)));
    byId("module").value = state.view.module;
    byId("space").value = state.view.space;
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

byId("captures").textContent = page.head.name + (page.base ? " against the base " + page.base.name : "");
const warnings = [...(page.head.warnings ?? []), ...(page.base?.warnings ?? []).map((w) => "base: " + w)];
byId("warnings").hidden = warnings.length === 0;
byId("warnings").replaceChildren(...warnings.map((w) => el("li", null, w)));
if (page.head.views.length > 0) {
  controls();
  follow();
} else document.querySelector("main").replaceChildren(el("p", null, "There is nothing to show: the capture holds no plan of memory."));
