/* The same figures as nmctl status has, in the same words: CPU is used in cores and asked for in vcores. */
function sizes(node, upstream, asked, show) {
  return !upstream || upstream[asked] == null ? "" : ` (the cluster counts on ${show(upstream[asked])}, configured ${show(node.configured[asked])})`;
}
function drawNow(node, upstream) {
  const kinds = [["Memory", "memory", "memory_bytes", "memory_bytes", size, size],
    ["CPU", "cpu", "cpu_millicores", "vcores", n => cores(n) + " cores", n => +n.toFixed(2) + " vcores"]];
  fill($("now"), kinds.map(([name, what, used, asked, show, showAsked]) => [name,
    show(node.used_by.guaranteed[used]), show(node.used_by.opportunistic[used]), show(node.reserved[used]), show(node.used_by.others[used]),
    `${show(node.used_or_reserved[used])} (${percent(node.utilization[what])})`, showAsked(node.allocated.guaranteed[asked] + node.allocated.opportunistic[asked]),
    showAsked(node.capacity[asked]) + sizes(node, upstream, asked, showAsked)]));
  $("over").hidden = !node.preemption_hold_text;
  say($("over"), node.preemption_hold_text || "");
  $("limits").hidden = node.notes.length === 0;
  $("limits").querySelector("ul").replaceChildren(...node.notes.map(text => make("li", { textContent: text })));
}

/* Who holds the node, by application: its live containers together. Those that belong to none are in the list alone. */
function drawApps(containers) {
  const apps = new Map();
  for (const c of containers) {
    if (!c.app || c.finished_usec) continue;
    const a = apps.get(c.app) || { running: 0, paused: 0, queued: 0, preparing: 0, used: 0, asked: 0, vcores: 0 };
    const kind = { NEW: "preparing", LOCALIZING: "preparing", QUEUED: "queued", PAUSED: "paused", PAUSING: "paused" }[c.state_text] || "running";
    a[kind]++;
    a.used += c.memory_used_bytes;
    a.asked += c.memory_bytes;
    a.vcores += c.vcores;
    apps.set(c.app, a);
  }
  const list = [...apps].sort((x, y) => y[1].used - x[1].used || y[1].asked - x[1].asked || (x[0] < y[0] ? -1 : 1));
  $("apps").hidden = list.length === 0;
  fill($("apps").querySelector("table"), list.map(([name, a]) => [name, a.running, a.paused, a.queued, a.preparing, size(a.used), size(a.asked), +a.vcores.toFixed(3)]));
}

/* What this node passes on for application masters, and the opportunistic containers that it places by itself. */
function drawMasters(masters) {
  $("masters").hidden = !masters;
  if (!masters) return;
  const placed = p => [p.node_local, p.rack_local, p.anywhere];
  $("masters").querySelector("p").textContent = `${masters.attempts} by way of ${masters.address} · ${masters.outstanding} opportunistic ` +
    `containers wait for a place, ${placed(masters.placed).reduce((sum, n) => sum + n)} were placed since nmd's start`;
  fill($("masters").querySelector("table"), masters.pipelines.map(p => [p.attempt_id, p.state, p.outstanding, p.nodes, ...placed(p.placed)]));
}

function drawQueue(containers, queue) {
  const waiting = containers.filter(c => c.queue_position).sort((a, b) => a.queue_position - b.queue_position), shown = waiting.slice(0, 50);
  const head = make("p", { className: "soft", textContent: `${queue.length} of at most ${queue.max_length} opportunistic containers are queued.` });
  const list = make("ol", {}, ...shown.map(c => make("li", {
    textContent: `${c.name || c.id}: ${size(c.memory_bytes)}, ${c.vcores} vcores` + (c.hold ? ` — ${c.hold_text || c.hold}` : "") })));
  $("queue").replaceChildren(head, list);
  if (waiting.length > shown.length) $("queue").append(make("p", { className: "none", textContent: `And ${waiting.length - shown.length} behind them.` }));
}

/* A decision that the reader has opened stays open while the list moves on beneath it. */
function drawDecisions(decisions) {
  $("decisions").parentElement.hidden = !decisions;
  if (!decisions) return;
  const told = JSON.stringify(decisions.map(d => [d.number, d.outcome, d.count, d.explanation]));
  if ($("decisions").dataset.told === told) return;
  $("decisions").dataset.told = told;
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
  say($("state"), healthy ? node.state : "unhealthy: " + node.health_reason);
  say($("counts"), `${c.guaranteed_running} guaranteed and ${c.opportunistic_running} opportunistic run, ${c.paused} paused, ${c.queued} queued · ` +
    `since the start: ${p.paused} paused, ${p.resumed} resumed, ${p.killed} killed`);
  say($("where"), host);
  document.title = "nmd on " + host;
}
