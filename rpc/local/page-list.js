/* The list of containers, which is sorted, filtered and searched here. A row remains the same element while it is shown, so that the
 * focus, a selection and the position of a screen reader don't change when figures change. */
const SHOWN_FIRST = 200;
const known = new Map(); // id -> container
const rows = new Map(); // id -> { tr, name, cells }
const view = { by: "age", down: false, limit: SHOWN_FIRST, now: 0, with_users: false };

function exitText(c) {
  if (!c.finished_usec) return "";
  const code = c.exit_signal ? `signal ${c.exit_signal}` : c.exit_code === null ? "" : `code ${c.exit_code}`;
  return c.exit_reason === "exited" || c.exit_reason === "signaled" ? code : [c.exit_reason, code].filter(Boolean).join(", ");
}
const whyText = c => c.hold_text ? (c.queue_position ? `${c.queue_position}: ` : "") + queueReasonText(c) : "";
const share = (used, asked) => asked > 0 ? used / asked : 0;
const stateClass = c => !c.finished_usec ? "" : c.state_text.startsWith("Succeeded") ? "went" : c.state_text.startsWith("Failed") ? "failed" : "killed";

const COLUMNS = [
  { key: "name", label: "Container", kind: "text", of: c => c.name || c.id },
  { key: "app", label: "Application", kind: "text", of: c => c.app || "" },
  { key: "type", label: "Type", kind: "text", of: c => c.execution_type.toLowerCase() },
  { key: "state", label: "State", kind: "text", of: c => c.state_text },
  { key: "memory", label: "Memory of request", of: c => c.finished_usec ? c.memory_bytes : c.memory_used_bytes, share: c => share(c.memory_used_bytes, c.memory_bytes),
    show: c => (c.finished_usec ? "" : size(c.memory_used_bytes) + " of ") + size(c.memory_bytes) },
  { key: "cpu", label: "Cores of request", of: c => c.finished_usec ? c.cpu_request_millicores : c.cpu_used_millicores, share: c => share(c.cpu_used_millicores, c.cpu_request_millicores),
    show: c => (c.finished_usec ? "" : cores(c.cpu_used_millicores) + " of ") + cores(c.cpu_request_millicores) },
  { key: "age", label: "Age", of: c => -c.submitted_usec, show: c => duration(view.now - c.submitted_usec) },
  { key: "user", label: "User", kind: "text", of: c => c.user || "" },
  { key: "exit", label: "Exit", kind: "text", of: exitText },
  { key: "why", label: "Why it waits", kind: "text", of: whyText },
];
const shownColumns = () => COLUMNS.filter(c => c.key !== "user" || view.with_users);

function makeRow(c) {
  const name = make("button", { type: "button", className: "name" }), cells = {}, tr = row();
  for (const column of shownColumns()) {
    const td = cells[column.key] = cell(column.label);
    td.classList.toggle("text", column.kind === "text");
    td.append(column.key === "name" ? name : make("span"));
    if (column.share) td.append(make("span", { className: "bar", ariaHidden: "true" }, make("i")));
    tr.append(td);
  }
  tr.onclick = () => { if (getSelection().isCollapsed) openDetail(c.id); };
  return { tr, name, cells };
}

function drawRow(r, c) {
  for (const column of shownColumns()) {
    const td = r.cells[column.key], text = column.show ? column.show(c) : column.of(c);
    setText(td.firstChild, text);
    td.classList.toggle("empty", text === "");
    if (!column.share) continue;
    const bar = td.lastChild, part = column.share(c);
    bar.hidden = !!c.finished_usec;
    bar.firstChild.style.width = Math.min(100, 100 * part) + "%";
    bar.firstChild.className = part > 1 ? "full" : "";
  }
  r.cells.state.className = "text " + stateClass(c);
  r.name.title = c.id;
}

const words = c => [c.id, c.name, c.app, c.user, c.state_text, queueReasonText(c), c.exit_reason, c.message, (c.command_head || []).join(" ")].join("\n").toLowerCase();
function wanted() {
  const search = $("search").value.trim().toLowerCase().split(/\s+/), state = $("filter-state").value, type = $("filter-type").value;
  return [...known.values()].filter(c => (!type || c.execution_type === type) &&
    (!state || (state === "live" ? !c.finished_usec : c.state_text === state || c.state_text.startsWith(state + " "))) &&
    (search[0] === "" || search.every(word => words(c).includes(word))));
}
function sorted(list) {
  const column = COLUMNS.find(c => c.key === view.by), order = view.down ? -1 : 1;
  const compare = column.kind === "text" ? (a, b) => a.localeCompare(b, undefined, { numeric: true }) : (a, b) => a - b;
  // Containers without a text in this column come last, in both directions.
  return list.map(c => [column.of(c), c]).sort(([a, x], [b, y]) => (a === "") - (b === "") || order * compare(a, b) || y.number - x.number).map(([, c]) => c);
}

/* Returns the states of the containers in the list, in nmd's words. Omits the part in parentheses, which is the reason of an end. */
function drawStates() {
  const select = $("filter-state"), chosen = select.value;
  const states = [...new Set([...known.values()].map(c => c.state_text.replace(/ \(.*/, "")))].sort();
  if (chosen && chosen !== "live" && !states.includes(chosen)) states.push(chosen);
  if (select.dataset.states === states.join()) return;
  select.dataset.states = states.join();
  select.replaceChildren(...[...select.options].slice(0, 2), ...states.map(s => make("option", { value: s, textContent: s.toLowerCase() })));
  select.value = chosen;
}

/* Moves only rows that are at a wrong position. An element that is moved loses the focus, which is then set again. */
function drawRows(list) {
  const body = $("list").querySelector("tbody"), focused = document.activeElement;
  let at = body.firstChild;
  for (const c of list) {
    if (!rows.has(c.id)) rows.set(c.id, makeRow(c));
    const r = rows.get(c.id);
    drawRow(r, c);
    if (r.tr === at) at = at.nextSibling;
    else body.insertBefore(r.tr, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
  const shown = new Set(list.map(c => c.id));
  for (const id of rows.keys()) if (!shown.has(id)) rows.delete(id);
  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

function drawList() {
  const list = sorted(wanted()), shown = list.slice(0, view.limit);
  drawStates();
  drawRows(shown);
  setText($("found"), known.size === 0 ? "There are no containers." : list.length === known.size ? withNoun(known.size, "container") : `${list.length} of ${withNoun(known.size, "container")}`);
  $("more").hidden = list.length <= shown.length;
  setText($("more").firstChild, `Show ${list.length - shown.length} more`);
}

/* Over TCP nmd sends neither users nor commands, so the page doesn't offer to search for them. */
const searched = () => `name, id, application, ${view.with_users ? "user, command" : "state"}, reason`;
function drawHeads() {
  $("search").placeholder = searched();
  $("list").querySelector("thead tr").replaceChildren(...shownColumns().map(column => {
    const sort = make("button", { type: "button", textContent: column.label }), th = make("th", { className: column.kind || "" }, sort);
    th.dataset.key = column.key;
    sort.onclick = () => sortBy(column.key, view.by === column.key ? !view.down : column.kind !== "text" && column.key !== "age");
    return th;
  }));
  $("sort").replaceChildren(...shownColumns().map(column => make("option", { value: column.key, textContent: column.label.toLowerCase() })));
  rows.clear();
  $("list").querySelector("tbody").replaceChildren();
  tableRoles($("list"));
  markSort();
}
function markSort() {
  for (const th of $("list").querySelectorAll("th"))
    th.setAttribute("aria-sort", th.dataset.key !== view.by ? "none" : view.down ? "descending" : "ascending");
  $("sort").value = view.by;
}
function sortBy(key, down) {
  view.by = key;
  view.down = down;
  markSort();
  drawList();
}

/* Stores the received containers: either all containers, or only the live ones. */
function keepContainers(containers, whole, now) {
  view.now = now;
  if (whole) known.clear();
  for (const c of containers) known.set(c.id, c);
  const with_users = containers.length > 0 ? containers.some(c => "user" in c) : view.with_users;
  if (with_users !== view.with_users) {
    view.with_users = with_users;
    drawHeads();
  }
  drawList();
}

for (const id of ["search", "filter-state", "filter-type"]) $(id).oninput = () => { view.limit = SHOWN_FIRST; drawList(); };
$("sort").onchange = () => sortBy($("sort").value, !["text"].includes(COLUMNS.find(c => c.key === $("sort").value).kind) && $("sort").value !== "age");
$("filter").onsubmit = e => e.preventDefault();
$("more").firstChild.onclick = () => { view.limit += 500; drawList(); };
drawHeads();
