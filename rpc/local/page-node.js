/* The same figures as in nmctl status, in the same words: CPU use is in cores, CPU requests are in vcores. */
function sizes(node, upstream, asked, show) {
  return !upstream || upstream[asked] == null ? "" : ` (the cluster counts on ${show(upstream[asked])}, configured ${show(node.configured[asked])})`;
}
function drawNow(node, upstream) {
  const kinds = [["Memory", "memory", "memory_bytes", "memory_bytes", size, size],
    ["CPU", "cpu", "cpu_millicores", "vcores", n => withNoun(cores(n), "core"), n => withNoun(+n.toFixed(2), "vcore")]];
  fill($("now"), kinds.map(([name, what, used, asked, show, showAsked]) => [name,
    show(node.used_by.guaranteed[used]), show(node.used_by.opportunistic[used]), show(node.reserved[used]), show(node.used_by.others[used]),
    `${show(node.used_or_reserved[used])} (${percent(node.utilization[what])})`, showAsked(node.allocated.guaranteed[asked] + node.allocated.opportunistic[asked]),
    showAsked(node.capacity[asked]) + sizes(node, upstream, asked, showAsked)]));
  $("over").hidden = !node.preemption_hold_text;
  setText($("over"), node.preemption_hold_text || "");
  $("limits").hidden = node.notes.length === 0;
  $("limits").querySelector("ul").replaceChildren(...node.notes.map(text => make("li", { textContent: text })));
}

const COUNTED = [["succeeded", "succeeded"], ["failed", "failed"], ["killed", "killed"]];
function endedText(a, now) {
  if (!a.last) return "";
  const counts = COUNTED.filter(([key]) => a[key]).map(([key, word]) => `${a[key]} ${word}`).join(", ");
  return `${counts}; the last ${duration(now - a.last)} ago; ${(a.cpu_time / 1e6).toFixed(1)} s CPU, at most ${size(a.peak)} in one`;
}

/* The use of the node by application: the sum of its live containers, and the results of the containers that ended within a day.
 * Containers without an application are only in the list of containers. */
function drawApps(containers, ended, now) {
  const apps = new Map();
  const app = name => {
    if (!apps.has(name)) apps.set(name, { live: 0, running: 0, paused: 0, queued: 0, preparing: 0, used: 0, asked: 0, vcores: 0, last: 0, succeeded: 0, failed: 0, killed: 0, cpu_time: 0, peak: 0 });
    return apps.get(name);
  };
  for (const e of ended) { // users may have applications with the same name
    const a = app(e.app);
    for (const [key] of COUNTED) a[key] += e[key];
    a.last = Math.max(a.last, e.last_ended_usec);
    a.cpu_time += e.cpu_time_usec;
    a.peak = Math.max(a.peak, e.memory_peak_bytes);
  }
  for (const c of containers) {
    if (!c.app || c.finished_usec) continue;
    const a = app(c.app);
    a.live++;
    a[{ NEW: "preparing", LOCALIZING: "preparing", QUEUED: "queued", PAUSED: "paused", PAUSING: "paused" }[c.state_text] || "running"]++;
    a.used += c.memory_used_bytes;
    a.asked += c.memory_bytes;
    a.vcores += c.vcores;
  }
  const list = [...apps].sort(([m, x], [n, y]) => !y.live - !x.live ? !x.live - !y.live : y.used - x.used || y.asked - x.asked || y.last - x.last || (m < n ? -1 : 1));
  $("apps").hidden = list.length === 0;
  fill($("apps").querySelector("table"), list.slice(0, 300).map(([name, a]) =>
    [name, a.running, a.paused, a.queued, a.preparing, size(a.used), size(a.asked), +a.vcores.toFixed(3), endedText(a, now)]));
}

/* The requests of application masters that pass through this node, and the opportunistic containers that this node places itself. */
function drawMasters(masters) {
  $("masters").hidden = !masters;
  if (!masters) return;
  const placed = p => [p.node_local, p.rack_local, p.anywhere];
  const n = placed(masters.placed).reduce((sum, n) => sum + n);
  $("masters").querySelector("p").textContent = `${masters.attempts} through ${masters.address} · ${masters.outstanding} opportunistic ` +
    `${+masters.outstanding === 1 ? "container waits" : "containers wait"} for a node, ${n} ${n === 1 ? "was" : "were"} placed since nmd's start`;
  fill($("masters").querySelector("table"), masters.pipelines.map(p => [p.attempt_id, p.state, p.outstanding, p.nodes, ...placed(p.placed)]));
}

/* What is lent to the applications of these masters, or, with nmd.lending = observe, what would be lent. */
function drawLending(masters) {
  const lending = masters && masters.lending;
  $("lending").hidden = !lending;
  if (!lending) return;
  const r = lending.record, containers = n => withNoun(n, "container");
  $("lending").querySelector("p").textContent = lending.observes
    ? `Observes only: ${containers(lending.observed)} with ${size(lending.observed_memory_bytes)} would have been lent since nmd's start` +
      (r ? `. By this node's last day, at least ${(100 * r.exceeded / r.starts).toFixed(1)} % of containers with ${size(r.memory_bytes)} would have been killed within ${duration(r.within_usec)}.` : "")
    : `${containers(lending.lent)} with ${size(lending.lent_memory_bytes)} lent, ${lending.wanted} wanted · since nmd's start: ${lending.granted} lent, ` +
      `${lending.promoted} promoted, ${lending.preempted} preempted`;
  fill($("lending").querySelector("table"), masters.pipelines.filter(p => p.lending).map(({ attempt_id, lending: l }) => [attempt_id, l.rule, l.lent,
    size(l.lent_memory_bytes), l.queued, l.wanted, l.promoted, l.preempted, heldText(l)]));
}

/* Returns a line for each of the first three priorities with containers that are not lent, and a line with the number of further priorities. */
function heldText(l) {
  const left = k => k.wanted - k.asked - k.observed, held = l.keys.filter(k => left(k) > 0);
  const lines = held.slice(0, 3).map(k => `priority ${k.priority}: ${left(k)}, it ${k.reason_text}`);
  const more = held.length - lines.length + l.keys_total - l.keys.length;
  return lines.concat(more > 0 ? `and ${more} more ${more === 1 ? "priority" : "priorities"}` : []).join("\n");
}

function drawQueue(containers, queue) {
  const waiting = containers.filter(c => c.queue_position).sort((a, b) => a.queue_position - b.queue_position), shown = waiting.slice(0, 50);
  const head = make("p", { className: "soft", textContent: `${queue.length} of at most ${queue.max_length} opportunistic containers are queued.` });
  const list = make("ol", {}, ...shown.map(c => make("li", {
    textContent: `${c.name || c.id}: ${size(c.memory_bytes)}, ${withNoun(c.vcores, "vcore")}` + (c.hold ? ` — ${queueReasonText(c)}` : "") })));
  $("queue").replaceChildren(head, list);
  if (waiting.length > shown.length) $("queue").append(make("p", { className: "none", textContent: `And ${waiting.length - shown.length} behind them.` }));
}

/* A decision that the user has opened stays open when newer decisions are added to the list. */
function drawDecisions(decisions) {
  $("decisions").parentElement.hidden = !decisions;
  if (!decisions) return;
  const content = JSON.stringify(decisions.map(d => [d.number, d.outcome, d.count, d.explanation]));
  if ($("decisions").dataset.content === content) return;
  $("decisions").dataset.content = content;
  const open = new Set([...document.querySelectorAll("#decisions details[open]")].map(d => d.dataset.number));
  $("decisions").replaceChildren(...decisions.slice().reverse().map(d => {
    const details = make("details", { open: open.has(String(d.number)) },
      make("summary", {}, make("time", { textContent: clock(d.time_usec) }), d.summary),
      make("pre", { textContent: d.explanation }));
    details.dataset.number = d.number;
    return make("li", {}, details);
  }));
  if (decisions.length === 0) $("decisions").append(make("li", { className: "none", textContent: "None yet." }));
}

function drawHead(status) {
  const node = status.node, c = status.containers, p = status.preemptions;
  const healthy = node.healthy !== false, host = node.host || location.host;
  $("state").className = "badge " + (healthy ? node.state : "unhealthy");
  setText($("state"), healthy ? node.state : "unhealthy: " + node.health_reason);
  setText($("counts"), `${c.guaranteed_running} guaranteed and ${c.opportunistic_running} opportunistic run, ${c.paused} paused, ${c.queued} queued · ` +
    `since the start: ${p.paused} paused, ${p.resumed} resumed, ${p.killed} killed`);
  setText($("where"), host);
  document.title = "nmd on " + host;
}
