// The overview, the card of a buffer, and the table.

const cells = (tag, list) => list.map(([text, number]) => el(tag, { class: number ? "n" : null, scope: tag === "th" ? "col" : null }, text));

drawers.push(function overview() {
  const view = state.view, base = partner(view);
  const heads = [["figure"], ["value", true], ...(base ? [["base", true], ["change", true]] : []), ["exact", true], ["how it is made"]];
  const rows = view.figures.map((f) => {
    const was = base?.figures.find((g) => g.key === f.key);
    const change = f.bytes !== undefined && was?.bytes !== undefined ? signed(f.bytes - was.bytes) : "";
    return el("tr", { "data-key": f.key }, el("th", { scope: "row" }, f.label), ...cells("td", [[f.text, f.bytes !== undefined], ...(base ? [[was?.text ?? "", was?.bytes !== undefined], [change, true]] : []), [f.bytes === undefined ? "" : exact(f.bytes), true]]), el("td", { class: "how" }, f.formula ?? ""));
  });
  byId("overview").replaceChildren(el("table", null, el("thead", null, el("tr", null, ...cells("th", heads))), el("tbody", null, ...rows)));
});

markers.push(function card() {
  const b = chosen();
  if (!b) {
    byId("card").replaceChildren(el("h2", null, "Buffer"), el("p", { class: "note" }, "Point at a bar or a block, or move to one with the arrow keys. Click or Enter keeps it, and puts it into the address. In the curve and the timeline the wheel, a drag, +, −, <, > and 0 move and zoom."));
    return;
  }
  const rows = [["Name", b.name], ["Size", `${bytes(b.bytes)} (${exact(b.bytes)})`]];
  if (state.view.padded) {
    rows.push(["Without padding", `${bytes(b.unpadded)} (${exact(b.unpadded)})`]);
    if (b.viewer_unpadded !== b.unpadded) rows.push(["Without padding, XProf", bytes(b.viewer_unpadded)]);
    rows.push(["Padding", bytes(b.padding)]);
  }
  if (!b.group) {
    rows.push(["Shape", b.shape], ["Framework operation", b.op], ["HLO opcode", b.opcode], ["Allocation type", b.kind], ["Used as", b.class.replace("_", " ")],
      ["Live", `positions ${b.start} to ${b.end}${b.at_peak ? ", at the peak" : ""}`], ["Source", b.source]);
  }
  const list = el("dl");
  for (const [name, value] of rows) if (value) list.append(el("dt", null, name), el("dd", null, value));
  const stack = b.stack ? page.head.stacks[b.stack - 1] : [];
  byId("card").replaceChildren(el("h2", null, svg("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" }, svg("rect", { class: `f${b.colour}`, width: 8, height: 8 })), b.name), list,
    ...(stack.length > 0 ? [el("p", null, "Stack"), el("ol", { class: "stack" }, ...stack.map((line) => el("li", null, line)))] : []));
});

const shownRows = 300;
let matched = []; // the rows of the table, all of them

// rowsOf groups the buffers of a view that match, by a key.
function rowsOf(view, key, matches) {
  const groups = new Map();
  for (const b of view?.buffers ?? []) {
    if (byId("peak-only").checked && !b.at_peak || !matches(b)) continue;
    const name = key ? b[key] || "not told" : b.id;
    const g = groups.get(name) ?? { name: key ? name : b.name, count: 0, bytes: 0, unpadded: 0, first: b };
    g.count++;
    g.bytes += b.bytes;
    g.unpadded += b.unpadded;
    groups.set(name, g);
  }
  return groups;
}

function table() {
  const text = byId("filter").value, key = byId("group").value, view = state.view;
  let pattern = null;
  try {
    pattern = new RegExp(text, "i");
    byId("filter").removeAttribute("aria-invalid");
  } catch (fault) {
    byId("filter").setAttribute("aria-invalid", "true");
    byId("table-note").textContent = "The filter is no regular expression: " + fault.message;
    return;
  }
  const matches = (b) => !text || [b.name, b.op, b.source].some((s) => s && pattern.test(s));
  const base = key ? partner(view) : undefined;
  const groups = rowsOf(view, key, matches), was = base ? rowsOf(prepare(base), key, matches) : new Map();
  for (const [name, g] of was) if (!groups.has(name)) groups.set(name, { ...g, count: 0, bytes: 0, unpadded: 0, first: null });
  matched = [...groups].map(([name, g]) => ({ ...g, base: base ? was.get(name)?.bytes ?? 0 : undefined }));
  matched.sort((a, b) => base ? b.bytes - b.base - (a.bytes - a.base) || b.bytes - a.bytes : b.bytes - a.bytes);
  const heads = [[key ? byId("group").selectedOptions[0].text : "buffer"], ["size", true], ...(base ? [["base", true], ["change", true]] : []), ...(view.padded ? [["padding", true]] : []), ...(key ? [["buffers", true]] : [["shape"], ["operation"], ["source"]])];
  const rows = matched.slice(0, shownRows).map((g) => {
    const b = g.first;
    const name = el("td", { class: "name" }, key ? g.name : el("button", { type: "button" }, g.name));
    if (!key) name.firstChild.addEventListener("click", () => pin(b));
    const numbers = [[bytes(g.bytes), true], ...(base ? [[bytes(g.base), true], [signed(g.bytes - g.base), true]] : []), ...(view.padded ? [[bytes(g.bytes - g.unpadded), true]] : []), ...(key ? [[String(g.count), true]] : [])];
    return el("tr", { "data-id": key ? null : b.id }, name, ...cells("td", numbers), ...(key ? [] : [b.shape, b.op, b.source].map((s) => el("td", { class: "name" }, s ?? ""))));
  });
  byId("table").replaceChildren(el("table", null, el("thead", null, el("tr", null, ...cells("th", heads))), el("tbody", null, ...rows)));
  const total = matched.reduce((n, g) => n + g.bytes, 0);
  const out = view.left_out;
  byId("table-note").textContent = `${matched.length} ${key ? "groups" : "buffers"}, ${bytes(total)}` + (matched.length > shownRows ? `; the first ${shownRows} are listed` : "") +
    (base ? "; what grew most against the base comes first" : "") + (out ? `; ${out.count} smaller buffers (up to ${bytes(out.largest_bytes)}) are not on this page` : "");
}
drawers.push(table);
for (const id of ["filter", "group", "peak-only"]) byId(id).addEventListener("input", table);
markers.push(() => {
  const id = state.pinned?.id;
  for (const row of byId("table").querySelectorAll("tr[data-id]")) row.classList.toggle("now", row.dataset.id === id);
});
