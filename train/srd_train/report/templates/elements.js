// Elements are made here and nowhere else: texts become text nodes, so that no text of the results is ever markup.
const SVG = "http://www.w3.org/2000/svg";

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
};
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const hiddenText = (text) => el("span", { class: "hidden-text" }, text);
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(4)}`;

const options = (select, entries, chosen) => {
  select.replaceChildren(...entries.map(([value, text]) => el("option", { value }, text)));
  if (chosen !== undefined) select.value = String(chosen);
};

const data = JSON.parse(byId("data").textContent);
const state = { set: 0, measure: 0, hidden: new Set() };
const current = () => data.sets[state.set];

// Scores by topic arrive as base64 of float32, [rankers, topics].
const unpacked = new Map();
const scoresOf = (set, measure) => {
  const text = set.scores[measure];
  if (!unpacked.has(text)) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    unpacked.set(text, new Float32Array(bytes.buffer));
  }
  const all = unpacked.get(text);
  const count = set.topics.length;
  return set.rankers.map((_, i) => all.subarray(i * count, (i + 1) * count));
};

// A ranker looks the same in every chart: colour, dashes and shape each tell it.
const styleOf = (name) => {
  const number = data.styles[name];
  const dashes = ["", "7 4", "2 3", "9 3 2 3"][(number + Math.floor(number / 8)) % 4];
  return { colour: `r${number % 8}`, dashes, shape: number % 5 };
};
const shapeAt = (x, y, number) => {
  const r = 6;
  const corners = [
    null,
    [[-r, -r], [r, -r], [r, r], [-r, r]],
    [[0, -r - 1], [r + 1, r], [-r - 1, r]],
    [[0, -r - 2], [r + 2, 0], [0, r + 2], [-r - 2, 0]],
    [[0, r + 1], [r + 1, -r], [-r - 1, -r]],
  ][number];
  if (corners === null) return svg("circle", { class: "mark-shape", cx: x, cy: y, r });
  return svg("polygon", { class: "mark-shape", points: corners.map(([dx, dy]) => `${x + dx},${y + dy}`).join(" ") });
};
