// Result tables: the page brings them whole; here they learn to sort and to be filtered.
const sortBy = (table, column, heads) => {
  const head = heads[column];
  const descending = head.getAttribute("aria-sort") === (head.classList.contains("number") ? "none" : "ascending");
  for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = table.tBodies[0];
  const sign = descending ? -1 : 1;
  const key = (row) => row.cells[column].dataset.key;
  const compare = (one, other) => {
    const [a, b] = [key(one), key(other)];
    if (!head.classList.contains("number")) return sign * a.localeCompare(b, "en");
    if (a === "" || b === "") return Number(a === "") - Number(b === "");
    return sign * (Number(a) - Number(b));
  };
  body.append(...[...body.rows].sort(compare));
};

const startTables = () => {
  for (const table of document.querySelectorAll("table.results")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.hasAttribute("aria-sort")) return;
      const button = el("button", { type: "button", onclick: () => sortBy(table, column, heads) });
      button.append(...head.childNodes);
      head.append(button);
    });
  }
  const filter = byId("filter");
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    const rows = [...document.querySelectorAll("table.results tbody tr")];
    for (const row of rows) row.hidden = !row.dataset.ranker.toLowerCase().includes(wanted);
    const shown = rows.filter((row) => !row.hidden).length;
    byId("filter-count").textContent = wanted ? `${shown} of ${plural(rows.length, "row")}` : "";
  });
};
