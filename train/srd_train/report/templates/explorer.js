// The rankings themselves, side by side: what each document covers, what it adds, what it says.
const look = { set: -1, topics: [], found: [], topic: 0, chosen: new Map(), subtopic: null };
const MOST_OPTIONS = 300;

const letterOf = (i) => {
  const letter = String.fromCharCode(65 + (i % 26));
  return i < 26 ? letter : String.fromCharCode(64 + Math.floor(i / 26)) + letter;
};
const chip = (i, kind) => el("span", { class: `chip s${i % 8} p${Math.floor(i / 8) % 3} ${kind}`, "aria-hidden": "true" }, letterOf(i));

const fillExplorer = () => {
  const set = current();
  look.set = state.set;
  look.topics = JSON.parse(byId(`lists-${state.set}`).textContent);
  look.subtopic = null;
  look.topic = 0;
  byId("topic-filter").value = "";
  const why = byId("explorer-why");
  why.hidden = !set.texts;
  why.textContent = set.texts ? `Without subtopics, texts and gains: ${set.texts}.` : "";
  const measure = set.measures[0];
  const reference = set.rankers.find((ranker) => ranker.name === set.reference);
  const rivals = set.rankers.filter((ranker) => ranker !== reference && !ranker.reads);
  rivals.sort((one, other) => set.sign * (other.means[measure] - one.means[measure]));
  const first = [rivals[0], reference, rivals[1]].filter((ranker) => ranker).slice(0, window.innerWidth < 640 ? 2 : 3);
  look.chosen = new Map(set.rankers.map((ranker) => [ranker.name, first.includes(ranker)]));
  byId("explorer").querySelector(".choices").replaceChildren(...set.rankers.map((ranker) => {
    const box = el("input", { type: "checkbox", checked: look.chosen.get(ranker.name), onchange: () => {
      look.chosen.set(ranker.name, box.checked);
      drawLists();
    } });
    return el("label", {}, box, el("bdi", {}, ranker.name));
  }));
  const seeds = new Set(look.topics.flatMap((topic) => Object.values(topic.lists).flatMap((by) => Object.keys(by))));
  options(byId("seed"), [...seeds].sort((a, b) => a - b).map((seed) => [seed, seed]));
  byId("seed").parentElement.hidden = seeds.size < 2;
  findTopics();
};

const findTopics = () => {
  const wanted = byId("topic-filter").value.trim().toLowerCase();
  const name = (topic) => (topic.query ? `${topic.query} (${topic.id})` : topic.id);
  look.found = look.topics.map((_, i) => i).filter((i) => name(look.topics[i]).toLowerCase().includes(wanted));
  if (look.found.length && !look.found.includes(look.topic)) look.topic = look.found[0];
  // A list of thousands is slow to open: those around the chosen one are enough, the others are found by words.
  const place = Math.max(0, look.found.indexOf(look.topic));
  const start = Math.max(0, Math.min(place - MOST_OPTIONS / 2, look.found.length - MOST_OPTIONS));
  options(byId("topic"), look.found.slice(start, start + MOST_OPTIONS).map((i) => [i, name(look.topics[i])]), look.topic);
  const set = current();
  const parts = [];
  if (wanted) parts.push(`${look.found.length.toLocaleString("en")} of ${plural(look.topics.length, "topic")} found`);
  if (set.shown < set.of) parts.push(`the rankings of ${set.shown.toLocaleString("en")} of ${set.of.toLocaleString("en")} topics are in this page, evenly spaced`);
  byId("topic-count").textContent = parts.length ? `${parts.join("; ")}.` : "";
  drawLists();
};

const stepTopic = (by) => {
  if (!look.found.length) return;
  const place = look.found.indexOf(look.topic);
  look.topic = look.found[(place + by + look.found.length) % look.found.length];
  findTopics();
};

// From the chart above: lists drawn from a topic are "topic/1", "topic/2", ...
const openTopic = (index) => {
  const set = current();
  if (look.set !== state.set) ready(parts.find((part) => part.id === "explorer"));
  const id = set.topics[index];
  const found = look.topics.findIndex((topic) => topic.id === id || topic.id.startsWith(`${id}/`));
  byId("explorer").scrollIntoView();
  byId("topic-filter").value = "";
  if (found >= 0) look.topic = found;
  const names = [byId("first"), byId("second")].map((select) => set.rankers[Number(select.value)].name);
  for (const name of look.chosen.keys()) look.chosen.set(name, names.includes(name));
  for (const label of byId("explorer").querySelectorAll(".choices label")) {
    label.querySelector("input").checked = look.chosen.get(label.textContent);
  }
  findTopics();
  if (found < 0) byId("topic-count").textContent = `The rankings of topic ${id} are not in this page.`;
  byId("topic").focus({ preventScroll: true });
};

const listOf = (topic, name) => {
  const seeds = topic.lists[name];
  if (seeds === undefined) return null;
  const wanted = byId("seed").value;
  const seed = wanted in seeds ? wanted : Object.keys(seeds)[0];
  return { seed, several: Object.keys(seeds).length > 1, ...seeds[seed] };
};

const drawLists = () => {
  const topic = look.topics[look.topic];
  const holder = byId("lists");
  byId("subtopics").replaceChildren();
  byId("lists-hint").textContent = "";
  if (topic === undefined || !look.found.length) {
    const text = look.topics.length ? "No topic matches." : "There are no rankings to show: the run files are missing or cannot be read.";
    holder.replaceChildren(el("p", { class: "none" }, text));
    return;
  }
  drawSubtopics(topic);
  const names = [...look.chosen].filter(([, chosen]) => chosen).map(([name]) => name);
  if (!names.length) {
    holder.replaceChildren(el("p", { class: "none" }, "Choose one ranker or more."));
    return;
  }
  const lists = names.map((name) => listOf(topic, name));
  const depth = Math.max(1, ...lists.map((list) => (list === null ? 0 : list.docs.length)));
  const largest = Math.max(1, ...lists.flatMap((list) => (list && list.gains ? list.gains.map(Math.abs) : [])));
  const seen = lists.map(() => new Map());
  const rows = Array.from({ length: depth }, (_, rank) => el("tr", {},
    el("th", { scope: "row" }, String(rank + 1)),
    lists.map((list, column) => documentCell(topic, list, rank, column, seen[column], largest))));
  const heads = names.map((name, column) => listHead(topic, name, lists[column], seen[column]));
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "#", hiddenText(" rank")), heads));
  const table = el("table", { class: "lists", role: "grid", onkeydown: moveFocus }, head, el("tbody", {}, rows));
  const each = window.innerWidth >= 640 ? 17 : topic.docs.some(([, text]) => text) ? 12 : 9;
  const wide = each * names.length + 3;
  table.style.minWidth = `${wide}rem`;
  holder.replaceChildren(table);
  const start = table.querySelector("td[data-doc]");
  if (start) start.tabIndex = 0;
  if (topic.subtopics) {
    const bars = lists.some((list) => list && list.gains) ? ` Numbers and bars: what the document adds to ${current().measures[0]}.` : "";
    byId("lists-hint").textContent = `Filled: covered for the first time. Dashed: covered again.${bars} Arrow keys move between documents; the same document is marked in the other lists.`;
  }
};

const drawSubtopics = (topic) => {
  if (!topic.subtopics) return;
  const many = `${plural(topic.candidates, "candidate")}, ${plural(topic.subtopics.length, "subtopic")}`;
  const items = topic.subtopics.map(([name, count], i) => el("li", {}, el("button", {
    type: "button", "aria-pressed": String(look.subtopic === i), onclick: () => {
      look.subtopic = look.subtopic === i ? null : i;
      for (const [j, button] of byId("subtopics").querySelectorAll("button").entries()) button.setAttribute("aria-pressed", String(look.subtopic === j));
      dim();
    } }, chip(i, "new"), hiddenText(`${letterOf(i)}: `), el("bdi", {}, name), el("span", { class: "count", title: "candidates that cover it" }, `in ${count}`))));
  byId("subtopics").replaceChildren(
    el("p", {}, topic.query ? el("b", {}, el("bdi", {}, topic.query)) : el("b", {}, topic.id), ` — ${many}. Press a subtopic to find it in the lists.`),
    el("ul", { class: "legend" }, items));
  if (look.subtopic !== null && look.subtopic >= topic.subtopics.length) look.subtopic = null;
};

const listHead = (topic, name, list, seen) => {
  if (list === null) return el("th", { scope: "col" }, el("bdi", {}, name), el("span", { class: "none" }, " no ranking: its run is missing, or lacks this topic"));
  const head = el("th", { scope: "col" }, el("bdi", {}, name), list.several ? el("small", {}, `seed ${list.seed}`) : null,
    el("span", { class: "value", title: current().measures[0] }, (list.value / 1e4).toFixed(3)));
  if (topic.subtopics) {
    const covered = topic.subtopics.filter((_, i) => seen.has(i)).length;
    head.append(el("small", {}, `covers ${covered} of ${topic.subtopics.length}`),
      el("div", { class: "strip", "aria-hidden": "true" }, topic.subtopics.map((_, i) => chip(i, seen.has(i) ? "new" : "missed"))));
  }
  return head;
};

const documentCell = (topic, list, rank, column, seen, largest) => {
  if (list === null || rank >= list.docs.length) return el("td");
  const index = list.docs[rank];
  const [id, text, covered] = topic.docs[index];
  const cell = el("td", { tabindex: -1, "data-doc": index, "data-column": column, "data-rank": rank,
    onfocus: () => markSame(cell), onpointerenter: () => markSame(cell), onpointerleave: () => markSame(null) });
  if (covered !== undefined) {
    const said = [];
    const chips = covered.map((i) => {
      const again = seen.has(i);
      seen.set(i, (seen.get(i) || 0) + 1);
      said.push(`${letterOf(i)} ${again ? "again" : "new"}`);
      return chip(i, again ? "again" : "new");
    });
    cell.dataset.covers = covered.join(" ");
    if (look.subtopic !== null && !covered.includes(look.subtopic)) cell.classList.add("dim");
    const gain = list.gains ? list.gains[rank] : null;
    cell.append(el("div", { class: "top" },
      el("span", { class: "chips" }, chips.length ? chips : el("span", { class: "none" }, "covers nothing"), hiddenText(said.length ? `covers ${said.join(", ")}` : "")),
      gain === null ? null : el("span", { class: "gain" }, `${gain < 0 ? "−" : "+"}${(Math.abs(gain) / 1e4).toFixed(3)}`)));
    if (gain !== null) cell.append(svg("svg", { class: "bar", "aria-hidden": "true" },
      svg("rect", { class: "all", width: "100%", height: 4 }), svg("rect", { width: `${((100 * Math.abs(gain)) / largest).toFixed(1)}%`, height: 4 })));
  }
  if (text) {
    const [title, ...rest] = text.split("\n");
    cell.append(el("p", { class: "text" }, rest.length ? [el("b", {}, title), rest.join(" ")] : title));
  }
  cell.append(el("span", { class: "doc-id" }, id));
  return cell;
};

const dim = () => {
  for (const cell of byId("lists").querySelectorAll("td[data-covers]")) {
    const covers = cell.dataset.covers.split(" ").includes(String(look.subtopic));
    cell.classList.toggle("dim", look.subtopic !== null && !covers);
  }
};

const markSame = (cell) => {
  for (const other of byId("lists").querySelectorAll("td[data-doc]")) {
    other.classList.toggle("same", cell !== null && other.dataset.doc === cell.dataset.doc);
  }
};

const moveFocus = (event) => {
  const from = event.target.closest("td[data-doc]");
  const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] || [0, 0];
  if (from === null || !(down || right)) return;
  const to = byId("lists").querySelector(`td[data-rank="${Number(from.dataset.rank) + down}"][data-column="${Number(from.dataset.column) + right}"]`);
  event.preventDefault();
  if (to === null) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
};

const startExplorer = () => {
  byId("topic-filter").addEventListener("input", findTopics);
  byId("topic").addEventListener("change", (event) => { look.topic = Number(event.target.value); drawLists(); });
  byId("seed").addEventListener("change", drawLists);
  byId("previous").addEventListener("click", () => stepTopic(-1));
  byId("next").addEventListener("click", () => stepTopic(1));
};
