// Browsers start no worker for a page that was opened from a disk. There, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.frame.addEventListener("load", () => {
        const messages = this.waiting;
        this.waiting = null;
        messages.forEach((message) => this.frame.contentWindow.postMessage(message, "*"));
      });
      const program = new URL(url, location.href).href;
      this.frame.srcdoc =
        "<script>postMessage = (message) => parent.postMessage(message, '*')</" + "script>" +
        `<script src="${program}"></` + "script>";
      document.body.appendChild(this.frame);
    }
    postMessage(message) {
      if (this.waiting) this.waiting.push(message);
      else this.frame.contentWindow.postMessage(message, "*");
    }
    terminate() {
      this.frame.remove();
    }
  };
}
