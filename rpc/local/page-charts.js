/* Two charts of shares of capacity. They are drawn by dygraphs, which takes no string of a user's. */
const SPAN = 600e6; // ten minutes, as nmd keeps them
const shade = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/* The names of the lines, with their values at the pointer, in ink that can be read on any ground; then both thresholds. */
function legend(data) {
  const sample = (colour, dashed) => `<i style="border-color:${colour}${dashed ? ";border-top-style:dashed" : ""}"></i>`;
  return data.series.map(s => `<span>${sample(s.color, s.label.endsWith("allocated"))}${s.label}${s.yHTML ? " " + s.yHTML : ""}</span>`).join(" ") +
    ` <span>${sample(shade("alpha"))}α over-allocation threshold</span> <span>${sample(shade("kill"))}β preemption threshold</span>`;
}

/* Points that would fall onto the same two pixels are one, with their mean: what is finer can't be seen, and only looks like noise. */
function smoothed(rows, width) {
  const step = SPAN / 1000 / Math.max(60, width / 2), groups = new Map();
  for (const r of rows) {
    const at = Math.floor(r[0] / step);
    if (!groups.has(at)) groups.set(at, []);
    groups.get(at).push(r);
  }
  return [...groups.values()].map(g => [new Date(g.reduce((t, r) => t + r[0].getTime(), 0) / g.length),
    ...g[0].slice(1).map((_, i) => g.reduce((t, r) => t + r[i + 1], 0) / g.length)]);
}

/* One chart: shares of capacity over the same ten minutes as the lanes. Both thresholds are drawn beneath the lines, where they are. */
function chart(what, capacity, pick) {
  let graph = null;
  return (points, thresholds, now) => {
    const rows = smoothed(points.map(p => [new Date(p.time_usec / 1000), ...pick(p).map(v => 100 * v / capacity())]), $(what).clientWidth);
    if (rows.length === 0) return;
    const top = Math.max(105, ...rows.map(r => Math.max(...r.slice(1)))) * 1.03;
    const options = {
      file: rows, valueRange: [0, top], dateWindow: [(now - SPAN) / 1000, now / 1000], labels: ["time", "used", "used or reserved", "used by guaranteed", "guaranteed allocated", "all allocated"],
      colors: ["ink", "soft", "g", "g-line", "o-line"].map(shade), labelsDiv: $(what + "-legend"), legend: "always", legendFormatter: legend, strokeWidth: 1.6,
      series: { "used": { strokeWidth: 2.4 }, "guaranteed allocated": { stepPlot: true, strokePattern: [6, 3] },
                "all allocated": { stepPlot: true, strokePattern: [6, 3] } },
      axes: { x: { axisLabelWidth: 72 }, y: { axisLabelFormatter: y => y + " %", valueFormatter: y => y.toFixed(0) + " %", axisLabelWidth: 46 } },
      gridLineColor: shade("line"), gridLineWidth: .5, axisLineColor: shade("soft"), interactionModel: {},
      underlayCallback: (canvas, area, g) => {
        // One label below its line and one above, so that they keep apart however near the thresholds are.
        for (const [name, at, tint, beside] of [["α", thresholds.alpha, shade("alpha"), 12], ["β", thresholds.beta, shade("kill"), -4]]) {
          const y = g.toDomYCoord(100 * at);
          canvas.fillStyle = tint;
          canvas.fillRect(area.x, y, area.w, 1);
          canvas.font = "12px system-ui, sans-serif";
          canvas.fillText(name + " " + percent(at), area.x + 4, y + beside);
        }
      },
    };
    if (graph) graph.updateOptions(options);
    else graph = new Dygraph($(what), rows, options);
    const last = rows[rows.length - 1];
    say($(what + "-now"), `Now ${last[1].toFixed(0)} % of the capacity used, ${last[2].toFixed(0)} % used or reserved, ${last[5].toFixed(0)} % allocated; ` +
      `α is ${percent(thresholds.alpha)}, β is ${percent(thresholds.beta)}.`);
  };
}

let capacity = { memory: 1, cpu: 1 };
const lines_of = unit => p => {
  const by = p.used_by, used = by.guaranteed[unit] + by.opportunistic[unit] + by.others[unit], promised = p.allocated.guaranteed[unit];
  return [used, used + p.reserved[unit], by.guaranteed[unit], promised, promised + p.allocated.opportunistic[unit]];
};
const charts = {
  memory: chart("memory", () => capacity.memory, lines_of("memory_bytes")),
  cpu: chart("cpu", () => capacity.cpu, lines_of("cpu_millicores")),
};
