// What is chosen: the view, the stretch of program order that is seen, and a buffer.
// The choice is in the address, so that a link leads to a buffer.

const state = { view: null, from: 0, to: 1, hovered: null, pinned: null, cursor: null, lost: "" };
const drawers = []; // what draws the view anew
const movers = []; // what draws along program order: all that a zoom or a drag changes
const markers = []; // what shows the chosen buffer

const chosen = () => state.hovered ?? state.pinned;
const draw = () => [...drawers, ...movers].forEach((f) => f());
const mark = () => markers.forEach((f) => f());

function show(view, pinned, lost) {
  state.view = prepare(view);
  state.lost = lost ?? "";
  state.from = 0;
  state.to = view.width;
  state.hovered = null;
  state.pinned = pinned ?? null;
  state.cursor = null;
  draw();
  mark();
}

function hover(buffer) {
  if (state.hovered === buffer) return;
  state.hovered = buffer;
  mark();
}

function pin(buffer) {
  state.pinned = state.pinned === buffer ? null : buffer;
  state.hovered = null;
  link();
  mark();
}

function link() {
  const parts = new URLSearchParams({ ...(page.target && { target: page.target }), module: state.view.module, space: state.view.space });
  if (state.pinned) parts.set("buffer", state.pinned.id);
  history.replaceState(null, "", "#" + parts);
}

// follow shows what the address names.
function follow() {
  const parts = new URLSearchParams(location.hash.slice(1));
  page = pages.find((p) => p.target === parts.get("target")) ?? pages[0];
  const views = page.head.views;
  const view = views.find((v) => v.module === parts.get("module") && v.space === parts.get("space")) ??
    views.find((v) => v.module === parts.get("module")) ?? views[page.first ?? 0];
  prepare(view);
  const id = parts.get("buffer"), buffer = view.buffers.find((b) => b.id === id) ?? view.atPeak.find((b) => b.id === id);
  const there = { target: page.target, module: view.module, space: view.space, buffer: buffer?.id };
  const lost = Object.keys(there).find((name) => parts.has(name) && parts.get(name) !== there[name]);
  show(view, buffer, lost && `The ${lost} that the address names is not on this page. `);
}

let waiting = false; // for the next frame: events come faster than frames

// look moves the stretch of program order that is seen.
function look(from, to) {
  const width = Math.min(Math.max(to - from, Math.min(4, state.view.width)), state.view.width);
  state.from = Math.min(Math.max(from, 0), state.view.width - width);
  state.to = state.from + width;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    movers.forEach((f) => f());
    mark();
  });
}

function zoom(factor, around) {
  const middle = around ?? (state.from + state.to) / 2;
  look(middle - (middle - state.from) * factor, middle + (state.to - middle) * factor);
}
