// Axes: a scale maps values to pixels and knows its ticks.
const niceStep = (span, count) => {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough * 0.999);
};

const linear = (low, high, from, to, count = 5) => {
  if (!(high > low)) [low, high] = [low - 0.5, high + 0.5];
  const step = niceStep(high - low, count);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) ticks.push(i * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  return { at, ticks, text: (value) => value.toFixed(Math.min(digits, 6)).replace("-", "−") };
};

const short = (value) => {
  for (const [size, letter] of [[1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
};

const logarithmic = (low, high, from, to) => {
  if (!(high > low)) [low, high] = [low / 2, high * 2];
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
  let ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) ticks.push(step * 10 ** power);
  }
  ticks = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  const most = Math.max(2, Math.floor(Math.abs(to - from) / 60));
  const every = Math.ceil(ticks.length / most);
  ticks = ticks.filter((_, i) => i % every === 0);
  const at = (value) => from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
  return { at, ticks, text: short };
};

const LEFT = 56, RIGHT = 14, TOP = 28, BOTTOM = 46;

// An empty chart of the width that its place has; `draw(place, x, y)` adds what is in it.
const chart = (holder, { height, label, title, xOf, yOf, xLabel, draw }) => {
  const width = Math.max(280, Math.floor(holder.clientWidth));
  const x = xOf(LEFT, width - RIGHT);
  const y = yOf(height - BOTTOM, TOP);
  const place = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  place.append(svg("text", { x: 4, y: 14 }, title));
  for (const tick of y.ticks) {
    place.append(
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y.at(tick), y2: y.at(tick) }),
      svg("text", { class: "tick", x: LEFT - 6, y: y.at(tick) + 4, "text-anchor": "end" }, y.text(tick)),
    );
  }
  for (const tick of x.ticks) {
    place.append(svg("text", { class: "tick", x: x.at(tick), y: height - BOTTOM + 18, "text-anchor": "middle" }, x.text(tick)));
  }
  place.append(svg("text", { class: "tick", x: (LEFT + width - RIGHT) / 2, y: height - 8, "text-anchor": "middle" }, xLabel));
  draw(place, x, y, width);
  holder.replaceChildren(place);
  return { x, y, width, place };
};

const range = (values, pad = 0.05) => {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low === Infinity) return [0, 1];
  const more = (high - low) * pad || 0.02;
  return [low - more, high + more];
};
