/* Functions that all parts of the page use: requests to nmd, creation of elements, and formatting of figures. */
const $ = id => document.getElementById(id);

async function get(path, options) {
  const answer = await fetch(path, options);
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  throw new Error(body && body.error ? body.error.message : path + " answers " + answer.status);
}
const json = async path => (await get(path)).json();
const lines = async path => (await (await get(path)).text()).split("\n").filter(Boolean).map(JSON.parse);

// nmd sends a list in parts. The next part begins after the number of the last item.
async function all(path) {
  const list = [];
  for (let after = 0; ; after = list[list.length - 1].number) {
    const part = await json(`${path}limit=250&after=${after}`);
    list.push(...part);
    if (part.length < 250) return list;
  }
}

// Strings come from users. They are therefore inserted as text, never as markup.
const make = (tag, properties, ...children) => {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
};
// Doesn't replace an unchanged text, because this would disturb a selection or a screen reader.
const setText = (e, text) => { if (e.textContent !== text) e.textContent = text; };

const percent = x => (100 * x).toFixed(0) + " %";
const size = n => n >= 1023.5 * (1 << 20) ? (n / (1 << 30)).toFixed(1) + " GiB" : (n / (1 << 20)).toFixed(0) + " MiB";
const cores = n => (n / 1000).toFixed(2);
const plural = n => +n === 1 ? "" : "s"; // ending of a noun after a figure; n: the figure as it is shown
const withNoun = (text, noun) => `${text} ${noun}${plural(text)}`;
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
function duration(usec) {
  const seconds = Math.max(0, usec) / 1e6, [unit, name] = UNITS.find(([u]) => seconds >= u) || UNITS[3];
  const n = seconds / unit;
  return (n < 10 && unit > 1 ? Math.floor(10 * n) / 10 : Math.floor(n)) + " " + name;
}
const clock = usec => new Date(usec / 1000).toLocaleTimeString([], { hourCycle: "h23" });
const day = usec => new Date(usec / 1000).toLocaleString([], { hourCycle: "h23" });

/* Returns why a container waits, in the words of nmctl and of nmd's decisions. If the container's own request exceeds a limit, the text
 * has figures. A figure over a limit has enough decimals to differ from the limit. node: from the status; null before the first status. */
let node = null;
function share100(x, beside) {
  const texts = n => [x, beside].map(y => String(+(100 * y).toFixed(n)));
  const [text] = [1, 2, 3].map(texts).find(([a, b]) => a !== b) || texts(3);
  return text + " %";
}
function wouldExceed(c, name, what, amount, request, text) {
  const limit = node.preemption_threshold[what], is = node.utilization[what], after = is + request / node.capacity[amount];
  return after > limit ? `${name}${node.reserved[amount] > 0 ? " used or reserved" : ""} is at ${share100(is, -1)} of capacity, and with the ` +
    `${text} that it asks for would be at ${share100(after, limit)}, over the limit of ${share100(limit, -1)}` : "";
}
const queueReasonText = c => (node && c.hold === "would-exceed-beta" &&
  (wouldExceed(c, "memory", "memory", "memory_bytes", c.memory_bytes, size(c.memory_bytes)) ||
   wouldExceed(c, "CPU", "cpu", "cpu_millicores", c.cpu_request_millicores, withNoun(c.vcores, "vcore")))) || c.hold_text || c.hold || "";

/* Sets the roles of a table explicitly: on a phone a row is a block (page.css), which browsers don't treat as a row of a table. */
function tableRoles(table) {
  table.setAttribute("role", "table");
  for (const part of table.querySelectorAll("thead, tbody")) part.setAttribute("role", "rowgroup");
  for (const row of table.querySelectorAll("thead tr")) row.setAttribute("role", "row");
  for (const head of table.querySelectorAll("th")) head.setAttribute("role", "columnheader"), head.scope = "col";
}
function cell(label, ...children) {
  const td = make("td", {}, ...children);
  td.setAttribute("role", "cell");
  td.dataset.label = label;
  return td;
}
function row(...cells) {
  const tr = make("tr", {}, ...cells);
  tr.setAttribute("role", "row");
  return tr;
}
/* Fills a table with texts. Replaces all rows. */
function fill(table, rows) {
  const labels = [...table.querySelectorAll("th")].map(head => head.textContent);
  table.querySelector("tbody").replaceChildren(...rows.map(texts => row(...texts.map((text, i) => cell(labels[i], String(text))))));
}
