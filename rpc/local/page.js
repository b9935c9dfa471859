/* While the page is visible, it requests the live containers and the new events every two seconds. Ended containers don't change. The page
 * requests them only when another container has ended, and from time to time, because nmd removes old ones. */
const PERIOD = 2000, WHOLE_EVERY = 30000, WHOLE_AT_MOST_EVERY = 4000, EVENTS_KEPT = 2000;
const past = { events: [], since: 0, whole_at: -Infinity, history: null, history_at: -Infinity, span: 0 };

/* Requests the history. A long history is requested less often, because its steps are longer. */
async function takeHistory() {
  const wait = past.history && past.span === range.span && range.span > 600e6 ? Math.min(past.history.step_usec / 1000, 30000) : 0;
  if (performance.now() - past.history_at < wait) return past.history;
  past.span = range.span;
  past.history_at = performance.now();
  return past.history = await json("/v1/history" + (range.span > 600e6 ? "?span_usec=" + range.span : ""));
}

async function takeContainers(now) {
  const since = performance.now() - past.whole_at;
  let list = since > WHOLE_EVERY ? null : await all("/v1/containers?");
  const ids = list && new Set(list.map(c => c.id));
  const whole = !list || (since > WHOLE_AT_MOST_EVERY && [...known.values()].some(c => !c.finished_usec && !ids.has(c.id)));
  if (whole) {
    past.whole_at = performance.now();
    list = await all("/v1/containers?all=true&");
  }
  keepContainers(list, whole, now);
}

/* Requests the decisions about all containers. Only administrators get them. The decisions about one container are in its details. */
async function takeDecisions() {
  const answer = past.forbidden ? null : await fetch("/v1/decisions?limit=12");
  past.forbidden = !answer || answer.status === 403;
  return answer && answer.ok ? answer.json() : null;
}

/* Event numbers continue after a restart of nmd. If nmd has lost its events, the numbers start again, so the page starts again too. */
async function takeEvents(started) {
  if (past.since !== started) past.events = [];
  past.since = started;
  const last = past.events.length ? past.events[past.events.length - 1].number : 0;
  const news = await lines("/v1/events?after=" + last);
  past.events = [...past.events, ...news.filter(e => e.number)].slice(-EVENTS_KEPT); // a line without a number reports lost events
}

async function refresh() {
  try {
    const [status, history, decisions, ended, latest] = await Promise.all([json("/v1/status"), takeHistory(), takeDecisions(),
      json("/v1/applications"), range.span > 600e6 ? json("/v1/history?span_usec=1") : null]);
    // Use the node's clock, because the clock of the browser's host may be wrong by minutes.
    node = status.node;
    const last = (range.span > 600e6 ? latest : history).points.at(-1);
    const now = last ? last.time_usec + node.sample.age_usec : Date.now() * 1000;
    capacity = { memory: node.capacity.memory_bytes, cpu: node.capacity.cpu_millicores };
    await Promise.all([takeContainers(now), takeEvents(node.started_usec)]);
    const containers = [...known.values()];
    drawHead(status);
    drawNow(node, status.upstream);
    for (const what of ["memory", "cpu"]) charts[what](history.points, now, thresholds(node, what));
    charts.pressure(history.points, now);
    drawLanes(containers, past.events, now);
    drawApps(containers, ended.applications, now);
    drawMasters(status.upstream && status.upstream.masters);
    drawLending(status.upstream && status.upstream.masters);
    drawQueue(containers, status.queue);
    drawDecisions(decisions && decisions.decisions);
    if (detail.id !== null) refreshDetail(known.get(detail.id));
    setText($("error"), "");
    document.body.dataset.ready = "yes";
  } catch (e) {
    setText($("error"), "nmd doesn't answer: " + e.message);
  }
}

/* Refreshes the page. Only one refresh runs at a time, and the next one starts PERIOD after its end. A hidden page isn't refreshed. */
let due = 0, busy = false, again = false;
async function turn() {
  clearTimeout(due);
  again = busy;
  if (busy) return;
  busy = true;
  do {
    again = false;
    if (!document.hidden) await refresh();
  } while (again);
  busy = false;
  due = setTimeout(turn, PERIOD);
}
document.onvisibilitychange = () => { if (!document.hidden) turn(); };
for (const b of document.querySelectorAll(".range button")) {
  const mark = () => { for (const other of document.querySelectorAll(".range button")) other.setAttribute("aria-pressed", String(+other.dataset.minutes * 60e6 === range.span)); };
  b.onclick = () => {
    range.span = +b.dataset.minutes * 60e6;
    mark();
    turn();
  };
  mark();
}
for (const table of document.querySelectorAll("table")) tableRoles(table);
turn();
