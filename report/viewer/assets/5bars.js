// The buffers that are live at the peak, or at the dump, three times in three orders.

const orders = [
  ["bars-order", "program order", (list) => list],
  ["bars-size", "size", (list) => list.toSorted((a, b) => b.bytes - a.bytes)],
  ["bars-padding", "padding overhead", (list) => list.toSorted((a, b) => b.padding - a.padding)],
];

for (const [id, by, order] of orders) {
  const c = chart(id, "", 150);
  let list = [], most = 1, box = null;
  const step = () => c.plot / Math.max(list.length, 8);
  drawers.push(() => {
    list = order(state.view.atPeak);
    const dump = atDump(state.view), where = `at the ${dump ? "dump" : "peak"}`, how = dump && id === "bars-order" ? "address" : by;
    c.node.setAttribute("aria-label", `Buffers ${where} by ${how}`);
    byId(id).parentNode.querySelector("h2").textContent = `A${where.slice(1)}, by ${how}`;
    byId("buffers").hidden = state.view.space === "sampled";
    byId("padding").hidden = !state.view.padded;
    const single = list.filter((b) => !b.group), cut = list.find((b) => b.group);
    most = Math.max(1, ...(single.length > 0 ? single : list).map((b) => b.bytes)) * 1.05;
    c.clear();
    sizes(c, most);
    const w = Math.max(0.5, step() - (step() > 4 ? 1.5 : 0));
    const parts = [];
    list.forEach((b, i) => {
      const values = b.unpadded / most * c.area, whole = b.bytes / most * c.area;
      parts.push({ colour: b.colour, x: i * step(), y: c.area - values, w, h: values });
      parts.push({ colour: b.colour, pad: true, x: i * step(), y: c.area - whole, w, h: whole - values });
    });
    box = svg("rect", { class: "chosen", visibility: "hidden" });
    c.node.append(c.inner(...rectangles(parts), box));
    c.node.append(svg("text", { x: left, y: c.height - 6 }, list.length === 0 ? `nothing is live ${where}${dump ? "" : ", or it is not known"}` : plural(list.length, "bar") + (state.view.padded ? "; pale: padding" : "") + (cut && cut.bytes > most ? `; that of ${cut.name}, ${bytes(cut.bytes)}, is cut` : "")));
  });
  markers.push(() => {
    const i = list.indexOf(chosen());
    box.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i >= 0) fill(box, { x: i * step(), width: Math.max(2, step() - 1), y: c.area * (1 - list[i].bytes / most), height: Math.max(2, list[i].bytes / most * c.area) }, []);
    c.say(i, list.length - 1, i < 0 ? plural(list.length, "buffer") : describe(list[i]));
  });
  const under = (event) => list[Math.floor(c.place(event).x / step())] ?? null;
  c.node.addEventListener("pointermove", (event) => { if (!still(event)) hover(under(event)); });
  c.node.addEventListener("click", (event) => under(event) && pin(under(event)));
  choosable(c, () => list);
}
