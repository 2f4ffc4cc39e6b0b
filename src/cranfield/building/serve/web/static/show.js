// Shows documents. All text goes into the page as text, never as markup.
"use strict";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const $ = (id) => document.getElementById(id);

// A pattern that finds the words of the topic: at the start of a word, or anywhere in scripts without blanks.
function wordPattern(words) {
  if (!words.length) return null;
  const unspaced = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/;
  const parts = words.map((word) => {
    const safe = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return unspaced.test(word) ? safe : `(?<![\\p{L}\\p{N}])${safe}[\\p{L}]{0,3}(?![\\p{L}\\p{N}])`;
  });
  return new RegExp(parts.join("|"), "giu");
}

// Text with the words of the topic marked.
function marked(text, words) {
  const out = document.createDocumentFragment();
  const pattern = wordPattern(words);
  let last = 0;
  for (const match of pattern ? text.matchAll(pattern) : []) {
    if (!match[0].length) continue;
    out.append(text.slice(last, match.index), make("mark", {}, match[0]));
    last = match.index + match[0].length;
  }
  out.append(text.slice(last));
  return out;
}

function documentParts(item, words, heading = "h1") {
  const parts = [];
  if (item.rank) parts.push(make("p", { class: "docid" }, `${item.rank}`));
  if (item.title) parts.push(make(heading, { dir: "auto" }, marked(item.title, words)));
  const id = make("p", { class: "docid" }, item.doc || "");
  if (item.link) id.append(" · ", make("a", { href: item.link, target: "_blank", rel: "noopener noreferrer" }, "open the original"));
  if (item.doc || item.link) parts.push(id);
  if (item.image) parts.push(make("img", { src: item.image, alt: item.title || item.text || `image ${item.doc}` }));
  if (item.kind === "missing" && !item.link) parts.push(make("p", { class: "problem" }, "The collection has no text for this document."));
  if (item.kind === "missing" && item.link) parts.push(make("iframe", { src: item.link, sandbox: "", title: `document ${item.doc}`, referrerpolicy: "no-referrer" }));
  if (item.text) parts.push(make("div", { class: "text", dir: "auto" }, marked(item.text, words)));
  if (item.page) {
    const frame = make("iframe", { sandbox: "", title: `document ${item.doc} as a page`, hidden: true });
    const button = make("button", { type: "button", onclick: () => {
      if (!frame.src) frame.src = item.page;
      frame.hidden = !frame.hidden;
      button.textContent = frame.hidden ? "Show as a page" : "Hide the page";
    } }, "Show as a page");
    parts.push(make("p", {}, button), frame);
  }
  return parts;
}

function sideParts(item, words) {
  const names = ["Left", "Right"];
  return [make("div", { class: "sides" }, ...item.sides.map((side, at) => make(
    "section", { class: side.documents.length > 1 ? "side list" : "side", "aria-label": names[at] },
    make("h2", {}, names[at]),
    ...side.documents.map((one) => make("article", {}, ...documentParts(one, words, "h3"))))))];
}

function showTopic(topic) {
  $("topic-id").textContent = topic.id;
  $("topic-title").textContent = topic.title || topic.id;
  $("topic-description").textContent = topic.description;
  $("topic-narrative").textContent = topic.narrative;
  if ($("topics")) $("topics").value = topic.id;
}
