// Sends judgments one after another. A judgment stays in the browser's memory until the server has confirmed it, so that
// a lost connection, a reload or a server that was killed loses nothing. Its request id makes a retry harmless.
"use strict";

class Refused extends Error {}

class Outbox {
  constructor(state, events) {
    this.csrf = state.csrf;
    this.key = `cranfield/${state.project}/${state.me}`;
    this.events = events; // connected(), lost(count, message), confirmed(answer, entry), refused(message, entry)
    this.waiting = JSON.parse(localStorage.getItem(this.key) || "[]");
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
    if (this.waiting.length) localStorage.setItem(this.key, JSON.stringify(this.waiting));
    else localStorage.removeItem(this.key);
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
          answer = await this.post("/api/judge", { ...entry, have: this.events.have() });
        } catch (error) {
          if (!(error instanceof Refused)) {
            this.events.lost(this.waiting.length, error.message);
            this.timer = setTimeout(() => this.flush(), this.delay);
            this.delay = Math.min(this.delay * 2, 8000);
            return;
          }
          problem = error.message;
        }
        this.waiting.shift();
        this.keep();
        this.delay = 500;
        this.events.connected();
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
