// The timeline: a rectangle a buffer. Left to right is program order, the height
// is the size, the width is the live range, and the place is that in memory.

const blocks = chart("blocks", "Timeline of allocations", 420);
let blockBox = null;
const drawn = () => state.view.buffers.filter((b) => b.y !== undefined);
const memory = (view) => view.allocations.reduce((n, a) => n + a.bytes, 0) || 1;

function blockOf(b, most) {
  const x = across(blocks, b.start);
  return { colour: b.colour, x, y: blocks.area * (1 - (b.y + b.bytes) / most), w: Math.max(1, across(blocks, b.end) - x), h: Math.max(0.5, b.bytes / most * blocks.area) };
}

movers.push(() => {
  if (byId("timeline").hidden) return;
  const view = state.view, most = memory(view);
  blocks.clear();
  sizes(blocks, most);
  positions(blocks);
  const places = view.allocations.map((a) => svg("rect", {
    class: "allocation", x: across(blocks, 0), width: across(blocks, view.width) - across(blocks, 0), y: blocks.area * (1 - (a.y + a.bytes) / most), height: a.bytes / most * blocks.area,
  }));
  const seen = drawn().filter((b) => b.end > state.from && b.start < state.to);
  blockBox = svg("rect", { class: "chosen", visibility: "hidden" });
  const x = view.peak ? across(blocks, view.peak.x) : -1;
  blocks.node.append(blocks.inner(...places, ...rectangles(seen.map((b) => blockOf(b, most))), svg("line", { class: "peak", x1: x, x2: x, y1: 0, y2: blocks.area }), blockBox));
  const lost = view.buffers.length - drawn().length + (view.left_out?.count ?? 0);
  byId("timeline-note").textContent = `Height: size. Width: ${atDump(view) ? "all that there is, for no events tell a live range" : "live range"}. ` + (view.padded ? "Place: offset in its allocation, allocations stacked. Empty space in the temporary block is fragmentation." :
    "Place: address in the segments that the allocator had at the dump or had given back before, stacked.") +
    (lost > 0 ? ` ${lost} buffers are not drawn: they are small, or the capture does not tell their place.` : "");
});

markers.push(() => {
  if (byId("timeline").hidden) return;
  const b = chosen(), list = drawn(), i = list.indexOf(b);
  blockBox.setAttribute("visibility", i < 0 ? "hidden" : "visible");
  if (i >= 0) {
    const r = blockOf(b, memory(state.view));
    fill(blockBox, { x: r.x, y: r.y, width: r.w, height: Math.max(2, r.h) }, []);
  }
  blocks.say(i, list.length - 1, i < 0 ? plural(list.length, "block") : `${describe(b)}, live: ${lives(b)}`);
});

function blockAt(event) {
  const p = blocks.place(event), x = positionOf(blocks, p.x), y = (1 - p.y / blocks.area) * memory(state.view);
  return drawn().findLast((b) => x >= b.start && x < b.end && y >= b.y && y < b.y + b.bytes) ?? null;
}

movable(blocks);
choosable(blocks, drawn);
blocks.node.addEventListener("pointermove", (event) => { if (!blocks.dragged && !still(event)) hover(blockAt(event)); });
blocks.node.addEventListener("click", (event) => { // also where a drag ends
  const b = !blocks.dragged && blockAt(event);
  if (b) pin(b);
});

byId("timeline-toggle").addEventListener("click", (event) => {
  const section = byId("timeline");
  section.hidden = !section.hidden;
  event.currentTarget.setAttribute("aria-expanded", String(!section.hidden));
  draw();
  mark();
  if (!section.hidden) section.scrollIntoView();
});
