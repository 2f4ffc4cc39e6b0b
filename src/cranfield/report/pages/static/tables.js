// Sort and filter the tables of a page. Without this script the tables are complete, in their first order.
"use strict";
(() => {
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
  const compare = (numbers, down) => (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === ""); // what is undefined comes last, both ways
    const order = numbers ? Number(a) - Number(b) : a.localeCompare(b, undefined, { numeric: true, sensitivity: "base" });
    return down ? -order : order;
  };

  const prepare = (section) => {
    const table = section.querySelector("table");
    const body = table.tBodies[0];
    const tools = section.querySelector(".tools");
    const heads = [...table.tHead.rows[0].cells];
    const first = [...body.rows];

    const sort = (head, down) => {
      const order = compare(head.dataset.sort === "number", down);
      const rows = [...body.rows].sort((a, b) => order(key(a, head.cellIndex), key(b, head.cellIndex)));
      body.append(...rows);
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
    };
    heads.filter((head) => head.dataset.sort).forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : head.dataset.first === "descending";
        sort(head, down);
      });
    });

    if (!tools) return;
    const search = tools.querySelector("input[type=search]");
    const selects = [...tools.querySelectorAll("select")];
    const count = tools.querySelector(".count");
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word)) &&
          selects.every((select) => !select.value || key(row, Number(select.dataset.column)) === select.value);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = `${shown} of ${body.rows.length} rows`;
    };
    search.addEventListener("input", filter);
    selects.forEach((select) => select.addEventListener("change", filter));
    tools.querySelector("button").addEventListener("click", () => {
      search.value = "";
      selects.forEach((select) => { select.value = ""; });
      body.append(...first);
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      filter();
    });
    tools.hidden = false;
    filter();
  };

  document.querySelectorAll("section[data-table]").forEach(prepare);
})();
