// The overview, and the card of a buffer.

const cells = (tag, list) => list.map(([text, number]) => el(tag, { class: number ? "n" : null, scope: tag === "th" ? "col" : null }, text));

drawers.push(function overview() {
  const view = state.view, base = partner(view);
  const heads = [["figure"], ["value", true], ...(base ? [["base", true], ["change", true]] : []), ["exact", true], ["how it is made"]];
  const rows = view.figures.map((f) => {
    const was = base?.figures.find((g) => g.key === f.key);
    const change = f.bytes !== undefined && was?.bytes !== undefined ? signed(f.bytes - was.bytes) : "";
    return el("tr", { "data-key": f.key }, el("th", { scope: "row" }, f.label), ...cells("td", [[f.text, f.bytes !== undefined], ...(base ? [[was?.text ?? "", was?.bytes !== undefined], [change, true]] : []), [f.bytes === undefined ? "" : exact(f.bytes), true]]), el("td", { class: "how" }, f.formula ?? ""));
  });
  byId("overview-title").textContent = `Overview: ${view.module}, ${view.space}`;
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
    rows.push(["Shape", b.shape], ["Framework operation", b.op], ["HLO opcode", b.opcode], ["Allocation type", b.kind], ["Used as", b.class.replaceAll("_", " ")],
      ["Block", b.block_bytes && `${bytes(b.block_bytes)} (${exact(b.block_bytes)})`],
      ["Live", lives(b) + (b.at_peak ? ", at the peak" : "")], ["Source", b.source]);
    if (partner(state.view)) rows.push(["In the base", b.was ? `${bytes(b.was.bytes)} (${signed(b.bytes - b.was.bytes)}), ${b.was.name}${b.was.at_peak ? ", at the peak" : ""}` : partner(state.view).left_out ? "none like it among those that are on this page" : "none like it"]);
  }
  const list = el("dl");
  for (const [name, value] of rows) if (value) list.append(el("dt", null, name), el("dd", null, value));
  const stack = b.stack ? page.head.stacks[b.stack - 1].map((f) => page.head.frames[f]) : [];
  byId("card").replaceChildren(el("h2", null, svg("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" }, svg("rect", { class: `f${b.colour}`, width: 8, height: 8 })), b.name), list,
    ...(stack.length > 0 ? [el("p", null, "Stack"), el("ol", { class: "stack" }, ...stack.map((line) => el("li", null, line)))] : []));
});
