// Sends judgments one after another. A judgment stays in the browser's memory until the server has confirmed it, so that
// a lost connection, a reload or a server that was killed loses nothing. Its request id makes a retry harmless. What the
// server refuses is kept as well, with the reason, until the assessor lets go of it.
"use strict";

class Refused extends Error {}

class Outbox {
  constructor(state, events) {
    this.csrf = state.csrf;
    this.key = `cranfield/${state.project}/${state.me}`;
    this.events = events; // connected(), lost(count, message), confirmed(answer, entry), refused(message, entry), changed()
    this.waiting = JSON.parse(localStorage.getItem(this.key) || "[]");
    this.refused = JSON.parse(localStorage.getItem(`${this.key}/refused`) || "[]"); // each with its `problem`
    this.problem = ""; // why the first of those that wait cannot be sent
    this.sending = false;
    this.delay = 500;
    window.addEventListener("online", () => this.flush());
    window.addEventListener("beforeunload", (event) => { if (this.waiting.length) event.preventDefault(); });
  }

  add(entry) {
    this.waiting.push(entry);
    this.keep();
    return this.flush();
  }

  keep() {
    for (const [key, list] of [[this.key, this.waiting], [`${this.key}/refused`, this.refused]]) {
      if (list.length) localStorage.setItem(key, JSON.stringify(list));
      else localStorage.removeItem(key);
    }
  }

  // Forget a judgment that cannot be sent. If it is on its way just now, it may be saved all the same.
  letGo(entry) {
    for (const list of [this.waiting, this.refused]) if (list.includes(entry)) list.splice(list.indexOf(entry), 1);
    this.keep();
    this.events.changed();
    return this.flush();
  }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    clearTimeout(this.timer);
    try {
      while (this.waiting.length) {
        const entry = this.waiting[0];
        let answer = null, problem = null;
        try {
          const { about, ...judgment } = entry; // about: what the page shows of it
          answer = await this.post("/api/judge", { ...judgment, have: this.events.have() });
        } catch (error) {
          if (!(error instanceof Refused)) {
            this.problem = error.message;
            this.events.lost(this.waiting.length, error.message);
            this.events.changed();
            if (!this.waiting.includes(entry)) continue; // let go of in the meantime
            this.timer = setTimeout(() => this.flush(), this.delay);
            this.delay = Math.min(this.delay * 2, 8000);
            return;
          }
          problem = error.message;
        }
        if (this.waiting.includes(entry)) this.waiting.splice(this.waiting.indexOf(entry), 1);
        if (problem !== null) this.refused.push({ ...entry, problem });
        this.keep();
        this.delay = 500;
        this.problem = "";
        this.events.connected();
        this.events.changed();
        if (problem === null) this.events.confirmed(answer, entry);
        else this.events.refused(problem, entry);
      }
    } finally {
      this.sending = false;
    }
  }

  // Wait until everything is confirmed, before an undo.
  async empty() {
    await this.flush();
    while (this.waiting.length) await new Promise((done) => setTimeout(done, 100));
  }

  async post(address, body) {
    const options = { method: "POST", headers: { "content-type": "application/json", "x-csrf-token": this.csrf } };
    return this.answer(await this.fetch(address, { ...options, body: JSON.stringify(body) }));
  }

  async get(address) {
    return this.answer(await this.fetch(address, {}));
  }

  async fetch(address, options) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), 15000);
    try {
      return await fetch(address, { ...options, credentials: "same-origin", signal: stop.signal });
    } catch {
      throw new Error("no connection to the server");
    } finally {
      clearTimeout(timer);
    }
  }

  async answer(response) {
    const body = await response.json().catch(() => ({}));
    if (response.ok) return body;
    const message = body.error || `the server answered ${response.status}`;
    if (response.status === 401) throw new Error("you are logged out; log in in another window, then judging goes on");
    if (response.status >= 500 || response.status === 429) throw new Error(message);
    throw new Refused(message);
  }
}

function newRequest() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
