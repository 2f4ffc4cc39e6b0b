// The page of an assessor: one key judges, saves and goes on. The next documents are already here.
"use strict";

const state = JSON.parse($("state").textContent);
const judged = new Set(); // offers that were judged here and that the server may still list as open
let queue = [];
let item = null;
let spans = null;
let began = 0;
let grades = {};
let row = 0;
let undoing = false;
let keysOn = localStorage.getItem("cranfield/keys") !== "off";
const BACK = []; // offers judged in this window, for the key b
let looking = null; // the place in BACK of the document in view; null: a new document

document.body.classList.add(`mode-${state.mode}`);

const outbox = new Outbox(state, {
  have: () => [...queue, item].filter(Boolean).map((one) => one.offer),
  connected: () => { $("connection").textContent = ""; },
  changed: () => drawUnsent(),
  lost: (count, message) => {
    $("connection").textContent = `${message}: ${count} judgment${count === 1 ? "" : "s"} kept here, trying again`;
  },
  confirmed: (answer) => { merge(answer); if (!item) next(); },
  refused: (message, entry) => {
    judged.delete(entry.offer);
    problem(`A judgment was not accepted: ${message}. It is listed below.`);
    reopen(entry.offer);
  },
});

function merge(answer) {
  const known = new Map([...queue, item].filter(Boolean).map((one) => [one.offer, one]));
  for (const one of answer.items) if (!known.has(one.offer)) known.set(one.offer, one);
  const open = answer.open.filter((offer) => !judged.has(offer) && (!item || offer !== item.offer || looking !== null));
  queue = open.map((offer) => known.get(offer)).filter(Boolean);
  const { mine, done, total } = answer.progress;
  $("bar").max = Math.max(total, 1);
  $("bar").value = done;
  $("progress-text").textContent = `${done.toLocaleString()} of ${total.toLocaleString()} · ${mine.toLocaleString()} by you`;
}

function problem(message) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
}

function notice(message) {
  $("notice").textContent = message;
  $("notice").hidden = !message;
}

// ---- what is in view

function next() {
  looking = null;
  view(queue.shift() || null);
}

// A document can be judged as soon as it was in view for this time, in milliseconds. The second press of a double click
// comes within it, and nobody has read anything by then.
const MOMENT = 250;

function settled() {
  return performance.now() - began >= MOMENT;
}

function settle() {
  began = performance.now();
  $("answers").setAttribute("aria-busy", "true");
  const mine = began;
  setTimeout(() => { if (began === mine) $("answers").removeAttribute("aria-busy"); }, MOMENT + 1);
}

function view(one) {
  item = one;
  spans = null;
  grades = {};
  row = 0;
  $("document").hidden = $("answers").hidden = !item;
  $("finished").hidden = Boolean(item);
  $("main").scrollTop = 0;
  if (!item) {
    const waiting = outbox.waiting.length > 0;
    $("finished-title").textContent = waiting ? "Waiting for the server" : "Nothing is left for you to judge";
    $("finished-text").hidden = waiting;
    return;
  }
  showTopic(item.topic);
  const given = item.given || {};
  $("reason").value = given.reason || "";
  if (given.state === "graded") grades = { ...(given.grades || (item.rows.length === 1 ? { [item.rows[0].id]: given.grade } : {})) };
  const parts = item.sides ? sideParts(item, item.topic.words) : documentParts(item, item.topic.words);
  $("document").replaceChildren(...parts);
  document.title = `${item.doc || item.topic.id} – ${item.topic.title}`;
  drawRows();
  settle();
  $("main").focus({ preventScroll: true });
}

function drawRows() {
  const rows = $("rows");
  rows.className = item.rows.length === 1 || state.mode === "preferences" ? "single" : "several";
  if (state.mode === "preferences") return rows.replaceChildren(preferenceRow());
  if (state.mode === "nuggets") return drawNuggets(rows);
  rows.replaceChildren(...item.rows.map((one, at) => make(
    "div", { class: at === row && item.rows.length > 1 ? "row now" : "row", role: "group", "aria-label": one.label },
    item.rows.length > 1 ? make("span", { class: "row-label", dir: "auto" }, one.label, one.help ? make("span", { class: "hint" }, ` ${one.help}`) : "") : null,
    ...state.grades.map((grade, key) => make("button", {
      type: "button", class: "grade", "aria-pressed": String(grades[one.id] === grade.value),
      onclick: () => { row = at; give(key); },
    }, make("kbd", {}, String(key)), ` ${grade.label || grade.value}`)))));
  if (item.rows.length > 1) rows.append(make("button", { type: "button", class: "primary", onclick: save }, make("kbd", {}, "Enter"), " Save"));
  const current = rows.querySelector(".row.now");
  if (current) current.scrollIntoView({ block: "nearest" });
}

function preferenceRow() {
  const choices = [["1", "left", "Left is better"], ["0", "tie", "Equally good"], ["2", "right", "Right is better"]];
  return make("div", { class: "row", role: "group", "aria-label": "Which is better?" }, ...choices.map(([key, side, label]) => make(
    "button", { type: "button", class: "grade", "aria-pressed": String((item.given || {}).preferred === side), onclick: () => send({ preferred: side }) },
    make("kbd", {}, key), ` ${label}`)));
}

function drawNuggets(rows) {
  if (!spans) {
    const box = $("document").querySelector(".text") || $("document").appendChild(make("div", { class: "text", dir: "auto" }));
    spans = new Spans(item, box, () => spans && drawNuggets(rows));
  }
  const buttons = item.nuggets.map((nugget, at) => {
    const count = spans.spans.filter((span) => span.nugget === nugget.id).length;
    return make("li", {}, make("button", { type: "button", class: "grade", "aria-pressed": String(count > 0), onclick: () => attach(at) },
      at < 9 ? make("kbd", {}, String(at + 1)) : "", ` ${nugget.text || nugget.id} `, make("span", { class: "count" }, count ? `(${count})` : "")));
  });
  const list = spans.spans.map((span, at) => make("li", {}, `${spans.name(span.nugget)}: “${spans.text.slice(spans.units[span.start], spans.units[span.end])}” `,
    make("button", { type: "button", "aria-label": "Remove this passage", onclick: () => spans.remove(at) }, "×")));
  rows.replaceChildren(
    make("ul", { class: "nuggets", "aria-label": "Nuggets" }, ...buttons),
    make("p", { class: "soft" }, "Mark a passage", make("span", { class: "keys-only" }, ", or choose a sentence with ", make("kbd", {}, "j"), " and ", make("kbd", {}, "k")), ", then choose a nugget. "),
    make("ul", { class: "spans", "aria-label": "Passages" }, ...list),
    make("button", { type: "button", class: "primary", onclick: save }, make("kbd", {}, "Enter"), " Save and go on"), " ",
    make("button", { type: "button", onclick: newNugget }, make("kbd", {}, "n"), " New nugget"));
}

function attach(at) {
  if (!item.nuggets[at]) return;
  problem(spans.attach(item.nuggets[at].id) ? "" : "Mark a passage first, or choose a sentence with j and k.");
}

async function newNugget() {
  const text = window.prompt("The new nugget, in a few words:");
  if (!text || !text.trim()) return;
  try {
    const answer = await outbox.post("/api/nugget", { offer: item.offer, text });
    item.nuggets = spans.nuggets = answer.nuggets;
    drawNuggets($("rows"));
  } catch (error) {
    problem(error.message);
  }
}

// ---- judging

function give(key) {
  if (!item || key >= state.grades.length || !item.rows.length || !settled()) return;
  const missing = item.rows.some((one) => !(one.id in grades));
  grades[item.rows[row].id] = state.grades[key].value;
  const complete = item.rows.every((one) => one.id in grades);
  if (item.rows.length === 1 || (complete && missing)) return save();
  const after = item.rows.findIndex((one, at) => at > row && !(one.id in grades));
  row = after >= 0 ? after : Math.min(row + 1, item.rows.length - 1);
  drawRows();
}

function save() {
  if (state.mode === "nuggets") return send({ spans: spans.spans });
  if (!item.rows.every((one) => one.id in grades)) return problem("Give every line a grade first.");
  if (state.mode === "graded") return send({ grade: grades[""] });
  return send({ grades });
}

function send(answer, said = "graded") {
  if (!item || !settled()) return;
  const entry = {
    about: [item.topic.id, item.doc || "pair"].join(" · "),
    request: newRequest(), offer: item.offer, state: said, reason: $("reason").value,
    milliseconds: Math.round(Math.min(performance.now() - began, 2147483647)), ...answer,
  };
  judged.add(item.offer);
  problem("");
  notice("");
  if (!BACK.includes(item.offer)) BACK.push(item.offer);
  next();
  outbox.add(entry);
}

async function undo(times = 1) {
  if (undoing) return;
  undoing = true;
  try {
    problem("");
    await outbox.empty();
    const kept = item && looking === null ? item : null;
    if (kept) { queue.unshift(kept); item = null; }
    const answer = await outbox.post("/api/undo", { request: newRequest(), times, have: queue.map((one) => one.offer) });
    if (!answer.undone) { notice("There is nothing to undo."); if (kept) next(); return; }
    for (const one of answer.items) judged.delete(one.offer);
    merge(answer);
    if (answer.first) {
      judged.delete(answer.first);
      const first = queue.findIndex((one) => one.offer === answer.first);
      if (first > 0) queue.unshift(...queue.splice(first, 1));
    }
    next();
    const what = answer.undone === 1 ? `The judgment of ${answer.doc || "the pair"}` : `${answer.undone} judgments`;
    notice(answer.state === "none" ? `${what} taken back.` : `${what} taken back; ${answer.doc} has its earlier judgment again.`);
  } catch (error) {
    problem(error.message);
    if (!item) next();
  } finally {
    undoing = false;
  }
}

// What could not be sent: judgments that wait for the server, and those that it refused.
function drawUnsent() {
  const labels = new Map(state.grades.map((grade) => [grade.value, grade.label || String(grade.value)]));
  const said = (entry) => entry.state !== "graded" ? entry.state : "grade" in entry ? labels.get(entry.grade) || entry.grade : "judged";
  const line = (entry, why) => make("li", {},
    make("span", { class: "grow", dir: "auto" }, `${entry.about || ""} · ${said(entry)}${entry.reason ? ` · “${entry.reason}”` : ""}`, make("span", { class: "problem" }, ` ${why}`)),
    make("button", { type: "button", class: "danger", onclick: () => letGo(entry) }, "Let go of it"));
  const waiting = outbox.problem ? outbox.waiting : [];
  $("unsent-list").replaceChildren(...outbox.refused.map((entry) => line(entry, entry.problem)),
    ...waiting.map((entry, at) => line(entry, at ? "waits for the one before" : outbox.problem)));
  $("unsent").hidden = !outbox.refused.length && !waiting.length;
}

async function letGo(entry) {
  const waited = outbox.waiting.includes(entry);
  if (waited) judged.delete(entry.offer);
  await outbox.letGo(entry);
  if (waited && !outbox.waiting.length) fill();
}

async function reopen(offer) {
  try {
    await outbox.empty();
    const answer = await outbox.get(`/api/item?offer=${offer}`);
    if (item && looking === null && !judged.has(item.offer)) queue.unshift(item);
    looking = BACK.indexOf(offer);
    if (looking < 0) looking = BACK.push(offer) - 1;
    view(answer.item);
    const said = answer.item.given;
    notice(said ? "You judged this document before; a new judgment replaces the old one." : "");
  } catch (error) {
    problem(error.message);
  }
}

function back() {
  const at = looking === null ? BACK.length - 1 : looking - 1;
  if (at >= 0) return reopen(BACK[at]);
  return openHistory();
}

async function openHistory() {
  try {
    await outbox.empty();
    const { judgments } = await outbox.get("/api/history");
    const labels = new Map(state.grades.map((grade) => [grade.value, grade.label || String(grade.value)]));
    $("history-list").replaceChildren(...judgments.map((one) => make("li", {},
      make("button", { type: "button", class: "quiet grow", onclick: () => { $("history").close(); reopen(one.offer); } },
        `${one.topic} · ${one.doc || "pair"} · ${one.state === "graded" ? labels.get(one.grade) || one.grade : one.state}`),
      make("button", { type: "button", class: "danger", onclick: () => { $("history").close(); undo(one.times); } }, "Undo to here"))));
    if (!judgments.length) $("history-list").replaceChildren(make("li", {}, "Nothing yet."));
    $("history").showModal();
  } catch (error) {
    problem(error.message);
  }
}

// ---- search

async function search(event) {
  event.preventDefault();
  const words = $("search-words").value;
  try {
    const { results } = await outbox.get(`/api/search?q=${encodeURIComponent(words)}`);
    $("search-count").textContent = results.length === 20 ? "The best 20 documents" : `${results.length} document${results.length === 1 ? "" : "s"}`;
    $("search-results").replaceChildren(...results.map((one) => make("li", {},
      make("button", { type: "button", class: "quiet grow", dir: "auto", onclick: () => judgeFound(one.doc, words) }, make("strong", {}, one.title || one.doc), make("span", {}, ` ${one.snippet}`)))));
  } catch (error) {
    $("search-count").textContent = error.message;
  }
}

async function judgeFound(doc, query) {
  $("search").close();
  try {
    const topic = item ? item.topic.id : $("topics") ? $("topics").value : $("topic-id").textContent;
    const answer = await outbox.post("/api/find", { topic, doc, query });
    if (judged.has(answer.item.offer)) return reopen(answer.item.offer);
    if (item && looking === null && item.offer !== answer.item.offer) queue.unshift(item);
    queue = queue.filter((one) => one.offer !== answer.item.offer);
    looking = null;
    view(answer.item);
  } catch (error) {
    problem(error.message);
  }
}

async function fill(topic = null) {
  try {
    const answer = await outbox.post("/api/offers", { topic, have: outbox.events.have() });
    if (topic !== null) { queue = queue.filter((one) => answer.open.includes(one.offer)); item = null; }
    merge(answer);
    if (!item) next();
  } catch (error) {
    problem(error.message);
  }
}

// ---- keys and buttons

const KEYS = {
  c: ["Cannot judge", () => item && send({}, "cannot")], l: ["Later", () => item && send({}, "later")],
  u: ["Undo the last judgment", () => (!item || settled()) && undo()], b: ["Back to what you judged before", back],
  h: ["All that you judged", openHistory], r: ["Write a reason (Enter returns)", () => $("reason").focus()],
  g: ["Guidelines", () => { const box = document.querySelector(".guidelines"); if (box) { box.open = !box.open; box.scrollIntoView({ block: "nearest" }); } }],
  "/": ["Search the collection", () => { if (state.search) { $("search").showModal(); $("search-words").select(); } }],
  "?": ["This list", () => $("help").showModal()],
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches("input, textarea, select");
  if (typing) {
    if (event.target.id === "reason" && (event.key === "Enter" || event.key === "Escape")) { event.preventDefault(); $("main").focus({ preventScroll: true }); }
    return;
  }
  if (event.repeat) { // a key that is held down presses once
    if (event.key === "Enter" || (event.key === " " && event.target.closest("button"))) event.preventDefault();
    return;
  }
  if (event.key === "Enter" && !event.target.closest("button, a, summary") && item && (item.rows.length > 1 || state.mode === "nuggets")) { event.preventDefault(); return save(); }
  if (!keysOn) return;
  const act = action(event.key);
  if (act) { event.preventDefault(); act(); }
});

function action(key) {
  if (item && item.rows.length > 1 && (key === "ArrowDown" || key === "ArrowUp")) {
    return () => { row = Math.min(Math.max(row + (key === "ArrowDown" ? 1 : -1), 0), item.rows.length - 1); drawRows(); };
  }
  if (item && state.mode === "nuggets" && (key === "j" || key === "k")) return () => { $("spoken").textContent = spans.move(key === "j" ? 1 : -1); };
  if (item && state.mode === "nuggets" && key === "n") return newNugget;
  if (item && /^[0-9]$/.test(key)) {
    if (state.mode === "preferences") return { 0: () => send({ preferred: "tie" }), 1: () => send({ preferred: "left" }), 2: () => send({ preferred: "right" }) }[key];
    if (state.mode === "nuggets") return Number(key) ? () => attach(Number(key) - 1) : null;
    return Number(key) < state.grades.length ? () => give(Number(key)) : null;
  }
  return KEYS[key] ? KEYS[key][1] : null;
}

function listKeys() {
  const rows = state.mode === "preferences" ? [["1 0 2", "left, equally good, right"]]
    : state.mode === "nuggets" ? [["1–9", "attach the passage to a nugget"], ["j k", "next and previous sentence"], ["n", "new nugget"], ["Enter", "save and go on"]]
      : state.grades.map((grade, key) => [String(key), grade.label || String(grade.value)]);
  if (item && item.rows.length > 1) rows.push(["↑ ↓", "another line"], ["Enter", "save and go on"]);
  for (const [key, [label]] of Object.entries(KEYS)) rows.push([key, label]);
  $("key-list").replaceChildren(...rows.flatMap(([key, label]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, label)]));
}

for (const [id, key] of Object.entries({ cannot: "c", later: "l", undo: "u", back: "b", "undo-last": "u", "look-back": "h", "open-search": "/", "open-help": "?" })) {
  if ($(id)) $(id).addEventListener("click", () => KEYS[key][1]());
}
$("search-form").addEventListener("submit", search);
$("more").addEventListener("click", () => fill());
$("keys-on").checked = keysOn;
$("keys-on").addEventListener("change", () => { keysOn = $("keys-on").checked; localStorage.setItem("cranfield/keys", keysOn ? "on" : "off"); });
if ($("topics")) $("topics").addEventListener("change", () => fill($("topics").value));
setInterval(() => { if (!document.hidden && item) fill(); }, 240000); // keeps the leases of an open page
if (matchMedia("(max-width: 48rem)").matches) for (const box of document.querySelectorAll(".topic details")) box.open = false;

// A click into the page of a document would take the keys away; they come back to judging. Tab still leads into it.
let tabbing = false;
document.addEventListener("keydown", (event) => { tabbing = event.key === "Tab"; }, true);
document.addEventListener("pointermove", () => { tabbing = false; }, true);
window.addEventListener("blur", () => setTimeout(() => {
  if (!tabbing && document.activeElement && document.activeElement.tagName === "IFRAME") $("main").focus({ preventScroll: true });
}));

for (const entry of outbox.waiting) judged.add(entry.offer);
drawUnsent();
merge(state);
next();
listKeys();
outbox.flush();
