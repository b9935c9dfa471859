/* Every two seconds, while somebody looks: what lives, and what has happened since the last time. What has ended doesn't change any
 * more; it is asked for when one more has, and now and then, for those that are forgotten. */
const PERIOD = 2000, WHOLE_EVERY = 30000, WHOLE_AT_MOST_EVERY = 4000, EVENTS_KEPT = 2000;
const past = { events: [], since: 0, whole_at: -Infinity, live: new Set() };

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

/* Numbers go on over restarts of nmd. If its memory of them is gone, they begin anew, and so does the page. */
async function takeEvents(started) {
  if (past.since !== started) past.events = [];
  past.since = started;
  const last = past.events.length ? past.events[past.events.length - 1].number : 0;
  const news = await lines("/v1/events?after=" + last);
  past.events = [...past.events, ...news.filter(e => e.number)].slice(-EVENTS_KEPT); // another tells how many are lost
}

async function refresh() {
  try {
    // Those about all containers are for administrators; each container's own are with it.
    const [status, history, decisions] = await Promise.all([json("/v1/status"), json("/v1/history"), json("/v1/decisions?limit=12").catch(() => null)]);
    // The node's clock, not the reader's, which may be off by minutes.
    const node = status.node, last = history.points[history.points.length - 1];
    const now = last ? last.time_usec + node.sample.age_usec : Date.now() * 1000;
    capacity = { memory: node.capacity.memory_bytes, cpu: node.capacity.cpu_millicores };
    await Promise.all([takeContainers(now), takeEvents(node.started_usec)]);
    const containers = [...known.values()];
    drawHead(status);
    drawNow(node, status.upstream);
    for (const what of ["memory", "cpu"]) charts[what](history.points, now, thresholds(node, what));
    charts.pressure(history.points, now);
    drawLanes(containers, past.events, now);
    drawApps(containers);
    drawMasters(status.upstream && status.upstream.masters);
    drawQueue(containers, status.queue);
    drawDecisions(decisions && decisions.decisions);
    if (detail.id !== null) refreshDetail(known.get(detail.id));
    say($("error"), "");
    document.body.dataset.ready = "yes";
  } catch (e) {
    say($("error"), "nmd doesn't answer: " + e.message);
  }
}

/* The next one begins when this one is done, however long nmd takes; nobody is asked while nobody looks. */
let due = 0;
async function turn() {
  clearTimeout(due);
  if (!document.hidden) await refresh();
  due = setTimeout(turn, PERIOD);
}
document.onvisibilitychange = () => { if (!document.hidden) turn(); };
for (const table of document.querySelectorAll("table")) tableRoles(table);
turn();
