// The curve of what is live, over program order.

const curve = chart("curve", "Memory over program order", 260);
let band = null, cursorLine = null;

function heightOf(view) { // the height of the chart, in bytes
  const base = partner(view);
  return Math.max(view.peak?.bytes ?? view.dump_bytes ?? 0, base?.peak?.bytes ?? 0, 1) * 1.08;
}

// corners gives the curve's corners that are seen, each where place lays it; of a plan
// without a trace, one level. back is the way back from there.
function corners(view, values, place, back) {
  const most = heightOf(state.view), traced = view.curve.x.length > 0;
  const xs = traced ? view.curve.x : view.peak ? [0] : [];
  const level = (i) => curve.area * (1 - (traced ? values[i] : view.peak.bytes) / most);
  const last = xs.length && indexAt(xs, back(state.to));
  let d = "";
  for (let i = xs.length && indexAt(xs, back(state.from)); i <= last && i < xs.length; i++) {
    const at = round(across(curve, place(xs[i])));
    d += d === "" ? `M${at} ${round(level(i))}` : `H${at}V${round(level(i))}`;
  }
  const end = last + 1 < xs.length ? place(xs[last + 1]) : traced ? place(view.steps + 1) : state.view.width;
  return d && d + `H${round(across(curve, end))}`;
}

function drawCurve() {
  const view = state.view, base = partner(view), most = heightOf(view);
  const same = (x) => x, laid = (x) => along(view, x, 0), back = (x) => along(view, x, 1);
  curve.clear();
  sizes(curve, most);
  positions(curve);
  band = svg("rect", { class: "band", visibility: "hidden" });
  cursorLine = svg("line", { class: "cursor", y1: 0, y2: curve.area, visibility: "hidden" });
  const parts = [...(base ? differences(view, base, most) : []), band,
    view.padded && svg("path", { class: "unpadded", d: corners(view, view.curve.unpadded, same, same) }),
    base && !ofDump(view) && svg("path", { class: "base", d: corners(base, base.curve.bytes, laid, back) }),
    svg("path", { class: "live", d: corners(view, view.curve.bytes, same, same) })];
  if (view.peak) {
    const x = across(curve, view.peak.x);
    const y = curve.area * (1 - view.peak.bytes / most);
    parts.push(svg("line", { class: "peak", x1: x, x2: x, y1: 0, y2: curve.area }),
      svg("text", { class: "peak-text", x: x < curve.plot / 2 ? x + 5 : x - 5, y: Math.max(10, y - 4), "text-anchor": x < curve.plot / 2 ? "start" : "end" }, "peak " + amount(view.peak.bytes)));
  } else parts.push(svg("text", { x: 8, y: 20 }, "The peak is not known"));
  const steps = (view.marks ?? []).map((at) => across(curve, at).toFixed(2));
  parts.push(...trend(view.trend, most));
  parts.unshift(svg("path", { class: "mark", d: steps.map((x) => `M${x} 0V${curve.area}`).join("") }));
  curve.node.append(curve.inner(...parts.filter(Boolean), cursorLine));
  byId("curve-title").textContent = view.trend || view.space === "sampled" ? (view.unit ? "Counts over samples" : "Memory over samples") : view.order ? "Memory over allocator events" : "Memory over program order";
  byId("curve-note").textContent = [
    view.space === "sampled" ? "Solid: the samples. The line marks the largest." : atDump(view) ? "" : "Solid: live memory. The line marks the peak.",
    view.order ?? "Dashed: without padding. Left to right is the order in which the compiler scheduled the program, not time.",
    steps.length > 0 ? `Pale lines: steps (${view.mark}).` : "",
    base && !ofDump(view) ? `Dotted: the base, ${view.space === "sampled" ? "at equal steps or seconds" : laidBy(view)}; shaded where head and base differ, orange where the head is higher.` : "",
    view.curve.bytes.some((n) => n < 0) ? "What is below zero is not drawn." : "",
    page.base && !base ? "The base holds nothing that is named as this is." : "",
    view.no_peak ? "Not known: " + view.no_peak + "." : "",
    view.curve.x.length > 0 && view.curve.x.length < view.width ? `Of ${view.width} positions, the lowest and highest of each stretch are drawn.` : "",
  ].filter(Boolean).join(" ");
}

// trend draws the growth of a series over it.
function trend(t, most) {
  if (!t) return [];
  const at = (l) => `${across(curve, l.x).toFixed(2)} ${(curve.area * (1 - l.bytes / most)).toFixed(2)}`;
  return [
    svg("rect", { class: "warmup", x: across(curve, 0), width: Math.max(0, across(curve, t.from) - across(curve, 0)), y: 0, height: curve.area }),
    ...t.lines.map(([a, b], i) => svg("path", { class: i === 0 ? "fit" : "fit edge", d: `M${at(a)}L${at(b)}` })),
    ...t.blocks.map((b) => svg("circle", { class: "fit", r: 4, cx: across(curve, b.x), cy: curve.area * (1 - b.bytes / most) })),
  ];
}

function laidBy(view) {
  const shared = (view.anchors?.length ?? 0) - 2; // without the two ends
  return shared > 0 ? `laid so that ${shared} positions at which both do the same agree, and stretched between them` : "stretched to the same width: nothing that both do was found";
}

// differences shades, column by column, where head is above the base and below it.
function differences(view, base, most) {
  if (view.curve.x.length === 0 || base.curve.x.length === 0) return [];
  const paths = { grew: "", shrank: "" };
  const y = (n) => (curve.area * (1 - n / most)).toFixed(1);
  let name = "", upper = "", lower = ""; // the area that is being drawn, its edge there and that back
  const close = () => { if (name) paths[name] += `M${upper}${lower}Z`; };
  for (let px = 0; px < curve.plot; px++) {
    const at = positionOf(curve, px + 0.5), there = along(view, at, 1);
    const both = at < view.steps + 1 && there >= 0 && there < base.steps + 1; // else there is no such sample
    const head = both ? view.curve.bytes[indexAt(view.curve.x, at)] : 0, was = both ? base.curve.bytes[indexAt(base.curve.x, there)] : 0;
    const now = head > was ? "grew" : head < was ? "shrank" : "";
    if (now !== name) {
      close();
      [name, upper, lower] = [now, "", ""];
    }
    if (!now) continue;
    upper += `${upper && "L"}${px} ${y(head)}H${px + 1}`;
    lower = `L${px + 1} ${y(was)}H${px}` + lower;
  }
  close();
  return Object.entries(paths).map(([name, d]) => svg("path", { class: name, d }));
}

// markCurve lays the lifetime of the chosen buffer over the curve: as wide as it
// lives, as high as its part of the peak.
function markCurve() {
  const b = chosen();
  band.setAttribute("visibility", b ? "visible" : "hidden");
  if (b) {
    const h = Math.max(4, b.bytes / heightOf(state.view) * curve.area), x = across(curve, b.start);
    fill(band, { class: `band f${b.colour}`, x, y: curve.area - h, height: h, width: Math.max(2, across(curve, b.end) - x), "data-start": b.start, "data-end": b.end }, []);
  }
  readCurve();
}

function readCurve() {
  const view = state.view;
  const shown = state.cursor !== null && view.curve.x.length > 0;
  cursorLine.setAttribute("visibility", shown ? "visible" : "hidden");
  if (!shown) {
    byId("curve-read").textContent = "";
    curve.say(0, view.steps, view.peak ? `peak ${amount(view.peak.bytes)} at position ${view.peak.x}` : "the peak is not known");
    return;
  }
  const i = indexAt(view.curve.x, state.cursor), x = across(curve, state.cursor);
  fill(cursorLine, { x1: x, x2: x }, []);
  const name = view.curve.instructions[i];
  const text = `Position ${view.curve.x[i]} of ${view.steps}: ${amount(view.curve.bytes[i])}${view.space === "sampled" ? "" : " live"}` + (view.padded ? `, ${bytes(view.curve.unpadded[i])} without padding` : "") + (name ? (view.space === "sampled" ? ", at " : ", after ") + name : "");
  byId("curve-read").textContent = text;
  curve.say(view.curve.x[i], view.steps, text);
}

function moveCursor(x) {
  state.cursor = x === null ? null : Math.min(Math.max(x, 0), state.view.steps);
  readCurve();
}

movable(curve);
curve.node.addEventListener("pointermove", (event) => { if (!still(event)) moveCursor(positionOf(curve, curve.place(event).x)); });
curve.node.addEventListener("pointerleave", (event) => { if (!still(event)) moveCursor(null); });
curve.node.addEventListener("keydown", (event) => {
  const xs = state.view.curve.x;
  if (xs.length === 0) return;
  const at = state.cursor === null ? -1 : indexAt(xs, state.cursor);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: xs.length - 1, p: xs.indexOf(state.view.peak?.x) }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  moveCursor(xs[Math.min(Math.max(to, 0), xs.length - 1)]);
  if (state.cursor < state.from || state.cursor >= state.to) {
    const half = (state.to - state.from) / 2;
    look(state.cursor - half, state.cursor + half);
  }
});
movers.push(drawCurve);
markers.push(markCurve);
