/* Charts of the node over time. All charts show the same time. dygraphs draws them; it gets no strings from users. */
const range = { span: 600e6 }; // time that is shown: ten minutes, which nmd keeps in memory, up to a day
const shade = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/* Returns the legend: the names of the lines, with their values at the pointer, in a colour that is readable on any background, and
 * the thresholds. */
const legend = marks => data => {
  const sample = (colour, dashed) => `<i style="border-color:${colour}${dashed ? ";border-top-style:dashed" : ""}"></i>`;
  return [...data.series.map(s => `<span>${sample(s.color, s.label.endsWith("allocated"))}${s.label}${s.yHTML ? " " + s.yHTML : ""}</span>`),
    ...marks.map(m => `<span>${sample(shade(m.shade))}${m.name} ${m.what}</span>`)].join(" ");
};

/* Combines points that would be drawn onto the same two pixels into one point with their mean, because finer detail looks like noise. */
function smoothed(rows, width) {
  const step = range.span / 1000 / Math.max(60, width / 2), groups = new Map();
  for (const r of rows) {
    const at = Math.floor(r[0] / step);
    if (!groups.has(at)) groups.set(at, []);
    groups.get(at).push(r);
  }
  return [...groups.values()].map(g => [new Date(g.reduce((t, r) => t + r[0].getTime(), 0) / g.length),
    ...g[0].slice(1).map((_, i) => g.reduce((t, r) => t + r[i + 1], 0) / g.length)]);
}

/* Makes a chart in percent. lines: [name, colour, options]; pick: converts a point of the history to one number per line; least: minimum
 * of the scale's upper end. marks: thresholds, which are drawn behind the lines. */
function chart(what, { lines, pick, least, describe }) {
  let graph = null;
  return (points, now, marks = []) => {
    const rows = smoothed(points.map(p => [new Date(p.time_usec / 1000), ...pick(p)]), $(what).clientWidth);
    if (rows.length === 0) return;
    const top = Math.max(least, ...rows.map(r => Math.max(...r.slice(1)))) * 1.03;
    const options = {
      file: rows, valueRange: [0, top], dateWindow: [(now - range.span) / 1000, now / 1000], labels: ["time", ...lines.map(l => l[0])],
      colors: lines.map(l => shade(l[1])), series: Object.fromEntries(lines.map(l => [l[0], l[2] || {}])), labelsDiv: $(what + "-legend"), legend: "always",
      legendFormatter: legend(marks), strokeWidth: 1.6,
      axes: { x: { axisLabelWidth: 72 }, y: { axisLabelFormatter: y => y + " %", valueFormatter: y => y.toFixed(0) + " %", axisLabelWidth: 46 } },
      gridLineColor: shade("line"), gridLineWidth: .5, axisLineColor: shade("soft"), interactionModel: {},
      underlayCallback: (canvas, area, g) => {
        for (const mark of marks) {
          const y = g.toDomYCoord(100 * mark.at);
          canvas.fillStyle = shade(mark.shade);
          canvas.fillRect(area.x, y, area.w, 1);
          canvas.font = "12px system-ui, sans-serif";
          canvas.fillText(mark.name + " " + percent(mark.at), area.x + 4, y + mark.beside);
        }
      },
    };
    if (graph) graph.updateOptions(options);
    else graph = new Dygraph($(what), rows, options);
    setText($(what + "-now"), describe(rows[rows.length - 1].slice(1), marks));
  };
}

/* Makes a chart of the shares of the capacity: used resources, and allocated resources, which are drawn as steps. */
let capacity = { memory: 1, cpu: 1 };
function useChart(what, unit) {
  const step = { stepPlot: true, strokePattern: [6, 3] };
  return chart(what, {
    lines: [["used", "ink", { strokeWidth: 2.4 }], ["used or reserved", "soft"], ["used by guaranteed", "g"],
      ["guaranteed allocated", "g-line", step], ["all allocated", "o-line", step]],
    least: 105,
    pick: p => {
      const by = p.used_by, used = by.guaranteed[unit] + by.opportunistic[unit] + by.others[unit], promised = p.allocated.guaranteed[unit];
      return [used, used + p.reserved[unit], by.guaranteed[unit], promised, promised + p.allocated.opportunistic[unit]].map(v => 100 * v / capacity[what]);
    },
    describe: (v, marks) => `Now ${v[0].toFixed(0)} % of the capacity used, ${v[1].toFixed(0)} % used or reserved, ${v[4].toFixed(0)} % allocated; ` +
      marks.map(m => `${m.name} is ${percent(m.at)}`).join(", ") + ".",
  });
}

const charts = {
  memory: useChart("memory", "memory_bytes"),
  cpu: useChart("cpu", "cpu_millicores"),
  pressure: chart("pressure", {
    lines: [["memory, some task waited", "o"], ["memory, all waited at once", "kill", { strokeWidth: 2.4 }], ["CPU, some task waited", "g"]],
    least: 20,
    pick: p => [p.pressure.memory_some_avg10, p.pressure.memory_full_avg10, p.pressure.cpu_some_avg10],
    describe: v => `Now for memory ${v[0].toFixed(0)} % of the time for some task and ${v[1].toFixed(0)} % for all of them, for CPU ${v[2].toFixed(0)} %.`,
  }),
};

/* Puts one label below its line and one above, so that the labels don't overlap even if the thresholds are close to each other. */
const thresholds = (node, what) => [
  { name: "α", what: "over-allocation threshold", at: node.over_allocation_threshold[what], shade: "alpha", beside: 12 },
  { name: "β", what: "preemption threshold", at: node.preemption_threshold[what], shade: "kill", beside: -4 }];
