// What the page shows, and how numbers and elements are written. Names come from
// captures: they become text nodes and attribute values, never markup.

const pages = JSON.parse(document.getElementById("data").textContent); // one a target
let page = pages[0]; // that which is seen
const small = 16 * 1024; // below it, buffers at the peak share one bar, as in XProf
const colours = 8;
const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// bytes writes a size as the command does: "1.50 GiB".
function bytes(n) {
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  const size = Math.abs(n);
  if (size < 1024) return n + " B";
  let i = 0, unit = 1024;
  while (i < units.length - 1 && size / unit >= 1023.995) { i++; unit *= 1024; }
  const half = size / unit * 8 % 4 === 1; // .125 and .625: Go takes the even digit, toFixed the upper
  return (n < 0 ? "-" : "") + (size / unit - (half ? 0.001 : 0)).toFixed(2) + " " + units[i];
}
const number = (n) => n.toLocaleString("en-US");
const exact = (n) => (Number.isSafeInteger(n) ? "" : "about ") + number(n) + (state.view.unit ? "" : " B");
const amount = (n) => state.view.unit ? number(n) : bytes(n); // what the view counts
const plural = (n, thing) => `${number(n)} ${thing}${n === 1 ? "" : "s"}`;
const signed = (n) => (n > 0 ? "+" : "") + amount(n);

// atDump tells whether the buffers of a view are those that are live when the capture ends:
// there is no curve, and no peak.
const atDump = (view) => view?.dump_bytes !== undefined;

// ofDump tells whether one side is so: then the other's dump is what it can be laid beside.
const ofDump = (view) => atDump(view) || atDump(partner(view));

// prepare adds to a view what its charts need.
function prepare(view) {
  if (view.atPeak) return view;
  const base = partner(view);
  view.places = [0, 1].map((side) => (view.anchors ?? []).map((a) => a[side]));
  view.width = view.steps + 1; // positions of the curve
  if (base && view.space === "sampled") view.width = Math.max(view.width, Math.ceil(along(view, base.steps + 1, 0)));
  view.padded = view.order === undefined; // the capture tells sizes without padding
  for (const b of [...view.buffers, ...(view.groups ?? [])]) b.function = b.source?.replace(/:\d+/, "");
  view.buffers.forEach((b, i) => {
    Object.assign(b, { colour: i % colours, padding: b.bytes - b.unpadded });
    b.was = base?.buffers[b.pair - 1];
    if (b.was) b.was.is = b;
  });
  if (base) prepare(base);
  const live = view.buffers.filter((b) => b.at_peak || atDump(view));
  view.atPeak = live.filter((b) => b.bytes >= small);
  const rest = live.filter((b) => b.bytes < small);
  const left = view.left_out ?? { peak_count: 0, peak_bytes: 0 };
  const count = rest.length + left.peak_count;
  if (count > 0) {
    const sum = (f) => rest.reduce((n, b) => n + f(b), left.peak_bytes);
    const size = sum((b) => b.bytes), values = sum((b) => b.unpadded);
    view.atPeak.push({
      id: "small", name: left.peak_count > 0 ? `${count} small buffers` : `${count} small (<${small} bytes)`, bytes: size, unpadded: values, padding: size - values,
      viewer_unpadded: values, kind: "", class: "", start: 0, end: view.width, colour: 7, at_peak: true, group: true,
    });
  }
  return view;
}

// partner is the base's view of the same module and memory space.
const partner = (view) => page.base?.views[view.base - 1];

// along lays a position of the base (side 0) or of the head (side 1) on the other side:
// anchors are where both do the same, and between them it is stretched.
function along(view, x, side) {
  const here = view.places[side], there = view.places[1 - side];
  if (here.length === 0) return x;
  const i = indexAt(here, x), next = i + 1;
  if (x < here[i] || next === here.length) return there[i] + x - here[i];
  return there[i] + (x - here[i]) / (here[next] - here[i]) * (there[next] - there[i]);
}

// indexAt gives the last of ascending positions that is not after x.
function indexAt(xs, x) {
  let low = 0, high = xs.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (xs[middle] <= x) low = middle; else high = middle - 1;
  }
  return low;
}
