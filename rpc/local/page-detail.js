/* One container: its state, the decisions about it in nmd's words, and the end of its output. Only clients of the socket who may see
 * the container get the output. */
const LOG_LINES = 200, LOG_SHOWN = 32768, LOG_READ = 1 << 20; // SHOWN: kept characters; READ: maximum number of bytes to read
const detail = { id: null, stream: "stdout", decisions: "", busy: false };

/* Keeps only the end of the output, however long the lines are. */
async function readTail(path) {
  const stop = new AbortController(), reader = (await get(path, { signal: stop.signal })).body.getReader(), decoder = new TextDecoder();
  let text = "", total = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return (total > LOG_SHOWN && text.length >= LOG_SHOWN ? "[…]" : "") + text;
    total += value.length;
    text = (text + decoder.decode(value, { stream: true })).slice(-LOG_SHOWN);
    if (total > LOG_READ) {
      stop.abort();
      return text + "\n[The page can't show all of the output; nmctl logs prints all of it.]";
    }
  }
}

function nowText(c) {
  const type = c.execution_type.toLowerCase();
  if (c.finished_usec) return `${c.state_text}. It was ${type} and ended at ${day(c.finished_usec)}.${c.message ? " " + c.message : ""}`;
  const why = c.hold_text ? `${c.queue_position ? `, at position ${c.queue_position}` : ""}, because of this: ${queueReasonText(c)}` : "";
  return `${c.state_text}${why}. It is ${type}.${c.progress ? ` ${c.progress}` : ""}${c.message ? " " + c.message : ""}`;
}

function facts(c) {
  const peak = c.memory_peak_bytes ? `, at most ${size(c.memory_peak_bytes)}` : "";
  return [["Id", c.id], ["Application", c.app], ["User", c.user], ["Command", (c.command_head || []).join(" ")],
    ["Memory", `${c.finished_usec ? "" : size(c.memory_used_bytes) + " used of "}${size(c.memory_bytes)} asked for${peak}`],
    ["CPU", `${c.finished_usec ? "" : withNoun(cores(c.cpu_used_millicores), "core") + " used, "}${withNoun(cores(c.cpu_request_millicores), "core")} (${withNoun(c.vcores, "vcore")}) asked for, ` +
      `${(c.cpu_time_usec / 1e6).toFixed(1)} s used in total`],
    ["Submitted", day(c.submitted_usec)], ["Started", c.started_usec ? day(c.started_usec) : "not yet"],
    ["Paused until at most", c.pause_deadline_usec ? day(c.pause_deadline_usec) : null], ["Exit", exitText(c)], ["Process", c.pid]]
    .filter(([, text]) => text || text === 0);
}

function drawDetail(c) {
  setText($("detail-name"), c.name || c.id);
  setText($("detail-now"), nowText(c));
  const list = facts(c), texts = JSON.stringify(list);
  if ($("detail-facts").dataset.texts !== texts)
    $("detail-facts").replaceChildren(...list.flatMap(([name, text]) => [make("dt", { textContent: name }), make("dd", { textContent: text })]));
  $("detail-facts").dataset.texts = texts;
  $("detail-output").hidden = !("user" in c);
  markStream();
}
function markStream() {
  for (const b of $("detail-output").querySelectorAll("button")) b.setAttribute("aria-pressed", String(b.dataset.stream === detail.stream));
}

/* Shows the newest decision first and opened, because the reader usually wants to read this one. */
function drawItsDecisions(list) {
  const content = JSON.stringify(list.map(d => [d.number, d.summary, d.explanation]));
  if (detail.decisions === content) return;
  detail.decisions = content;
  $("detail-decisions").replaceChildren(...list.slice().reverse().map((d, i) => make("li", {}, make("details", { open: i === 0 },
    make("summary", {}, make("time", { textContent: day(d.time_usec) }), d.summary), make("pre", { textContent: (d.explanation || d.summary).trim() })))));
  if (list.length === 0) $("detail-decisions").replaceChildren(make("li", { className: "none", textContent: "No decisions are kept." }));
}

async function drawTail(id) {
  const pre = $("detail-log"), follows = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 20;
  const stream = detail.stream;
  const text = await readTail(`/v1/containers/${id}/logs?stream=${stream}&tail=${LOG_LINES}`).catch(e => `[${e.message}]`);
  if (detail.id !== id || detail.stream !== stream) return; // the user has opened another container or stream meanwhile
  setText(pre, text || "[no output]");
  if (follows) pre.scrollTop = pre.scrollHeight;
}

async function refreshDetail(c) {
  if (!c || detail.busy) return;
  detail.busy = true;
  drawDetail(c);
  try {
    const answer = await json(`/v1/containers/${c.id}/decisions?limit=20`).catch(() => ({ decisions: [] }));
    if (detail.id === c.id) drawItsDecisions(answer.decisions);
    if (detail.id === c.id && "user" in c) await drawTail(c.id);
  } finally {
    detail.busy = false;
  }
  if (detail.id !== null && detail.id !== c.id) refreshDetail(known.get(detail.id));
}

function openDetail(id) {
  detail.id = id;
  detail.decisions = "";
  $("detail-decisions").replaceChildren();
  $("detail-log").textContent = "";
  if (!$("detail").open) $("detail").showModal();
  refreshDetail(known.get(id));
}

$("detail-close").onclick = () => $("detail").close();
$("detail").onclose = () => {
  const back = detail.id;
  detail.id = null;
  if (rows.has(back)) rows.get(back).name.focus({ preventScroll: true });
};
$("detail").onclick = e => { if (e.target === $("detail")) $("detail").close(); };
for (const b of $("detail-output").querySelectorAll("button"))
  b.onclick = () => {
    detail.stream = b.dataset.stream;
    markStream();
    $("detail-log").textContent = "";
    refreshDetail(known.get(detail.id));
  };
