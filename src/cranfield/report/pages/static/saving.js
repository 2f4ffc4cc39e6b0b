// Save tables, figures and listings of a page as files. Their content is in the page; nothing is requested.
"use strict";
(() => {
  const types = { csv: "text/csv", svg: "image/svg+xml" };
  const content = (button) => {
    const place = button.closest(".save");
    if (!button.dataset.save.endsWith(".svg")) {
      const after = place.nextElementSibling;
      const listing = after && after.matches("pre[hidden]") ? after : place.previousElementSibling;
      return listing.textContent + "\n";
    }
    const svg = place.closest("figure").querySelector("svg");
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
  };
  document.querySelectorAll("button[data-save]").forEach((button) => {
    const name = button.dataset.save;
    button.title = `Save ${name}`;
    button.closest(".save").hidden = false;
    button.addEventListener("click", () => {
      const type = types[name.split(".").pop()] ?? "text/plain";
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([content(button)], { type: `${type};charset=utf-8` }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  });
})();
