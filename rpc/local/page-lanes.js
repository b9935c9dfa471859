/* Returns the pieces of a lane, from each change of state or type to the next change. If the first events of a container are no longer
 * kept, the first piece begins with the container. States have the texts that nmd sends for people, as in lists. */
function pieces(container, changes, now) {
  const states = changes.filter(e => e.kind === "state"), typed = changes.find(e => e.execution_type);
  let state = states.length ? states[0].from_text : container.state_text, type = typed ? typed.execution_type : container.execution_type;
  // The event of a promotion or demotion has the new type. If it is the first known event, the container had the other type before.
  if (typed && typed.decision_kind === "promote") type = "OPPORTUNISTIC";
  if (typed && typed.decision_kind === "demote") type = "GUARANTEED";
  const list = [{ state, type, at: container.submitted_usec }];
  for (const e of changes) {
    state = e.kind === "state" ? e.to_text : state;
    type = e.execution_type || type;
    const last = list[list.length - 1];
    if (e.kind === "state" || type !== last.type) list.push({ state, type, at: e.time_usec, ended: e.to === "COMPLETED" });
  }
  const end = container.finished_usec || now;
  return list.map((p, i) => ({ ...p, from: p.at, to: i + 1 < list.length ? list[i + 1].at : end }))
    .filter(p => !p.ended && p.to > now - range.span && p.to >= p.from);
}

function lane(c, changes, now) {
  const track = make("div", { className: "track" }), titles = [];
  for (const p of pieces(c, changes, now)) {
    const left = Math.max(0, 1 - (now - p.from) / range.span), right = 1 - (now - p.to) / range.span;
    const piece = make("i", { title: `${p.state.toLowerCase()}, ${p.type.toLowerCase()}, for ${((p.to - p.from) / 1e6).toFixed(1)} s` });
    piece.style.left = 100 * left + "%";
    piece.style.width = `max(1px, ${100 * (right - left)}%)`;
    piece.dataset.state = p.state;
    piece.dataset.type = p.type;
    track.append(piece);
    titles.push(piece.title);
  }
  // The lane doesn't show the state after the end. A mark shows that the container didn't end by itself.
  if (c.finished_usec && !["exited", "signaled"].includes(c.exit_reason)) {
    const mark = make("i");
    mark.style.cssText = `left:max(0px,${100 * (1 - (now - c.finished_usec) / range.span)}% - 3px);width:3px;background:var(--kill)`;
    track.append(mark);
  }
  track.setAttribute("role", "img");
  track.setAttribute("aria-label", titles.join("; "));
  const name = make("button", { type: "button", textContent: (c.name || c.id) + (c.finished_usec ? `: ${c.state_text}` : "") });
  name.onclick = () => openDetail(c.id);
  return make("div", { className: "lane", title: c.id + ": " + c.state_text + (c.progress ? " " + c.progress : "") }, name, track);
}

function drawLanes(containers, events, now) {
  const changes = new Map(), held = document.activeElement && document.activeElement.closest(".lane");
  const focused = held ? held.dataset.id : null;
  for (const e of events)
    if (e.container_id) changes.set(e.container_id, [...(changes.get(e.container_id) || []), e]);
  // First live containers in order of arrival, then ended ones, the latest first. The last containers may not be drawn.
  const all = containers.filter(c => !c.finished_usec || c.finished_usec > now - range.span)
    .sort((a, b) => (!!a.finished_usec - !!b.finished_usec) || (a.finished_usec ? b.finished_usec - a.finished_usec : a.submitted_usec - b.submitted_usec));
  const shown = all.slice(0, 60);
  $("lanes").replaceChildren(...shown.map(c => {
    const e = lane(c, changes.get(c.id) || [], now);
    e.dataset.id = c.id;
    return e;
  }));
  if (all.length > shown.length)
    $("lanes").append(make("p", { className: "none", textContent: `And ${all.length - shown.length} more: the list above has them.` }));
  if (shown.length === 0) $("lanes").append(make("p", { className: "none", textContent: "No container in this time." }));
  const [from, middle] = $("axis").children;
  setText(from, duration(range.span) + " ago");
  setText(middle, duration(range.span / 2) + " ago");
  $("axis").hidden = shown.length === 0;
  if (focused) for (const e of $("lanes").querySelectorAll(".lane")) if (e.dataset.id === focused) e.querySelector("button").focus({ preventScroll: true });
}
