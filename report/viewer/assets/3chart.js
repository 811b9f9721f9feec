// What all charts share: an SVG as wide as its place, axes, and a keyboard.

const left = 74, right = 10, top = 16, bottom = 22;

// chart makes the SVG. It is a slider to assistive technology: arrow keys move along
// what it shows, and text says where one is.
function chart(id, label, height) {
  const node = svg("svg", { role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, height });
  byId(id).append(node);
  const c = { node, height, width: 0, plot: 0, area: height - top - bottom };
  c.clear = () => {
    c.width = Math.max(byId(id).clientWidth, 120);
    c.plot = c.width - left - right;
    node.setAttribute("viewBox", `0 0 ${c.width} ${height}`);
    node.replaceChildren();
  };
  c.say = (now, most, text) => {
    node.setAttribute("aria-valuemax", Math.max(0, most));
    node.setAttribute("aria-valuenow", Math.max(0, now));
    node.setAttribute("aria-valuetext", text);
  };
  // inner is a nested view that cuts off what lies outside of the plot.
  c.inner = (...children) => svg("svg", { x: left, y: top, width: c.plot, height: c.area, viewBox: `0 0 ${c.plot} ${c.area}`, preserveAspectRatio: "none" }, ...children);
  c.place = (event) => {
    const box = node.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width * c.width - left, y: (event.clientY - box.top) / box.height * height - top };
  };
  return c;
}

// sizes draws the axis of bytes, at powers of two.
function sizes(c, most) {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(most / 4)));
  for (let n = 0; n <= most; n += step) {
    const y = top + c.area * (1 - n / most);
    c.node.append(svg("line", { class: "grid", x1: left, x2: left + c.plot, y1: y, y2: y }), svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, amount(n)));
  }
}

// positions draws the axis of program order.
function positions(c) {
  const parts = Math.max(1, Math.min(6, Math.floor(c.plot / 90), Math.floor(state.to - state.from)));
  let last = -1;
  for (let i = 0; i <= parts; i++) {
    const at = Math.round(state.from + (state.to - state.from) * i / parts);
    if (at === last) continue;
    last = at;
    const x = left + across(c, at);
    c.node.append(svg("text", { x, y: c.height - 6, "text-anchor": i === 0 ? "start" : i === parts ? "end" : "middle" }, String(at)));
  }
}

// across is where a position lies in the plot.
const across = (c, at) => (at - state.from) / (state.to - state.from) * c.plot;
const positionOf = (c, x) => state.from + x / c.plot * (state.to - state.from);

// movable lets wheel, drag and keys move along program order.
function movable(c) {
  let drag = null;
  c.node.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && event.deltaY > 0 && state.to - state.from >= state.view.width) return; // all is seen: the page moves
    event.preventDefault();
    if (sideways) {
      const by = (event.deltaX || event.deltaY) / c.plot * (state.to - state.from);
      look(state.from + by, state.to + by);
    } else zoom(event.deltaY > 0 ? 1.25 : 0.8, positionOf(c, c.place(event).x));
  }, { passive: false });
  c.node.addEventListener("pointerdown", (event) => {
    c.dragged = false;
    if (event.button === 0) drag = { x: event.clientX, from: state.from, to: state.to };
  });
  c.node.addEventListener("pointermove", (event) => {
    c.dragged = false;
    if (!drag || !(event.buttons & 1) || Math.abs(event.clientX - drag.x) < 4) return;
    const by = (drag.x - event.clientX) / c.node.getBoundingClientRect().width * c.width / c.plot * (drag.to - drag.from);
    c.dragged = true;
    look(drag.from + by, drag.to + by);
  });
  addEventListener("pointerup", () => { drag = null; });
  c.node.addEventListener("keydown", (event) => {
    const step = (state.to - state.from) / 5;
    const act = {
      "+": () => zoom(0.5, state.cursor), "=": () => zoom(0.5, state.cursor), "-": () => zoom(2, state.cursor), 0: () => look(0, state.view.width),
      "<": () => look(state.from - step, state.to - step), ">": () => look(state.from + step, state.to + step),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
}

// still tells of an event that came because the page moved under a pointer that did
// not: who uses keys must not lose a buffer to it.
let pointerX = null, pointerY = null;
const still = (event) => event.clientX === pointerX && event.clientY === pointerY;
addEventListener("pointermove", (event) => { pointerX = event.clientX; pointerY = event.clientY; });

// choosable lets keys move along a list of buffers.
function choosable(c, list) {
  c.node.addEventListener("keydown", (event) => {
    const all = list(), at = all.indexOf(chosen());
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at < 0 ? all.length - 1 : at - 1, ArrowUp: at < 0 ? all.length - 1 : at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined && all.length > 0) {
      event.preventDefault();
      hover(all[Math.min(Math.max(to, 0), all.length - 1)]);
    } else if ((event.key === "Enter" || event.key === " ") && chosen()) {
      event.preventDefault();
      pin(chosen());
    } else if (event.key === "Escape") {
      state.pinned = null;
      hover(null);
      link();
      mark();
    }
  });
  c.node.addEventListener("pointerleave", (event) => { if (!still(event)) hover(null); });
  c.node.addEventListener("blur", () => hover(null));
}

const lives = (b) => atDump(state.view) ? "at the dump" : `positions ${b.start} to ${b.end}`;
const describe = (b) => `${b.name}, ${bytes(b.bytes)}${b.shape ? ", " + b.shape : ""}`;

const round = (n) => Math.round(n * 100) / 100;

// rectangles draws many rectangles as one path a colour.
function rectangles(list) {
  const paths = new Map();
  for (const r of list) {
    const key = `f${r.colour}${r.pad ? " pad" : ""}`;
    if (!paths.has(key)) paths.set(key, []);
    paths.get(key).push(`M${round(r.x)} ${round(r.y)}h${round(r.w)}v${round(r.h)}h${-round(r.w)}z`);
  }
  return [...paths].map(([key, parts]) => svg("path", { class: key, d: parts.join("") }));
}
