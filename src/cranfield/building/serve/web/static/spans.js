// Passages attached to nuggets. A passage is marked with the mouse, or sentence by sentence with the keys j and k.
// Offsets count characters (code points), as Python does; a browser counts code units.
"use strict";

class Spans {
  constructor(item, box, changed) {
    this.text = item.text;
    this.nuggets = item.nuggets;
    this.box = box;
    this.changed = changed;
    this.sentence = -1;
    this.spans = ((item.given || {}).spans || []).map((span) => ({ ...span }));
    this.units = [0]; // the code unit at which each character begins
    for (const character of this.text) this.units.push(this.units[this.units.length - 1] + character.length);
    this.sentences = [];
    for (const match of this.text.matchAll(/[^.!?。！？\n]+[.!?。！？]*[\s"')\]]*/gu)) {
      if (match[0].trim()) this.sentences.push([match.index, match.index + match[0].trimEnd().length]);
    }
    this.draw();
  }

  characters(unit) {
    let low = 0, high = this.units.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.units[middle] < unit) low = middle + 1; else high = middle;
    }
    return low;
  }

  draw() {
    const edges = new Set([0, this.text.length]);
    const now = this.sentences[this.sentence] || [-1, -1];
    const ranges = this.spans.map((span) => [this.units[span.start], this.units[span.end], span]);
    for (const [start, end] of [...ranges, now]) if (start >= 0) edges.add(start).add(end);
    const cuts = [...edges].sort((a, b) => a - b);
    this.box.replaceChildren();
    for (let at = 0; at + 1 < cuts.length; at += 1) {
      const piece = this.text.slice(cuts[at], cuts[at + 1]);
      const over = ranges.filter(([start, end]) => start <= cuts[at] && cuts[at + 1] <= end);
      const current = now[0] <= cuts[at] && cuts[at + 1] <= now[1];
      const names = over.map(([, , span]) => this.name(span.nugget)).join(", ");
      if (!over.length && !current) this.box.append(piece);
      else this.box.append(make("span", { class: [over.length ? "span" : "", current ? "sentence now" : ""].join(" ").trim(), title: names || null }, piece));
    }
    const current = this.box.querySelector(".sentence.now");
    if (current) current.scrollIntoView({ block: "nearest" });
    this.changed();
  }

  name(id) {
    const nugget = this.nuggets.find((one) => one.id === id);
    return nugget ? nugget.text || nugget.id : id;
  }

  move(step) {
    this.sentence = Math.min(Math.max(this.sentence + step, 0), this.sentences.length - 1);
    getSelection().removeAllRanges();
    this.draw();
    return this.sentence >= 0 ? this.text.slice(...this.sentences[this.sentence]) : "";
  }

  // The marked passage, in code units: the selection, or else the current sentence.
  passage() {
    const selection = getSelection();
    if (selection.rangeCount && !selection.isCollapsed && this.box.contains(selection.getRangeAt(0).commonAncestorContainer)) {
      const range = selection.getRangeAt(0), before = document.createRange();
      before.selectNodeContents(this.box);
      before.setEnd(range.startContainer, range.startOffset);
      const start = before.toString().length;
      return [start, start + range.toString().length];
    }
    return this.sentences[this.sentence] || null;
  }

  attach(nugget) {
    const passage = this.passage();
    if (!passage) return false;
    const span = { nugget, start: this.characters(passage[0]), end: this.characters(passage[1]) };
    const same = this.spans.findIndex((one) => one.nugget === nugget && one.start === span.start && one.end === span.end);
    if (same >= 0) this.spans.splice(same, 1); else this.spans.push(span);
    getSelection().removeAllRanges();
    this.draw();
    return true;
  }

  remove(at) {
    this.spans.splice(at, 1);
    this.draw();
  }
}
